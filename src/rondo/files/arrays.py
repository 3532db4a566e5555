"""Stored arrays, read piece by piece, whatever number type they are stored in.

What .npy and .npz share with HDF5 and MATLAB: in archives one array is read, `X`, or the one that `key` names, or the
only one that can be a recording, with its `rate`, `channels` and `time`. Nothing is unpickled: the header of an array
is read first, and one of Python objects is refused.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import npy_header
from rondo.data.precision import NumberTable
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.column_values import is_label_name
from rondo.files.columns import Column, choose_columns
from rondo.files.reading import Reading, RecordingFormat, listed
from rondo.files.text.clock import in_seconds, spread
from rondo.memory import ExpectedSize
from rondo.store.reading import open_regular

BLOCK_BYTES = 1 << 20
TIME_KEYS = ("time", "timestamps")
_RATE_NAMES = frozenset({
    "rate", "fs", "sr", "srate", "sfreq", "samplerate", "samplingrate", "samplefreq", "samplefrequency", "samplingfreq",
    "samplingfrequency", "framerate",
})  # fmt: skip

Tile = tuple[slice, slice, NDArray[Any]]
"""A piece of an array (n_frames, n_columns): its rows, its columns, its numbers."""


class Description(NamedTuple):
    """What a file says about its array, beside the array."""

    rate: float | None = None
    channels: tuple[str, ...] | None = None
    time: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()


def is_rate_name(name: str) -> bool:
    """Whether a number of this name is usually a rate.

    >>> [is_rate_name(name) for name in ("rate", "Fs", "sampling_rate", "heart_rate")]
    [True, True, True, False]
    """
    return name.casefold().replace("_", "").replace(" ", "") in _RATE_NAMES


def found_key(key: str | None, keys: Sequence[str]) -> str:
    """The name of the array to read: the one asked for, or `X`."""
    wanted = "X" if key is None else key
    if wanted in keys:
        return wanted
    raise RecordingError(f"there is no array '{wanted}' in it, only: {listed(keys)}; name one of them with key (--key)")


def only_array(arrays: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> str:
    """The name of the only array that can be a recording, by shapes and types: no clock, no description, no labels.

    >>> number = np.dtype(float)
    >>> only_array({"acc": ((100, 3), number), "fs": ((), number), "labels": ((100,), number)})
    'acc'
    """
    able = []
    for name, (shape, dtype) in arrays.items():
        last = name.rpartition("/")[2]
        is_about = last in (*TIME_KEYS, "channels") or is_rate_name(last) or is_label_name(last)
        if dtype.kind in "fiub" and len(shape) in (1, 2) and min(shape) > 0 and max(shape) > 1 and not is_about:
            able.append(name)
    if not able:
        raise RecordingError(f"it holds no array of numbers (n_frames, n_channels), only: {listed(list(arrays))}")
    shapes = {name: shape for name, (shape, dtype) in arrays.items() if dtype.kind in "fiub"}
    if len(able) > 1:
        described = listed([f"{name} {shapes[name]}" for name in able])
        raise RecordingError(f"it holds {len(able)} arrays: {described}; name one of them with key (--key {able[0]})")
    (name,) = able
    for other, shape in shapes.items():
        if len(shape) > 2 and math.prod(shape) > math.prod(shapes[name]):  # then it is what the file is about
            raise RecordingError(
                f"its array '{other}' has {len(shape)} dimensions {shape}; store it as (n_frames, n_channels), or read "
                f"'{name}' {shapes[name]} alone with key (--key {name})"
            )
    return name


def table_shape(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> tuple[int, int]:
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


def recording_of(
    shape: tuple[int, int], tiles: Iterator[Tile], about: Description, id: str, reading: Reading
) -> Recording:
    """The recording in the pieces of an array, with what its file says about it."""
    n_frames, n_columns = shape
    names = about.channels or tuple(f"ch{i}" for i in range(n_columns))
    if len(names) != n_columns:
        raise RecordingError(f"'channels' holds {len(names)} names for {n_columns} columns; give one per column")
    columns = choose_columns([Column(name) for name in names], reading)
    if about.time is not None and columns.clock is not None:
        raise RecordingError(
            f"both a stored time array and column '{names[columns.clock]}' could be the clock; keep one"
        )
    table = NumberTable(n_frames, len(columns.positions))
    clock, positions = np.empty(n_frames), np.array(columns.positions)
    for rows, cols, block in tiles:
        channels = np.flatnonzero((cols.start <= positions) & (positions < cols.stop))
        if channels.size == len(positions) == block.shape[1]:
            table.write(rows, None, block)
        elif channels.size:
            table.write(rows, channels, block[:, positions[channels] - cols.start])
        if columns.clock is not None and cols.start <= columns.clock < cols.stop:
            clock[rows] = block[:, columns.clock - cols.start]
    times, notes = about.time, about.notes + columns.notes
    if columns.clock is not None:
        times, unit = in_seconds(clock, names[columns.clock])
        times, apart = spread(times, names[columns.clock])
        notes += unit + apart
    rate = about.rate if reading.rate is None else reading.rate
    return Recording(table.values, rate, columns.channels, id, times, notes)


def description_of(beside: dict[str, NDArray[Any]], given_rate: float | None) -> Description:
    """What the arrays beside the one that is read say; a given rate is the clock, whatever they say."""
    rate, channels = None, None
    if (stored := beside.get("rate")) is not None:
        if stored.size != 1 or stored.dtype.kind not in "fiu":
            raise RecordingError(
                f"its 'rate' must be one number of Hz, got {stored.dtype} {stored.shape}; give the rate"
            )
        rate = float(stored.item())
    if (stored := beside.get("channels")) is not None:
        texts = stored.ravel().tolist()
        channels = tuple(name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in texts)
        if not all(isinstance(name, str) for name in channels):
            raise RecordingError(f"its 'channels' must hold text, one name per column, got {stored.dtype}")
    time_key = next((key for key in TIME_KEYS if key in beside), None)
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


class NpyArray(NamedTuple):
    """A numpy array that is still in its file: the stream stands at its first number."""

    stream: IO[bytes]
    shape: tuple[int, ...]
    column_major: bool
    dtype: np.dtype[Any]


def read_npy(path: Path, reading: Reading) -> Recording:
    """The recording in a single numpy array, (n_frames, n_channels) or (n_frames,)."""
    with open_regular(path) as file:
        array = npy_array(file, path.stat().st_size, "the array")
        shape = table_shape(array.shape, array.dtype, "the array")
        return recording_of(shape, npy_tiles(array, *shape), Description(reading.rate), path.stem, reading)


def read_npz(path: Path, reading: Reading) -> Recording:
    """The recording in a numpy archive: the array `X`, or the one that `key` names, or the only one."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive, ExitStack() as opened:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

        def member(name: str) -> NpyArray:
            stream = opened.enter_context(archive.open(members[name]))
            return npy_array(stream, members[name].file_size, f"array '{name}'")

        name = chosen_array(archive, reading.key)
        array = member(name)
        shape = table_shape(array.shape, array.dtype, f"array '{name}'")
        beside = {said: _npy_whole(member(said)) for said in ("channels", *TIME_KEYS) if said in members}
        rates = sorted((said for said in members if is_rate_name(said)), key=lambda said: (said != "rate", said))
        beside |= {"rate": _npy_whole(member(rates[0]))} if rates else {}
        about = description_of(beside, reading.rate)
        return recording_of(shape, npy_tiles(array, *shape), about, path.stem, reading)


def chosen_array(archive: zipfile.ZipFile, key: str | None) -> str:
    """The name of the array in an archive that is read, from the headers alone."""
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if key is not None or "X" in members:
        return found_key(key, list(members))
    found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
    for name, info in members.items():
        try:
            with archive.open(info) as stream:
                array = npy_array(stream, info.file_size, f"array '{name}'")
        except RecordingError:  # whoever asks for it by name hears why
            found[name] = (), np.dtype("O")
        else:
            found[name] = array.shape, array.dtype
    return only_array(found)


def npy_array(stream: IO[bytes], n_bytes: int, what: str) -> NpyArray:
    """Read the header of an array, and check it against the `n_bytes` that the whole of it takes."""
    try:
        shape, column_major, dtype = npy_header(stream)
    except Exception as error:
        raise RecordingError(f"{what} has no numpy header that can be read; it is damaged, or no numpy file") from error
    if dtype.kind != "O":  # the size of a pickle cannot be known, and it is not going to be read
        expected, found = math.prod(shape) * dtype.itemsize, n_bytes - stream.tell()
        if min(shape, default=0) < 0 or expected != found:
            raise RecordingError(f"{what} is damaged: {shape} of {dtype} takes {expected} bytes, but {found} are there")
    return NpyArray(stream, shape, column_major, dtype)


def npy_tiles(array: NpyArray, n_frames: int, n_columns: int) -> Iterator[Tile]:
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


def _npy_size(path: Path, reading: Reading) -> ExpectedSize:
    with open_regular(path) as file:
        shape = npy_array(file, path.stat().st_size, "the array").shape
    return ExpectedSize.of_table(*(shape if len(shape) == 2 else (math.prod(shape), 1)))


def _npz_size(path: Path, reading: Reading) -> ExpectedSize:
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        info = archive.getinfo(f"{chosen_array(archive, reading.key)}.npy")
        with archive.open(info) as member:
            shape = npy_array(member, info.file_size, "the array").shape
    return ExpectedSize.of_table(*(shape if len(shape) == 2 else (math.prod(shape), 1)))


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
    expected_size=_npy_size,
    help="an array (n_frames, n_channels)",
    order=2,
)
NPZ = RecordingFormat(
    name="npz",
    suffixes=(".npz",),
    read=read_npz,
    takes_key=True,
    expected_size=_npz_size,
    help="the array `X`, the one named by `--key` or the only one, with `rate`, `channels`, `time` if any",
    order=3,
)
