"""Files that appear whole or not at all: written beside their place first, renamed when all of them are there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from rondo.errors import OutputError


def write_files(files: Mapping[Path, bytes]) -> list[Path]:
    """Write all of them; nothing that exists is written over, and what was made goes where one of them fails."""
    for path in files:
        if path.exists() or path.is_symlink():
            raise OutputError(f"{path}: it exists already; choose another name or remove it first")
    new_folders = [p for path in files for p in (path.parent, *path.parent.parents) if not p.exists()]
    placed: list[Path] = []
    try:
        with ExitStack() as drafts:
            ready = []
            for path, content in files.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                draft = drafts.enter_context(
                    tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:80]}-", delete=False)
                )
                drafts.callback(Path(draft.name).unlink, missing_ok=True)
                draft.write(content)
                draft.flush()
                os.fchmod(draft.fileno(), 0o666 & ~_umask())  # a temporary file is closed to all but its owner
                ready.append((Path(draft.name), path))
            for name, path in ready:
                name.rename(path)
                placed.append(path)
    except BaseException as error:
        for path in placed:
            path.unlink(missing_ok=True)
        for folder in sorted(set(new_folders), key=lambda folder: -len(folder.parts)):
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise OutputError(f"{next(iter(files))}: cannot be written ({reason}); choose another --out") from None
        raise
    return placed


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
