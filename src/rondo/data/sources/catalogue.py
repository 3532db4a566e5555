"""The data sets that Rondo knows by name: counts and windows as the paper gives them, or as counted in the files."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from rondo.errors import SettingError


@dataclass(frozen=True)
class DataSet:
    """Facts about one data set; `window` and `step` are frames."""

    name: str
    title: str
    n_recordings: int
    n_frames: int
    n_channels: int
    n_classes: int
    rate: float | None
    window: int
    step: int
    source: str  # of the facts
    about: str


DATA_SETS = (
    DataSet("mocap", "CMU motion capture 86", 9, 65_611, 4, 9, None, 256, 50, "paper", "exercises, four limb angles"),
    DataSet("actrectut", "ActRecTut", 4, 200_693, 24, 17, 32.0, 90, 30, "paper", "walking and gestures, worn IMUs"),
    DataSet("pamap2", "PAMAP2 Protocol", 8, 2_864_056, 40, 13, 100.0, 200, 100, "paper", "daily life, three IMUs"),
    DataSet("drive_act", "Drive&Act, 3D pose", 29, 1_222_442, 104, 13, 30.0, 90, 30, "paper", "in-car activities"),
    DataSet("opportunity", "OPPORTUNITY", 24, 869_387, 242, 5, 30.3, 30, 15, "paper", "daily life, body and objects"),
    DataSet("lara", "LARa v3, MbientLab IMU", 193, 2_224_452, 30, 8, 100.0, 200, 50, "paper", "logistics, five IMUs"),
    DataSet("openpack", "OpenPack sample", 2, 102_072, 24, 11, 30.0, 90, 30, "counted", "packing, two label levels"),
    DataSet("usc_had", "USC-HAD", 14, 2_811_490, 6, 12, 100.0, 200, 100, "counted", "daily life, one IMU"),
    DataSet("hugadb", "HuGaDB, one recording", 1, 3_142, 38, 4, 60.0, 90, 30, "counted", "gait, six IMUs and two EMGs"),
)  # fmt: skip

_FOLDERS = {
    "mocap": "MoCap",
    "actrectut": "ActRecTut",
    "openpack": "OpenPack",
    "usc_had": "USC-HAD",
    "hugadb": "HuGaDB",
}


def find_data_set(name: str) -> DataSet:
    """The data set of that name, whatever its case and punctuation."""
    wanted = _plain(name)
    known = {_plain(data_set.name): data_set for data_set in DATA_SETS}
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1)
    names = ", ".join(data_set.name for data_set in DATA_SETS)
    hint = f"did you mean '{known[near[0]].name}'?" if near else f"known are {names}"
    raise SettingError(f"unknown data set '{name}'; {hint}")


def local_files(data_set: DataSet, data_dir: Path | None = None) -> list[Path]:
    """Recordings of a local copy under `data_dir` (None: there is no copy), one .npz each; often none."""
    if data_dir is None:
        return []
    if not data_dir.is_dir():
        raise SettingError(f"{data_dir}: no such folder of data sets; check --data or the variable RONDO_DATA")
    for folder in (_FOLDERS.get(data_set.name, data_set.name), data_set.name):
        files = sorted((data_dir / folder).glob("*.npz"))
        if files:
            return files
    return []


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
