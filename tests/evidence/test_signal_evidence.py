"""Likeness of the whole and of units: claimed where it was planted, not claimed in noise."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.windows import WindowGrid, Windows
from rondo.evidence import signal as module
from rondo.evidence.signal import Alike, alike_test, is_clear, surrogate_p
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant, structureless
from tests.benchmark_scripts import imported


def windows_and_labels(recording: Recording) -> tuple[Windows, Labels]:
    model = Rondo(window=75, settings={"motifs.method": "none", "evidence.surrogates": 0}).fit(recording)
    _, windows = model._windows_of(recording)
    return windows, model.unit_model_.timeline(windows).ids


def likeness_of(recording: Recording, seed: int = 0) -> Alike:
    windows, labels = windows_and_labels(recording)
    return alike_test([windows], [labels], 7, np.random.default_rng(seed))


def two_entries(n_windows: int) -> Labels:
    return (np.arange(n_windows) // 10 % 2).astype(np.int32)


def noise_windows(
    n_frames: int, seed: int = 0, spans: tuple[tuple[int, int], ...] = (), n_channels: int = 3
) -> Windows:
    values = structureless(n_frames, n_channels, seed=seed).values
    return Windows(values, WindowGrid(20, 5, n_frames, spans or ((0, n_frames),)))


def test_planted_structure_is_alike() -> None:
    found = likeness_of(plant(n_frames=5_000, seed=1).recording)
    assert found.p < 0.01
    assert set(found.by_chance) == {"signal", "loudness", "statistics"}
    assert all(found.closeness > figures.max() for figures in found.by_chance.values())
    assert np.mean([found.closer(id) > 0 for id in found.units]) >= 0.6


def test_nothing_is_claimed_in_noise() -> None:
    every = [likeness_of(structureless(5_000, 4, seed=seed), seed) for seed in range(3)]
    assert all(found.p > 0.03 for found in every)


def test_closeness_of_units_is_known_of_those_that_come_twice_and_other_is_none() -> None:
    windows = noise_windows(1_500)
    labels = two_entries(len(windows))
    labels[100:120] = OTHER
    labels[0] = 7
    found = alike_test([windows], [labels], 9, np.random.default_rng(1))
    assert set(found.units) == {0, 1}
    likest = max(figures.mean() for figures in found.by_chance.values())
    assert found.closer(0) == pytest.approx(found.units[0] - likest)
    assert np.isnan(found.closer(7))


def test_p_is_that_of_one_more_surrogate() -> None:
    chance = np.random.default_rng(0).normal(3.0, 2.0, 6)
    expected = student.sf((7.5 - chance.mean()) / (chance.std(ddof=1) * np.sqrt(7 / 6)), 5)
    assert surrogate_p(7.5, chance) == pytest.approx(expected)
    assert surrogate_p(7.5, chance[:1]) == 1.0
    assert surrogate_p(1.0, np.ones(5)) == 0.5  # surrogates that do not vary
    assert surrogate_p(1.1, np.ones(5)) < 1e-6


@pytest.mark.slow
def test_p_is_uniform_where_the_figure_is_a_surrogate_itself() -> None:
    draws = np.random.default_rng(2).normal(size=(4_000, 6))
    p = np.array([surrogate_p(own[0], own[1:]) for own in draws])
    for level in (0.03, 0.1, 0.5):
        assert (p <= level).mean() == pytest.approx(level, abs=3 * np.sqrt(level / 4_000))


def test_noise_is_given_up_after_five_surrogates_and_what_is_clear_too() -> None:
    windows = noise_windows(1_500)
    noise = alike_test([windows], [two_entries(len(windows))], 40, np.random.default_rng(1))
    assert all(5 <= figures.size < 40 for figures in noise.by_chance.values())
    planted = likeness_of(plant(n_frames=5_000, seed=1).recording)
    assert planted.by_chance["statistics"].size == 5


def passes(z: float, most: int, seed: int) -> bool:
    """The verdict on a figure that lies z deviations above its surrogates, of which `most` may be drawn."""
    axis, rng = Mock(closeness=float), np.random.default_rng(seed)
    return surrogate_p(z, module._drawn(rng.standard_normal, axis, z, most)) <= module._LEVEL


def test_the_draw_hardly_decides_about_a_figure_near_the_level() -> None:
    for z, verdict in ((0.8, False), (3.0, True)):  # the level is at 1.9
        assert np.mean([passes(z, 40, seed) is verdict for seed in range(200)]) >= 0.98
    assert np.mean([passes(3.0, 7, seed) for seed in range(200)]) < 0.9


def test_more_surrogates_make_a_figure_clear() -> None:
    few, many = (student.ppf((np.arange(n) + 0.5) / n, np.inf) for n in (5, 400))  # of a normal distribution
    figures = (-100.0, 1.0, 2.0, 2.7, 100.0)
    assert [is_clear(own, few, 0.03) for own in figures] == [True, False, False, False, True]
    assert [is_clear(own, many, 0.03) for own in figures] == [True, True, False, True, True]


def test_once_a_kind_has_failed_the_others_get_five(monkeypatch: pytest.MonkeyPatch) -> None:
    most_of: list[int] = []

    def drawn(draw: object, axis: object, whole: float, most: int) -> Floats:
        most_of.append(most)
        return whole + np.array([-2.0, -1.0, 0.0, 1.0, -0.5])  # p is about 0.35

    monkeypatch.setattr(module, "_drawn", drawn)
    windows = noise_windows(1_500)
    alike_test([windows], [two_entries(len(windows))], 40, np.random.default_rng(1))
    assert most_of == [40, 5, 5]


def test_long_recordings_are_asked_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WINDOWS", 40)
    seen: list[int] = []
    statistics = module.window_statistics

    def spied(values: Floats, starts: Ints, length: int) -> Floats:
        seen.append(starts.size)
        return statistics(values, starts, length)

    monkeypatch.setattr(module, "window_statistics", spied)
    windows = [noise_windows(2_000), noise_windows(1_000, 1, spans=((0, 400), (430, 1_000)))]
    labels = [two_entries(len(w)) for w in windows]
    labels[0][150:152] = labels[0][155:157] = 5  # between two stretches
    found = alike_test(windows, labels, 5, np.random.default_rng(0))
    assert seen and max(seen) <= 40
    assert 5 not in found.units


@pytest.mark.parametrize("share", [0.1, 0.7])
def test_a_part_holds_the_very_same_windows_and_none_twice(share: float) -> None:
    windows = noise_windows(2_000, spans=((3, 900), (930, 2_000)))
    labels = np.arange(len(windows), dtype=np.int32)
    part, kept = module._part(windows, labels, share)
    whole = np.concatenate(list(windows.batches()))
    assert 0 < len(part) <= share * len(windows)
    assert np.unique(kept).size == kept.size  # a window that is there twice would be as close as can be to itself
    assert_array_equal(np.concatenate(list(part.batches())), whole[kept])


@pytest.mark.parametrize(("n_frames", "every"), [(4_000, 1), (6_000, 2), (12_000, 3), (40_000, 4)])
def test_windows_asked_about_lie_side_by_side_before_parts_are_left_out(n_frames: int, every: int) -> None:
    windows = noise_windows(n_frames)
    assert module._spacing([len(windows)], windows.grid) == every
    sparse, kept = module._every(windows, np.arange(len(windows), dtype=np.int32), every)
    assert_array_equal(np.diff(kept), every)
    assert_array_equal(np.concatenate(list(sparse.batches())), np.concatenate(list(windows.batches()))[kept])
    asked, labels = module._asked([windows], [two_entries(len(windows))])
    assert len(asked) == len(labels) <= module._MOST_WINDOWS


def test_spans_stay_long_enough_to_be_judged() -> None:
    grid = noise_windows(100).grid
    assert module._spacing([300] * 10, grid) == 4
    assert module._spacing([130] * 20, grid) == 2  # every third would leave 43 of a span, where 60 are needed
    assert module._spacing([70] * 40, grid) == 1


@pytest.mark.slow
def test_coupled_channels_in_short_windows_are_no_finding() -> None:
    """Stretches of 200 such windows are too short for surrogates as smooth as the signal."""
    with imported("sources") as sources:
        cases = [sources.noise_case("coupled channels (VAR)", 6_000, seed) for seed in range(500, 505)]
    models = [Rondo(window=8, motif_window=32).fit(case.recordings) for case in cases]
    assert sum(model.evidence_.recurs for model in models) <= 1


def test_many_channels_are_mixed_to_ten_that_keep_distances() -> None:
    rng = np.random.default_rng(0)
    few = rng.normal(size=(400, 8)).astype(np.float32)
    many = (few @ np.linalg.qr(rng.normal(size=(20, 8)))[0].T).astype(np.float32)
    (mixed,) = module._few_channels([Windows(many, WindowGrid(20, 5, 400, ((0, 400),)))])
    assert mixed.values.shape == (400, 10)
    gaps = few[1:] - few[:-1]
    assert_allclose(np.linalg.norm(np.diff(mixed.values, axis=0), axis=1), np.linalg.norm(gaps, axis=1), rtol=1e-3)
    (same,) = module._few_channels([noise_windows(100)])
    assert same.n_channels == 3


@pytest.mark.parametrize("n_frames", [20, 60])
def test_recordings_of_few_windows_and_constant_ones_cannot_be_judged(n_frames: int) -> None:
    grid = WindowGrid(20, 5, n_frames, ((0, n_frames),))
    for values in (structureless(n_frames, 2).values, np.ones((n_frames, 2), np.float32)):
        windows = Windows(values, grid)
        found = alike_test([windows], [np.zeros(len(windows), np.int32)], 5, np.random.default_rng(0))
        assert np.isnan(found.p) and found.by_chance == {} and np.isnan(found.closer(0))


def test_many_channels_are_asked_about_in_fewer_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_VALUES", 20 * 3 * 350)
    windows = noise_windows(4_000)
    monkeypatch.setattr(module, "_FEWEST_WINDOWS", 300)
    asked, labels = module._asked([windows], [two_entries(len(windows))])
    assert 300 < len(asked) == len(labels) <= 350
    monkeypatch.setattr(module, "_MOST_VALUES", 1)
    assert len(module._asked([windows], [two_entries(len(windows))])[0]) <= 300


def test_at_least_one_surrogate() -> None:
    windows = noise_windows(100)
    with pytest.raises(ValueError, match="at least 1 surrogate, got 0"):
        alike_test([windows], [np.zeros(len(windows), np.int32)], 0, np.random.default_rng(0))
