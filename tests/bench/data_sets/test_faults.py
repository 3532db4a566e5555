"""Copies in the published formats with the faults that the real sets have: every recording ends as a row.

OPPORTUNITY: wireless sensors that are silent through a run or for minutes. PAMAP2: a heart rate in one of eleven rows,
seconds of silence of an IMU, orientations that are not valid, activity 0. LARa and Drive&Act have no silent sensors;
what is odd about their tables is tested with their readers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rondo.config.schema import PreprocessConfig
from rondo_bench.data_sets import opportunity, pamap2
from rondo_bench.data_sets.catalogue import find_data_set
from rondo_bench.data_sets.read import find_copy
from rondo_bench.data_sets.verify import check_counts, count
from rondo_bench.experiments.inputs import projected, read_some, shared_preprocessor
from rondo_bench.experiments.plan import Choice, plan
from rondo_bench.experiments.spec import read_data_sets, read_experiment
from rondo_bench.experiments.work import Outcome, work

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


def test_columns_that_are_silent_throughout_are_read_as_they_are(tmp_path: Path) -> None:
    opportunity_run(tmp_path, "S1-ADL1", silent=range(33, 36), dropout=range(0))
    recording = opportunity.read_recording(tmp_path / "S1-ADL1.dat")
    assert np.flatnonzero(np.isnan(recording.values).all(axis=0)).tolist() == [33, 34, 35]
