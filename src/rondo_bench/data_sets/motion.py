"""Motion capture: MoCap and MoCap6.

MoCap, CMU motion capture, subject 86: `data/MoCap/4d/amc_86_01.4d` of github.com/Lab-ANT/Time2State (MIT licence; the
captures of mocap.cs.cmu.edu are free for all uses) has four numbers in a row between blanks, an angle of the left and
right upper arm and thigh. Nine recordings are annotated, 65,611 rows in all, the paper's count. No rate is given there
(the captures were made at 120 Hz, the paper prints none). The labels are a table in Time2State's scripts
(`evaluate.py`): the row at which each segment ends, and its class, local to a recording and without a name.

MoCap6, six captures of two people doing exercises, twelve joint angles at 10 Hz (Fox et al., AOAS 2014):
`bnpy/datasets/mocap6/dataset.npz` of github.com/bnpy/bnpy. Give --data the clone, or a folder that holds the clone or a
folder `mocap6` with that file. Its arrays:

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
from rondo_bench.data_sets.tables import Reader, first_found, read_numbers

MOCAP_CHANNELS = ("lhumerus", "rhumerus", "lfemur", "rfemur")
MOCAP_SEGMENTS = {  # recording: (first row after the segment, class) of each
    "amc_86_01": ((588, 0), (1200, 1), (2006, 0), (2530, 2), (3282, 0), (4048, 3), (4579, 2)),
    "amc_86_02": (
        (1009, 0), (1882, 1), (2677, 2), (3158, 3), (4688, 4), (5963, 0), (7327, 5), (8887, 6), (9632, 7), (10617, 0),
    ),
    "amc_86_03": ((872, 0), (1938, 1), (2448, 2), (3470, 0), (4632, 3), (5372, 4), (6182, 5), (7089, 6), (8401, 0)),
    "amc_86_07": (
        (1060, 0), (1897, 1), (2564, 2), (3665, 1), (4405, 2), (5169, 3), (5804, 4), (6962, 0), (7806, 5), (8702, 0),
    ),
    "amc_86_08": (
        (1062, 0), (1904, 1), (2661, 2), (3282, 3), (3963, 4), (4754, 5), (5673, 6), (6362, 4), (7144, 7), (8139, 8),
        (9206, 0),
    ),
    "amc_86_09": ((921, 0), (1275, 1), (2139, 2), (2887, 3), (3667, 4), (4794, 0)),
    "amc_86_10": ((2003, 0), (3720, 1), (4981, 0), (5646, 2), (6641, 3), (7583, 0)),
    "amc_86_11": ((1231, 0), (1693, 1), (2332, 2), (2762, 1), (3386, 3), (4015, 2), (4665, 1), (5674, 0)),
    "amc_86_14": ((671, 0), (1913, 1), (2931, 0), (4134, 2), (5051, 0), (5628, 1), (6055, 2)),
}  # fmt: skip


def read_mocap(path: Path) -> Recording:
    return Recording(read_numbers(path, 4, range(4), "MoCap"), None, MOCAP_CHANNELS, path.stem)


def mocap_annotation(path: Path) -> Annotation:
    if path.stem not in MOCAP_SEGMENTS:
        raise AnnotationError(f"{path}: there is no annotation of '{path.stem}'; known are {', '.join(MOCAP_SEGMENTS)}")
    segments = MOCAP_SEGMENTS[path.stem]
    lengths = [stop - start for start, stop in pairwise((0, *(stop for stop, _ in segments)))]
    return Annotation(np.repeat([number for _, number in segments], lengths), id=path.stem)


MOCAP6_IDS = ("13_29", "13_30", "13_31", "14_06", "14_14", "14_20")  # subject and trial, in the order of the file
MOCAP6_RATE = 10.0
_FILE = "dataset.npz"


def find_mocap6(folder: Path) -> list[Path]:
    """dataset.npz/ID for each of the six captures in that file."""
    return [folder / _FILE / id for id in MOCAP6_IDS] if (folder / _FILE).is_file() else []


def read_mocap6(path: Path) -> Recording:
    values, columns = (_array(path, name) for name in ("X", "column_names"))
    start, stop = _range(path, len(values))
    return Recording(values[start:stop], MOCAP6_RATE, tuple(_names(columns)), path.name)


def mocap6_annotation(path: Path) -> Annotation:
    classes, names = (_array(path, name) for name in ("TrueZ", "true_state_names"))
    start, stop = _range(path, len(classes))
    own = classes[start:stop]
    if own.dtype.kind not in "iu" or own.min() < 0 or own.max() > names.size:
        raise AnnotationError(
            f"{path.parent}: 'TrueZ' of {path.name} must be numbers from 0 to {names.size}; get the file again"
        )
    return Annotation(own.astype(np.int64), ("none", *_names(names)), id=path.name)


def _range(path: Path, n_rows: int) -> tuple[int, int]:
    bounds = _array(path, "doc_range").tolist()
    rising = all(start < stop for start, stop in pairwise(bounds))
    if len(bounds) != len(MOCAP6_IDS) + 1 or not rising or (bounds[0], bounds[-1]) != (0, n_rows):
        raise RecordingError(
            f"{path.parent}: 'doc_range' is {bounds}, expected {len(MOCAP6_IDS) + 1} rising numbers up to {n_rows}; "
            "get the file again"
        )
    number = MOCAP6_IDS.index(path.name)
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


find_mocap = first_found(
    ("4d", "data/MoCap/4d", "Time2State-main/data/MoCap/4d"), [f"{name}.4d" for name in MOCAP_SEGMENTS]
)
READERS = {
    "mocap": Reader(find_mocap, read_mocap, mocap_annotation),
    "mocap6": Reader(find_mocap6, read_mocap6, mocap6_annotation, lambda path: path.name, comes_first=True),
}
