"""edits.json on disk: read, locked, written whole; lists of version 0.2.0 are read too."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from rondo.editing.edits import ADVICE, FORMAT, Edits
from rondo.editing.upgrade import upgraded
from rondo.errors import ModelError, SettingError
from rondo.store.folder import write_json
from rondo.store.lock import locked
from rondo.store.model_file import EDITS, EDITS_LOCK
from rondo.store.reading import read_regular

OLD_SCHEMA = 1


def changing(folder: Path) -> AbstractContextManager[None]:
    """Keep others from changing the edits here, or what shows them, from before they are read until they are written.

    Whoever names 20,000 recordings may take minutes over it.
    """
    return locked(folder, EDITS_LOCK, "another process is editing here; wait for it, or stop it", wait_s=600.0)


def read_edits(folder: Path) -> Edits:
    """The edits in a folder; none where nobody has made any.

    Version 0.2.0 kept what people did to frames in the folder above that of the model or the checkpoint.
    """
    found = _read(folder / EDITS)
    if found is not None and _schema(found) != OLD_SCHEMA:
        return Edits.from_json(found, folder / EDITS)
    of_frames = _read(folder.parent / EDITS) if folder.name in ("model", "checkpoint") else None
    if of_frames is None or _schema(of_frames) != OLD_SCHEMA or "run" in of_frames:
        of_frames = None  # a file for `rondo apply` names its run
    if found is None and of_frames is None:
        return Edits()
    try:
        return upgraded([each["edits"] for each in (found, of_frames) if each is not None])
    except (LookupError, TypeError, ValueError, AttributeError, SettingError) as error:
        raise ModelError(f"{folder / EDITS}: not a list of edits ({error}); {ADVICE}") from None


def _schema(found: Any) -> Any:
    is_list = isinstance(found, dict) and found.get("format") == FORMAT
    return found.get("schema") if is_list else None


def _read(path: Path) -> Any:
    try:
        return json.loads(read_regular(path))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: not JSON; {ADVICE}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); {ADVICE}") from None


def write_edits(folder: Path, edits: Edits) -> None:
    """Put edits.json in place, whole: whoever reads meanwhile sees the one before."""
    write_json(folder / EDITS, edits.as_json(), ensure_ascii=False)
