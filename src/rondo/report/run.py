"""Drafts of folders and files that take their names when they are whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rondo.errors import OutputError


def check_free(out: Path) -> None:
    """Refuse an output folder that cannot be written, before any work is done for it."""
    try:
        if out.is_symlink() and not out.exists():
            raise OutputError(f"{out}: a link to nowhere; choose another --out or remove it first")
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            what = "already holds a run" if (out / "summary.json").exists() else "exists and is not an empty folder"
            raise OutputError(f"{out}: {what}; choose another --out or remove it first")
        if out.exists() and (out.is_mount() or out.samefile(Path.cwd())):
            raise OutputError(f"{out}: in use as it stands, it cannot be replaced; choose a new folder inside it")
        out.resolve()
        above = next(parent for parent in out.absolute().parents if parent.exists())
    except (OSError, RuntimeError) as error:  # no right to look, a name too long, links in a circle
        raise OutputError(f"{out}: cannot be written ({_reason(error)}); choose another --out") from None
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(f"{out}: cannot be written, {above} is not a writable folder; choose another --out")


@contextmanager
def draft_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out` that takes its name when the block ends well, and vanishes when it does not."""
    check_free(out)
    target = out.resolve()  # a link to an empty folder stays a link
    new_parents = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent, ignore_cleanup_errors=True)
        with beside as folder:
            draft = Path(folder) / target.name  # inside, because the outer folder is closed to all but its owner
            draft.mkdir()
            yield draft
            if target.exists():
                target.rmdir()
            draft.rename(target)
    except BaseException as error:
        for parent in new_parents:
            with suppress(OSError):  # it was never made, or someone else has put something there
                parent.rmdir()
        if isinstance(error, OSError):
            raise OutputError(f"{out}: cannot be written ({_reason(error)}); choose another --out") from None
        raise


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A draft beside a file that takes its name when it is whole and on the disk.

    Its name is always the same, so that one left by a process that was killed is written over and not left behind.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({_reason(error)}); make room or give permission") from None
    finally:
        draft.unlink(missing_ok=True)
