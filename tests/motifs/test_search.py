"""The search finds what was planted, tells rests from motifs, and claims nothing where nothing is composed.

Variational Bayes: a bound that never falls, never exceeds the evidence, and does not care for names.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.schema import GrammarMotifsConfig
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.motifs.discover import fit_grammar, starts
from rondo.motifs.grammar import Grammar, RunPairs, decode_runs
from rondo.motifs.search import Ascent, Counts, ascend, chain_bound, expected_counts, search_grammar
from tests import naive_motifs as naive
from tests.motifs.sequences import first_of, independent_runs, markov_runs, timeline_of
from tests.naive_motifs import speak

PHRASES = [[1, 2, 3], [4, 5, 6, 7], [2, 8, 5]]  # 2 and 5 are shared, in other company
PRIOR = 0.02

Ints = NDArray[np.int64]


def planted(n_phrases: int, seed: int) -> tuple[Ints, Ints]:
    units, truth = speak(PHRASES, separator=0, n_phrases=n_phrases, rng=np.random.default_rng(seed))
    return np.array(units), np.array(truth)


def bound_of(units: Ints, motifs: Ints, n_motifs: int = 16) -> float:
    """Where the ascent from this start ends."""
    pairs = RunPairs.of(units, first_of(units.size), 9)
    begins = pairs.first | (np.diff(motifs, prepend=-1) != 0)
    return float(ascend(pairs, Counts.of_paths(pairs, motifs[None], begins[None], n_motifs), PRIOR).bounds[0])


def searched(units: Ints, hypotheses: list[Ints] | None = None) -> tuple[Counter[tuple[int, ...]], float]:
    """The phrases that the grammar found cuts, and its bound."""
    first = first_of(units.size)
    hypotheses = hypotheses or starts(units, first, 9, 16, np.random.default_rng(0))
    grammar, bound = search_grammar(units, first, 9, hypotheses, 16, PRIOR)
    begins = np.flatnonzero(decode_runs(units, first, grammar)[1])
    return Counter(tuple(part.tolist()) for part in np.split(units, begins[1:])), bound


def test_evidence_prefers_the_truth_to_a_chain_and_to_flat_units() -> None:
    units, truth = planted(150, seed=0)
    composed, flat = bound_of(units, truth), bound_of(units, units)
    assert composed > chain_bound(units, first_of(units.size), 9, PRIOR) + 50
    assert composed > flat + 50


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_no_less_than_the_truth(seed: int) -> None:
    units, truth = planted(100, seed)
    assert searched(units)[1] >= bound_of(units, truth) - 0.5


def test_moves_find_the_phrases_from_the_flat_start_alone() -> None:
    """The ascent from the flat start stays flat; joins and removals lead away from it."""
    units, _ = planted(100, seed=3)
    phrases, bound = searched(units, [units])
    assert bound > bound_of(units, units) + 20
    assert {phrase for phrase, n in phrases.items() if n > 5} == {(0,), *map(tuple, PHRASES)}


@pytest.mark.parametrize("seed", range(3))
def test_the_resting_unit_may_stand_inside_a_motif(seed: int) -> None:
    """Cut at every rest, u2 u6 u0 u7 falls apart, and no ascent mends it; joins do."""
    phrases = [[1, 2], [2, 6, 0, 7], [2, 1, 3], [4, 6]]
    runs, truth = speak(phrases, separator=0, n_phrases=120, rng=np.random.default_rng(seed))
    units = np.array(runs)
    found, bound = searched(units)
    assert bound >= bound_of(units, np.array(truth)) - 0.5
    assert found[2, 6, 0, 7] > 20


def test_a_rest_is_not_part_of_the_motifs_around_it() -> None:
    """The motif that swallows its rests, u0 (u2 u8 u5 u0)*, has the higher bound by the price of one motif."""
    units, truth = planted(150, seed=0)
    swallowed = np.where(truth == 3, 0, truth)
    assert 0 < bound_of(units, swallowed) - bound_of(units, truth) < 15
    phrases, _ = searched(units)
    assert all(len(phrase) == 1 for phrase in phrases if 0 in phrase)


@pytest.mark.parametrize("seed", range(3))
def test_clean_motifs_are_recovered(seed: int) -> None:
    units, truth = planted(150, seed)
    model = fit_grammar([timeline_of(units)], range(9), GrammarMotifsConfig(), np.random.default_rng(0))
    assert adjusted_rand(Overlap.of(truth, model.timeline(timeline_of(units)).ids[::2])) >= 0.9
    assert {model.composition(id) for id in model.ids} == {"u0", "u1 u2 u3", "u4 u5 u6 u7", "u2 u8 u5"}


def test_several_spans_are_searched_as_one_vocabulary() -> None:
    units, truth = planted(150, seed=1)
    cuts = np.flatnonzero(units == 0)[[20, 60, 100]].tolist()
    line = timeline_of(units, spans=cuts)
    model = fit_grammar([line], range(9), GrammarMotifsConfig(), np.random.default_rng(0))
    assert adjusted_rand(Overlap.of(truth, model.timeline(line).ids[::2])) >= 0.9


def test_the_same_seed_finds_the_same() -> None:
    units, _ = planted(60, seed=2)
    models = [
        fit_grammar([timeline_of(units)], range(9), GrammarMotifsConfig(), np.random.default_rng(5)) for _ in "ab"
    ]
    assert models[0].evidence == models[1].evidence
    for name, tensor in models[0].tensors().items():
        npt.assert_array_equal(models[1].tensors()[name], tensor)


def test_memory_without_recurrence_is_no_composition() -> None:
    """Long phases of chance and of a chain in turn: evidence for memory, but no phrase comes back."""
    chain = markov_runs(200, 5, seed=8)
    units = np.concatenate([independent_runs(200, 5, seed=7), chain, independent_runs(200, 5, seed=9), chain[::-1]])
    units = units[np.diff(units, prepend=-1) != 0]
    model = fit_grammar([timeline_of(units)], range(5), GrammarMotifsConfig(), np.random.default_rng(0))
    assert model.evidence > 20
    assert model.grammar is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_claimed_of_chains_and_of_chance(seed: int) -> None:
    """20 seeds x 4 kinds: no error in 80; the search ends at the plain chain itself, evidence -log 16."""
    kinds = [independent_runs(150, 5, seed), *(markov_runs(150, 5, seed, sparse) for sparse in (0.1, 0.3, 1.0))]
    for units in kinds:
        model = fit_grammar([timeline_of(units)], range(5), GrammarMotifsConfig(), np.random.default_rng(0))
        assert model.grammar is None
        assert model.evidence < 0


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
