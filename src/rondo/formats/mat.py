"""MATLAB files (.mat): version 5 to 7 with scipy, version 7.3, which is HDF5, with h5py (extra `io`).

One array of numbers is read, whatever its name: variables of other classes (structs, cells, functions, objects, tables)
are not loaded, but for `channels`, a cell of names. MATLAB keeps signals in rows as often as in columns, so the longer
side of an array is that of the frames. A number called `fs`, `srate`, `sampling_rate` … is the rate, a vector called
`t` or `time` with one number for each frame is the clock.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.arrays import TIME_KEYS, description_of, is_rate_name, only_array, recording_of, table_shape
from rondo.files.crash_guard import refuse_fatal
from rondo.files.extras import marked_head, optional_library
from rondo.files.reading import Reading, RecordingFormat, listed
from rondo.formats.hdf5_places import refuse_elsewhere
from rondo.memory import refuse_large_array

_NUMBERS = frozenset({
    "double", "single", "logical", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
})  # fmt: skip
_CLOCKS = (*TIME_KEYS, "t")
_CHANNELS = ("channels", "channel_names", "channelNames")
_LONGEST_NAME = 200


class Variable(NamedTuple):
    """What a file says of a variable before it is loaded."""

    shape: tuple[int, ...]
    kind: str  # MATLAB's class


def read_mat(path: Path, reading: Reading) -> Recording:
    """The array called `key`, or the only one."""
    head = marked_head(path, 128, lambda head: head.startswith(b"MATLAB "), "MATLAB file (version 5 or later)")
    is_hdf5 = head.startswith(b"MATLAB 7.3")
    if is_hdf5:
        optional_library("h5py", "Reading .mat of version 7.3")
    call = f"reader.Reading(key={reading.key!r})"
    trial = f"import pathlib, {__name__} as reader; reader.untried(pathlib.Path(path), {is_hdf5}, {call})"
    refuse_fatal(path, "h5py" if is_hdf5 else "scipy.io", trial)  # a few wrong bits end scipy's reader too
    return untried(path, is_hdf5, reading)


def untried(path: Path, is_hdf5: bool, reading: Reading) -> Recording:
    """`read_mat`, for a file that ends no process."""
    if not is_hdf5:
        return _recording(_Version5(path), path.stem, reading)
    import h5py

    with h5py.File(path, "r") as file:
        return _recording(_Version73(file), path.stem, reading)


def _recording(contents: _Version5 | _Version73, id: str, reading: Reading) -> Recording:
    variables = contents.variables
    name = _chosen(variables, reading.key)
    n_rows, n_columns = table_shape(variables[name].shape, np.dtype(float), f"array '{name}'")
    is_lying = n_columns > n_rows
    shape = (n_columns, n_rows) if is_lying else (n_rows, n_columns)
    refuse_large_array(*shape)
    stored = contents.numbers(name)
    values = stored.reshape(n_rows, n_columns).T if is_lying else stored.reshape(n_rows, n_columns)
    about = description_of(_beside(contents, name, shape), reading.rate)
    if is_lying and n_rows > 1:
        said = f"array '{name}' is {n_rows} x {n_columns}: its longer side is taken for frames"
        about = about._replace(notes=(said, *about.notes))
    tiles = iter([(slice(0, shape[0]), slice(0, shape[1]), values)])
    return recording_of(shape, tiles, about, id, reading)


def _chosen(variables: Mapping[str, Variable], key: str | None) -> str:
    numbers = {name: found for name, found in variables.items() if found.kind in _NUMBERS}
    described = listed([f"{name} ({found.kind})" for name, found in variables.items()])
    if key is not None and key not in numbers:
        kind = f", which is a {variables[key].kind}" if key in variables else ""
        raise RecordingError(
            f"there is no array '{key}' of numbers in it{kind}; it has: {described}; name one with key (--key)"
        )
    if key is not None or "X" in numbers:
        return key or "X"
    if not numbers:
        raise RecordingError(
            f"it holds no array of numbers, only: {described}; save the array itself, or a table with "
            "writetable as .csv"
        )
    able = {name: found for name, found in numbers.items() if not (name == "t" and len(numbers) > 1)}
    return only_array({name: (found.shape, np.dtype(float)) for name, found in able.items()})


def _beside(contents: _Version5 | _Version73, name: str, shape: tuple[int, int]) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for other, (other_shape, kind) in contents.variables.items():
        size = int(np.prod(other_shape))
        if other == name:
            continue
        if kind in _NUMBERS and size == 1 and is_rate_name(other):
            found["rate"] = contents.numbers(other).ravel()
        elif kind in _NUMBERS and other.casefold() in _CLOCKS and size == shape[0]:
            found["time"] = contents.numbers(other).ravel()
        elif kind in ("cell", "char") and other in _CHANNELS and (kind == "char" or size == shape[1]):
            found["channels"] = np.array(contents.texts(other))
    return found


class _Version5:
    def __init__(self, path: Path) -> None:
        from scipy.io import whosmat

        self._path = path
        self.variables = {name: Variable(tuple(shape), kind) for name, shape, kind in whosmat(str(path))}

    def numbers(self, name: str) -> NDArray[Any]:
        return np.asarray(self._loaded(name))

    def texts(self, name: str) -> list[str]:
        return ["".join(np.asarray(cell).ravel().tolist()).strip() for cell in self._loaded(name).ravel()]

    def _loaded(self, name: str) -> Any:
        """One variable, and no other."""
        from scipy.io import loadmat

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of variables that are there twice
            return loadmat(str(self._path), variable_names=[name])[name]


class _Version73:
    """Datasets of HDF5 with the name of MATLAB's class in an attribute, and their axes in the other order."""

    def __init__(self, file: Any) -> None:
        import h5py

        self._file = file
        inside = {name: file[name] for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)}
        self.variables = {
            name: Variable(tuple(getattr(item, "shape", ()) or ())[::-1], _class_of(item))
            for name, item in inside.items()
            if not name.startswith("#")
        }

    def numbers(self, name: str) -> NDArray[Any]:
        dataset = self._file[name]
        refuse_elsewhere(dataset, name)
        return np.asarray(dataset[()]).T

    def texts(self, name: str) -> list[str]:
        dataset = self._file[name]
        refuse_elsewhere(dataset, name)
        if self.variables[name].kind == "char":
            return [_text(row) for row in np.asarray(dataset[()]).T]
        cells = [self._file[reference] for reference in np.asarray(dataset[()]).ravel()]
        for cell in cells:
            refuse_elsewhere(cell, name)
        return [_text(cell[()]) if cell.size <= _LONGEST_NAME else "" for cell in cells]


def _class_of(item: Any) -> str:
    if not hasattr(item, "dtype"):
        return "struct"
    said = item.attrs.get("MATLAB_class", b"")
    return said.decode("ascii", "replace") if isinstance(said, bytes) else str(said)


def _text(codes: Any) -> str:
    return "".join(map(chr, np.asarray(codes).ravel().tolist())).strip()


FORMAT = RecordingFormat(
    name="mat",
    suffixes=(".mat",),
    read=read_mat,
    takes_key=True,
    extra="io",
    help="MATLAB: the array `X`, the one named by `--key` or the only one, with `fs`, `t`, `channels` if any",
    order=4,
)
