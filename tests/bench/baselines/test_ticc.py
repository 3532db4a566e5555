from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from rondo.checks.encoders import planted
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.metrics.scores import evaluate
from rondo_bench.baselines.baseline import build_baseline, in_order_of_appearance, label_recording
from rondo_bench.baselines.ticc import TICC, TICCConfig, first_labels, learned, on_frames
from rondo_bench.baselines.ticc_solver import (
    States,
    mean_and_covariance,
    stacked,
    toeplitz_classes,
    toeplitz_lasso,
)
from tests import naive_ticc as naive
from tests.bench.baselines.signals import signal_of

Floats = NDArray[np.float64]


def covariances(n_matrices: int, size: int, n_rows: int, seed: int = 0) -> Floats:
    """Of so few rows that they may be singular."""
    rows = np.random.default_rng(seed).normal(size=(n_matrices, n_rows, size)) * np.linspace(0.2, 2, size)
    rows[..., -1] += rows[..., 0]
    return np.stack([mean_and_covariance(of_one)[1] for of_one in rows])


def test_a_window_labels_its_middle_frame_and_ends_take_the_nearest_window() -> None:
    signal = signal_of(np.zeros((12, 1)), ((1, 7), (8, 10), (10, 12)))
    _, row_spans = stacked(signal.values, signal.spans, 3)
    labels = on_frames(np.array([5, 6, 7, 8]), signal, row_spans, 3)
    assert labels.tolist() == [OTHER, 5, 5, 6, 7, 8, 8, *[OTHER] * 5]
    assert labels.dtype == np.int32


@given(st.integers(1, 3), st.integers(1, 4), st.sampled_from([0.02, 0.11, 1.0]), st.integers(2, 30), st.integers(0, 99))
def test_lasso_is_at_its_minimum(n_channels: int, width: int, sparsity: float, n_rows: int, seed: int) -> None:
    given_ones = covariances(3, n_channels * width, n_rows, seed)
    solved = toeplitz_lasso(given_ones, sparsity, toeplitz_classes(n_channels, width))
    for theta, covariance in zip(solved, given_ones, strict=True):
        assert naive.distance_from_optimality(theta, covariance, sparsity, n_channels, width) < 5e-3


def test_costs_are_twice_the_negative_log_likelihood() -> None:
    rng = np.random.default_rng(0)
    precisions = toeplitz_lasso(covariances(2, 3, 20), 0.11, toeplitz_classes(3, 1))
    states, rows = States(rng.normal(size=(2, 3)), precisions), rng.normal(size=(5000, 3))
    for state, costs in enumerate(states.costs(rows).T):
        density = multivariate_normal(states.means[state], np.linalg.inv(precisions[state]))
        npt.assert_allclose(costs, -2 * density.logpdf(rows) - 3 * np.log(2 * np.pi), rtol=1e-9)
    npt.assert_allclose(states.spreads(), [np.linalg.norm(np.linalg.inv(theta)) for theta in precisions])


def test_a_state_that_never_had_a_window_is_infinitely_far_and_determinants_may_be_out_of_range() -> None:
    states = States(np.zeros((2, 400)), np.stack([np.zeros((400, 400)), np.eye(400) * 9.0]))  # 9^400 is no float
    costs = states.costs(np.zeros((3, 400)))
    npt.assert_array_equal(costs[:, 0], np.inf)
    npt.assert_allclose(costs[:, 1], -400 * np.log(9.0))


@pytest.mark.parametrize(
    ("width", "n_states", "switch_cost", "n_iterations"),
    [(3, 3, 4.0, 4), (1, 5, 60.0, 1), (3, 5, 150.0, 4)],
)
def test_alternation_is_that_of_the_loops(width: int, n_states: int, switch_cost: float, n_iterations: int) -> None:
    values, spans = planted(160, 2), ((0, 70), (75, 160))
    config = TICCConfig(
        window=width, n_states=n_states, switch_cost=switch_cost, n_iterations=n_iterations, reassigned=6
    )
    rows, row_spans = stacked(values, spans, width)
    run = learned(rows, row_spans, config, np.random.default_rng(7))
    draws = np.random.RandomState(int(np.random.default_rng(7).integers(2**32)))
    path, painted = naive.alternate(
        naive.windows(values, spans, width),
        first_labels(rows, n_states, draws).tolist(),
        draws,
        n_channels=2,
        width=width,
        **config.model_dump(include={"n_states", "sparsity", "switch_cost", "n_iterations", "reassigned"}),
    )
    assert run.path.tolist() == path
    assert run.painted.tolist() == painted
    assert len(set(path)) > 1
    stay_empty = n_states == 5  # some of so many, at such a cost; but the first time nothing is done about it
    assert (path != painted) == (stay_empty and n_iterations > 1)


def labels_of(values: NDArray[np.floating], seed: int = 0, **changes: Any) -> Labels:
    return TICC(TICCConfig(**changes)).fit_predict(signal_of(values), np.random.default_rng(seed))


def test_no_label_is_painted_unless_as_released_which_leaves_the_generator_alone() -> None:
    values = planted(600)
    settings_ = {"n_states": 6, "switch_cost": 150.0, "n_iterations": 5}
    plain = [labels_of(values, seed, **settings_) for seed in (0, 1)]
    assert (plain[0] != plain[1]).any()
    rng = np.random.default_rng(3)
    released = TICC(TICCConfig(as_released=True, **settings_)).fit_predict(signal_of(values), rng)
    assert rng.bit_generator.state == np.random.default_rng(3).bit_generator.state
    npt.assert_array_equal(released, labels_of(values, 9, as_released=True, **settings_))
    assert len(set(released.tolist())) == 6
    assert all(len(set(labels.tolist())) < 6 for labels in plain)
    read = TICC(TICCConfig(as_released=True, **settings_)).fit(signal_of(values), rng).predict(signal_of(values))
    assert 0 < int((read != released).sum()) <= 20 * (6 - len(set(read.tolist())))


CALIBRATION = json.loads((Path(__file__).parents[2] / "calibration" / "mocap_labels.json").read_text(encoding="utf-8"))


def of_the_released_code(name: str) -> Labels:
    stops, states = np.array(CALIBRATION["predictions"]["TICC"][name]).T
    return in_order_of_appearance(np.repeat(states, np.diff(stops, prepend=0)))


def on_mocap(folder: Path, name: str) -> tuple[NDArray[np.generic], Labels]:
    with np.load(folder / "MoCap" / f"{name}.npz") as arrays:
        values, truth = arrays["X"], arrays["y"]
    method = build_baseline("ticc", {"as_released": True})
    return truth, label_recording(Recording(values, id=name), method, np.random.default_rng(0))


@pytest.mark.data
@pytest.mark.parametrize("name", ["amc_86_02", "amc_86_09"])  # one comes to rest; in the other states stay empty
def test_labels_on_mocap_are_those_of_the_released_code(data_dir: Path, name: str) -> None:
    npt.assert_array_equal(on_mocap(data_dir, name)[1], of_the_released_code(name))


@pytest.mark.data
@pytest.mark.slow
def test_the_row_on_mocap_is_that_of_the_paper_to_the_last_digit(data_dir: Path) -> None:
    tracks = {name: on_mocap(data_dir, name) for name in CALIBRATION["predictions"]["TICC"]}
    row = evaluate(tracks).average.as_dict()
    expected = {"mof": 86.61, "recall": 84.52, "f1_50": 79.39, "edit": 83.18, "seg_ratio": 2.19}
    assert {name: round(row[name], 2) for name in expected} == expected
    for name, (_, labels) in tracks.items():
        npt.assert_array_equal(labels, of_the_released_code(name), err_msg=name)
