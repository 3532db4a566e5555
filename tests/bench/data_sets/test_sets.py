"""Every data set in its published form, as a tiny copy: what is read from it, and what is wrong with a damaged one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import scipy.io

from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets import motion, wearables, work
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.data_sets.read import DataSet, find_copy, read_data_set
from tests.bench.data_sets.published import (
    CLAP_STATES,
    blank_file,
    clap_clone,
    clap_series,
    clap_track,
    csv_file,
    mocap6_arrays,
    mocap6_clone,
    written,
)

RUN = "run1b_2018-05-29-14-02-47"
JOINTS = [f"joint{i}_{part}" for i in range(26) for part in "xyzp"]
IMU = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z", "quat_w", "quat_x", "quat_y", "quat_z")
PIECES = ("participant_id", "file_id", "annotation_id", "frame_start", "frame_end", "activity", "chunk_id")


def mocap(folder: Path) -> None:
    for name in ("amc_86_09", "amc_86_04"):  # of the second there is no annotation
        blank_file(folder / "mocap" / "data/MoCap/4d" / f"{name}.4d", [[1, 2, 3, -4.5]] * 4794)


def mocap6(folder: Path) -> None:
    mocap6_clone(folder / "bnpy")


def pamap2(folder: Path) -> None:
    """Every cell says its column; heart rates come in one row of ten."""
    rows: list[list[object]] = [
        [f"{8.38 + i / 100:.2f}", activity, "NaN" if i % 10 else 104, *range(4, 55)]
        for i, activity in enumerate([0, 24, 4])
    ]
    for name in ("subject105", "subject109"):  # the paper leaves out the second
        blank_file(folder / "PAMAP2" / "Protocol" / f"{name}.dat", rows)


def opportunity(folder: Path) -> None:
    """Every cell says its column; the third row of the body is silent."""
    rows = [
        [33 * i, *("NaN" if i == 2 and column < 38 else column for column in range(2, 244)), locomotion, *range(6)]
        for i, locomotion in enumerate([0, 1, 2, 4, 5])
    ]
    for name in ("S1-Drill", "S5-ADL1"):
        blank_file(folder / "opportunity" / "dataset" / f"{name}.dat", rows)


def usc_had(folder: Path) -> None:
    """Every reading tells trial and activity."""
    place = folder / "USC-HAD" / "Subject3"
    place.mkdir(parents=True)
    for activity, number, n_frames in ((10, 1, 2), (2, 1, 1), (1, 2, 3)):
        readings = np.full((n_frames, 6), 100.0 * number + activity)
        scipy.io.savemat(place / f"a{activity}t{number}.mat", {"title": "USC", "sensor_readings": readings})


def hugadb(folder: Path) -> None:
    names = "\t".join((*wearables.HUGADB_CHANNELS, "act"))
    rows = ["\t".join(map(str, [*range(38), activity])) for activity in (5, 5, 7)]
    text = "\n".join(["#Activity\tsitting", "#ActivityID\t5 7 ", "#Date 10-26-17-47", names, *rows]) + "\n"
    for name in ("v1/HuGaDB_v1_various_01_00", "v2/HuGaDB_v2_various_01_00"):  # the later version counts
        written(folder / "hugadb" / f"{name}.txt", text)


def actrectut(folder: Path) -> None:
    """Readings grow with time, so that what lies between two rows is known; S112 was not worn."""
    place = folder / "ActRecTut" / "Data" / "subject2_walk"
    for name, times, slope in (("S111", [10.0, 10.5, 11.0], 1), ("S131", [9.75, 10.25, 11.25], 2)):
        rows = [[time, name[1:], 7, *(slope * time + column for column in range(6))] for time in times]
        blank_file(place / f"{name}.dat", rows, end=" \n")
    blank_file(place / "S125.dat", [[9.0, 125, 7, *range(6)], [12.0, 125, 7, *range(6)]], end=" \n")
    blank_file(place / "labels.dat", [[10.4, 49], [10.9, 53]], end=" \n")


def lara(folder: Path) -> None:
    """With an empty cell, and a column before the others, as some files have."""
    for subject in ("S14", "S01"):  # the second wore no IMU
        place = folder / "LARa" / "IMU data" / subject
        rows = [["LA", f"2019-07-01 10:00:00.{10 * i:06d}", *range(29), "" if i == 1 else 29] for i in range(3)]
        csv_file(place / f"L03_{subject}_R30.csv", ("IMU", "Time", *work.LARA_CHANNELS), rows)
        csv_file(place / f"L03_{subject}_R30_labels.csv", ("Class", "I-A_GaitCycle"), [[6, 0], [0, 0], [7, 1]])


def openpack(folder: Path) -> None:
    """IMU k reads 10 k + column, growing by 1 every 30 ms; the clock of the second runs 15 ms behind."""
    user, start_ms = folder / "openpack" / "v1.0.0" / "U0209", 1_648_531_521_000  # 2022-03-29 14:25:21 in Japan
    for k in range(1, 5):
        late = 15 if k == 2 else 0
        rows = [[start_ms + late + 30 * i, *(10 * k + column + i for column in range(10))] for i in range(4)]
        csv_file(user / "atr" / f"atr0{k}" / "S0500.csv", ("unixtime", *IMU), rows)
    date = "2022-03-29 14:25:21.{:03d}000+09:00".format
    spans = [("100", "Picking", date(30), date(60)), ("1000", "Fill out Order", date(60), date(90))]
    place = user / "annotation" / "openpack-operations"
    csv_file(place / "S0500.csv", ("id", "operation", "start", "end"), spans)


def drive_act(folder: Path) -> None:
    """Frames without a skeleton are no rows; the pieces of another camera are in its own frames."""
    place = folder / "DriveAct"
    rows = [[frame, 1527595367 + frame / 30, *(frame + i / 1000 for i in range(104))] for frame in (0, 89, 90, 95, 180)]
    poses = place / "openpose_3d" / "vp1" / f"{RUN}.ids_1.openpose.3d.csv"
    csv_file(poses, ("frame_id", "timestamp", *JOINTS), rows)
    pieces: dict[str, list[tuple[Any, ...]]] = {
        "inner_mirror": [(1, 0, 90, "work"), (1, 90, 95, "work"), (1, 180, 181, "eat_drink")],
        "a_column_driver": [(5, 0, 999, "hand_over")],
    }
    for view, own in pieces.items():
        cells = [[1, f"vp1/{RUN}.ids_{camera}", i, *more, 0] for i, (camera, *more) in enumerate(own)]
        csv_file(place / "activities_3s" / view / "tasklevel.chunks_90.csv", PIECES, cells)


def clap_suite(folder: Path) -> None:
    clap_clone(folder / "classification-label-profile")


# writer, id of its first recording, rate, number of channels, cells of the first row, names of the classes in a row
Set = tuple[Callable[[Path], None], str, float | None, int, dict[str, float], list[str]]
BODY, SHOE = (
    {"Accelerometer RKN^ accX": 2, "Accelerometer RH accZ": 37},
    "InertialMeasurementUnit L-SHOE AngVelBodyFrameX",
)
OPPORTUNITY = BODY | {"InertialMeasurementUnit BACK Quaternion1": 47, SHOE: 112, "Accelerometer CUP accX": 135}
OPPORTUNITY |= {"REED SWITCH UPPERDRAWER": 204, "Accelerometer FRIDGE accZ": 231, "LOCATION TAG4 Z": 243}
PAMAP2 = {"heart_rate": 104, "hand_temp": 4, "hand_acc16x": 5, "hand_magz": 16, "chest_gyrx": 28, "ankle_magz": 50}
HUGADB_CELLS = {"acc_rf_x": 0, "gyro_rf_z": 5, "acc_rs_x": 6, "acc_lf_x": 18, "gyro_lt_z": 35, "EMG_r": 36}
WALK = {"S111_acc_x": 10, "S111_gyr_z": 15, "S131_acc_x": 20, "S125_acc_y": 1, "S112_acc_x": 0}
LARA = "LARa/IMU data/S14/L03_S14_R30"
LARA_CELLS = {"LA_AccelerometerX": 0, "LA_GyroscopeX": 3, "RL_GyroscopeZ": 29}
PACK = {"atr01_acc_x": 10, "atr04_gyro_z": 45, "atr02_acc_x": 20}
TRIALS = ["walk left", "sleep", "sleep", *["walk forward"] * 3]
SETS: dict[str, Set] = {
    "mocap": (mocap, "amc_86_09", None, 4, {"lhumerus": 1, "rfemur": -4.5}, []),
    "mocap6": (mocap6, "13_29", 10, 2, {}, ["JumpJack"] * 10 + ["Jog"] * 10),
    "pamap2": (pamap2, "subject105", 100, 40, PAMAP2, ["other", "rope jumping", "walking"]),
    "opportunity": (opportunity, "S1-Drill", 1000 / 33, 242, OPPORTUNITY, ["other", "stand", "walk", "sit", "lie"]),
    "usc_had": (usc_had, "subject03", 100, 6, {"acc_x": 102, "gyro_z": 102}, TRIALS),
    "hugadb": (hugadb, "various_01_00", 60, 38, HUGADB_CELLS, ["sitting", "sitting", "standing up"]),
    "actrectut": (actrectut, "subject2_walk", 32, 24, WALK, ["NULL", "sitting", "walk up"]),
    "lara": (lara, "L03_S14_R30", 100, 30, LARA_CELLS, ["synchronization", "standing", "none"]),
    "openpack": (openpack, "U0209-S0500", 30, 24, PACK, ["none", "Picking", "Fill out Order", "none"]),
    "drive_act": (drive_act, f"vp1_{RUN}", None, 104, {"joint25_p": 0.103}, [*["work"] * 3, "none", "eat_drink"]),
    "tssb": (clap_suite, "Sines", None, 1, {}, []),
    "utsa": (clap_suite, "Sines", None, 1, {}, []),
    "skab": (clap_suite, "Sines", None, 3, {}, []),
}


def test_every_data_set_is_here() -> None:
    assert SETS.keys() == {listing.name for listing in DATA_SETS}


@pytest.mark.parametrize("name", SETS)
def test_a_copy_is_found_and_read(tmp_path: Path, name: str) -> None:
    write, id, rate, n_channels, cells, classes = SETS[name]
    (tmp_path / "data").mkdir()
    with pytest.raises(RecordingError, match="no files of"):
        find_copy(name, tmp_path / "data")
    write(tmp_path / "data")
    found = read_data_set(name, tmp_path / "data")
    recording = found.recordings[0]
    assert (recording.id, recording.n_channels) == (id, n_channels)
    assert recording.rate == (pytest.approx(rate) if rate else recording.rate)
    first = dict(zip(recording.channels, recording.values[0].tolist(), strict=True))
    assert {channel: first[channel] for channel in cells} == pytest.approx(cells)
    track = found.annotations[id]
    assert track.n_frames == recording.n_frames
    if classes:
        assert [track.names[number] for number in track.classes] == classes
    assert (
        len(found.recordings) == len(found.annotations) == {"mocap6": 6, "tssb": 3, "utsa": 3, "skab": 3}.get(name, 1)
    )


def only(name: str, tmp_path: Path, change: Callable[[Path], None] = lambda folder: None) -> DataSet:
    SETS[name][0](tmp_path)
    change(tmp_path)
    return read_data_set(name, tmp_path)


def test_mocap_has_the_segments_and_frames_of_the_paper(tmp_path: Path) -> None:
    segments = motion.MOCAP_SEGMENTS
    assert sum(own[-1][0] for own in segments.values()) == 65_611
    assert sum(map(len, segments.values())) == 74
    classes = only("mocap", tmp_path).annotations["amc_86_09"].classes
    assert classes[[0, 920, 921, 1274, 1275, 4793]].tolist() == [0, 0, 1, 1, 2, 0]


def test_mocap6_is_cut_into_its_captures(tmp_path: Path) -> None:
    found, arrays = only("mocap6", tmp_path), mocap6_arrays()
    assert [recording.id for recording in found.recordings] == list(motion.MOCAP6_IDS)
    npt.assert_allclose(np.concatenate([own.values for own in found.recordings]), arrays["X"], rtol=1e-6)
    npt.assert_array_equal(np.concatenate([own.classes for own in found.annotations.values()]), arrays["TrueZ"])


@pytest.mark.parametrize("name", ["tssb", "utsa", "skab"])
def test_series_and_states_of_the_clap_paper(tmp_path: Path, name: str) -> None:
    for own in (found := only(name, tmp_path)).recordings:
        npt.assert_allclose(own.values, clap_series(own.id, 3 if name == "skab" else 1), atol=1e-6)
        npt.assert_array_equal(found.annotations[own.id].classes, clap_track(own.id))
    clone = tmp_path / "classification-label-profile"
    assert {find_copy(name, folder).ids for folder in (tmp_path, clone, clone / "datasets")} == {tuple(CLAP_STATES)}


def test_silent_sensors_stay_silent_and_times_are_kept(tmp_path: Path) -> None:
    silent = only("opportunity", tmp_path).recordings[0].values
    npt.assert_array_equal(np.isnan(silent[2]), np.arange(242) < 36)
    recording = only("pamap2", tmp_path).recordings[0]
    npt.assert_array_equal(np.isnan(recording.values).sum(axis=0), [2] + [0] * 39)
    npt.assert_allclose(recording.timestamps_s, [8.38, 8.39, 8.40])
    assert np.isnan(only("lara", tmp_path).recordings[0].values).sum() == 1


@pytest.mark.parametrize("file", [f"{LARA}.csv", f"{LARA}_labels.csv"])
@pytest.mark.parametrize("torn", ["7", "7,1" + ",9" * 40])
def test_torn_lines_at_the_end_are_cut_of_both_files(tmp_path: Path, file: str, torn: str) -> None:
    lara(tmp_path)
    lines = (tmp_path / file).read_text().splitlines()
    (tmp_path / file).write_text("\n".join([*lines[:-1], torn]).replace("Class", "class"))
    data = read_data_set("lara", tmp_path)
    assert (data.recordings[0].n_frames, data.annotations["L03_S14_R30"].classes.tolist()) == (2, [6, 0])
    (note,) = data.recordings[0].notes
    assert note.startswith("1 row ")


def test_sensors_are_put_on_one_clock(tmp_path: Path) -> None:
    walk = only("actrectut", tmp_path).recordings[0]
    assert walk.values[:, walk.channels.index("S131_acc_x")].tolist() == [20, 21, 22]
    session = only("openpack", tmp_path).recordings[0]
    assert session.values[:, session.channels.index("atr02_acc_x")].tolist() == [20, 20.5, 21.5, 22.5]


def test_ready_made_files(tmp_path: Path) -> None:
    only("openpack", tmp_path)
    header = ("unixtime", "operation", *(f"{device}/{name}" for device in work.DEVICES for name in IMU))
    ready = csv_file(tmp_path / "made" / "U0101-S0100.csv", header, [[0, 8100, *range(40)], [30, 300, *range(40)]])
    assert work.find_openpack(tmp_path / "made") == [ready]
    assert work.read_openpack(ready).values[0].tolist() == [10 * k + column for k in range(4) for column in range(6)]
    track = work.openpack_annotation(ready)
    assert [track.names[number] for number in track.classes] == ["none", "Assemble Box"]
    gestures = tmp_path / "subject1_gesture"
    gestures.mkdir()
    scipy.io.savemat(gestures / "data.mat", {"data": np.ones((3, 15)), "labels": np.array([[1], [2], [12]])})
    assert wearables.read_actrectut(gestures).values.shape == (3, 15)
    track = wearables.actrectut_annotation(gestures)
    assert [track.names[number] for number in track.classes] == ["NULL", "Open window", "Smash"]


def replaced(path: Path | str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        where = folder / path
        assert old in where.read_text()
        where.write_text(where.read_text().replace(old, new, 1))

    return change


def arrays(**changed: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        kept = {name: own for name, own in (mocap6_arrays() | changed).items() if own is not None}
        np.savez(folder / "bnpy/bnpy/datasets/mocap6/dataset.npz", **kept)  # type: ignore[arg-type]

    return change


def saved(path: str, **variables: object) -> Callable[[Path], None]:
    return lambda folder: scipy.io.savemat(folder / path, variables)


def text(path: str, content: str) -> Callable[[Path], None]:
    return lambda folder: written(folder / path, content) and None


HUGADB = "hugadb/v2/HuGaDB_v2_various_01_00.txt"
OPERATIONS = "openpack/v1.0.0/U0209/annotation/openpack-operations/S0500.csv"
POSES = f"DriveAct/openpose_3d/vp1/{RUN}.ids_1.openpose.3d.csv"
TASKS = "DriveAct/activities_3s/inner_mirror/tasklevel.chunks_90.csv"
UTSA = "classification-label-profile/datasets/UTSA"
SKAB = "classification-label-profile/datasets/SKAB/data.npz"
FAULTS: list[tuple[str, Callable[[Path], None], type[Exception], str]] = [
    ("mocap", text("mocap/data/MoCap/4d/amc_86_09.4d", "1 2 3\n"), RecordingError, "expected 4 numbers"),
    ("mocap6", arrays(doc_range=np.array([0, 30, 20, 60, 80, 100, 120])), RecordingError, "doc_range"),
    ("mocap6", arrays(column_names=None), RecordingError, "column_names"),
    ("mocap6", arrays(X=np.array([{"a": 1}], dtype=object)), RecordingError, "'X' cannot be read"),  # pickled
    ("mocap6", arrays(TrueZ=np.full(120, 3)), AnnotationError, "TrueZ"),
    ("pamap2", replaced("PAMAP2/Protocol/subject105.dat", "39 24 ", "39 8 "), AnnotationError, "row 2 has activity 8"),
    ("opportunity", replaced("opportunity/dataset/S1-Drill.dat", " 4 0 1", " 3 0 1"), AnnotationError, "locomotion 3"),
    ("usc_had", saved("USC-HAD/Subject3/a13t1.mat", sensor_readings=np.ones((1, 6))), RecordingError, "activity 13"),
    ("usc_had", saved("USC-HAD/Subject3/a1t1.mat", sensor_readings=np.ones((2, 5))), RecordingError, r"\(2, 5\)"),
    ("usc_had", text("USC-HAD/Subject3/a1t1.mat", "nothing of MATLAB"), RecordingError, "no MATLAB file"),
    ("hugadb", replaced(HUGADB, "acc_rf_x", "acc_x"), RecordingError, "no column 'acc_rf_x'"),
    ("hugadb", replaced(HUGADB, "\n0\t", "\nno\t"), RecordingError, "not those of HuGaDB"),
    ("actrectut", replaced("ActRecTut/Data/subject2_walk/S111.dat", "10.5 ", "nan "), RecordingError, "no time"),
    ("lara", replaced(f"{LARA}_labels.csv", "7,1\n", ""), AnnotationError, "3 frames, but its annotation 2"),
    ("lara", text(f"{LARA}.csv", ",".join(("Time", *work.LARA_CHANNELS)) + "\n"), RecordingError, "no rows"),
    ("openpack", replaced(OPERATIONS, "\n100,", "\n150,"), AnnotationError, "class 150"),
    ("openpack", replaced(OPERATIONS, "2022-03-29", "yesterday"), AnnotationError, "no date"),
    ("drive_act", replaced(TASKS, "eat_drink", "juggling"), AnnotationError, "'juggling' is no task"),
    ("drive_act", text(TASKS, "file_id,start\n"), RecordingError, "no column 'frame_start'"),
    ("drive_act", lambda folder: (folder / TASKS).unlink(), AnnotationError, "only of ids_5"),
    ("drive_act", replaced(POSES, ",joint0_x", ""), RecordingError, "expected 104"),
    ("utsa", replaced(f"{UTSA}/desc.txt", "Sines,10,200,400", "Sines,10,400,200"), AnnotationError, "begin at"),
    ("utsa", replaced(f"{UTSA}/desc.txt", "Sines,10,200", "Sines,10,2e2"), AnnotationError, "2e2"),
    ("utsa", replaced(f"{UTSA}/properties.txt", "Sines,0,1,0", "Sines,0,1"), AnnotationError, "has 2 states"),
    ("utsa", replaced(f"{UTSA}/properties.txt", "Sines,", "Sine,"), AnnotationError, "no line of 'Sines'"),
    ("skab", text(SKAB, "PK and no more"), RecordingError, "cannot be read"),
    ("skab", lambda folder: np.savez(folder / SKAB, Sines=np.ones(3)), Exception, "Sines|Steps"),
]


@pytest.mark.parametrize(("name", "change", "error", "fact"), FAULTS)
def test_a_damaged_copy_is_refused(
    tmp_path: Path, name: str, change: Callable[[Path], None], error: type[Exception], fact: str
) -> None:
    with pytest.raises(error, match=fact) as refused:
        only(name, tmp_path, change)
    assert "\n" not in str(refused.value)


def test_recordings_without_an_annotation(tmp_path: Path) -> None:
    for call in (
        lambda: wearables.actrectut_annotation(tmp_path / "subject1_run"),
        lambda: motion.mocap_annotation(tmp_path / "amc_86_04.4d"),
    ):
        with pytest.raises((AnnotationError, RecordingError)):
            call()


@pytest.mark.data
def test_the_first_rows_of_pamap2_as_published(data_dir: Path) -> None:
    (path,) = (data_dir / "PAMAP2_sample").glob("*.dat")
    stored = np.load(path.with_suffix(".npz"))
    npt.assert_array_equal(wearables.read_pamap2(path).values, stored["X"])
    npt.assert_array_equal(wearables.pamap2_annotation(path).classes, stored["y"])


@pytest.mark.data
def test_the_table_of_mocap_is_that_of_the_stored_recordings(data_dir: Path) -> None:
    for name in motion.MOCAP_SEGMENTS:
        stored = np.load(data_dir / "MoCap" / f"{name}.npz")["y"]
        npt.assert_array_equal(motion.mocap_annotation(Path(f"{name}.4d")).classes, stored)
