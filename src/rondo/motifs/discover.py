"""Unit timelines -> motifs: search for a grammar, ask the evidence, group phrases into motifs, number them.

MotifFormer, the paper's way, is `rondo.motifs.former.motifs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import GrammarMotifsConfig, MotifFormerConfig, MotifsConfig, NoMotifsConfig
from rondo.motifs.ascent import chain_bound
from rondo.motifs.base import Motifs
from rondo.motifs.grammar import decode_runs
from rondo.motifs.model import MotifModel, PhraseUse, UnitRuns
from rondo.motifs.phrases import Phrase, content_of, recurrence, recurring
from rondo.motifs.search import search_grammar
from rondo.motifs.starts import starts
from rondo.progress import Progress, silent
from rondo.units.model import UnitModel
from rondo.units.timeline import Timeline, joined

# The evidence is for memory beyond one unit, which slow noise has too. Only where phrases recur is it composition:
# recurrence is 0.64 to 1.0 in planted streams, up to 0.05 in noise, up to 0.06 in recordings of single gestures.
_LEAST_RECURRENCE = 0.5
_SEARCH_RUNS = 2000  # the search for a grammar reads at most this many runs, in evenly spaced stretches
_STRETCH_RUNS = 200


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
