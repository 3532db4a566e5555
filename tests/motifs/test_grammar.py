"""The two-level Markov model against enumeration, and what its evidence says of planted and unplanted runs."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.motifs.discover import starts
from rondo.motifs.grammar import Grammar, PairTables, RunPairs, decode_runs, forward_backward
from rondo.motifs.search import Counts, ascend, chain_bound, expected_counts, search_grammar
from tests.naive_motifs import all_paths, speak

N_MOTIFS, N_UNITS = 2, 3


def drawn(seed: int, n_motifs: int = N_MOTIFS, n_units: int = N_UNITS) -> Grammar:
    rng = np.random.default_rng(seed)
    shapes = ((n_motifs, n_units, n_units + 1), (n_motifs, n_units), (n_motifs, n_motifs))
    return Grammar(*(np.log(rng.dirichlet(np.ones(shape[-1]), shape[:-1])) for shape in shapes))


def sequences() -> st.SearchStrategy[tuple[list[int], list[bool], int]]:
    runs = st.lists(st.integers(0, N_UNITS - 1), min_size=1, max_size=4)
    return runs.flatmap(
        lambda units: st.tuples(
            st.just(units),
            st.lists(st.booleans(), min_size=len(units) - 1, max_size=len(units) - 1).map(lambda rest: [True, *rest]),
            st.integers(0, 10_000),
        )
    )


def batch_of(grammar: Grammar) -> Grammar:
    return Grammar(*(table[None] for table in grammar))


def pairs_of(units: list[int], first: list[bool], n_units: int = N_UNITS) -> RunPairs:
    return RunPairs.of(np.array(units), np.array(first), n_units)


@settings(max_examples=60, deadline=None)
@given(sequences())
def test_likelihood_posterior_and_best_path_equal_enumeration(case: tuple[list[int], list[bool], int]) -> None:
    units, first, seed = case
    grammar = drawn(seed)
    paths = all_paths(units, first, grammar)
    total = sum(paths.values())
    pairs = pairs_of(units, first)
    passes = forward_backward(pairs, PairTables.of(pairs, batch_of(grammar)))
    npt.assert_allclose(np.log(passes.scale).sum(), np.log(total), rtol=1e-10)
    posterior = (passes.forward * passes.backward)[:, 0]
    for i in range(len(units)):
        for motif in range(N_MOTIFS):
            share = sum(p for path, p in paths.items() if path[i][0] == motif) / total
            npt.assert_allclose(posterior[i, motif] / posterior[i].sum(), share, atol=1e-10)
    motifs, begins, _ = decode_runs(np.array(units), np.array(first), grammar)
    chosen = tuple(zip(motifs.tolist(), begins.tolist(), strict=True))
    npt.assert_allclose(paths[chosen], max(paths.values()), rtol=1e-10)


@settings(max_examples=30, deadline=None)
@given(sequences())
def test_expected_counts_equal_enumeration(case: tuple[list[int], list[bool], int]) -> None:
    units, first, seed = case
    grammar = drawn(seed)
    go, start, follow = expected_counts(pairs_of(units, first), batch_of(grammar))[0]
    expected = (np.zeros_like(go[0]), np.zeros_like(start[0]), np.zeros_like(follow[0]))
    paths = all_paths(units, first, grammar)
    total = sum(paths.values())
    for path, probability in paths.items():
        for i, (motif, begins) in enumerate(path):
            share = probability / total
            if begins:
                expected[1][motif, units[i]] += share
            if first[i]:
                continue
            before = path[i - 1][0]
            if begins:
                expected[0][before, units[i - 1], -1] += share
                expected[2][before, motif] += share
            else:
                expected[0][motif, units[i - 1], units[i]] += share
    for ours, theirs in zip((go[0], start[0], follow[0]), expected, strict=True):
        npt.assert_allclose(ours, theirs, atol=1e-10)


def ascent(seed: int, n_starts: int, n_iterations: int = 25):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    pairs = RunPairs.of(rng.integers(0, 5, 120), np.arange(120) % 40 == 0, 5)
    motifs = rng.integers(0, 4, (n_starts, 120))
    begins = pairs.first | (np.diff(motifs, axis=1, prepend=-1) != 0)
    counts = Counts.of_paths(pairs, motifs, begins, 4)
    return pairs, counts, ascend(pairs, counts, 0.1, n_iterations)


def test_monotone_bound() -> None:
    """Variational Bayes never lowers the evidence bound."""
    history = ascent(0, n_starts=3)[2].history
    assert (np.diff(history, axis=0) >= -1e-8).all()
    assert history[-1].max() > history[0].max()


def test_company_changes_nothing() -> None:
    """A batch of starts ends where each of them ends alone."""
    pairs, counts, together = ascent(1, n_starts=3)
    for start in range(3):
        alone = ascend(pairs, counts.chosen(np.array([start])), 0.1, 25)
        assert alone.bounds[0] == pytest.approx(together.bounds[start], abs=1e-9)
        npt.assert_allclose(alone.counts.go[0], together.counts.go[start], atol=1e-8)


def test_long_sequences_do_not_underflow() -> None:
    units = np.random.default_rng(2).integers(0, 6, 20_000)
    first = np.arange(units.size) == 0
    motifs, begins, posterior = decode_runs(units, first, drawn(3, 4, 6))
    assert np.isfinite(posterior).all()
    assert begins[0]
    assert motifs.size == units.size


@pytest.mark.parametrize("seed", range(3))
def test_planted_phrases_are_recovered_and_evident(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs, truth = speak([[1, 2, 3], [4, 1, 5], [2, 6]], separator=0, n_phrases=150, rng=rng)
    units, first = np.array(runs), np.arange(len(runs)) == 0
    grammar, bound = search_grammar(units, first, 7, starts(units, first, 7, 8, rng), 8, 0.02)
    assert bound > chain_bound(units, first, 7, 0.02) + 5
    # Phrases without a unit in common may share a heading, so it is the cuts that are compared.
    cuts = np.diff(truth, prepend=-1) != 0
    assert (decode_runs(units, first, grammar)[1] == cuts).mean() > 0.95
