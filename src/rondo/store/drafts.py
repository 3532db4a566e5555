"""Drafts: what a file or folder is called until it is whole, and what becomes of those that killed processes left."""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import time
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

_LONGEST_STEM = 40  # of a name in the name of its draft: a name may have 255 bytes, a character four
_DRAFT = re.compile(r"\.(?P<stem>.*)\.(?P<here>[0-9a-f]{8})-(?P<pid>\d{1,9})-[0-9a-f]{16}\.draft", re.DOTALL)
BEFORE = ".before"  # after the name of a folder that waits inside a draft until the new one is in place
_FORGOTTEN_S = 24 * 3600.0  # nobody writes one file for so long


def clear_drafts(path: Path) -> None:
    """Take away what killed processes have left in the folder of `path`, whatever they were writing there.

    A folder that one was about to replace is put back under its name.
    """
    for draft in _abandoned(path.parent):
        with suppress(OSError):  # what cannot be tidied up is in nobody's way
            if draft.is_symlink() or not draft.is_dir():
                draft.unlink(missing_ok=True)
                continue
            _put_back(draft)
            shutil.rmtree(draft)


def _put_back(draft: Path) -> None:
    """OSError where it cannot be done: then the draft has to stay."""
    for before in draft.iterdir():
        target = draft.with_name(before.name.removesuffix(BEFORE))
        is_ours = before.name.endswith(BEFORE) and _stem(draft) == target.name[:_LONGEST_STEM]
        if is_ours and before.is_dir() and not before.is_symlink() and not os.path.lexists(target):
            before.rename(target)


def is_draft(name: str) -> bool:
    """Whether a file or folder of this name is a draft that `rondo.store` writes, or has left."""
    return _DRAFT.fullmatch(name) is not None


def draft_of(path: Path) -> Path:
    """A name for a draft of `path`, beside it, that nothing else has."""
    return path.with_name(f".{path.name[:_LONGEST_STEM]}.{_here()}-{os.getpid()}-{secrets.token_hex(8)}.draft")


def _stem(draft: Path) -> str:
    found = _DRAFT.fullmatch(draft.name)
    return "" if found is None else found["stem"]


def _abandoned(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            named = [(_DRAFT.fullmatch(entry.name), entry) for entry in entries if entry.name.endswith(".draft")]
        return [folder / entry.name for found, entry in named if found is not None and _is_abandoned(found, entry)]
    except OSError:  # no right to look
        return []


def _is_abandoned(found: re.Match[str], entry: os.DirEntry[str]) -> bool:
    if os.name != "posix" or found["here"] != _here():  # on Windows os.kill would end the process that is asked about
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _FORGOTTEN_S
    try:
        os.kill(int(found["pid"]), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it runs, and belongs to someone else
        return False
    return False


@cache
def _here() -> str:
    """What the number of a process is unique in: this machine and, inside a container, its own space of numbers."""
    space = Path("/proc/self/ns/pid")
    inside = str(space.readlink()) if space.is_symlink() else ""
    return f"{zlib.crc32(f'{platform.node()} {inside}'.encode()):08x}"
