"""Copies in the published formats with the faults that the real sets have: every recording ends as a row.

OPPORTUNITY: wireless sensors that are silent through a run or for minutes. PAMAP2: a heart rate in one of eleven rows,
seconds of silence of an IMU, orientations that are not valid, activity 0. LARa: dates, a leading column, empty cells,
subjects and files of motion capture among those of the IMUs. Drive&Act: frames without a skeleton, joints that were
never seen, times that stand still, tables of other cameras, pieces that end after the poses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig
from rondo_bench.data_sets import drive_act, lara, opportunity, pamap2
from rondo_bench.data_sets.catalogue import find_data_set
from rondo_bench.data_sets.read import find_copy
from rondo_bench.data_sets.verify import check_counts, count
from rondo_bench.experiments.inputs import projected, read_some, shared_preprocessor
from rondo_bench.experiments.plan import Choice, plan
from rondo_bench.experiments.rows import read_rows
from rondo_bench.experiments.spec import read_data_sets, read_experiment
from rondo_bench.experiments.work import Outcome, work
from tests.bench.data_sets.published import csv_file
from tests.bench.data_sets.test_drive_act import CHANNELS, COLUMNS
from tests.cli.conftest import here as here
from tests.cli.conftest import rondo as rondo
from tests.cli.running import Command

N_ROWS = 1500


def moving(n_channels: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three kinds of movement in turn that all channels follow, each in its own way."""
    rng = np.random.default_rng(seed)
    state = np.repeat(np.arange(N_ROWS // 150) % 3, 150)
    sources = np.stack([np.sin(np.cumsum(np.array([0.1, 0.5, 0.9])[state])), state - 1.0, rng.normal(size=N_ROWS)])
    return (rng.normal(size=(n_channels, 3)) @ sources).T + 0.1 * rng.normal(size=(N_ROWS, n_channels)), state


def opportunity_run(folder: Path, name: str, silent: range, dropout: range) -> None:
    values, state = moving(242, len(name))
    values[:, silent] = np.nan
    values[200:1200, dropout] = np.nan
    labels = np.stack([np.array([1, 2, 4])[state], *np.full((6, N_ROWS), 101)], axis=1)
    table = np.column_stack([np.arange(N_ROWS) * 33, values, labels])
    folder.mkdir(parents=True, exist_ok=True)
    np.savetxt(folder / f"{name}.dat", table, fmt="%.5g")


def pamap2_subject(folder: Path, name: str) -> None:
    values, state = moving(52, len(name))  # heart rate, then 17 columns of each IMU
    values[np.arange(N_ROWS) % 11 != 0, 0] = np.nan
    values[300:700, 1:18] = np.nan  # the hand, for 4 s
    values[:, 48:52] = np.nan
    table = np.column_stack([8.38 + np.arange(N_ROWS) / 100, np.array([0, 4, 5])[state], values])
    folder.mkdir(parents=True, exist_ok=True)
    np.savetxt(folder / f"{name}.dat", table, fmt="%.6g")


def lara_recording(folder: Path, name: str, leading: bool = False, end: str = "\n", n_labels: int = N_ROWS) -> None:
    """Both files; `leading`: with the unnamed index that some have; `end`: of its lines."""
    values, state = moving(30, int(name[-1]))
    values[:, 29] = 0.0  # a gyroscope that never turned
    cells: list[list[object]] = [[f"{value:.6f}" for value in row] for row in values]
    for row in range(400, 430):
        cells[row][12:18] = [""] * 6  # the neck, for 0.3 s
    first: list[list[object]] = [[i] if leading else [] for i in range(N_ROWS)]
    dates = [f"2019-07-01 10:00:{i // 100:02d}.{10_000 * (i % 100):06d}" for i in range(N_ROWS)]
    rows = [[*own, date, *row] for own, date, row in zip(first, dates, cells, strict=True)]
    data = csv_file(folder / f"{name}.csv", (*([""] if leading else []), "Time", *lara.CHANNELS), rows)
    data.write_bytes(data.read_bytes().replace(b"\n", end.encode()))
    classes = np.array([6, 1, 7])[state]  # synchronization, walking, none
    csv_file(
        folder / f"{name}_labels.csv", ("Class", "I-A_GaitCycle", "VI-A_Error"), [[c, 0, 1] for c in classes[:n_labels]]
    )


def drive_act_run(folder: Path, driver: str, run: str, clock_stands: bool = False) -> None:
    """Poses that begin at frame 7, without those of a second, and a table of pieces that go on after them."""
    values, state = moving(104, len(run))
    values[:, 100:104] = 0.0  # background: a joint that nobody has
    values[600:660, 40:44] = 0.0  # a wrist that was hidden
    first = 7
    frames = first + np.arange(N_ROWS)
    times = 1527595367.25 + frames / 30
    if clock_stands:
        times[50] = times[49]
    there = np.ones(N_ROWS, np.bool_)
    there[900:930] = False
    table = np.column_stack([frames, times, values])[there]
    rows = [[int(row[0]), f"{row[1]:.4f}", *(f"{value:.5f}" for value in row[2:])] for row in table]
    path = folder / "openpose_3d" / driver / f"{run}.ids_1.openpose.3d.csv"
    csv_file(path, ("frame_id", "timestamp", *CHANNELS), rows)
    tasks = ("work", "eat_drink", "")  # no piece: none
    for view, camera, shift in (("a_column_driver", 5, 400), ("inner_mirror", 1, 0)):
        begin = first + shift
        pieces = [
            [driver[2:], f"{driver}/{run}.ids_{camera}", at, at + begin, stop + begin, tasks[state[at]], 0]
            for segment in range(0, N_ROWS - 150, 150)
            for at, stop in ((segment, segment + 90), (segment + 90, segment + 150))
            if tasks[state[at]]
        ]
        last = begin + N_ROWS - 150
        pieces.append([driver[2:], f"{driver}/{run}.ids_{camera}", 99, last, last + 500, "final_task", 0])
        known = folder / "activities_3s" / view / "tasklevel.chunks_90.csv"
        before = [line.split(",") for line in known.read_text().splitlines()[1:]] if known.is_file() else []
        csv_file(known, COLUMNS, [*before, *pieces])


def rows_on(data_set: str, data: Path, out: Path) -> list[Outcome]:
    chosen = Choice((data_set,), ("rondo",), seeds=1)
    tasks = plan(read_experiment("static"), read_data_sets(), chosen, data, out, "cpu").tasks
    outcomes = [work(task) for task in tasks]
    assert not any(own.failures for own in outcomes), [own.failures for own in outcomes]
    return [row for own in outcomes for row in own.rows]


@pytest.mark.slow
def test_opportunity_with_silent_sensors_and_long_dropouts(tmp_path: Path) -> None:
    folder = tmp_path / "OPPORTUNITY" / "dataset"
    opportunity_run(folder, "S1-ADL1", silent=range(33, 36), dropout=range(0))
    opportunity_run(folder, "S1-ADL2", silent=range(0), dropout=range(30))
    opportunity_run(folder, "S2-Drill", silent=range(200, 206), dropout=range(10, 13))
    found = rows_on("opportunity", tmp_path, tmp_path / "bench")
    assert sorted({row.recording for row in found}) == ["S1-ADL1", "S1-ADL2", "S2-Drill"]
    of_set = read_data_sets()["opportunity"]
    shared = shared_preprocessor(
        PreprocessConfig(pca_components=54), "opportunity", tmp_path, of_set, tmp_path / "bench"
    )
    assert shared is not None
    for recording in read_some("opportunity", tmp_path, ["S1-ADL1", "S1-ADL2", "S2-Drill"], of_set).recordings:
        own = projected(recording, shared)
        assert np.isfinite(own.values).all()  # no row is OTHER for a dropout of 33 s
        assert any("predicted from the other channels" in note for note in own.notes)
    counts = count(find_copy("opportunity", tmp_path))
    checks = {own.what: own for own in check_counts(find_data_set("opportunity"), counts)}
    assert not checks["recordings"].agrees and checks["recordings"].found == "3"
    assert checks["channels"].agrees


@pytest.mark.slow
def test_pamap2_with_a_slow_heart_rate_and_a_silent_hand(tmp_path: Path) -> None:
    for name in ("subject101", "subject102"):
        pamap2_subject(tmp_path / "PAMAP2" / "Protocol", name)
    found = rows_on("pamap2", tmp_path, tmp_path / "bench")
    assert len(found) == 2
    assert all(row.counts["n_frames"] == N_ROWS for row in found)
    path = pamap2.find_files(tmp_path / "PAMAP2")[0]
    assert pamap2.read_recording(path).values.shape == (N_ROWS, 40)  # without orientations
    assert set(pamap2.read_annotation(path).classes.tolist()) == {0, 4, 5}


@pytest.mark.slow
def test_lara_with_empty_cells_dates_and_files_of_motion_capture(tmp_path: Path) -> None:
    folder = tmp_path / "LARa"
    lara_recording(folder / "IMU data" / "S07", "L01_S07_R01")
    lara_recording(folder / "IMU data" / "S07", "L01_S07_R02", leading=True)
    lara_recording(folder / "IMU data" / "S13", "L03_S13_R03", end="\r\n")
    lara_recording(folder / "OMoCap data" / "S01", "L01_S01_R01")
    lara_recording(folder / "OMoCap data" / "S07", "L01_S07_R01_A03_N02")
    found = rows_on("lara", tmp_path, tmp_path / "bench")
    assert sorted(row.recording for row in found) == ["L01_S07_R01", "L01_S07_R02", "L03_S13_R03"]
    for row in found:
        assert (row.counts["n_frames"], row.counts["n_channels"]) == (N_ROWS, 30)
        assert row.counts["n_true_segments"] == N_ROWS // 150


def test_a_recording_of_lara_whose_files_disagree_costs_no_other(rondo: Command, here: Path) -> None:
    lara_recording(here / "data" / "LARa", "L01_S07_R01")
    lara_recording(here / "data" / "LARa", "L01_S08_R02", n_labels=N_ROWS - 1)
    chosen = ("--datasets", "lara", "--methods", "kmeans", "--seeds", 1, "--engine", "serial")
    outcome = rondo("bench", "run", "static", *chosen, "--data", "data", "--out", "out")
    assert "1 of 2 rows failed" in outcome.err
    kept = {row.key.recording: row for row in read_rows(here / "out")}
    assert kept["L01_S07_R01"].is_ok and not kept["L01_S08_R02"].is_ok
    assert "has 1500 frames, but its annotation 1499" in kept["L01_S08_R02"].error


@pytest.mark.slow
def test_drive_act_with_hidden_joints_and_frames_without_a_skeleton(tmp_path: Path) -> None:
    folder = tmp_path / "DriveAct"
    drive_act_run(folder, "vp1", "run1b_2018-05-29-14-02-47")
    drive_act_run(folder, "vp10", "run2_2018-05-24-13-44-01", clock_stands=True)
    found = rows_on("drive_act", tmp_path, tmp_path / "bench")
    assert sorted(row.recording for row in found) == ["vp10_run2_2018-05-24-13-44-01", "vp1_run1b_2018-05-29-14-02-47"]
    assert all(row.counts["n_frames"] == N_ROWS - 30 and row.counts["n_channels"] == 104 for row in found)
    paths = drive_act.find_files(folder)
    for path in paths:
        annotation = drive_act.read_annotation(path)
        expected = np.repeat(["work", "eat_drink", "none"] * 3 + ["final_task"], 150)
        expected = np.delete(expected, np.arange(900, 930))
        assert [annotation.names[number] for number in annotation.classes] == expected.tolist()
    standing = drive_act.read_recording(paths[1])
    assert standing.timestamps_s is None and "do not always increase" in standing.notes[0]


def test_columns_that_are_silent_throughout_are_read_as_they_are(tmp_path: Path) -> None:
    opportunity_run(tmp_path, "S1-ADL1", silent=range(33, 36), dropout=range(0))
    recording = opportunity.read_recording(tmp_path / "S1-ADL1.dat")
    assert np.flatnonzero(np.isnan(recording.values).all(axis=0)).tolist() == [33, 34, 35]
