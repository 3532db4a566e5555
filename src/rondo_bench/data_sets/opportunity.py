"""OPPORTUNITY (Chavarriaga et al., Pattern Recognition Letters 2013), the UCI files as they are published.

A row of `dataset/S1-ADL1.dat` has 250 numbers, NaN where a sensor was silent. Their order, as `column_names.txt` beside
the files has it:

    1 milliseconds   2-37 twelve accelerometers on the body   38-102 five IMUs (back, upper and lower arms)
    103-134 an IMU on each shoe   135-194 twelve objects   195-207 reed switches   208-231 eight accelerometers in the
    room   232-243 four location tags   244-250 seven tracks of labels

Without time and labels that leaves the 242 channels of the paper, which projects them on 54 axes. Its classes are those
of the track Locomotion: standing, walking, sitting, lying, and 0 for none of them, 5 in all. Every subject has five ADL
runs and a Drill: 24 recordings, 869,387 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError
from rondo_bench.data_sets.number_table import files_in, named_annotation, read_numbers, refuse_unknown, timed_recording

RATE = 30.0  # of the documentation; the times in the files are more exact (the paper prints 30.3)
_WHAT, _N_COLUMNS, _TIME = "OPPORTUNITY", 250, 0
_ON_BODY = ("RKN^", "HIP", "LUA^", "RUA_", "LH", "BACK", "RKN_", "RWR", "RUA^", "LUA_", "LWR", "RH")
_IMUS, _SHOES = ("BACK", "RUA", "RLA", "LUA", "LLA"), ("L-SHOE", "R-SHOE")
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
        ("InertialMeasurementUnit", _IMUS, imu),
        ("InertialMeasurementUnit", _SHOES, _SHOE_SENSORS),
        ("Accelerometer", _OBJECTS, [*accelerations, "gyroX", "gyroY"]),
    ]
    for kind, places, sensors in parts:
        yield from (f"{kind} {place} {sensor}" for place in places for sensor in sensors)
    yield from (f"REED SWITCH {place}" for place in _SWITCHES)
    yield from (f"Accelerometer {place} {sensor}" for place in _IN_ROOM for sensor in accelerations)
    yield from (f"LOCATION TAG{number} {axis}" for number in range(1, 5) for axis in _XYZ)


CHANNELS = tuple(_channel_names())
TRACKS = (
    "Locomotion", "HL_Activity", "LL_Left_Arm", "LL_Left_Arm_Object", "LL_Right_Arm", "LL_Right_Arm_Object",
    "ML_Both_Arms",
)  # fmt: skip
IDS = tuple(f"S{subject}-{run}" for subject in range(1, 5) for run in ("ADL1", "ADL2", "ADL3", "ADL4", "ADL5", "Drill"))
LOCOMOTION = {0: "other", 1: "stand", 2: "walk", 4: "sit", 5: "lie"}


def find_files(folder: Path) -> list[Path]:
    """The 24 runs, in a folder or where the published archive has them in it."""
    return files_in(folder, ("dataset", "OpportunityUCIDataset/dataset"), IDS)


def read_recording(path: Path, channels: Sequence[str] = CHANNELS) -> Recording:
    """One run, without any label."""
    refuse_unknown(channels, CHANNELS, _WHAT)
    numbers = read_numbers(path, _N_COLUMNS, [_TIME, *(1 + CHANNELS.index(name) for name in channels)], _WHAT)
    return timed_recording(path, numbers[:, 1:], numbers[:, 0] / 1000, RATE, channels)


def read_annotation(path: Path, track: str = "Locomotion") -> Annotation:
    """The class of each row of that run in one of TRACKS, under its published number, for evaluation."""
    if track not in TRACKS:
        raise AnnotationError(f"OPPORTUNITY has no track '{track}'; choose among {', '.join(TRACKS)}")
    classes = read_numbers(path, _N_COLUMNS, [1 + len(CHANNELS) + TRACKS.index(track)], _WHAT)[:, 0]
    if track != "Locomotion":
        return Annotation(classes, id=path.stem)
    return named_annotation(path, classes, LOCOMOTION, "locomotion", _WHAT)
