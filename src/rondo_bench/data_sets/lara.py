"""LARa, version 3 (Niemann et al., Sensors 2020): picking and packing in a warehouse, the five MbientLab IMUs.

zenodo.org/records/8189341, under the Creative Commons licence that its page names. `S07/L01_S07_R01.csv` is scenario,
subject, recording; subjects 7 to 14 wore these IMUs. Per recording two csv with a header, one row for each hundredth
of a second in both:

    L01_S07_R01.csv          Time (a date), then for left arm, left leg, neck, right arm, right leg (LA LL N RA RL)
                             AccelerometerX Y Z (g) and GyroscopeX Y Z (degrees per second): the paper's 30 channels
    L01_S07_R01_labels.csv   Class, then 19 attributes of 0 and 1 (I-A_GaitCycle ... VI-A_Error)

The paper counts 193 recordings with 2,224,452 rows and all 8 classes, None among them. Rows are counted at 100 Hz.
Layout and names are those that the authors' own tools read; no file of version 3 was at hand when this was written,
so let `rondo datasets verify lara` speak.
"""

from __future__ import annotations

import re
from pathlib import Path

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo_bench.data_sets.header_table import read_columns
from rondo_bench.data_sets.spans import numbered

RATE = 100.0
SUBJECTS = range(7, 15)
CHANNELS = tuple(
    f"{place}_{sensor}{axis}"
    for place in ("LA", "LL", "N", "RA", "RL")
    for sensor in ("Accelerometer", "Gyroscope")
    for axis in "XYZ"
)
CLASSES = {
    0: "standing", 1: "walking", 2: "cart", 3: "handling upwards", 4: "handling centred", 5: "handling downwards",
    6: "synchronization", 7: "none",
}  # fmt: skip
_WHAT = "LARa"
_NAME = re.compile(r"L\d\d_S(\d\d)_R\d\d")


def find_files(folder: Path) -> list[Path]:
    """The annotated recordings of subjects 7 to 14, wherever in the folder the archive puts them."""
    found: dict[str, Path] = {}
    for labels in sorted(folder.rglob("L*_labels.csv")):
        stem = labels.stem.removesuffix("_labels")
        match, path = _NAME.fullmatch(stem), labels.with_name(f"{stem}.csv")
        if match and int(match[1]) in SUBJECTS and path.is_file():
            found.setdefault(stem, path)
    return [found[stem] for stem in sorted(found)]


def read_recording(path: Path) -> Recording:
    """One recording, without its labels."""
    return Recording(read_columns(path, CHANNELS, _WHAT), RATE, CHANNELS, path.stem)


def read_annotation(path: Path) -> Annotation:
    """The activity of each row."""
    labels = path.with_name(f"{path.stem}_labels.csv")
    return numbered(read_columns(labels, ["Class"], _WHAT)[:, 0], CLASSES, path.stem, labels)
