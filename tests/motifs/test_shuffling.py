"""Order shuffled: surrogates keep the units, surprise is what its definition says, wavering does not surprise."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rondo.arrays import Floats
from rondo.motifs.mining import Sequences, quasi_independent
from tests.naive_evidence import naive_surprises


def any_order(n_runs: int, frequencies: Floats) -> Sequences:
    """Runs without order, of about these frequencies."""
    units = np.repeat(np.arange(frequencies.size), np.rint(frequencies * n_runs).astype(int))
    start = Sequences(units[None], np.arange(units.size) == 0, frequencies.size)
    return start.shuffled(1, np.random.default_rng(1))


@given(seed=st.integers(0, 2**16), n_units=st.integers(2, 4), longest=st.integers(2, 5))
def test_surprise_equals_its_definition(seed: int, n_units: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    steps = rng.integers(1, n_units, 40)
    units = np.cumsum(steps) % n_units  # no unit follows itself
    first = np.isin(np.arange(40), [0, *rng.integers(1, 40, 2)])
    sequences = Sequences(np.stack([units, units]), first, n_units)
    weights = quasi_independent(np.bincount(units, minlength=n_units) / 40)
    follows = {(u, v): weights[v] / (1 - weights[u]) for u in range(n_units) for v in range(n_units)}
    spans = [part.tolist() for part in np.split(units, np.flatnonzero(first)[1:])]
    expected = naive_surprises(spans, follows, longest)
    assert sequences.surprises(longest) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    often = {phrase: surprise for phrase, surprise in expected.items() if surprise > 0}
    assert sequences.most_surprising(longest) == pytest.approx([max(often.values(), default=0.0)] * 2, rel=1e-6)


@given(counts=st.lists(st.integers(1, 50), min_size=3, max_size=8))
def test_the_chain_has_the_frequencies_where_one_can(counts: list[int]) -> None:
    frequencies = np.array(counts) / sum(counts)
    weights = quasi_independent(frequencies)
    assert (weights > 0).all()
    if frequencies.max() < 0.49:
        transitions = weights / (1 - weights)[:, None]
        np.fill_diagonal(transitions, 0.0)
        assert_allclose(transitions.sum(axis=1), 1.0, atol=1e-6)
        assert_allclose(frequencies @ transitions, frequencies, atol=1e-6)


@pytest.mark.parametrize("frequencies", [[0.1, 0.2, 0.3, 0.4], [0.5, 0.3, 0.2], [0.7, 0.2, 0.1], [0.5, 0.5]])
def test_surrogates_hold_the_units_as_often_and_never_one_twice_in_a_row(frequencies: list[float]) -> None:
    drawn = any_order(2_000, np.array(frequencies))
    units = drawn.units[0]
    assert (units[1:] != units[:-1]).all()
    others = (1 - min(0.5, frequencies[0])) / (1 - frequencies[0])  # no unit can be more than every second run
    possible = [min(0.5, frequencies[0]), *(others * np.array(frequencies[1:]))]
    assert_allclose(np.bincount(units) / units.size, possible, atol=0.03)


def test_a_span_may_begin_with_the_unit_that_ended_the_one_before() -> None:
    units = np.tile([0, 1], 500)
    drawn = Sequences(units[None], np.arange(1000) % 2 == 0, 2).shuffled(3, np.random.default_rng(0)).units
    assert (drawn[:, 1::2] != drawn[:, ::2]).all()
    assert 0.4 < (drawn[:, 2::2] == drawn[:, 1:-1:2]).mean() < 0.6


def test_what_comes_as_often_backwards_does_not_surprise() -> None:
    """0 1 0 1 ... among others is far more common than by chance, but it has no direction; 2 3 4 has one."""
    wavering = [0, 1, 0, 1, 0, 2, 3, 4]
    surprises = Sequences(np.tile(wavering, 20)[None], np.arange(160) == 0, 5).surprises(3)
    assert surprises[0, 1, 0] < 1
    assert surprises[2, 3, 4] > 20


def test_what_short_recordings_always_begin_with_surprises() -> None:
    """40 recordings that go from 0 to 1, and others in which 0 comes and goes: that 0 is first is half of the order."""
    recordings = [[0, 1]] * 40 + [[2, 0, 3, 0, 2, 0, 1]] * 8
    units = np.concatenate([np.array(own) for own in recordings])
    first = np.concatenate([np.arange(len(own)) == 0 for own in recordings])
    sequences = Sequences(units[None], first, 4)
    by_chance = sequences.shuffled(99, np.random.default_rng(0)).most_surprising(3, 3)
    assert sequences.surprises(3)[0, 1] > np.quantile(by_chance, 0.95)


@pytest.mark.slow
def test_many_shuffles_of_many_runs_are_cheap() -> None:
    """0.3 s are wanted for 99 shuffles of 2,000 runs; the bound leaves room for a busy machine."""
    sequence = Sequences(np.tile(np.arange(12), 167)[None, :2000], np.arange(2000) == 0, 12)
    start = time.process_time()
    sequence.shuffled(99, np.random.default_rng(0)).most_surprising(8, least=3)
    assert time.process_time() - start < 1.5
