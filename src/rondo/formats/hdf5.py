"""HDF5 (.h5), read with h5py (extra `io`).

A file of HDF5 can name others: links to them, numbers that lie in them, datasets put together from theirs. None of
these is read: who sends a file must not choose what else is read on this machine. Poses of
SLEAP, DeepLabCut, movement and NWB are read as such (`rondo.formats.pose_hdf5`); other tables of pandas hold pickles
and are refused: loading must run no code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files import arrays
from rondo.files.arrays import (
    TIME_KEYS,
    Tile,
    description_of,
    found_key,
    is_rate_name,
    only_array,
    recording_of,
    table_shape,
)
from rondo.files.crash_guard import refuse_fatal
from rondo.files.extras import optional_library
from rondo.files.reading import Reading, RecordingFormat
from rondo.formats.hdf5_places import lies_elsewhere, refuse_elsewhere
from rondo.formats.pose_hdf5 import pose_in, pose_recording
from rondo.memory import refuse_large_array


def read_hdf5(path: Path, reading: Reading) -> Recording:
    """The recording in an HDF5 file: the dataset `X`, the one that `key` names (`group/name`), or the only one.

    A damaged chunk or heap can crash the HDF5 library: so the file is tried in a child first.
    """
    optional_library("h5py", "Reading HDF5")
    call = f"reader.Reading(key={reading.key!r})"
    trial = f"import pathlib, {__name__} as reader; reader.untried_hdf5(pathlib.Path(path), {call})"
    refuse_fatal(path, "h5py", trial)
    return untried_hdf5(path, reading)


def untried_hdf5(path: Path, reading: Reading) -> Recording:
    """`read_hdf5`, for a file that ends no process."""
    import h5py

    key = reading.key
    with h5py.File(path, "r") as file:
        names: list[str] = []
        of_pandas: list[str] = []

        def visit(name: str, item: Any) -> None:  # follows no link
            names.extend([name] if isinstance(item, h5py.Dataset) else [])
            of_pandas.extend([name] if "pandas_type" in item.attrs else [])

        file.visititems(visit)
        if key is None and (pose := pose_in(file)) is not None:
            return pose_recording(pose, path.stem, reading)
        if key is None and of_pandas:
            raise RecordingError(
                "it is a table of pandas, whose names are pickled and never loaded, and no pose of DeepLabCut; make a "
                ".csv: pandas.read_hdf(…).to_csv(…)"
            )
        name = _chosen(file, names, None if key is None else key.strip("/"))
        dataset = file[name]
        refuse_elsewhere(dataset, name)
        shape = table_shape(tuple(dataset.shape or ()), dataset.dtype, f"dataset '{name}'")
        refuse_large_array(*shape)
        about = description_of(_beside(file, name, names), reading.rate)
        return recording_of(shape, _hdf5_tiles(dataset, *shape), about, path.stem, reading)


def _chosen(file: Any, names: Sequence[str], key: str | None) -> str:
    if key is not None and key not in names:
        _refuse_external_link(file, key)
    if key is not None or "X" in names:
        return found_key(key, names)
    inside = [name for name in names if not lies_elsewhere(file[name])] or names[:1]
    for name in inside:
        refuse_elsewhere(file[name], name)
    return only_array({name: (tuple(file[name].shape or ()), file[name].dtype) for name in inside})


def _refuse_external_link(file: Any, key: str) -> None:
    import h5py

    parts = key.split("/")
    for end in range(1, len(parts) + 1):
        path = "/".join(parts[:end])
        link = file.get(path, getlink=True) if path in file.get("/".join(parts[: end - 1]) or "/", ()) else None
        if isinstance(link, h5py.ExternalLink):
            raise RecordingError(f"'{path}' leads to another file, and only this one is read; name that file instead")
        if not isinstance(link, h5py.HardLink):
            return


def _beside(file: Any, name: str, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """What the datasets and attributes around an array say about it, the nearest last."""
    group = name.rpartition("/")[0]
    found: dict[str, NDArray[Any]] = {}
    for place in dict.fromkeys(("", group)):
        siblings = [path for path in names if path.rpartition("/")[0] == place and path != name]
        for path in siblings:
            said = path.rpartition("/")[2]
            said = "rate" if is_rate_name(said) else said
            if said in ("rate", "channels", *TIME_KEYS):
                refuse_elsewhere(file[path], path)
                found[said] = np.asarray(file[path][()])
    for attributes in (file.attrs, file[group].attrs if group else {}, file[name].attrs):
        found |= {"channels": np.asarray(attributes["channels"])} if "channels" in attributes else {}
        rates = [said for said in attributes if is_rate_name(said)]
        found |= {"rate": np.asarray(attributes[rates[0]])} if rates else {}
    return found


def _hdf5_tiles(dataset: Any, n_frames: int, n_columns: int) -> Iterator[Tile]:
    """Pieces that follow the chunks in which the data lie, so that no chunk is unpacked twice."""
    chunk_rows, chunk_columns = (*(dataset.chunks or (1, n_columns)), 1)[:2]
    n_numbers = arrays.BLOCK_BYTES // dataset.dtype.itemsize
    rows = chunk_rows * max(1, n_numbers // (chunk_rows * n_columns))
    width = chunk_columns * max(1, n_numbers // (rows * chunk_columns))
    for start in range(0, n_frames, rows):
        for column in range(0, n_columns, width):
            band = slice(start, min(start + rows, n_frames))
            part = slice(column, min(column + width, n_columns))
            block = dataset[band] if len(dataset.shape) == 1 else dataset[band, part]
            yield band, part, np.asarray(block).reshape(band.stop - band.start, -1)


FORMAT = RecordingFormat(
    name="hdf5",
    suffixes=(".h5", ".hdf5", ".slp", ".nwb", ".nc"),
    read=read_hdf5,
    takes_key=True,
    extra="io",
    help="poses of SLEAP, DeepLabCut, movement, NWB; else the dataset `X`, the one named by `--key` or the only one, "
    "with `rate`, `channels`, `time` if any",
    order=4,
)
