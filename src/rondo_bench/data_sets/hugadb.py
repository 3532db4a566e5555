"""HuGaDB (Chereshnev and Kertész-Farkas, AIST 2017): gait of eighteen people, six IMUs and two EMGs on the legs.

github.com/romanchereshnev/HuGaDB, free for research with citation of the paper; the archive lies on its authors'
Dropbox and Google Drive. `HuGaDB_v2_various_01_00.txt` is activity, participant, counter; version 2 has better
labels. A file has three lines of comment, a line of names, then 39 numbers in a row between tabs: for the right foot,
shin and thigh and the left ones acceleration x y z and turning rate x y z (int16, up to 2 g and 2000 degrees per
second), two EMGs, and the activity. About 60 rows a second (the documentation gives 2,111,962 rows in 35,903 seconds,
58.8). Not in the paper.
"""

from __future__ import annotations

import re
from pathlib import Path

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo_bench.data_sets.header_table import read_columns
from rondo_bench.data_sets.spans import numbered

RATE = 60.0
CLASSES = {
    1: "walking", 2: "running", 3: "going up", 4: "going down", 5: "sitting", 6: "sitting down", 7: "standing up",
    8: "standing", 9: "bicycling", 10: "up by elevator", 11: "down by elevator", 12: "sitting in car",
}  # fmt: skip
CHANNELS = (
    *(f"{kind}_{side}{part}_{axis}" for side in "rl" for part in "fst" for kind in ("acc", "gyro") for axis in "xyz"),
    "EMG_r", "EMG_l",
)  # fmt: skip
_WHAT, _N_COMMENTS = "HuGaDB", 3
_NAME = re.compile(r"(?:HuGaDB|HGD)_v(\d+)_(.+)\.txt", re.IGNORECASE)


def find_files(folder: Path) -> list[Path]:
    """The recordings in a folder and the folders in it; of two versions of one the later."""
    versions = [(int(match[1]), path) for path in folder.rglob("*.txt") if (match := _NAME.fullmatch(path.name))]
    latest = {recording_id(path): path for _, path in sorted(versions)}
    return [latest[name] for name in sorted(latest)]


def recording_id(path: Path) -> str:
    """The name without the version.

    >>> recording_id(Path("HuGaDB_v2_various_01_00.txt"))
    'various_01_00'
    """
    match = _NAME.fullmatch(path.name)
    return match[2] if match else path.stem


def read_recording(path: Path) -> Recording:
    """One recording, without its activities."""
    return Recording(read_columns(path, CHANNELS, _WHAT, "\t", _N_COMMENTS), RATE, CHANNELS, recording_id(path))


def read_annotation(path: Path) -> Annotation:
    """The activity of each row."""
    activities = read_columns(path, ["act"], _WHAT, "\t", _N_COMMENTS)[:, 0]
    return numbered(activities, CLASSES, recording_id(path), path)
