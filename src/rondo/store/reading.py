"""Files to read: regular ones alone, no larger than expected, and ids that lead nowhere outside.

Opening a pipe waits for its other end, and a device may never end: `open_regular` refuses both. Libraries that open a
file themselves get it from `regular`.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import npy_header

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_BLOCK_BYTES = 1 << 16
MOST_BYTES = 1 << 28
"""What is read whole into memory."""
MOST_JSON_BYTES = 1 << 24
"""JSON takes up to 30 times its size in memory; an edit that names an entry has about 115 bytes and its line ends."""


def regular(path: Path) -> Path:
    """The path, for libraries that open it themselves, if a regular file is there; else OSError."""
    _refuse_other_kinds(path.stat(), path)
    return path


def _refuse_other_kinds(about: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def open_regular(path: Path) -> BufferedReader:
    """A regular file, or what a link to one leads to, open to read; OSError for pipes, devices and sockets.

    >>> open_regular(Path("/dev/zero"))
    Traceback (most recent call last):
    OSError: [Errno 22] not a regular file: '/dev/zero'
    """
    return open(_descriptor(path, _FLAGS), "rb")  # a descriptor, not a path


def _descriptor(path: Path, flags: int) -> int:
    descriptor = os.open(regular(path), flags)  # of a device, even opening may have an effect
    try:
        _refuse_other_kinds(os.fstat(descriptor), path)  # it may have been replaced meanwhile
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file; OSError for any other, and for what is larger."""
    with open_regular(path) as file:
        n_bytes = os.fstat(file.fileno()).st_size
        content = bytearray()
        # No more than the file says, and then block by block: read(n) reserves n bytes, and some say 0 and never end.
        while n_bytes <= most_bytes and (block := file.read(max(n_bytes - len(content), _BLOCK_BYTES))):
            content += block
            n_bytes = max(n_bytes, len(content))
    if n_bytes > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes / 1e6:,.0f} MB", str(path))
    return bytes(content)


def read_json(path: Path, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """What a JSON file holds; OSError as of `read_regular`, ValueError for what is no JSON, or nested too deeply."""
    try:
        return json.loads(read_regular(path, most_bytes))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_part(path: Path, start: int, n_bytes: int) -> bytes:
    """At most so many bytes of a regular file from a place on; none where it ends there; OSError for a link."""
    descriptor = _descriptor(path, _FLAGS | getattr(os, "O_NOFOLLOW", 0))
    try:
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


# ----------------------------------------------------------------
# Arrays that Rondo wrote into folders that may be someone else's: no pickles, no more memory than was expected.

_HEADER_BYTES = 20_000

UNREADABLE = (
    OSError, ValueError, TypeError, AttributeError, LookupError, EOFError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""numpy and zipfile have a different word for each way in which a file can be broken."""


def read_archive(path: Path, names: Sequence[str], most_bytes: int = MOST_BYTES) -> dict[str, NDArray[Any]]:
    """Arrays of an .npz file by name; what is UNREADABLE raises one of those.

    A small archive can hold terabytes of zeros: its members are asked for their size before they are read.
    """
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        members = [archive.getinfo(f"{name}.npy") for name in names]
        n_bytes = sum(member.file_size for member in members)
        if n_bytes > most_bytes + _HEADER_BYTES * len(names):
            raise ValueError(
                f"its arrays take {n_bytes / 1e6:,.0f} MB, at most {most_bytes / 1e6:,.0f} MB are expected"
            )
        found = {}
        for name, member in zip(names, members, strict=True):
            with archive.open(member) as stream:
                found[name] = _array(stream, member.file_size)
    return found


def _array(stream: IO[bytes], n_bytes: int) -> NDArray[Any]:
    shape, column_major, dtype = npy_header(stream)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError(f"an array of {dtype} {shape}")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > n_bytes:
        raise ValueError(f"an array of {dtype} {shape} in {n_bytes:,} bytes")
    content = stream.read(wanted)
    numbers = np.frombuffer(content, dtype) if dtype.itemsize else np.zeros(math.prod(shape), dtype)
    return numbers.reshape(shape, order="F" if column_major else "C")


def map_array(path: Path) -> NDArray[Any]:
    """The array of an .npy file, read as it is used; what is UNREADABLE raises one of those."""
    with open_regular(path) as file:
        npy_header(file)  # numpy itself has more kinds of errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: NDArray[Any] = np.load(regular(path), mmap_mode="r", allow_pickle=False)
    return found
