"""Runs of units over recordings, and p over a family of units."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.data.labels import OTHER
from rondo.evidence.order import Occurrences, family_p
from rondo.units.viterbi import FARTHEST, Timeline


def test_runs_end_with_their_span_and_other_is_no_unit() -> None:
    first, second = np.array([3, 3, OTHER, 3, 3], np.int32), np.array([3, 5, 5], np.int32)
    found = Occurrences.of([first, second], [((0, 4), (4, 5)), ((0, 3),)])
    assert found.units.tolist() == [3, OTHER, 3, 3, 3, 5]
    assert found.starts.tolist() == [0, 2, 3, 4, 0, 1]
    assert found.ids == [3, 5]
    assert found.counts() == {3: 4, 5: 1}
    assert [places.tolist() for places in found.successive(3)] == [[0], [2]]  # not over the end of a span


def test_windows_that_no_unit_explains_are_no_occurrence() -> None:
    near, far = FARTHEST, FARTHEST + 0.01
    timeline = Timeline(np.array([1, 1, 2, 2], np.int32), np.array([0.5, near, far, 1.0]), ((0, 4),))
    assert Occurrences.of_timelines([timeline]).units.tolist() == [1, OTHER, 2]


def test_nothing_has_no_occurrences() -> None:
    assert Occurrences.of([], []).counts() == {}


def test_p_over_a_family_is_uniform_however_figures_are_scaled() -> None:
    rng, p = np.random.default_rng(0), []
    for _ in range(600):
        draws = rng.normal(size=(40, 5)) * [1, 10, 100, 1, 1] + [0, 5, 0, 0, 0]
        p.append(family_p(draws[0], draws[1:]).min())
    for level in (0.05, 0.25):
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=0.05)
