"""Arrays that Rondo wrote into folders that may be someone else's: no pickles, no more memory than was expected."""

from __future__ import annotations

import math
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rondo.store.reading import MOST_BYTES, regular

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
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
    with regular(path).open("rb") as file, zipfile.ZipFile(file) as archive:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd headers, which are read or refused
        shape, column_major, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: NDArray[Any] = np.load(regular(path), mmap_mode="r", allow_pickle=False)
    return found
