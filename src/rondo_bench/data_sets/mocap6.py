"""MoCap6: six motion captures of two people doing exercises, twelve joint angles at 10 Hz (Fox et al., AOAS 2014).

`bnpy/datasets/mocap6/dataset.npz` of github.com/bnpy/bnpy, a copy of github.com/michaelchughes/mocap6dataset. Give
--data the clone, or a folder that holds the clone or a folder `mocap6` with that file. Its arrays:

    X                  (2058, 12), all captures one after the other
    doc_range          (7,) the row at which each capture begins, and the end
    TrueZ              (2058,) the exercise of each row, from 1 on
    true_state_names   the names of exercises 1, 2, ...
    column_names       of the channels
"""

from __future__ import annotations

import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError

IDS = ("13_29", "13_30", "13_31", "14_06", "14_14", "14_20")  # subject and trial, in the order of the file
RATE = 10.0
_FILE = "dataset.npz"
_NO_EXERCISE = "none"


def find_files(folder: Path) -> list[Path]:
    """dataset.npz/ID for each of the six captures in that file."""
    return [folder / _FILE / id for id in IDS] if (folder / _FILE).is_file() else []


def recording_id(path: Path) -> str:
    """Subject and trial."""
    return path.name


def read_recording(path: Path) -> Recording:
    """One capture, without its exercises."""
    values, columns = (_array(path, name) for name in ("X", "column_names"))
    start, stop = _range(path, len(values))
    return Recording(values[start:stop], RATE, tuple(_names(columns)), path.name)


def read_annotation(path: Path) -> Annotation:
    """The exercise of each row, with its name."""
    classes, names = (_array(path, name) for name in ("TrueZ", "true_state_names"))
    start, stop = _range(path, len(classes))
    own = classes[start:stop]
    if own.dtype.kind not in "iu" or own.min() < 0 or own.max() > names.size:
        raise AnnotationError(
            f"{path.parent}: 'TrueZ' of {path.name} must be numbers from 0 to {names.size}; get the file again"
        )
    return Annotation(own.astype(np.int64), (_NO_EXERCISE, *_names(names)), id=path.name)


def _range(path: Path, n_rows: int) -> tuple[int, int]:
    bounds = _array(path, "doc_range").tolist()
    rising = all(start < stop for start, stop in pairwise(bounds))
    if len(bounds) != len(IDS) + 1 or not rising or (bounds[0], bounds[-1]) != (0, n_rows):
        raise RecordingError(
            f"{path.parent}: 'doc_range' is {bounds}, expected {len(IDS) + 1} rising numbers from 0 to {n_rows}; "
            "get the file again"
        )
    number = IDS.index(path.name)
    return bounds[number], bounds[number + 1]


def _array(path: Path, name: str) -> NDArray[Any]:
    try:
        with np.load(path.parent, allow_pickle=False) as arrays:
            return np.asarray(arrays[name])
    except KeyError:
        raise RecordingError(f"{path.parent}: it has no array '{name}', as MoCap6 of bnpy has; get it again") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise RecordingError(f"{path.parent}: '{name}' cannot be read ({error}); get the file again") from None


def _names(names: NDArray[Any]) -> list[str]:
    """Stored as bytes by Python 2."""
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names.tolist()]
