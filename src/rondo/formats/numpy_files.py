"""Numpy arrays (.npy) and archives of them (.npz). Nothing is unpickled: the header of an array is read first."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats import array_files
from rondo.formats.array_files import (
    TIME_KEYS,
    Description,
    Tile,
    description_of,
    found_key,
    is_rate_name,
    only_array,
    recording_of,
    table_shape,
)
from rondo.formats.recording_format import RecordingFormat


class NpyArray(NamedTuple):
    """A numpy array that is still in its file: the stream stands at its first number."""

    stream: IO[bytes]
    shape: tuple[int, ...]
    column_major: bool
    dtype: np.dtype[Any]


def read_npy(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The recording in a single numpy array, (n_frames, n_channels) or (n_frames,)."""
    with path.open("rb") as file:
        array = _npy_array(file, path.stat().st_size, "the array")
        shape = table_shape(array.shape, array.dtype, "the array")
        return recording_of(shape, _npy_tiles(array, *shape), Description(rate), path.stem, rate, label_columns)


def read_npz(path: Path, *, rate: float | None, key: str | None, label_columns: Sequence[str] = ()) -> Recording:
    """The recording in a numpy archive: the array `X`, or the one that `key` names, or the only one."""
    with zipfile.ZipFile(path) as archive, ExitStack() as opened:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

        def member(name: str) -> NpyArray:
            stream = opened.enter_context(archive.open(members[name]))
            return _npy_array(stream, members[name].file_size, f"array '{name}'")

        name = chosen_array(archive, key)
        array = member(name)
        shape = table_shape(array.shape, array.dtype, f"array '{name}'")
        beside = {said: _npy_whole(member(said)) for said in ("channels", *TIME_KEYS) if said in members}
        rates = sorted((said for said in members if is_rate_name(said)), key=lambda said: (said != "rate", said))
        beside |= {"rate": _npy_whole(member(rates[0]))} if rates else {}
        about = description_of(beside, rate)
        return recording_of(shape, _npy_tiles(array, *shape), about, path.stem, rate, label_columns)


def chosen_array(archive: zipfile.ZipFile, key: str | None) -> str:
    """The name of the array in an archive that is read, from the headers alone."""
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if key is not None or "X" in members:
        return found_key(key, list(members))
    found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
    for name, info in members.items():
        try:
            with archive.open(info) as stream:
                array = _npy_array(stream, info.file_size, f"array '{name}'")
        except RecordingError:  # whoever asks for it by name hears why
            found[name] = (), np.dtype("O")
        else:
            found[name] = array.shape, array.dtype
    return only_array(found)


def _npy_array(stream: IO[bytes], n_bytes: int, what: str) -> NpyArray:
    """Read the header of an array, and check it against the `n_bytes` that the whole of it takes."""
    # version 3 differs from 2 in the encoding of field names alone, and an array of numbers has none
    second = np.lib.format.read_array_header_2_0
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): second, (3, 0): second}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of old or odd headers; either it reads them or it raises
            version = np.lib.format.read_magic(stream)
            shape, column_major, dtype = readers[version](stream)
    except Exception as error:
        raise RecordingError(f"{what} has no numpy header that can be read; it is damaged, or no numpy file") from error
    if dtype.kind != "O":  # the size of a pickle cannot be known, and it is not going to be read
        expected, found = math.prod(shape) * dtype.itemsize, n_bytes - stream.tell()
        if min(shape, default=0) < 0 or expected != found:
            raise RecordingError(f"{what} is damaged: {shape} of {dtype} takes {expected} bytes, but {found} are there")
    return NpyArray(stream, shape, column_major, dtype)


def _npy_tiles(array: NpyArray, n_frames: int, n_columns: int) -> Iterator[Tile]:
    """Bands of rows, or pieces of columns where the array is stored column by column."""
    width = 1 if array.column_major else n_columns
    step = max(1, array_files.BLOCK_BYTES // (width * array.dtype.itemsize))
    for column in range(0, n_columns, width):
        for start in range(0, n_frames, step):
            stop = min(start + step, n_frames)
            numbers = np.frombuffer(_exactly(array, (stop - start) * width), dtype=array.dtype)
            yield slice(start, stop), slice(column, column + width), numbers.reshape(-1, width)


def _npy_whole(array: NpyArray) -> NDArray[Any]:
    if array.dtype.kind not in "fiubUSM":
        raise RecordingError(f"a describing array holds {array.dtype}; expected plain numbers or text")
    numbers = np.frombuffer(_exactly(array, math.prod(array.shape)), dtype=array.dtype)
    return numbers.reshape(array.shape, order="F" if array.column_major else "C")


def _exactly(array: NpyArray, n_numbers: int) -> bytes:
    wanted = n_numbers * array.dtype.itemsize
    data = array.stream.read(wanted)
    if len(data) != wanted:
        raise RecordingError("it ends in the middle of an array; it is truncated")
    return data


NPY = RecordingFormat(
    name="npy",
    suffixes=(".npy",),
    read=read_npy,
    help="an array (n_frames, n_channels)",
    order=2,
)
NPZ = RecordingFormat(
    name="npz",
    suffixes=(".npz",),
    read=read_npz,
    takes_key=True,
    help="the array `X`, the one named by `--key` or the only one, with `rate`, `channels`, `time` if any",
    order=3,
)
