from __future__ import annotations

import math

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.wording import silent
from rondo_bench.baselines import autoplait_hmm as hmm
from rondo_bench.baselines.autoplait import (
    AutoPlait,
    AutoPlaitConfig,
    Joined,
    pieces_of,
    regimes_of,
    search_pairs,
    spans_of,
    standardised,
    without_noise,
)
from rondo_bench.baselines.autoplait_hmm import (
    Fitted,
    Floats,
    Hmm,
    Regime,
    best_path,
    best_score,
    regime_cost,
    segment_cost,
    total_cost,
)
from tests import naive_autoplait as naive
from tests.bench.baselines.signals import signal_of

CHEAP = AutoPlaitConfig(float_bits=2, max_states=3)  # numbers cost little, so that small recordings have regimes


def model_of(k: int, n_channels: int, seed: int = 0) -> Hmm:
    rng = np.random.default_rng(seed)
    transition = rng.random((k, k)) ** 3
    start = rng.random(k)
    variance = rng.uniform(0.01, 1, (k, n_channels))
    means = rng.normal(size=(k, n_channels))
    return Hmm(start / start.sum(), transition / transition.sum(axis=1, keepdims=True), means, variance)


def noise(n_frames: int, n_channels: int = 2, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n_frames, n_channels))


def changing(n_frames: int, n_channels: int = 2, seed: int = 0) -> Floats:
    """Three kinds of oscillation that take turns, standardised."""
    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(6) % 3, n_frames // 6 + 1)[:n_frames]
    wave = np.sin(np.arange(n_frames) * np.array([0.3, 0.8, 1.7])[kind]) * np.array([1, 2, 0.5])[kind]
    values = wave[:, None] + rng.normal(size=(3, n_channels))[kind] + 0.3 * rng.normal(size=(n_frames, n_channels))
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


# Chunks begin at 17 frames, and may leave frames over; more than 12 states take the plain loop.


@pytest.mark.parametrize("n_channels", [1, 4, 80])  # of 80 channels, all frames are at the floor
def test_densities_are_bounded_as_in_the_original(n_channels: int) -> None:
    model, values = model_of(3, n_channels), noise(9, n_channels) * 2
    plain = [[naive.density(model, i, frame) for i in range(3)] for frame in values]
    npt.assert_allclose(hmm.densities(model, values), plain, rtol=1e-9)
    assert hmm.densities(model, values).min() >= hmm.FLOOR * (1 - 1e-12)


@pytest.mark.parametrize(("n_frames", "k"), [(1, 1), (2, 13), (17, 5), (18, 13), (60, 5)])
def test_best_score_and_best_path_are_those_of_the_loops(n_frames: int, k: int) -> None:
    model, values = model_of(k, 2), noise(n_frames)
    start, transition = hmm.logs(model.start), hmm.logs(model.transition)
    density = np.log(hmm.densities(model, values))
    score = best_score(start, transition, density)
    assert score == pytest.approx(naive.best_score(model, values), rel=1e-12)
    path = best_path(start, transition, density)
    scored = start[path[0]] + density[np.arange(n_frames), path].sum() + transition[path[:-1], path[1:]].sum()
    assert scored == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize(("n_frames", "k"), [(1, 1), (2, 5), (17, 5), (18, 1), (60, 5)])
def test_expectations_are_those_of_the_loops(n_frames: int, k: int) -> None:
    model, values = model_of(k, 2), noise(n_frames)
    told = hmm.expectations(model, values, values**2)
    gamma, moves, log_likelihood = naive.passes(model, values)
    assert told.log_likelihood == pytest.approx(log_likelihood, rel=1e-10)
    npt.assert_allclose(told.start, np.array(gamma[0]) + naive.TINY, rtol=1e-8)
    npt.assert_allclose(told.weight, np.sum(gamma, axis=0), rtol=1e-8)
    npt.assert_allclose(told.first, np.array(gamma).T @ values, rtol=1e-8, atol=1e-12)
    npt.assert_allclose(told.transition, sum(moves, np.zeros((k, k))) + naive.TINY * len(moves), rtol=1e-8)


def test_a_pass_over_frames_that_no_state_explains_stays_finite() -> None:
    far = np.full((4000, 3), 1e4)  # 63 frames in a chunk, whose densities have a product of 1e-378
    told = hmm.expectations(model_of(4, 3), far, far**2)
    assert told.log_likelihood == pytest.approx(4000 * math.log(hmm.FLOOR), rel=1e-6)
    assert np.isfinite(told.transition).all()


@pytest.mark.parametrize(("n_frames", "seed"), [(4, 0), (4, 1), (60, 2)])  # few: a frame may be alone with its mean
def test_means_go_as_in_the_loops_even_where_no_frame_is_near(n_frames: int, seed: int) -> None:
    values = changing(n_frames, seed=seed)
    far = np.array([[0.0, 0.0], [99.0, 99.0], [-99.0, 99.0], [0.5, 0.0]])
    nearest = hmm.k_means(values, far, np.random.default_rng(seed))
    assert nearest.tolist() == naive.k_means(values, far, np.random.default_rng(seed))


@pytest.mark.parametrize("k", [1, 3])
def test_a_fit_to_the_first_three_segments_is_that_of_the_loops(k: int) -> None:
    values, segments = changing(90), [(0, 20), (20, 45), (45, 60), (60, 90)]
    fast, plain = (method.fitted_to(values, segments, k, np.random.default_rng(5)) for method in (hmm, naive))
    assert fast.delta == plain.delta == 4 / 90
    for name in ("start", "transition", "mean", "variance"):  # the floor under running weights depends on their order
        npt.assert_allclose(getattr(fast.model, name), getattr(plain.model, name), rtol=3e-4, err_msg=name)


@pytest.mark.parametrize("k", [1, 3])
def test_costs_are_those_of_the_formulas(k: int) -> None:
    values, segments = noise(60, 3), [(0, 20), (21, 22), (30, 60)]
    side = Fitted(model_of(k, 3), 3 / 51)
    assert segment_cost(side, values[:20]) == pytest.approx(naive.segment_cost(side, values[:20]))
    assert regime_cost(side, values, segments, 32) == pytest.approx(naive.regime_cost(side, values, segments, 32))
    regimes = [Regime(side.model, 0.1, ((0, 5), (9, 12)), cost) for cost in (100.0, 50.0, 25.0)]
    assert total_cost(regimes, 32) == pytest.approx(naive.total_cost([100, 50, 25], 6, 32))


@given(st.sampled_from([(60,), (1, 59), (20, 2, 38)]), st.integers(0, 99))
@settings(max_examples=4)
def test_all_pairs_at_once_find_what_each_finds_alone(lengths: tuple[int, ...], seed: int) -> None:
    values = changing(60, seed=seed)
    joined = Joined.of(values, [(sum(lengths[:i]), sum(lengths[: i + 1])) for i in range(len(lengths))])
    seeds = [values[0:6], values[9:19], values[30:32], values[50:51]]
    pairs = np.array([(0, 1), (1, 0), (2, 1), (0, 3)])
    found = search_pairs(values, joined.stretches, seeds, pairs)
    for i, pair in enumerate(pairs):
        sides = [naive.fitted_to(seeds[j], [(0, len(seeds[j]))], 1, np.random.default_rng(0)) for j in pair]
        sets, bits = naive.search(values, joined.stretches, sides)
        assert [list(spans_of(found.pieces(i), side)) for side in (0, 1)] == list(sets)
        assert found.bits[i] == pytest.approx(bits, rel=1e-9)
        told = [naive.segment_cost(side, values[3:17]) for side in sides]
        npt.assert_allclose(found.costs(i)(3, 17), told, rtol=1e-9)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.integers(0, 40), st.floats(-5, 30), st.integers(0, 99))
def test_noise_goes_as_in_the_loops(sides: list[int], cut: int, threshold: float, seed: int) -> None:
    n_frames = len(sides)
    stretches = [(0, cut), (cut, n_frames)] if 0 < cut < n_frames else [(0, n_frames)]
    values = noise(n_frames, 1, seed)
    fitted = [Fitted(model_of(1, 1, seed), 0.1), Fitted(model_of(1, 1, seed + 1), 0.2)]

    def costs(start: int, stop: int) -> tuple[float, float]:
        return segment_cost(fitted[0], values[start:stop]), segment_cost(fitted[1], values[start:stop])

    pieces = pieces_of(np.array(sides), stretches)
    left = without_noise(pieces, threshold, costs)
    sets = (list(spans_of(pieces, 0)), list(spans_of(pieces, 1)))
    plain = naive.without_noise(values, stretches, sets, fitted, threshold)
    assert [list(spans_of(left, side)) for side in (0, 1)] == list(plain)
    assert sum(piece.stop - piece.start for piece in left) == n_frames


@pytest.mark.parametrize(
    ("n_frames", "spans"), [pytest.param(90, ((0, 90),), marks=pytest.mark.slow), (60, ((0, 20), (20, 30), (35, 60)))]
)
def test_regimes_are_those_of_the_loops(n_frames: int, spans: tuple[Span, ...]) -> None:
    values, config = changing(n_frames, seed=18), CHEAP.model_copy(update={"n_seeds": 6})
    fast = regimes_of(values, spans, config, np.random.default_rng(0), silent)
    plain = naive.regimes(values, spans, config, np.random.default_rng(0))
    assert [regime.segments for regime in fast] == plain
    assert len(plain) > 1


def test_no_segment_crosses_a_gap_and_every_frame_has_one_regime() -> None:
    spans = ((3, 90), (90, 150), (161, 200))
    signal = signal_of(changing(200), spans)
    regimes = regimes_of(standardised(signal), spans, CHEAP, np.random.default_rng(0), silent)
    segments = sorted(segment for regime in regimes for segment in regime.segments)
    covered = [frame for start, stop in segments for frame in range(start, stop)]
    assert covered == [frame for start, stop in spans for frame in range(start, stop)]
    assert all(any(low <= start and stop <= high for low, high in spans) for start, stop in segments)
    labels = AutoPlait(CHEAP).fit_predict(signal, np.random.default_rng(0))
    assert set(np.flatnonzero(labels == OTHER).tolist()) == set(range(200)) - set(covered)


def test_a_recording_too_short_for_a_seed_is_refused_by_name() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(RecordingError, match=r"'walk': autoplait .* 10 frames"):
        AutoPlait().fit_predict(signal_of(noise(10)), rng)
    assert (AutoPlait().fit_predict(signal_of(noise(11)), rng) == 0).all()
