"""Stored arrays (.npy, .npz, .h5) read piece by piece into float32, whatever number type they are stored in.

Nothing is unpickled: the header of an array is read first, and an array of Python objects is refused there.
In archives only `X` (or the array that `key` names) and its `rate`, `channels` and `time` are opened.
"""

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

from rondo.data.recording import Recording, Values
from rondo.errors import MissingExtraError, RecordingError
from rondo.formats.clock_column import in_seconds, spread
from rondo.formats.columns import Columns, choose_columns, listed
from rondo.formats.crash_guard import refuse_fatal

BLOCK_BYTES = 1 << 20
_TIME_KEYS = ("time", "timestamps")

Tile = tuple[slice, slice, NDArray[Any]]
"""A piece of an array (n_frames, n_columns): its rows, its columns, its numbers."""


class Description(NamedTuple):
    """What a file says about its array, beside the array."""

    rate: float | None = None
    channels: tuple[str, ...] | None = None
    time: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()


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
        shape = _table_shape(array.shape, array.dtype, "the array")
        return _recording(shape, _npy_tiles(array, *shape), Description(rate), path.stem, rate, label_columns)


def read_npz(path: Path, *, rate: float | None, key: str | None, label_columns: Sequence[str] = ()) -> Recording:
    """The recording in a numpy archive: the array `X`, or the one that `key` names."""
    with zipfile.ZipFile(path) as archive, ExitStack() as opened:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

        def member(name: str) -> NpyArray:
            stream = opened.enter_context(archive.open(members[name]))
            return _npy_array(stream, members[name].file_size, f"array '{name}'")

        name = _found_key(key, list(members))
        array = member(name)
        shape = _table_shape(array.shape, array.dtype, f"array '{name}'")
        beside = {said: _npy_whole(member(said)) for said in ("rate", "channels", *_TIME_KEYS) if said in members}
        about = _description(beside, rate)
        return _recording(shape, _npy_tiles(array, *shape), about, path.stem, rate, label_columns)


def read_hdf5(path: Path, *, rate: float | None, key: str | None, label_columns: Sequence[str] = ()) -> Recording:
    """The recording in an HDF5 file: the dataset `X`, or the one that `key` names (`group/name`).

    A damaged chunk or heap can crash the HDF5 library: so the file is tried in a child first.
    """
    try:
        import h5py  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("reading HDF5", "h5py", "io") from error
    refuse_fatal(path, "h5py", f"import pathlib, {__name__} as own; own.untried_hdf5(pathlib.Path(path), key={key!r})")
    return untried_hdf5(path, rate=rate, key=key, label_columns=label_columns)


def untried_hdf5(
    path: Path, *, rate: float | None = None, key: str | None = None, label_columns: Sequence[str] = ()
) -> Recording:
    """`read_hdf5`, for a file that ends no process."""
    import h5py

    with h5py.File(path, "r") as file:
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        name = _found_key(key if key is None else key.strip("/"), names)
        dataset = file[name]
        shape = _table_shape(tuple(dataset.shape or ()), dataset.dtype, f"dataset '{name}'")
        beside = {said: np.asarray(file[said][()]) for said in ("rate", "channels", *_TIME_KEYS) if said in names}
        for attributes in (file.attrs, dataset.attrs):
            beside |= {said: np.asarray(attributes[said]) for said in ("rate", "channels") if said in attributes}
        about = _description(beside, rate)
        return _recording(shape, _hdf5_tiles(dataset, *shape), about, path.stem, rate, label_columns)


def _found_key(key: str | None, keys: Sequence[str]) -> str:
    wanted = "X" if key is None else key
    if wanted in keys:
        return wanted
    raise RecordingError(f"there is no array '{wanted}' in it, only: {listed(keys)}; name one of them with key (--key)")


def _table_shape(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> tuple[int, int]:
    """(n_frames, n_columns) of an array that can be a recording; any other is refused before it is read."""
    if dtype.kind == "O":
        raise RecordingError(f"{what} holds Python objects, which are never loaded; store plain numbers")
    if dtype.kind not in "fiub":
        raise RecordingError(f"{what} holds {dtype}, not numbers; store real numbers")
    if len(shape) not in (1, 2):
        raise RecordingError(f"{what} has {len(shape)} dimensions {shape}; expected 2 (n_frames, n_channels)")
    n_frames, n_columns = shape if len(shape) == 2 else (*shape, 1)
    if n_frames == 0 or n_columns == 0:
        raise RecordingError(f"{what} is empty: {n_frames} frames x {n_columns} channels")
    return n_frames, n_columns


def _recording(
    shape: tuple[int, int],
    tiles: Iterator[Tile],
    about: Description,
    id: str,
    rate: float | None,
    label_columns: Sequence[str],
) -> Recording:
    n_frames, n_columns = shape
    names = about.channels or tuple(f"ch{i}" for i in range(n_columns))
    if len(names) != n_columns:
        raise RecordingError(f"'channels' holds {len(names)} names for {n_columns} columns; give one per column")
    columns = choose_columns(names, rate=rate, label_columns=label_columns)
    if about.time is not None and columns.clock is not None:
        raise RecordingError(
            f"both a stored time array and column '{names[columns.clock]}' could be the clock; keep one"
        )
    values, clock = _filled(n_frames, tiles, columns)
    times, notes = about.time, about.notes + columns.notes
    if columns.clock is not None and clock is not None:
        times, unit = in_seconds(clock, names[columns.clock])
        times, apart = spread(times, names[columns.clock])
        notes += unit + apart
    return Recording(values, rate if rate is not None else about.rate, columns.channels, id, times, notes)


def _filled(n_frames: int, tiles: Iterator[Tile], columns: Columns) -> tuple[Values, NDArray[np.float64] | None]:
    """The chosen columns in float32 and the clock in float64, gathered from the pieces."""
    values = np.empty((n_frames, len(columns.positions)), dtype=np.float32)
    clock = None if columns.clock is None else np.empty(n_frames)
    positions = np.array(columns.positions)
    with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float32 Recording refuses by name
        for rows, cols, block in tiles:
            channels = np.flatnonzero((cols.start <= positions) & (positions < cols.stop))
            if channels.size == values.shape[1] == block.shape[1]:
                values[rows] = block
            elif channels.size:
                values[rows, channels] = block[:, positions[channels] - cols.start]
            if clock is not None and columns.clock is not None and cols.start <= columns.clock < cols.stop:
                clock[rows] = block[:, columns.clock - cols.start]
    return values, clock


def _description(beside: dict[str, NDArray[Any]], given_rate: float | None) -> Description:
    rate = _stored_rate(beside["rate"]) if "rate" in beside else None
    channels = _stored_names(beside["channels"]) if "channels" in beside else None
    time_key = next((key for key in _TIME_KEYS if key in beside), None)
    if given_rate is not None:
        notes = [f"the file's own rate of {rate:g} Hz left aside"] if rate not in (None, given_rate) else []
        notes += [f"array '{time_key}' left out: the given rate of {given_rate:g} Hz is the clock"] if time_key else []
        return Description(None, channels, None, tuple(notes))
    if time_key is None:
        return Description(rate, channels)
    time = beside[time_key]
    if time.dtype.kind == "M":
        return Description(rate, channels, time)
    if time.dtype.kind not in "fiu" or time.ndim != 1:
        raise RecordingError(f"array '{time_key}' must hold one time per frame, got {time.dtype} {time.shape}")
    times, unit = in_seconds(time.astype(np.float64), time_key)
    return Description(rate, channels, times, unit)


def _stored_rate(stored: NDArray[Any]) -> float:
    if stored.size != 1 or stored.dtype.kind not in "fiu":
        raise RecordingError(f"its 'rate' must be one number of Hz, got {stored.dtype} {stored.shape}; give the rate")
    return float(stored.item())


def _stored_names(stored: NDArray[Any]) -> tuple[str, ...]:
    names = [name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in stored.ravel().tolist()]
    if not all(isinstance(name, str) for name in names):
        raise RecordingError(f"its 'channels' must hold text, one name per column, got {stored.dtype}")
    return tuple(str(name) for name in names)


def _npy_array(stream: IO[bytes], n_bytes: int, what: str) -> NpyArray:
    """Read the header of an array, and check it against the `n_bytes` that the whole of it takes."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
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
    step = max(1, BLOCK_BYTES // (width * array.dtype.itemsize))
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


def _hdf5_tiles(dataset: Any, n_frames: int, n_columns: int) -> Iterator[Tile]:
    """Pieces that follow the chunks in which the data lie, so that no chunk is unpacked twice."""
    chunk_rows, chunk_columns = (*(dataset.chunks or (1, n_columns)), 1)[:2]
    n_numbers = BLOCK_BYTES // dataset.dtype.itemsize
    rows = chunk_rows * max(1, n_numbers // (chunk_rows * n_columns))
    width = chunk_columns * max(1, n_numbers // (rows * chunk_columns))
    for start in range(0, n_frames, rows):
        for column in range(0, n_columns, width):
            band, part = (
                slice(start, min(start + rows, n_frames)),
                slice(column, min(column + width, n_columns)),
            )
            block = dataset[band] if len(dataset.shape) == 1 else dataset[band, part]
            yield band, part, np.asarray(block).reshape(band.stop - band.start, -1)
