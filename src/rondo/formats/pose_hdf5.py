"""Poses in HDF5: analysis files of SLEAP are read; tables of pandas, as DeepLabCut stores them, hold pickles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.formats.expected_memory import refuse_large_array

_AXES = ("x", "y", "z")


def refuse_pandas(file: Any) -> None:
    """Refuse a file that pandas wrote: the names of its columns are pickled, and loading must run no code."""
    if any("pandas_type" in item.attrs for item in file.values()):
        raise RecordingError(
            "it is a table of pandas, as DeepLabCut writes it, whose names are pickled and never loaded; give the .csv "
            "that DeepLabCut writes too, or make one: pandas.read_hdf(…).to_csv(…)"
        )


def is_sleap(file: Any) -> bool:
    """Whether it is an analysis file of SLEAP: `tracks` (tracks, axes, nodes, frames) and the names of nodes."""
    if "tracks" not in file or "node_names" not in file:
        return False
    shape: tuple[int, ...] = getattr(file["tracks"], "shape", ())
    return len(shape) == 4 and shape[1] in (2, 3) and shape[2] == file["node_names"].shape[0]


def sleap_table(file: Any) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """One row per frame, columns `nose.x`, `nose.y`, …, with the track before them where there are several."""
    n_tracks, n_axes, n_nodes, n_frames = file["tracks"].shape
    refuse_large_array(n_frames, n_tracks * n_axes * n_nodes)
    nodes, tracks = (_names(file, key) for key in ("node_names", "track_names"))
    tracks = tracks if len(tracks) == n_tracks else tuple(f"track{i}" for i in range(n_tracks))
    names = [
        f"{track}.{node}.{axis}" if n_tracks > 1 else f"{node}.{axis}"
        for track in tracks
        for node in nodes
        for axis in _AXES[:n_axes]
    ]
    stored = np.asarray(file["tracks"][()], dtype=np.float32)
    return np.ascontiguousarray(stored.transpose(3, 0, 2, 1)).reshape(n_frames, -1), tuple(names)


def _names(file: Any, key: str) -> tuple[str, ...]:
    stored = file[key][()].ravel().tolist() if key in file else []
    return tuple(name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in stored)
