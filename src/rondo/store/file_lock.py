"""One writer at a time: a lock on an open file, which the system gives back when the process ends, in whatever way.

Linux and macOS lock a file or a folder with `flock`; Windows locks the first byte of a file, and opens no folders.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

BINARY = getattr(os, "O_BINARY", 0)
"""For `os.open`: without it Windows would write each line end as two characters."""


def open_lock(folder: Path, name: str) -> int:
    """A descriptor to lock: of the file `name` in a folder, made where there is none."""
    return os.open(folder / name, os.O_RDWR | os.O_CREAT | BINARY, 0o666)


def take(descriptor: int) -> bool:
    """Whether the lock is ours now; closing the descriptor gives it back."""
    try:
        _lock(descriptor)
    except OSError:  # BlockingIOError of the one system, PermissionError of the other
        return False
    return True


def has_flock() -> bool:
    """Whether folders can be locked too."""
    return _module("fcntl") is not None


def _lock(descriptor: int) -> None:
    fcntl = _module("fcntl")
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    msvcrt = importlib.import_module("msvcrt")
    os.lseek(descriptor, 0, os.SEEK_SET)
    msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
