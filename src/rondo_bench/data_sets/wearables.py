"""Sets of sensors that people wear, as they are published: PAMAP2, OPPORTUNITY, USC-HAD, HuGaDB, ActRecTut.

PAMAP2 (Reiss and Stricker, ISWC 2012): a row of `Protocol/subject101.dat` has 54 numbers, a hundred rows a second; NaN
where a wireless sensor was silent:

    1 time in seconds   2 activity   3 heart rate (about 9 a second)   4-20 hand   21-37 chest   38-54 ankle

and each IMU its temperature, acceleration up to 16 g and up to 6 g, turning rate, magnetic field (three axes each) and
an orientation that is not valid. Without time, activity and orientations that leaves the 40 channels of the paper, of
which its experiments take nine (the acceleration up to 16 g). Activity 0, between activities, is a class like the
others, so that every row counts (2,864,056 in subjects 101 to 108, as the paper has it).

OPPORTUNITY (Chavarriaga et al., Pattern Recognition Letters 2013), the UCI files: a row of `dataset/S1-ADL1.dat` has
250 numbers, NaN where a sensor was silent. Their order, as in `column_names.txt` beside the files:

    1 milliseconds   2-37 twelve accelerometers on the body   38-102 five IMUs (back, upper and lower arms)
    103-134 an IMU on each shoe   135-194 twelve objects   195-207 reed switches   208-231 eight accelerometers in the
    room   232-243 four location tags   244-250 seven tracks of labels

Without time and labels that leaves the 242 channels of the paper. Its 5 classes are those of the track Locomotion.
Every subject has five ADL runs and a Drill: 24 recordings, 869,387 rows.

USC-HAD (Zhang and Sawchuk, UbiComp 2012; sipi.usc.edu/had/USC-HAD.zip, for research use): one IMU at the hip of
fourteen subjects. `Subject1/a3t2.mat` is activity 3, trial 2; its variable `sensor_readings` (n, 6) holds acceleration
in g and turning rate in degrees per second, 100 rows a second. The five trials of twelve activities are put one after
the other, trial 1 of activities 1 to 12, then trial 2 and so on, as Time2State does it. 2,811,490 rows in all (counted;
the set is not in the paper). The activity is in the name of the file: one of the 840 misspells its variable.

HuGaDB (Chereshnev and Kertész-Farkas, AIST 2017; github.com/romanchereshnev/HuGaDB, free for research): gait of
eighteen people. `HuGaDB_v2_various_01_00.txt` is activity, participant, counter. A file has three lines of comment, a
line of names, then 39 numbers in a row between tabs: for the right foot, shin and thigh and the left ones acceleration
and turning rate (int16, up to 2 g and 2000 degrees per second), two EMGs, and the activity. About 60 rows a second (the
documentation gives 2,111,962 rows in 35,903 seconds, 58.8). Not in the paper.

ActRecTut (Bulling, Blanke and Schiele, ACM Computing Surveys 2014; codeberg.org/andreas-bulling/ActRecTut, GPL 3):
walking and gestures of two subjects. A folder `Data/subject1_walk` holds numbers between blanks:

    S111.dat S112.dat S125.dat S131.dat   seconds, sensor, counter, acceleration x y z, turning rate x y z
    labels.dat                            seconds, the key that was held (about 16 a second)
    data.mat                              what the authors made of it: `data` and `labels` (1 is NULL)

The sensors run at about 32 Hz (the documentation says 32, the paper 42), each at its own, jittering times. The paper's
200,693 frames are the rows of the four S111.dat, so those are the clock here, and the other sensors are interpolated
onto it. S112 was not worn for gestures: its six channels, which make the paper's 24, are 0 there. Keys are ASCII codes:
49 to 53 are the five ways of walking; 49 to 57, 48 and 39 the eleven gestures; 0, 32 and a few stray codes are NULL:
17 classes, as the paper has them. Where the .dat are missing data.mat is read as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.tables import (
    Reader,
    first_found,
    mat_shape,
    numbered,
    read_columns,
    read_mat,
    read_numbers,
    timed_recording,
)

PAMAP2_RATE = 100.0
PAMAP2_IDS = tuple(f"subject{number}" for number in range(101, 109))  # the paper leaves out 109, who did little
_PAMAP2, _PAMAP2_COLUMNS = "PAMAP2", 54
_PAMAP2_IMUS = {"hand": 3, "chest": 20, "ankle": 37}
_PAMAP2_SENSORS = ("temp", *(f"{sensor}{axis}" for sensor in ("acc16", "acc6", "gyr", "mag") for axis in "xyz"))
_PAMAP2_COLUMN_OF = {"heart_rate": 2} | {
    f"{place}_{sensor}": first + i for place, first in _PAMAP2_IMUS.items() for i, sensor in enumerate(_PAMAP2_SENSORS)
}
PAMAP2_CHANNELS = tuple(_PAMAP2_COLUMN_OF)
PAMAP2_CLASSES = {
    0: "other", 1: "lying", 2: "sitting", 3: "standing", 4: "walking", 5: "running", 6: "cycling", 7: "Nordic walking",
    9: "watching TV", 10: "computer work", 11: "car driving", 12: "ascending stairs", 13: "descending stairs",
    16: "vacuum cleaning", 17: "ironing", 18: "folding laundry", 19: "house cleaning", 20: "playing soccer",
    24: "rope jumping",
}  # fmt: skip


def read_pamap2(path: Path) -> Recording:
    numbers = read_numbers(path, _PAMAP2_COLUMNS, [0, *_PAMAP2_COLUMN_OF.values()], _PAMAP2)
    return timed_recording(path, numbers[:, 1:], numbers[:, 0], PAMAP2_RATE, PAMAP2_CHANNELS)


def pamap2_annotation(path: Path) -> Annotation:
    classes = read_numbers(path, _PAMAP2_COLUMNS, [1], _PAMAP2)[:, 0]
    return numbered(classes, PAMAP2_CLASSES, path.stem, path, _PAMAP2, "activity")


OPPORTUNITY_RATE = 30.0  # of the documentation; the times in the files are more exact (the paper prints 30.3)
_OPPORTUNITY, _OPPORTUNITY_COLUMNS = "OPPORTUNITY", 250
_ON_BODY = ("RKN^", "HIP", "LUA^", "RUA_", "LH", "BACK", "RKN_", "RWR", "RUA^", "LUA_", "LWR", "RH")
_OPPORTUNITY_IMUS, _SHOES = ("BACK", "RUA", "RLA", "LUA", "LLA"), ("L-SHOE", "R-SHOE")
_OBJECTS = (
    "CUP", "SALAMI", "WATER", "CHEESE", "BREAD", "KNIFE1", "MILK", "SPOON", "SUGAR", "KNIFE2", "PLATE", "GLASS",
)  # fmt: skip
_SWITCHES = (
    "DISHWASHER S1", "FRIDGE S3", "FRIDGE S2", "FRIDGE S1", "MIDDLEDRAWER S1", "MIDDLEDRAWER S2", "MIDDLEDRAWER S3",
    "LOWERDRAWER S3", "LOWERDRAWER S2", "UPPERDRAWER", "DISHWASHER S3", "LOWERDRAWER S1", "DISHWASHER S2",
)  # fmt: skip
_IN_ROOM = ("DOOR1", "LAZYCHAIR", "DOOR2", "DISHWASHER", "UPPERDRAWER", "LOWERDRAWER", "MIDDLEDRAWER", "FRIDGE")
_XYZ = ("X", "Y", "Z")
_SHOE_SENSORS = (
    *(f"Eu{axis}" for axis in _XYZ), *(f"{frame}_A{axis}" for frame in ("Nav", "Body") for axis in "xyz"),
    *(f"AngVel{frame}Frame{axis}" for frame in ("Body", "Nav") for axis in _XYZ), "Compass",
)  # fmt: skip


def _channel_names() -> Iterator[str]:
    """In the order of the columns, as the documentation spells them."""
    accelerations = [f"acc{axis}" for axis in _XYZ]
    imu = [f"{sensor}{axis}" for sensor in ("acc", "gyro", "magnetic") for axis in _XYZ]
    imu += [f"Quaternion{i}" for i in range(1, 5)]
    parts: list[tuple[str, Sequence[str], Sequence[str]]] = [
        ("Accelerometer", _ON_BODY, accelerations),
        ("InertialMeasurementUnit", _OPPORTUNITY_IMUS, imu),
        ("InertialMeasurementUnit", _SHOES, _SHOE_SENSORS),
        ("Accelerometer", _OBJECTS, [*accelerations, "gyroX", "gyroY"]),
    ]
    for kind, places, sensors in parts:
        yield from (f"{kind} {place} {sensor}" for place in places for sensor in sensors)
    yield from (f"REED SWITCH {place}" for place in _SWITCHES)
    yield from (f"Accelerometer {place} {sensor}" for place in _IN_ROOM for sensor in accelerations)
    yield from (f"LOCATION TAG{number} {axis}" for number in range(1, 5) for axis in _XYZ)


OPPORTUNITY_CHANNELS = tuple(_channel_names())
OPPORTUNITY_IDS = tuple(
    f"S{subject}-{run}" for subject in range(1, 5) for run in ("ADL1", "ADL2", "ADL3", "ADL4", "ADL5", "Drill")
)
LOCOMOTION = {0: "other", 1: "stand", 2: "walk", 4: "sit", 5: "lie"}


def read_opportunity(path: Path) -> Recording:
    numbers = read_numbers(path, _OPPORTUNITY_COLUMNS, range(1 + len(OPPORTUNITY_CHANNELS)), _OPPORTUNITY)
    return timed_recording(path, numbers[:, 1:], numbers[:, 0] / 1000, OPPORTUNITY_RATE, OPPORTUNITY_CHANNELS)


def opportunity_annotation(path: Path) -> Annotation:
    """The locomotion of each row, the first track of labels, under its published number."""
    classes = read_numbers(path, _OPPORTUNITY_COLUMNS, [1 + len(OPPORTUNITY_CHANNELS)], _OPPORTUNITY)[:, 0]
    return numbered(classes, LOCOMOTION, path.stem, path, _OPPORTUNITY, "locomotion")


USC_HAD_RATE = 100.0
USC_HAD_CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")
USC_HAD_CLASSES = (
    "-", "walk forward", "walk left", "walk right", "walk up-stairs", "walk down-stairs", "run forward", "jump up",
    "sit on chair", "stand", "sleep", "elevator up", "elevator down",
)  # fmt: skip
USC_HAD_IDS = tuple(f"subject{number:02d}" for number in range(1, 15))
_USC_HAD, _READINGS = "USC-HAD", "sensor_readings"
_TRIAL = re.compile(r"a(\d+)t(\d+)\.mat", re.IGNORECASE)


def usc_had_id(path: Path) -> str:
    """`subject01` for the folder Subject1."""
    return f"subject{int(path.name.removeprefix('Subject')):02d}"


def read_usc_had(path: Path) -> Recording:
    trials = [read_mat(file, _READINGS, _USC_HAD) for _, file in _trials(path)]
    odd = next((trial.shape for trial in trials if trial.ndim != 2 or trial.shape[1] != len(USC_HAD_CHANNELS)), None)
    if odd is not None:
        raise RecordingError(f"{path}: a trial has readings of shape {odd}, expected (n, {len(USC_HAD_CHANNELS)})")
    return Recording(np.concatenate(trials), USC_HAD_RATE, USC_HAD_CHANNELS, usc_had_id(path))


def usc_had_annotation(path: Path) -> Annotation:
    """The activity of each frame, from the names and lengths of the files."""
    lengths = [mat_shape(file, _READINGS, _USC_HAD)[0] for _, file in _trials(path)]
    classes = np.repeat([activity for activity, _ in _trials(path)], lengths)
    return Annotation(classes, USC_HAD_CLASSES, id=usc_had_id(path))


def _trials(path: Path) -> list[tuple[int, Path]]:
    """Activity and file of each trial, in the order in which they are put together."""
    found = [(match, file) for file in path.iterdir() if (match := _TRIAL.fullmatch(file.name))]
    trials = sorted((int(match[2]), int(match[1]), file) for match, file in found)
    if not trials:
        raise RecordingError(f"{path}: no trials in it; expected files like a1t1.mat, as in {_USC_HAD}")
    unknown = next((activity for _, activity, _ in trials if not 1 <= activity < len(USC_HAD_CLASSES)), None)
    if unknown is not None:
        raise RecordingError(
            f"{path}: a trial of activity {unknown}; {_USC_HAD} has activities 1 to {len(USC_HAD_CLASSES) - 1}"
        )
    return [(activity, file) for _, activity, file in trials]


HUGADB_RATE = 60.0
HUGADB_CLASSES = {
    1: "walking", 2: "running", 3: "going up", 4: "going down", 5: "sitting", 6: "sitting down", 7: "standing up",
    8: "standing", 9: "bicycling", 10: "up by elevator", 11: "down by elevator", 12: "sitting in car",
}  # fmt: skip
HUGADB_CHANNELS = (
    *(f"{kind}_{side}{part}_{axis}" for side in "rl" for part in "fst" for kind in ("acc", "gyro") for axis in "xyz"),
    "EMG_r", "EMG_l",
)  # fmt: skip
_HUGADB, _N_COMMENTS = "HuGaDB", 3
_HUGADB_NAME = re.compile(r"(?:HuGaDB|HGD)_v(\d+)_(.+)\.txt", re.IGNORECASE)


def find_hugadb(folder: Path) -> list[Path]:
    """The recordings in a folder and the folders in it; of two versions of one the later."""
    versions = [(int(match[1]), path) for path in folder.rglob("*.txt") if (match := _HUGADB_NAME.fullmatch(path.name))]
    latest = {hugadb_id(path): path for _, path in sorted(versions)}
    return [latest[name] for name in sorted(latest)]


def hugadb_id(path: Path) -> str:
    """`various_01_00` for HuGaDB_v2_various_01_00.txt."""
    match = _HUGADB_NAME.fullmatch(path.name)
    return match[2] if match else path.stem


def read_hugadb(path: Path) -> Recording:
    return Recording(
        read_columns(path, HUGADB_CHANNELS, _HUGADB, "\t", _N_COMMENTS), HUGADB_RATE, HUGADB_CHANNELS, hugadb_id(path)
    )


def hugadb_annotation(path: Path) -> Annotation:
    activities = read_columns(path, ["act"], _HUGADB, "\t", _N_COMMENTS)[:, 0]
    return numbered(activities, HUGADB_CLASSES, hugadb_id(path), path, _HUGADB)


ACTRECTUT_RATE = 32.0
SENSORS = ("S131", "S111", "S125", "S112")
ACTRECTUT_CHANNELS = tuple(f"{sensor}_{kind}_{axis}" for sensor in SENSORS for kind in ("acc", "gyr") for axis in "xyz")
GESTURES = (
    "Open window", "Drink", "Water plant", "Close window", "Cut", "Chop", "Stir", "Book", "Forehand", "Backhand",
    "Smash",
)  # fmt: skip
WALKS = ("sitting", "standing", "walk horizontal", "walk down", "walk up")
ACTRECTUT_CLASSES = ("NULL", *GESTURES, *WALKS)
_KEYS = {"walk": (49, 50, 51, 52, 53), "gesture": (49, 50, 51, 52, 53, 54, 55, 56, 57, 48, 39)}
_FIRST_CLASS = {"walk": 1 + len(GESTURES), "gesture": 1}
ACTRECTUT_IDS = tuple(f"subject{subject}_{kind}" for kind in ("walk", "gesture") for subject in (1, 2))
_CLOCK, _ACTRECTUT, _ACTRECTUT_COLUMNS = "S111", "ActRecTut", 9


def find_actrectut(folder: Path) -> list[Path]:
    find = first_found(("Data", "ActRecTut-master/Data", "ActRecTut/Data"), ACTRECTUT_IDS)
    return [path for path in find(folder) if _has_sensors(path) or (path / "data.mat").is_file()]


def read_actrectut(path: Path) -> Recording:
    if not _has_sensors(path):
        note = "from data.mat: the sensor files, by whose rows the paper counts, are not there"
        return Recording(
            read_mat(path / "data.mat", "data", _ACTRECTUT), ACTRECTUT_RATE, None, path.name, notes=(note,)
        )
    clock = _actrectut_clock(path)
    values = np.zeros((clock.size, len(ACTRECTUT_CHANNELS)), dtype=np.float32)
    for i, sensor in enumerate(SENSORS):
        file = path / f"{sensor}.dat"
        if file.is_file():
            rows = read_numbers(file, _ACTRECTUT_COLUMNS, [0, *range(3, 9)], _ACTRECTUT)
            for j in range(6):
                values[:, 6 * i + j] = np.interp(clock, rows[:, 0], rows[:, 1 + j])
    return Recording(values, ACTRECTUT_RATE, ACTRECTUT_CHANNELS, path.name)


def actrectut_annotation(path: Path) -> Annotation:
    """The class of each frame: the key held last, or what data.mat says."""
    kind = path.name.rsplit("_", 1)[-1]
    if kind not in _KEYS:
        raise AnnotationError(f"{path}: expected a folder whose name ends in _walk or _gesture, as in {_ACTRECTUT}")
    if not _has_sensors(path):
        return _from_mat(path, kind)
    labels, clock = read_numbers(path / "labels.dat", 2, [0, 1], _ACTRECTUT), _actrectut_clock(path)
    held = np.searchsorted(labels[:, 0], clock, side="right") - 1
    keys = np.where(held >= 0, labels[np.maximum(held, 0), 1], 0)
    classes = np.zeros(clock.size, dtype=np.int64)
    for i, key in enumerate(_KEYS[kind]):
        classes[keys == key] = _FIRST_CLASS[kind] + i
    return Annotation(classes, ACTRECTUT_CLASSES, id=path.name)


def _from_mat(path: Path, kind: str) -> Annotation:
    numbers = read_mat(path / "data.mat", "labels", _ACTRECTUT).ravel().astype(np.int64)
    if numbers.min() < 1 or numbers.max() > 1 + len(_KEYS[kind]):
        raise AnnotationError(f"{path / 'data.mat'}: labels from {numbers.min()} to {numbers.max()}, expected 1 and up")
    classes = np.where(numbers == 1, 0, numbers - 2 + _FIRST_CLASS[kind])
    return Annotation(classes, ACTRECTUT_CLASSES, id=path.name)


def _actrectut_clock(path: Path) -> NDArray[Any]:
    times = read_numbers(path / f"{_CLOCK}.dat", _ACTRECTUT_COLUMNS, [0], _ACTRECTUT)[:, 0]
    if not np.isfinite(times).all():
        raise RecordingError(f"{path / _CLOCK}.dat: a row has no time; get the file again")
    return times


def _has_sensors(path: Path) -> bool:
    return (path / f"{_CLOCK}.dat").is_file() and (path / "labels.dat").is_file()


find_pamap2 = first_found(("Protocol", "PAMAP2_Dataset/Protocol"), [f"{id}.dat" for id in PAMAP2_IDS])
find_opportunity = first_found(("dataset", "OpportunityUCIDataset/dataset"), [f"{id}.dat" for id in OPPORTUNITY_IDS])
find_usc_had = first_found(("USC-HAD",), [f"Subject{number}" for number in range(1, 15)])
READERS = {
    "pamap2": Reader(find_pamap2, read_pamap2, pamap2_annotation),
    "opportunity": Reader(find_opportunity, read_opportunity, opportunity_annotation),
    "usc_had": Reader(find_usc_had, read_usc_had, usc_had_annotation, usc_had_id),
    "hugadb": Reader(find_hugadb, read_hugadb, hugadb_annotation, hugadb_id),
    "actrectut": Reader(find_actrectut, read_actrectut, actrectut_annotation),
}
