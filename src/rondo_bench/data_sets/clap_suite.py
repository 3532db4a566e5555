"""TSSB, UTSA and SKAB as the CLaP paper (arXiv 2504.01783) has them: series in which states follow each other.

github.com/ermshaua/classification-label-profile, BSD-3. Give --data the clone, its folder `datasets`, or the folder
that holds the clone. Of the folders `datasets/TSSB` (75 series), `UTSA` (32) and `SKAB` (34) each has two files of
lines between commas, one for each series, and the series:

    desc.txt         name, period, then the row at which each segment but the first begins
    properties.txt   name, then the state of each segment; in TSSB `true`, a label cut and a rate stand between, and a
                     state is its number divided by label cut + 1, rounded down
    NAME.txt         one number in a row (TSSB, UTSA), or
    data.npz         an array (n_frames, n_channels) for each name (SKAB, 8 channels)

States are numbers, local to a series; no rate is given. The period is annotation, which some methods of the paper
were told: nothing here reads it.
"""

from __future__ import annotations

import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.number_table import read_numbers

_SEGMENTS, _STATES, _ARRAYS = "desc.txt", "properties.txt", "data.npz"
_BEFORE_CHANGES, _BEFORE_STATES, _BEFORE_STATES_OF_TSSB = 2, 1, 4  # columns


def find_files(folder: Path) -> list[Path]:
    """NAME.txt of the series that are described, or data.npz/NAME for an array in that file."""
    if not ((folder / _SEGMENTS).is_file() and (folder / _STATES).is_file()):
        return []
    names = [row[0] for row in _rows(folder / _SEGMENTS) if row[0] == Path(row[0]).name]
    has_arrays = (folder / _ARRAYS).is_file()
    paths = [(folder / f"{name}.txt", folder / _ARRAYS / name) for name in names]
    return [text if text.is_file() else array for text, array in paths if text.is_file() or has_arrays]


def recording_id(path: Path) -> str:
    """The name of the series.

    >>> recording_id(Path("UTSA/Cane.txt")), recording_id(Path("SKAB/data.npz/SKAB_other_1"))
    ('Cane', 'SKAB_other_1')
    """
    return path.name.removesuffix(".txt")


def read_recording(path: Path) -> Recording:
    """One series, without its states and without its period."""
    if path.parent.name != _ARRAYS:
        return Recording(read_numbers(path, 1, [0], "the CLaP paper's data sets"), id=recording_id(path))
    try:
        with np.load(path.parent, allow_pickle=False) as arrays:
            values = arrays[path.name]
    except KeyError:
        raise RecordingError(f"{path.parent}: it has no array '{path.name}', which {_SEGMENTS} names") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise RecordingError(f"{path.parent}: '{path.name}' cannot be read ({error}); get the file again") from None
    return Recording(values, id=path.name)


def read_annotation(path: Path) -> Annotation:
    """The state of each row."""
    folder = path.parents[1] if path.parent.name == _ARRAYS else path.parent
    id, n_frames = recording_id(path), read_recording(path).n_frames
    changes = _whole_numbers(folder / _SEGMENTS, id, _row_of(folder / _SEGMENTS, id)[_BEFORE_CHANGES:])
    bounds = [0, *changes, n_frames]
    if any(start >= stop for start, stop in pairwise(bounds)):
        raise AnnotationError(
            f"{folder / _SEGMENTS}: segments of '{id}' begin at {changes}, expected rising numbers below its "
            f"{n_frames} rows; get the file again"
        )
    states = _states(folder / _STATES, id)
    if len(states) != len(changes) + 1:
        raise AnnotationError(
            f"{folder / _STATES}: '{id}' has {len(states)} states, in {_SEGMENTS} {len(changes) + 1} segments"
        )
    return Annotation(np.repeat(states, np.diff(bounds)), id=id)


def _states(path: Path, id: str) -> list[int]:
    row = _row_of(path, id)
    if len(row) > 1 and row[1] in ("true", "false"):
        (label_cut,) = _whole_numbers(path, id, row[2:3]) or (0,)
        return [state // (label_cut + 1) for state in _whole_numbers(path, id, row[_BEFORE_STATES_OF_TSSB:])]
    return _whole_numbers(path, id, row[_BEFORE_STATES:])


def _rows(path: Path) -> list[list[str]]:
    """The cells of each line; a line may end in a comma, which has no cell behind it."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise AnnotationError(f"{path}: cannot be read ({error.strerror})") from None
    return [[cell.strip() for cell in line.rstrip(", ").split(",")] for line in lines if line.strip(", ")]


def _row_of(path: Path, id: str) -> list[str]:
    row = next((row for row in _rows(path) if row[0] == id), None)
    if row is None:
        raise AnnotationError(f"{path}: there is no line of '{id}'; get the file again")
    return row


def _whole_numbers(path: Path, id: str, cells: list[str]) -> list[int]:
    odd = next((cell for cell in cells if not cell.isdecimal()), None)
    if odd is not None:
        raise AnnotationError(f"{path}: '{id}' has '{odd}' where a whole number is expected; get the file again")
    return [int(cell) for cell in cells]
