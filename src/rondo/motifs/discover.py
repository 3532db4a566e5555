"""Unit timelines -> motifs: search for a grammar, ask the evidence, group phrases into motifs, number them.

MotifFormer, the paper's way, is `rondo.motifs.former.motifs`.

The fit of the grammar starts from hypotheses of which runs belong together, from flat to composed. Each gives a motif
to every run. A *separator* hypothesis says that one unit stands between occurrences (rest, walking to the bench, the
null class): the phrases between its runs are grouped by edit distance. Block hypotheses cut the runs at fixed steps and
group blocks by the units they hold. The evidence bound chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Ints
from rondo.config.schema import GrammarMotifsConfig, MotifFormerConfig, MotifsConfig, NoMotifsConfig
from rondo.motifs.base import Motifs
from rondo.motifs.grammar import decode_runs
from rondo.motifs.model import MotifModel, PhraseUse, UnitRuns
from rondo.motifs.phrases import MOST_PHRASES, Phrase, content_of, group_phrases, recurrence, recurring
from rondo.motifs.search import chain_bound, search_grammar
from rondo.progress import Progress, silent
from rondo.units.model import UnitModel
from rondo.units.timeline import Timeline, joined

# The evidence is for memory beyond one unit, which slow noise has too. Only where phrases recur is it composition:
# recurrence is 0.64 to 1.0 in planted streams, up to 0.05 in noise, up to 0.06 in recordings of single gestures.
_LEAST_RECURRENCE = 0.5
_SEARCH_RUNS = 2000  # the search for a grammar reads at most this many runs, in evenly spaced stretches
_STRETCH_RUNS = 200
_SEPARATORS = 8  # the most frequent units are tried as separators
_CUTS = (0.3, 0.5, 0.7)  # normalised edit distance at which phrases are grouped
_BLOCKS = (2, 3, 4, 6)  # runs per block


def fit_motifs(
    timelines: Sequence[Timeline],
    units: UnitModel,
    config: MotifsConfig,
    rng: np.random.Generator,
    device: str,
    progress: Progress = silent,
) -> Motifs:
    """Motifs of one or more unit timelines of one unit vocabulary, in the way that the configuration names."""
    if isinstance(config, MotifFormerConfig):
        from rondo.motifs.former.motifs import fit_former  # brings torch, which need not be installed

        return fit_former(joined(timelines), units.ids, units.prototypes, config, rng, device, progress)
    if isinstance(config, NoMotifsConfig):
        return flat_motifs(UnitRuns.of(timelines), units.ids)
    return fit_grammar(timelines, units.ids, config, rng)


def fit_grammar(
    timelines: Sequence[Timeline], unit_ids: Sequence[int], config: GrammarMotifsConfig, rng: np.random.Generator
) -> MotifModel:
    """Motifs as small grammars over unit runs, if there is evidence for any."""
    runs = UnitRuns.of(timelines)
    codes = np.searchsorted(np.array(unit_ids), runs.units)
    units, first = _sample(codes, runs.first)
    n_motifs = max(config.motif_cap, len(unit_ids))
    hypotheses = starts(units, first, len(unit_ids), n_motifs, rng)
    grammar, bound = search_grammar(units, first, len(unit_ids), hypotheses, n_motifs, config.prior)
    evidence = bound - chain_bound(units, first, len(unit_ids), config.prior)
    if evidence < config.min_evidence:
        return flat_motifs(runs, unit_ids, config.phrase_distance, evidence)
    used = np.unique(decode_runs(codes, runs.first, grammar)[0])
    unnamed = MotifModel(
        tuple(unit_ids), grammar.kept([int(motif) for motif in used]), (), config.phrase_distance, evidence
    )
    phrases, headings, _ = unnamed.read(runs)
    if recurrence(phrases) < _LEAST_RECURRENCE:
        return flat_motifs(runs, unit_ids, config.phrase_distance, evidence)
    return _numbered(unnamed, phrases, headings)


def _numbered(empty: MotifModel, phrases: Sequence[Phrase], headings: Sequence[int]) -> MotifModel:
    """Fill the phrase book of a model that has a grammar only; ids follow first appearance."""
    groups = recurring(phrases, headings, empty.phrase_distance)
    free = len(set(groups.values()))
    counts = Counter(zip(headings, phrases, strict=True))
    composed = [
        PhraseUse(groups[content_of(phrase, heading)], heading, phrase, n)
        for (heading, phrase), n in counts.items()
        if content_of(phrase, heading) in groups
    ]
    alone = [PhraseUse(free + i, 0, (unit,), 0) for i, unit in enumerate(empty.unit_ids)]
    draft = replace(empty, usages=(*composed, *alone))
    seen, begins = draft.named(phrases, headings)
    ids, first = np.unique(seen, return_index=True)
    number = {int(group): new for new, group in enumerate(ids[np.argsort(first)])}
    occurrences = Counter(seen[begins].tolist())  # of a unit, also where a phrase that recurs nowhere was read as units
    usages = composed + [replace(usage, count=occurrences[usage.motif]) for usage in alone]
    named = tuple(replace(usage, motif=number[usage.motif]) for usage in usages if usage.motif in number)
    return replace(draft, usages=named)


def flat_motifs(runs: UnitRuns, unit_ids: Sequence[int], distance: float = 0.0, evidence: float = 0.0) -> MotifModel:
    """Every unit is its own motif, under the unit's id."""
    usages = tuple(PhraseUse(int(unit), 0, (int(unit),), int((runs.units == unit).sum())) for unit in unit_ids)
    return MotifModel(tuple(unit_ids), None, usages, distance, evidence)


def _sample(codes: NDArray[np.int64], first: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """All runs, or evenly spaced stretches of them when there are very many; a stretch begins like a span."""
    if codes.size <= _SEARCH_RUNS:
        return codes, first
    begins = np.linspace(0, codes.size - _STRETCH_RUNS, _SEARCH_RUNS // _STRETCH_RUNS).astype(np.int64)
    chosen = np.concatenate([np.arange(begin, begin + _STRETCH_RUNS) for begin in begins])
    opened = first[chosen]
    opened[::_STRETCH_RUNS] = True
    return codes[chosen], opened


def starts(units: Ints, first: NDArray[np.bool_], n_units: int, n_motifs: int, rng: np.random.Generator) -> list[Ints]:
    """All hypotheses for runs of units (n_runs,); each is a motif 0 .. n_motifs-1 per run. The first one is flat."""
    frequent = np.argsort(-np.bincount(units, minlength=n_units), kind="stable")[:_SEPARATORS]
    hypotheses = [units.copy()]
    for separator in frequent:
        hypotheses += list(_separated(units, first, int(separator), n_motifs))
    hypotheses += [_blocked(units, n_units, n_motifs, size, rng) for size in _BLOCKS if units.size >= 2 * size]
    return hypotheses


def _separated(units: Ints, first: NDArray[np.bool_], separator: int, n_motifs: int) -> Iterator[Ints]:
    between = units != separator
    opens = between & (first | np.concatenate([[True], ~between[:-1]]))
    phrase_of_run = np.cumsum(opens) - 1  # valid where `between`
    bounds = np.flatnonzero(opens)
    if bounds.size < 2:
        return
    inside = np.flatnonzero(between)
    phrases: list[Phrase] = [
        tuple(units[runs].tolist()) for runs in np.split(inside, np.searchsorted(inside, bounds[1:]))
    ]
    if len(set(phrases)) > MOST_PHRASES:
        return  # so many different phrases mean that this unit separates nothing
    for group in group_phrases(phrases, _CUTS):
        groups = np.array([group[phrase] for phrase in phrases])
        motif_of_phrase = 1 + _by_frequency(groups, n_motifs - 1)
        yield np.where(between, motif_of_phrase[np.maximum(phrase_of_run, 0)], 0)


def _blocked(units: Ints, n_units: int, n_motifs: int, size: int, rng: np.random.Generator) -> Ints:
    from sklearn.cluster import KMeans  # slow to import, and only needed to fit

    block = np.arange(units.size) // size
    content = np.zeros((block[-1] + 1, n_units))
    np.add.at(content, (block, units), 1.0)
    content /= content.sum(axis=1, keepdims=True)
    n_groups = min(n_motifs, np.unique(content, axis=0).shape[0])
    groups = KMeans(n_clusters=n_groups, n_init=1, random_state=int(rng.integers(2**31))).fit(content).labels_
    return np.asarray(groups[block], dtype=np.int64)


def _by_frequency(groups: NDArray[np.int64], n_most: int) -> Ints:
    """Groups renumbered from 0 by falling frequency; all beyond the cap share the last number."""
    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    return np.asarray(np.minimum(rank, n_most - 1)[codes])
