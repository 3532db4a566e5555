"""p of a gap between two groups, whichever way it is reached."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.analysis import usage
from rondo.analysis.usage import N_DEALS, gaps_between, holm, smallest_p

FIRST = np.arange(14) < 7  # 3,432 deals: all are tried


def test_random_deals_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    values = rng.random((14, 6)) + np.linspace(0, 0.8, 6) * FIRST[:, None]
    gap, every = gaps_between(values, FIRST)
    np.testing.assert_allclose(gap, values[FIRST].mean(axis=0) - values[~FIRST].mean(axis=0))
    monkeypatch.setattr(usage, "_ALL_TRIED", 0)
    again, dealt = gaps_between(values, FIRST)
    np.testing.assert_allclose(again, gap)
    # columns that chance explains stop after 999 deals: four standard deviations of so many
    assert (np.abs(dealt - every) <= 4 * np.sqrt(every * (1 - every) / np.where(every > 0.05, 1000, N_DEALS))).all()


def test_many_deals_tell_small_p_apart_and_stay_within_bounds() -> None:
    is_first = np.arange(40) < 20
    values = np.stack([is_first + np.arange(40) / 1000, np.zeros(40)], axis=1)
    _, p = gaps_between(values, is_first)
    assert p[0] == 1 / (N_DEALS + 1) == smallest_p(20, 20) and p[1] == 1.0


@pytest.mark.slow
def test_large_groups_follow_the_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    is_first = np.arange(400) < 150
    values = rng.beta(1, 6, (400, 5)) + np.linspace(0, 0.04, 5) * is_first[:, None]
    _, normal = gaps_between(values, is_first)
    dealt = usage._dealt_p(values, is_first, gaps_between(values, is_first)[0])
    assert 0 < normal.min() < 0.05 < normal.max()
    np.testing.assert_allclose(normal, dealt, atol=0.05, rtol=0.3)
    rare = np.zeros((400, 1))
    rare[:5] = 1.0  # in five recordings alone, all of them of the first group
    exact = np.prod([(150 - i) / (400 - i) for i in range(5)])  # all in the first; none can be as far on the other side
    assert gaps_between(rare, is_first)[1][0] == pytest.approx(exact, rel=0.5)


def test_small_groups_are_never_called_normal() -> None:
    values = np.random.default_rng(0).random((198, 3))
    assert usage._normal_p(values, np.arange(198) < 99, np.ones(3))[1].all()
    assert not usage._normal_p(np.tile(values, (2, 1)), np.arange(396) < 198, np.ones(3))[1].any()


def test_thousands_of_recordings_take_little_memory() -> None:
    import tracemalloc

    is_first = np.arange(6000) < 3000
    values = np.zeros((6000, 4))
    values[:3] = 1.0
    tracemalloc.start()
    gaps_between(values, is_first)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_holm_keeps_order_and_stays_below_one() -> None:
    assert holm([]) == [] and holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.02, 0.01]) == [0.02, 0.02]
