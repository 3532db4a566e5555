"""HDF5 (.h5), read with h5py (extra `io`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import MissingExtraError
from rondo.formats import array_files
from rondo.formats.array_files import TIME_KEYS, Tile, description_of, found_key, recording_of, table_shape
from rondo.formats.crash_guard import refuse_fatal
from rondo.formats.recording_format import RecordingFormat


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
        name = found_key(key if key is None else key.strip("/"), names)
        dataset = file[name]
        shape = table_shape(tuple(dataset.shape or ()), dataset.dtype, f"dataset '{name}'")
        beside = {said: np.asarray(file[said][()]) for said in ("rate", "channels", *TIME_KEYS) if said in names}
        for attributes in (file.attrs, dataset.attrs):
            beside |= {said: np.asarray(attributes[said]) for said in ("rate", "channels") if said in attributes}
        about = description_of(beside, rate)
        return recording_of(shape, _hdf5_tiles(dataset, *shape), about, path.stem, rate, label_columns)


def _hdf5_tiles(dataset: Any, n_frames: int, n_columns: int) -> Iterator[Tile]:
    """Pieces that follow the chunks in which the data lie, so that no chunk is unpacked twice."""
    chunk_rows, chunk_columns = (*(dataset.chunks or (1, n_columns)), 1)[:2]
    n_numbers = array_files.BLOCK_BYTES // dataset.dtype.itemsize
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


FORMAT = RecordingFormat(
    name="hdf5",
    suffixes=(".h5", ".hdf5"),
    read=read_hdf5,
    takes_key=True,
    extra="io",
    help="the dataset `X` or the one named by `--key`, with `rate`, `channels`, `time` if any",
    order=4,
)
