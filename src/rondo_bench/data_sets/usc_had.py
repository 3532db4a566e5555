"""USC-HAD (Zhang and Sawchuk, UbiComp 2012): twelve daily activities of fourteen subjects, one IMU at the hip.

sipi.usc.edu/had/USC-HAD.zip, for research use, with citation of the paper. A folder `Subject1` to `Subject14` has a
file for each trial, `a3t2.mat` being activity 3, trial 2: its variable `sensor_readings` (n, 6) holds acceleration x
y z in g and turning rate x y z in degrees per second, 100 rows a second. There are five trials of each of twelve
activities.

A trial is one activity from beginning to end. For discovery they are put one after the other, trial 1 of activities 1
to 12, then trial 2 and so on, as Time2State does it; the joins are artificial. 2,811,490 rows in all (counted; the
set is not in the paper). The
activity is taken from the name of the file: one of the 840 spells its variable `activity_number` otherwise.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo_bench.data_sets.mat_file import mat_shape, read_mat

RATE = 100.0
CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")
CLASSES = (
    "-", "walk forward", "walk left", "walk right", "walk up-stairs", "walk down-stairs", "run forward", "jump up",
    "sit on chair", "stand", "sleep", "elevator up", "elevator down",
)  # fmt: skip
IDS = tuple(f"subject{number:02d}" for number in range(1, 15))
_WHAT, _READINGS = "USC-HAD", "sensor_readings"
_TRIAL = re.compile(r"a(\d+)t(\d+)\.mat", re.IGNORECASE)


def find_files(folder: Path) -> list[Path]:
    """The folders of the subjects, in a folder or where the published archive has them in it."""
    for place in (folder, folder / "USC-HAD"):
        found = [place / f"Subject{number}" for number in range(1, 15) if (place / f"Subject{number}").is_dir()]
        if found:
            return found
    return []


def recording_id(path: Path) -> str:
    """`subject01` for the folder Subject1.

    >>> recording_id(Path("USC-HAD/Subject1"))
    'subject01'
    """
    return f"subject{int(path.name.removeprefix('Subject')):02d}"


def read_recording(path: Path) -> Recording:
    """The trials of one subject, one after the other."""
    trials = [read_mat(file, _READINGS, _WHAT) for _, file in _trials(path)]
    odd = next((trial.shape for trial in trials if trial.ndim != 2 or trial.shape[1] != len(CHANNELS)), None)
    if odd is not None:
        raise RecordingError(f"{path}: a trial has readings of shape {odd}, expected (n, {len(CHANNELS)})")
    return Recording(np.concatenate(trials), RATE, CHANNELS, recording_id(path))


def read_annotation(path: Path) -> Annotation:
    """The activity of each frame, from the names and lengths of the files."""
    lengths = [mat_shape(file, _READINGS, _WHAT)[0] for _, file in _trials(path)]
    classes = np.repeat([activity for activity, _ in _trials(path)], lengths)
    return Annotation(classes, CLASSES, id=recording_id(path))


def _trials(path: Path) -> list[tuple[int, Path]]:
    """Activity and file of each trial, in the order in which they are put together."""
    found = [(match, file) for file in path.iterdir() if (match := _TRIAL.fullmatch(file.name))]
    trials = sorted((int(match[2]), int(match[1]), file) for match, file in found)
    if not trials:
        raise RecordingError(f"{path}: no trials in it; expected files like a1t1.mat, as in {_WHAT}")
    unknown = next((activity for _, activity, _ in trials if not 1 <= activity < len(CLASSES)), None)
    if unknown is not None:
        raise RecordingError(f"{path}: a trial of activity {unknown}; {_WHAT} has activities 1 to {len(CLASSES) - 1}")
    return [(activity, file) for _, activity, file in trials]
