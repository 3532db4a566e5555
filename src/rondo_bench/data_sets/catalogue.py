"""The data sets that Rondo knows by name: counts and windows as the paper gives them, or as counted in the files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rondo.errors import SettingError
from rondo.wording import near_match


@dataclass(frozen=True)
class Listing:
    """Facts about one data set; `window` and `step` are frames, or come from the data."""

    name: str
    title: str
    n_recordings: int
    n_frames: int
    n_channels: int
    n_classes: int
    rate: float | None
    window: int | Literal["auto"]
    step: int | Literal["auto"]
    source: str  # of the facts
    about: str
    repository: str = ""  # whose clone holds it
    inside: str = ""  # its folder in the clone; under `datasets` unless given
    rate_source: str = ""  # where it is not that of the other facts

    @property
    def sources(self) -> str:
        return f"{self.source}; rate: {self.rate_source}" if self.rate_source else self.source


CLAP = "classification-label-profile"
_WORN = ("paper", "walking and gestures, worn IMUs", "", "", "of the files' own clock, the paper says 42 Hz")
_BNPY = ("counted", "exercises, twelve joint angles", "bnpy", "bnpy/datasets/mocap6")
DATA_SETS = (
    Listing("mocap", "CMU motion capture 86", 9, 65_611, 4, 9, None, 256, 50, "paper", "exercises, four limb angles"),
    Listing("actrectut", "ActRecTut", 4, 200_693, 24, 17, 32.0, 90, 30, *_WORN),
    Listing("pamap2", "PAMAP2 Protocol", 8, 2_864_056, 40, 13, 100.0, 200, 100, "paper", "daily life, three IMUs"),
    Listing("drive_act", "Drive&Act, 3D pose", 29, 1_222_442, 104, 13, 30.0, 90, 30, "paper", "in-car activities"),
    Listing("opportunity", "OPPORTUNITY", 24, 869_387, 242, 5, 30.3, 30, 15, "paper", "daily life, body and objects"),
    Listing("lara", "LARa v3, MbientLab IMU", 193, 2_224_452, 30, 8, 100.0, 200, 50, "paper", "logistics, five IMUs"),
    Listing("openpack", "OpenPack sample", 2, 102_072, 24, 11, 30.0, 90, 30, "counted", "packing, two label levels"),
    Listing("usc_had", "USC-HAD", 14, 2_811_490, 6, 12, 100.0, 200, 100, "counted", "daily life, one IMU"),
    Listing("hugadb", "HuGaDB, one recording", 1, 3_142, 38, 4, 60.0, 90, 30, "counted", "gait, six IMUs and two EMGs"),
    Listing("tssb", "TSSB", 75, 359_497, 1, 8, None, "auto", "auto", "counted", "shapes of the UCR archive", CLAP),
    Listing("utsa", "UTSA", 32, 422_320, 1, 3, None, "auto", "auto", "counted", "medicine, animals, machines", CLAP),
    Listing("skab", "SKAB", 34, 37_401, 8, 2, None, "auto", "auto", "counted", "water circuit with faults", CLAP),
    Listing("mocap6", "MoCap6", 6, 2_058, 12, 12, 10.0, "auto", "auto", *_BNPY),
)  # fmt: skip


def find_data_set(name: str) -> Listing:
    """The data set of that name, whatever its case and punctuation."""
    wanted = _plain(name)
    known = {_plain(data_set.name): data_set for data_set in DATA_SETS}
    if wanted in known:
        return known[wanted]
    near = near_match(wanted, known)
    names = ", ".join(data_set.name for data_set in DATA_SETS)
    hint = f"did you mean '{known[near].name}'?" if near else f"known are {names}"
    raise SettingError(f"unknown data set '{name}'; {hint}")


def is_known(name: str) -> bool:
    """Whether a data set is called so, whatever the case and punctuation."""
    return any(_plain(one.name) == _plain(name) for one in DATA_SETS)


def folders_of(known: Listing, data_dir: Path) -> list[Path]:
    """Folders called like the data set, whatever the case and punctuation, in `data_dir` or in its repository there."""
    places = [data_dir]
    clones = [data_dir, *sorted(data_dir.glob(f"{known.repository}*"))] if known.repository else []
    if known.repository and not known.inside:
        places += [clone / "datasets" for clone in clones if (clone / "datasets").is_dir()]
    found = (sorted(place.iterdir()) for place in places)
    named = [path for paths in found for path in paths if _plain(path.name) == _plain(known.name) and path.is_dir()]
    inside = [clone / known.inside for clone in clones if known.inside and (clone / known.inside).is_dir()]
    return list(dict.fromkeys(named + inside))


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
