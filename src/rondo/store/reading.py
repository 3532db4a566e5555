"""Folders that may be someone else's: small regular files, and ids that lead nowhere outside."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_BLOCK_BYTES = 1 << 16
MOST_BYTES = 1 << 28
"""What is read whole into memory: the summary of a run over 20,000 recordings has about 5 MB."""


def regular(path: Path) -> Path:
    """The path, for libraries that open it themselves, if a regular file is there; else OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file; OSError for pipes and devices, which never end, and for what is larger.

    >>> read_regular(Path("/dev/zero"))
    Traceback (most recent call last):
    OSError: [Errno 22] not a regular file: '/dev/zero'
    """
    descriptor = os.open(path, _FLAGS)  # without waiting for the other end of a pipe
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor, not a path
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        n_bytes = os.fstat(descriptor).st_size
        content = bytearray()
        while n_bytes <= most_bytes and (block := file.read(max(n_bytes - len(content), _BLOCK_BYTES))):
            content += (
                block  # no more than the file says, and then block by block: room for `most_bytes` may not be had
            )
            n_bytes = max(n_bytes, len(content))
    if n_bytes > most_bytes:  # some files of the system say 0 and go on for ever
        raise OSError(errno.EFBIG, f"larger than {most_bytes / 1e6:,.0f} MB", str(path))
    return bytes(content)


def read_part(path: Path, start: int, n_bytes: int) -> bytes:
    """At most so many bytes of a regular file from a place on; none where it ends there; OSError for a link."""
    descriptor = os.open(path, _FLAGS | getattr(os, "O_NOFOLLOW", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.read(descriptor, n_bytes)
    finally:
        os.close(descriptor)


def checked_id(id: str) -> str:
    """The id of a recording, if it is one name for a file here; ValueError where it is a path, or nothing.

    >>> checked_id("day 1.left")
    'day 1.left'
    >>> checked_id("../../x")
    Traceback (most recent call last):
    ValueError: the id '../../x' is no name for a file
    """
    if not id or id in (".", "..") or "\0" in id or Path(id).name != id:
        raise ValueError(f"the id '{id[:80]}' is no name for a file")
    return id
