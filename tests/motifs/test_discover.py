"""Hypotheses to start from: in range, flat first, exact where a separator is a separator."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.motifs.discover import starts
from rondo.motifs.phrases import phrase_distances
from tests.motifs.sequences import first_of, independent_runs
from tests.naive_motifs import edit_distance, speak


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 1000))
def test_every_start_gives_every_run_a_motif_in_range(n_runs: int, n_units: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    units, first = rng.integers(0, n_units, n_runs), rng.random(n_runs) < 0.2
    first[0] = True
    for start in starts(units, first, n_units, 6, rng):
        assert start.shape == (n_runs,)
        assert start.min() >= 0
        assert start.max() < 6


def test_the_first_start_is_flat() -> None:
    units = independent_runs(50, 4, seed=0)
    npt.assert_array_equal(starts(units, first_of(50), 4, 8, np.random.default_rng(0))[0], units)


def test_a_true_separator_gives_the_truth() -> None:
    units, truth = speak([[1, 2, 3], [4, 1, 5], [2, 6]], separator=0, n_phrases=40, rng=np.random.default_rng(1))
    found = starts(np.array(units), first_of(len(units)), 7, 16, np.random.default_rng(0))
    assert max(adjusted_rand(Overlap.of(truth, start)) for start in found) == 1.0


def test_a_span_ends_a_phrase() -> None:
    """1 2 | 3 without a boundary is one phrase, with one it is two."""
    units = np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3])
    whole, cut = (starts(units, first_of(12, *spans), 4, 16, np.random.default_rng(0))[1] for spans in ([], [3, 7, 11]))
    assert whole[1] == whole[3]
    assert cut[1] == cut[2] != cut[3]


def test_more_groups_than_motifs_share_the_last() -> None:
    units, _ = speak([[u, u + 1] for u in range(1, 20, 2)], separator=0, n_phrases=80, rng=np.random.default_rng(2))
    for start in starts(np.array(units), first_of(len(units)), 21, 21, np.random.default_rng(0)):
        assert start.max() < 21


def test_a_unit_that_separates_too_many_phrases_separates_nothing() -> None:
    """More than 400 distinct phrases between the runs of a unit: that hypothesis is left out."""
    rng = np.random.default_rng(3)
    units = np.concatenate([np.append(0, rng.permutation(np.arange(1, 30))[:6]) for _ in range(450)])
    hypotheses = starts(units, first_of(units.size), 30, 30, rng)
    separated = [start for start in hypotheses[1:] if ((start == 0) == (units == 0)).all()]
    assert not separated


@settings(max_examples=40, deadline=None)
@given(*(st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple) for _ in range(2)))
def test_phrase_distance_is_edit_distance_over_the_longer(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    assert phrase_distances([a], [b])[0, 0] == pytest.approx(edit_distance(a, b) / max(len(a), len(b)))
