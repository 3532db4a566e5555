"""edits.json: the edits beside a model, or beside the checkpoint of a stream; the model itself is not touched.

It is no part of what identifies a model. So a stream that began with the model goes on when entries are named.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from rondo.errors import ModelError
from rondo.store.artifact import EDITS, EDITS_LOCK
from rondo.store.lock import locked
from rondo.store.reading import read_regular
from rondo.store.writing import write_json
from rondo.vocabulary.edits import Edits

_ANEW = "put it back, or remove it and name the entries anew"


def now() -> str:
    """The time on the wall, to the second: when someone has made an edit."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def changing(folder: Path) -> AbstractContextManager[None]:
    """Keep others from changing the edits here, or what shows them, from before they are read until they are written.

    Whoever names 20,000 recordings may take minutes over it.
    """
    return locked(folder, EDITS_LOCK, "another process is naming entries here; wait for it, or stop it", wait_s=600.0)


def read_edits(folder: Path) -> Edits:
    """The edits in a folder; none where nobody has made any."""
    path = folder / EDITS
    try:
        found = json.loads(read_regular(path))
    except FileNotFoundError:
        return Edits()
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: not JSON; {_ANEW}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); {_ANEW}") from None
    return Edits.from_json(found, path)


def write_edits(folder: Path, edits: Edits) -> None:
    """Put edits.json in place, whole: whoever reads meanwhile sees the one before."""
    write_json(folder / EDITS, edits.as_json(), ensure_ascii=False)
