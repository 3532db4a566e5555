"""CMU motion capture, subject 86, in four channels: the files that Time2State and AutoPlait are compared on.

`data/MoCap/4d/amc_86_01.4d` of github.com/Lab-ANT/Time2State (MIT licence; the captures of mocap.cs.cmu.edu are free
for all uses) has four numbers in a row between blanks: an angle of the left and right upper arm and thigh. Nine
recordings are annotated, 65,611 rows in all, the paper's count. No rate is given there (the captures were made at 120
Hz, the paper prints none).

The labels are no file but a table in Time2State's scripts (`evaluate.py` beside the data): the row at which each
segment ends, and its class. Class numbers are local to a recording and have no names; there are up to 9 in one, which
is the paper's number of classes.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError
from rondo_bench.data_sets.number_table import read_numbers

CHANNELS = ("lhumerus", "rhumerus", "lfemur", "rfemur")
SEGMENTS = {  # recording: (first row after the segment, class) of each
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


def find_files(folder: Path) -> list[Path]:
    """The nine annotated recordings, in a folder or where the repository has them in it."""
    for place in (folder, folder / "4d", folder / "data" / "MoCap" / "4d", folder / "Time2State-main/data/MoCap/4d"):
        found = [place / f"{name}.4d" for name in SEGMENTS if (place / f"{name}.4d").is_file()]
        if found:
            return found
    return []


def read_recording(path: Path) -> Recording:
    """One capture, without its segments."""
    return Recording(read_numbers(path, len(CHANNELS), range(len(CHANNELS)), "MoCap"), None, CHANNELS, path.stem)


def read_annotation(path: Path) -> Annotation:
    """The class of each row, from the table."""
    if path.stem not in SEGMENTS:
        raise AnnotationError(f"{path}: there is no annotation of '{path.stem}'; known are {', '.join(SEGMENTS)}")
    segments = SEGMENTS[path.stem]
    lengths = [stop - start for start, stop in pairwise((0, *(stop for stop, _ in segments)))]
    return Annotation(np.repeat([number for _, number in segments], lengths), id=path.stem)
