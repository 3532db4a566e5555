"""The search finds what was planted, tells rests from motifs, and claims nothing where nothing is composed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.config.schema import GrammarMotifsConfig
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.motifs.ascent import Counts, ascend, chain_bound
from rondo.motifs.discover import fit_grammar
from rondo.motifs.grammar import RunPairs, decode_runs
from rondo.motifs.search import search_grammar
from rondo.motifs.starts import starts
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
