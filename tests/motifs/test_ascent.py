"""Variational Bayes: a bound that never falls, never exceeds the evidence, and does not care for names."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.motifs.ascent import Ascent, Counts, ascend, chain_bound, expected_counts
from rondo.motifs.grammar import Grammar, RunPairs
from tests import naive_motifs as naive
from tests.motifs.sequences import first_of, independent_runs, markov_runs

PRIOR = 0.02


def counts_of(pairs: RunPairs, motifs: NDArray[np.int64], n_motifs: int) -> Counts:
    begins = pairs.first | (np.diff(motifs, axis=1, prepend=-1) != 0)
    return Counts.of_paths(pairs, motifs, begins, n_motifs)


def climbed(pairs: RunPairs, motifs: NDArray[np.int64], n_motifs: int, prior: float = PRIOR) -> Ascent:
    return ascend(pairs, counts_of(pairs, motifs, n_motifs), prior)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.005, 0.02, 0.1, 1.0]))
def test_monotone_bound(seed: int, prior: float) -> None:
    rng = np.random.default_rng(seed)
    pairs = RunPairs.of(markov_runs(60, 4, seed), first_of(60, 20, 21), 4)
    history = climbed(pairs, rng.integers(0, 3, (4, 60)), 3, prior).history
    assert np.isfinite(history).all()
    assert (np.diff(history, axis=0) >= -1e-8).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=5), st.integers(0, 15), st.sampled_from([0.02, 0.5]))
def test_the_bound_lies_between_one_path_and_the_evidence(units: list[int], code: int, prior: float) -> None:
    """log p(units, start path) <= bound <= log p(units): a start is a path, and a bound is a bound."""
    first = [i == 0 or i == 3 for i in range(len(units))]
    motifs = np.array([code >> i & 1 for i in range(len(units))])
    pairs = RunPairs.of(np.array(units), np.array(first), 2)
    bound = float(climbed(pairs, motifs[None], 2, prior).bounds[0])
    begins = np.array(first) | (np.diff(motifs, prepend=-1) != 0)
    path = tuple(zip(motifs.tolist(), begins.tolist(), strict=True))
    assert naive.joint_evidence(units, first, 2, 2, prior)[path] - 1e-9 <= bound
    assert bound <= naive.log_evidence(units, first, 2, 2, prior) + 1e-9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_of_a_path_are_its_rules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units, first = rng.integers(0, 3, 6), first_of(6, 3)
    motifs = rng.integers(0, 2, 6)
    begins = first | (np.diff(motifs, prepend=-1) != 0) | (rng.random(6) < 0.3)
    path = tuple(zip(motifs.tolist(), begins.tolist(), strict=True))
    ours = Counts.of_paths(RunPairs.of(units, first, 3), motifs[None], begins[None], 2)
    for table, expected in zip(ours, naive.rule_counts(path, units.tolist(), first.tolist(), 2, 3), strict=True):
        npt.assert_array_equal(table[0], expected)


def test_every_run_is_counted_once() -> None:
    """Each run is begun or stayed in; each pair of neighbours is a step inside a motif or an end and a follow."""
    units, first = independent_runs(80, 4, seed=0), first_of(80, 30)
    rng = np.random.default_rng(0)
    shapes = ((2, 3, 4, 5), (2, 3, 4), (2, 3, 3))
    grammars = Grammar(*(np.log(rng.dirichlet(np.ones(shape[-1]), shape[:-1])) for shape in shapes))
    counts, _ = expected_counts(RunPairs.of(units, first, 4), grammars)
    stayed, ended = counts.go[..., :4].sum(axis=(1, 2, 3)), counts.go[..., 4].sum(axis=(1, 2))
    npt.assert_allclose(stayed + counts.start.sum(axis=(1, 2)), 80)
    npt.assert_allclose(stayed + ended, 78)
    npt.assert_allclose(counts.follow.sum(axis=(1, 2)), ended)


def test_names_of_motifs_and_units_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    units, first = markov_runs(120, 5, seed=1), first_of(120, 60)
    motifs = rng.integers(0, 4, (3, 120))
    plain = climbed(RunPairs.of(units, first, 5), motifs, 4)
    motif_names, unit_names = rng.permutation(4), rng.permutation(5)
    renamed = climbed(RunPairs.of(unit_names[units], first, 5), motif_names[motifs], 4)
    npt.assert_allclose(renamed.bounds, plain.bounds, rtol=1e-9)
    npt.assert_allclose(renamed.counts.start[:, motif_names][:, :, unit_names], plain.counts.start, atol=1e-6)
    npt.assert_allclose(renamed.counts.follow[:, motif_names][:, :, motif_names], plain.counts.follow, atol=1e-6)


def test_a_motif_that_is_never_used_costs_nothing_but_its_place() -> None:
    """One chain among 16 motifs is the chain: the openings of spans are shared out, and that is all."""
    units, first = markov_runs(150, 5, seed=2), first_of(150, 50)
    among_others = climbed(RunPairs.of(units, first, 5), np.zeros((1, 150), np.int64), 16).bounds[0]
    assert among_others == pytest.approx(chain_bound(units, first, 5, PRIOR) - 2 * np.log(16), abs=0.01)


def test_chain_bound_lies_between_staying_and_the_evidence() -> None:
    units, first = [0, 1, 2, 1, 0], [True, False, False, False, False]
    bound = chain_bound(np.array(units), np.array(first), 3, PRIOR)
    staying = tuple((0, begins) for begins in first)
    assert naive.joint_evidence(units, first, 1, 3, PRIOR)[staying] <= bound + 1e-9
    assert bound <= naive.log_evidence(units, first, 1, 3, PRIOR) + 1e-9


def test_one_run_and_spans_of_one_run() -> None:
    for first in (first_of(1), first_of(3, 1, 2)):
        ascent = climbed(RunPairs.of(np.zeros(first.size, np.int64), first, 1), np.zeros((2, first.size), np.int64), 2)
        assert np.isfinite(ascent.bounds).all()
