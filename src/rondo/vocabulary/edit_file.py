"""edits.json: the edits beside a model, or beside the checkpoint of a stream; the model itself is not touched.

It is no part of what identifies a model. So a stream that began with the model goes on when entries are named.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from rondo.errors import ModelError, OutputError
from rondo.store.artifact import EDITS
from rondo.vocabulary.edits import Edits


def now() -> str:
    """The time on the wall, to the second: when someone has made an edit."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_edits(folder: Path) -> Edits:
    """The edits in a folder; none where nobody has made any."""
    path = folder / EDITS
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Edits()
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: not JSON; put it back, or remove it and name the entries anew") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    return Edits.from_json(found, path)


def write_edits(folder: Path, edits: Edits) -> None:
    """Put edits.json in place, whole: whoever reads meanwhile sees the one before."""
    path = folder / EDITS
    draft = path.with_name(f".{EDITS}.draft")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(edits.as_json(), file, indent=1, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OutputError(
            f"{path}: cannot be written ({error.strerror or error}); make room or give permission"
        ) from None
