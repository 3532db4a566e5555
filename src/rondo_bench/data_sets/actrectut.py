"""ActRecTut (Bulling, Blanke and Schiele, ACM Computing Surveys 2014): walking and gestures of two subjects.

github.com/andreas-bulling/ActRecTut (now codeberg.org/andreas-bulling/ActRecTut), GPL 3. A folder
`Data/subject1_walk` holds a file per sensor and the labels, numbers between blanks:

    S111.dat S112.dat S125.dat S131.dat   seconds, sensor, counter, acceleration x y z, turning rate x y z
    labels.dat                            seconds, the key that was held (about 16 a second)
    data.mat                              what the authors made of it: `data` and `labels` (1 is NULL)

The sensors run at about 32 Hz (the documentation says 32, the paper 42), each at its own, jittering times. The
paper's 200,693 frames are the rows of the four S111.dat, so those are the clock here, and the other sensors are
interpolated onto it; the four data.mat have 197,227 rows. S112 was not worn for gestures: its six channels, which
make the paper's 24, are 0 there.

Keys are ASCII codes: 49 to 53 are the five ways of walking; 49 to 57, 48 and 39 the eleven gestures; 0, 32 and a few
stray codes are NULL. That makes 17 classes, as the paper has them. Where the .dat are missing data.mat is read as it
is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.mat_file import read_mat
from rondo_bench.data_sets.number_table import read_numbers

RATE = 32.0
SENSORS = ("S131", "S111", "S125", "S112")
CHANNELS = tuple(f"{sensor}_{kind}_{axis}" for sensor in SENSORS for kind in ("acc", "gyr") for axis in "xyz")
GESTURES = (
    "Open window", "Drink", "Water plant", "Close window", "Cut", "Chop", "Stir", "Book", "Forehand", "Backhand",
    "Smash",
)  # fmt: skip
WALKS = ("sitting", "standing", "walk horizontal", "walk down", "walk up")
CLASSES = ("NULL", *GESTURES, *WALKS)
_KEYS = {"walk": (49, 50, 51, 52, 53), "gesture": (49, 50, 51, 52, 53, 54, 55, 56, 57, 48, 39)}
_FIRST_CLASS = {"walk": 1 + len(GESTURES), "gesture": 1}
IDS = tuple(f"subject{subject}_{kind}" for kind in ("walk", "gesture") for subject in (1, 2))
_CLOCK, _WHAT, _N_COLUMNS = "S111", "ActRecTut", 9


def find_files(folder: Path) -> list[Path]:
    """The four recordings, each a folder of files."""
    for place in (folder, folder / "Data", folder / "ActRecTut-master" / "Data", folder / "ActRecTut" / "Data"):
        found = [place / name for name in IDS if _has_sensors(place / name) or (place / name / "data.mat").is_file()]
        if found:
            return found
    return []


def read_recording(path: Path) -> Recording:
    """One folder, without its labels."""
    if not _has_sensors(path):
        note = "from data.mat: the sensor files, by whose rows the paper counts, are not there"
        return Recording(read_mat(path / "data.mat", "data", _WHAT), RATE, None, path.name, notes=(note,))
    clock = _clock(path)
    values = np.zeros((clock.size, len(CHANNELS)), dtype=np.float32)
    for i, sensor in enumerate(SENSORS):
        file = path / f"{sensor}.dat"
        if file.is_file():
            rows = read_numbers(file, _N_COLUMNS, [0, *range(3, 9)], _WHAT)
            for j in range(6):
                values[:, 6 * i + j] = np.interp(clock, rows[:, 0], rows[:, 1 + j])
    return Recording(values, RATE, CHANNELS, path.name)


def read_annotation(path: Path) -> Annotation:
    """The class of each frame: the key held last, or what data.mat says."""
    kind = path.name.rsplit("_", 1)[-1]
    if kind not in _KEYS:
        raise AnnotationError(f"{path}: expected a folder whose name ends in _walk or _gesture, as in {_WHAT}")
    if not _has_sensors(path):
        return _from_mat(path, kind)
    labels, clock = read_numbers(path / "labels.dat", 2, [0, 1], _WHAT), _clock(path)
    held = np.searchsorted(labels[:, 0], clock, side="right") - 1
    keys = np.where(held >= 0, labels[np.maximum(held, 0), 1], 0)
    classes = np.zeros(clock.size, dtype=np.int64)
    for i, key in enumerate(_KEYS[kind]):
        classes[keys == key] = _FIRST_CLASS[kind] + i
    return Annotation(classes, CLASSES, id=path.name)


def _from_mat(path: Path, kind: str) -> Annotation:
    numbers = read_mat(path / "data.mat", "labels", _WHAT).ravel().astype(np.int64)
    if numbers.min() < 1 or numbers.max() > 1 + len(_KEYS[kind]):
        raise AnnotationError(f"{path / 'data.mat'}: labels from {numbers.min()} to {numbers.max()}, expected 1 and up")
    classes = np.where(numbers == 1, 0, numbers - 2 + _FIRST_CLASS[kind])
    return Annotation(classes, CLASSES, id=path.name)


def _clock(path: Path) -> NDArray[Any]:
    times = read_numbers(path / f"{_CLOCK}.dat", _N_COLUMNS, [0], _WHAT)[:, 0]
    if not np.isfinite(times).all():
        raise RecordingError(f"{path / _CLOCK}.dat: a row has no time; get the file again")
    return times


def _has_sensors(path: Path) -> bool:
    return (path / f"{_CLOCK}.dat").is_file() and (path / "labels.dat").is_file()
