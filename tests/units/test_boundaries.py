from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from rondo.data.labels import OTHER, runs_of
from rondo.data.windows import WindowGrid, Windows
from rondo.errors import ModelError
from rondo.metrics.scores import evaluate
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant
from rondo.units import boundaries as module
from rondo.units.boundaries import Boundaries, block_statistics, fit_boundaries
from tests import naive_boundaries as naive

LENGTH, STEP = 32, 8


def regimes(changes: list[int], n_frames: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Noise that is quiet, then loud, then quiet …, and which of the two each frame is."""
    loud = np.searchsorted(changes, np.arange(n_frames), side="right") % 2
    noise = np.random.default_rng(seed).normal(size=(n_frames, 2))
    return (noise * np.where(loud, 3.0, 0.3)[:, None]).astype(np.float32), loud.astype(np.int32)


def windows_of(values: NDArray[np.float32], *spans: tuple[int, int]) -> Windows:
    return Windows(values, WindowGrid(LENGTH, STEP, len(values), spans or ((0, len(values)),)))


def by_loudest(windows: Windows, truth: NDArray[np.int32]) -> NDArray[np.int32]:
    """As real windows are labelled: loud as soon as a quarter of the window is."""
    return np.array([truth[s : s + LENGTH].mean() > 0.25 for s in windows.grid.starts], dtype=np.int32)


# ---------------------------------------------------------------- blocks


@given(
    arrays(np.float32, st.tuples(st.integers(5, 30), st.integers(1, 3)), elements=st.floats(-9, 9, width=16)),
    st.integers(1, 5),
)
def test_block_statistics_equal_their_slow_twin(values: NDArray[np.float32], block_frames: int) -> None:
    expected = naive.block_statistics(values, block_frames)
    npt.assert_allclose(block_statistics(values, block_frames), expected, atol=1e-5)


def test_statistics_survive_values_far_from_zero() -> None:
    noise = np.random.default_rng(0).normal(scale=0.5, size=(64, 1))
    far, near = (block_statistics((noise + level).astype(np.float32), 8) for level in (4096.0, 0.0))
    npt.assert_allclose(far[:, 1], near[:, 1], rtol=1e-3)


# ---------------------------------------------------------------- alignment


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 999))
def test_cuts_equal_their_slow_twin(window_runs: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = np.arange(len(window_runs)) % 3
    codes = np.repeat(units, window_runs)
    values = np.zeros((LENGTH + STEP * (codes.size - 1) + 3, 1), dtype=np.float32)
    (stretch,) = module._stretches(windows_of(values), codes, 2)
    log_density = rng.integers(-3, 4, (stretch.frame_of_block.size, 3)).astype(float)  # whole numbers: ties occur
    drawn = stretch.first_cuts().tolist()
    assert stretch.aligned(log_density).tolist() == naive.cuts(log_density, stretch.runs.ids.tolist(), drawn)


def test_a_change_is_found_where_it_is_though_windows_lean_to_the_louder_side() -> None:
    changes = [203, 410, 655, 801]
    values, truth = regimes(changes, 1000)
    windows = windows_of(values)
    units = by_loudest(windows, truth)
    by_windows = windows.grid.project(units, "vote")
    aligned = units[fit_boundaries([windows], [units], (0, 1)).windows_of_frames(windows, units)]
    missed = [np.abs(runs_of(labels).starts[1:] - changes) for labels in (by_windows, aligned)]
    assert missed[0].max() >= 8
    assert missed[1].max() <= 4  # two blocks


@given(st.lists(st.integers(0, 3), min_size=4, max_size=40), st.integers(0, 99))
def test_runs_may_vanish_but_never_change_their_order(codes: list[int], seed: int) -> None:
    units = np.array(codes, dtype=np.int32)
    values = np.random.default_rng(seed).normal(size=(LENGTH + STEP * (units.size - 1), 2)).astype(np.float32)
    windows = windows_of(values)
    speaking = fit_boundaries([windows], [units], (0, 1, 2, 3)).windows_of_frames(windows, units)
    assert (np.diff(speaking) >= 0).all()
    assert speaking.min() >= 0 and speaking.max() < units.size


def test_windows_speak_for_frames_of_their_own_span_only() -> None:
    values, truth = regimes([150, 420], 600)
    windows = windows_of(values, (0, 300), (300, 320), (320, 600))
    units = by_loudest(windows, truth)
    speaking = fit_boundaries([windows], [units], (0, 1)).windows_of_frames(windows, units)
    starts = windows.grid.starts
    assert (speaking[300:320] == OTHER).all()
    assert (starts[speaking[:300]] < 300).all() and (starts[speaking[320:]] >= 320).all()


def test_where_nothing_tells_units_apart_the_nearest_window_speaks() -> None:
    for values in (np.zeros((500, 2), np.float32), np.full((500, 1), 7.0, np.float32)):
        windows = windows_of(values)
        units = (np.arange(len(windows)) // 10 % 2).astype(np.int32)
        speaking = fit_boundaries([windows], [units], (0, 1)).windows_of_frames(windows, units)
        nearest = windows.grid.project(np.arange(len(windows)), "centre")
        assert np.abs(runs_of(units[speaking]).starts - runs_of(units[nearest]).starts).max() <= 2


# ---------------------------------------------------------------- Gaussians


def test_densities_are_those_of_gaussians_with_a_common_prior() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(60, 2)), rng.normal(4, 2, size=(40, 2))])
    owners = np.repeat([0, 1], [60, 40])
    fitted = module._gaussians(points, owners, owners, 2)
    own = [points[owners == k] for k in (0, 1)]
    common = sum(np.cov(part.T, bias=True) * len(part) for part in own) / 100
    worth = 10 * 2  # blocks per dimension
    for k, part in enumerate(own):
        covariance = (np.cov(part.T, bias=True) * len(part) + worth * common) / (len(part) + worth)
        covariance += module._LEAST_VARIANCE * points.var(axis=0).mean() * np.eye(2)
        expected = multivariate_normal(part.mean(axis=0), covariance).logpdf(points) + np.log(2 * np.pi)
        npt.assert_allclose(fitted.log_joint(points)[:, k], expected, rtol=1e-9)


def test_a_unit_that_lost_all_its_blocks_is_described_by_those_it_had() -> None:
    points = np.random.default_rng(0).normal(size=(50, 2))
    first = np.repeat([0, 1], 25)
    fitted = module._gaussians(points, np.zeros(50, np.int64), first, 3)
    npt.assert_allclose(fitted.means[1], points[25:].mean(axis=0))
    assert np.isfinite(fitted.log_joint(points)).all()


# ---------------------------------------------------------------- whole


def test_restored_boundaries_are_the_same_and_damaged_ones_are_refused() -> None:
    values, truth = regimes([100, 260], 400)
    windows = windows_of(values)
    units = by_loudest(windows, truth)
    fitted = fit_boundaries([windows], [units], (0, 1))
    again = Boundaries.restore(fitted.tensors())
    npt.assert_array_equal(again.windows_of_frames(windows, units), fitted.windows_of_frames(windows, units))
    with pytest.raises(ModelError, match="axes"):
        Boundaries.restore({name: own for name, own in fitted.tensors().items() if name != "axes"})
    with pytest.raises(ModelError, match="units = 1"):
        Boundaries.restore(fitted.tensors() | {"unit_ids": np.array([0])})


@pytest.mark.parametrize("projection", ["aligned", "vote"])
def test_labels_follow_the_projection_that_is_set(projection: str) -> None:
    stream = plant(n_frames=6_000, seed=3)
    chosen = {"windows.projection": projection, "evidence.surrogates": 0}
    model = Rondo(settings=chosen).fit(stream.recording)
    labelling = label_one(model, stream.recording)
    _, windows = model._windows_of(stream.recording)
    timeline = model.unit_model_.timeline(windows)
    if projection == "aligned":
        expected = timeline.ids[model.unit_model_.boundaries.windows_of_frames(windows, timeline.ids)]
    else:
        expected = windows.grid.project(timeline.ids, projection)
    npt.assert_array_equal(labelling.units, expected)


def test_aligned_labels_are_nearer_to_the_planted_truth_than_votes() -> None:
    stream = plant(n_frames=15_000, seed=3)
    scores = {}
    for projection in ("aligned", "vote"):
        model = Rondo(settings={"windows.projection": projection, "evidence.surrogates": 0}).fit(stream.recording)
        pair = (stream.unit_truth, model.predict(stream.recording).units)
        scores[projection] = evaluate({"stream": pair}).as_dict()["ami"]
    assert scores["aligned"] > scores["vote"] + 5


# ---------------------------------------------------------------- slivers


def slivers_of(labels: NDArray[np.int32]) -> int:
    return int((runs_of(labels).lengths < LENGTH / 2).sum())


@given(st.lists(st.integers(0, 3), min_size=4, max_size=40), st.integers(0, 99))
def test_no_run_of_frames_is_shorter_than_half_a_window(codes: list[int], seed: int) -> None:
    units = np.array(codes, dtype=np.int32)
    values = np.random.default_rng(seed).normal(size=(LENGTH + STEP * (units.size - 1), 2)).astype(np.float32)
    windows = windows_of(values)
    boundaries = fit_boundaries([windows], [units], (0, 1, 2, 3))
    assert slivers_of(units[boundaries.windows_of_frames(windows, units)]) == 0


def three_runs() -> module._Stretch:
    (stretch,) = module._stretches(windows_of(np.zeros((200, 1), np.float32)), np.repeat([0, 1, 2], [9, 3, 10]), 2)
    return stretch


def test_a_sliver_goes_to_the_neighbour_that_fits_its_blocks() -> None:
    """Six blocks of two frames read as unit 1 between 0 and 2; four of them look like 0, two like 2."""
    stretch = three_runs()
    log_density = np.zeros((stretch.frame_of_block.size, 3))
    log_density[:44, 0], log_density[44:, 2] = 1.0, 1.0
    assert stretch.first_frames(np.array([40, 46]), log_density).tolist() == [0, 88, 88]


@pytest.mark.parametrize(("cuts", "expected"), [([3, 50], [0, 0, 100]), ([50, 97], [0, 100, 200])])
def test_slivers_at_the_ends_go_to_their_only_neighbour(cuts: list[int], expected: list[int]) -> None:
    stretch = three_runs()
    log_density = np.zeros((stretch.frame_of_block.size, 3))
    assert stretch.first_frames(np.array(cuts), log_density).tolist() == expected


@pytest.mark.parametrize("n_channels", [1, 3])
def test_blocks_in_chunks_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch, n_channels: int) -> None:
    values = np.random.default_rng(0).normal(size=(103, n_channels)).astype(np.float32)
    monkeypatch.setattr(module, "_CHUNK_VALUES", 3 * 4 * n_channels)
    chunks = list(module._statistics_in_chunks(values, 4))
    assert len(chunks) == 9
    npt.assert_array_equal(np.concatenate(chunks), block_statistics(values, 4))
