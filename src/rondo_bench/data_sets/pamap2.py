"""PAMAP2 Physical Activity Monitoring (Reiss and Stricker, ISWC 2012), the Protocol files as they are published.

A row of `Protocol/subject101.dat` has 54 numbers, a hundred rows a second; NaN where a wireless sensor was silent:

    1 time in seconds   2 activity   3 heart rate (about 9 a second)   4-20 hand   21-37 chest   38-54 ankle

and each IMU its temperature, acceleration up to 16 g, acceleration up to 6 g, turning rate, magnetic field (three axes
each) and an orientation that is not valid in this collection. Without time, activity and orientations that leaves the
40 channels of the paper; its experiments take nine of them, ACCELERATION. Activity 0 is what lies between activities:
it is a class like the others, so that every row counts (2,864,056 in subjects 101 to 108, as the paper has it).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo_bench.data_sets.number_table import files_in, named_annotation, read_numbers, refuse_unknown, timed_recording

RATE = 100.0
IDS = tuple(f"subject{number}" for number in range(101, 109))  # the paper leaves out 109, who did little
_WHAT, _N_COLUMNS, _TIME, _ACTIVITY = "PAMAP2", 54, 0, 1
_IMUS = {"hand": 3, "chest": 20, "ankle": 37}
_SENSORS = ("temp", *(f"{sensor}{axis}" for sensor in ("acc16", "acc6", "gyr", "mag") for axis in "xyz"))
_COLUMNS = {"heart_rate": 2} | {
    f"{place}_{sensor}": first + i for place, first in _IMUS.items() for i, sensor in enumerate(_SENSORS)
}
CHANNELS = tuple(_COLUMNS)
ACCELERATION = tuple(name for name in CHANNELS if "acc16" in name)
CLASSES = {
    0: "other", 1: "lying", 2: "sitting", 3: "standing", 4: "walking", 5: "running", 6: "cycling", 7: "Nordic walking",
    9: "watching TV", 10: "computer work", 11: "car driving", 12: "ascending stairs", 13: "descending stairs",
    16: "vacuum cleaning", 17: "ironing", 18: "folding laundry", 19: "house cleaning", 20: "playing soccer",
    24: "rope jumping",
}  # fmt: skip


def find_files(folder: Path) -> list[Path]:
    """The Protocol files of the subjects of the paper, in a folder or where the published archive has them in it."""
    return files_in(folder, ("Protocol", "PAMAP2_Dataset/Protocol"), IDS)


def read_recording(path: Path, channels: Sequence[str] = CHANNELS) -> Recording:
    """One subject, without the activities."""
    refuse_unknown(channels, CHANNELS, _WHAT)
    numbers = read_numbers(path, _N_COLUMNS, [_TIME, *(_COLUMNS[name] for name in channels)], _WHAT)
    return timed_recording(path, numbers[:, 1:], numbers[:, 0], RATE, channels)


def read_annotation(path: Path) -> Annotation:
    """The activity of each row of that subject, for evaluation."""
    classes = read_numbers(path, _N_COLUMNS, [_ACTIVITY], _WHAT)[:, 0]
    return named_annotation(path, classes, CLASSES, "activity", _WHAT)
