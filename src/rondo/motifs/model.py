"""MotifModel: reads motifs from a unit timeline. Fitting gives it; it never changes afterwards.

Two steps: the grammar cuts the unit runs into phrases, the phrase book says which motif a phrase is. Where the data
give no evidence for composition, there is no grammar and every unit is its own motif: the two levels coincide, and
Rondo says so instead of inventing a hierarchy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.config import GrammarMotifsConfig, MotifsConfig, NoMotifsConfig
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.errors import SettingError
from rondo.motifs.grammar import Grammar, decode_runs, fit_grammar
from rondo.motifs.phrases import Phrase, composition, phrase_distances, recurring
from rondo.motifs.starts import starts
from rondo.units.timeline import Timeline

_SEARCH_RUNS = 3000  # the search for a grammar reads at most this many runs, in evenly spaced stretches
_STRETCH_RUNS = 250


@dataclass(frozen=True, eq=False)
class MotifTimeline:
    """One motif and one score in (0, 1] per window; `begins` is True where an occurrence starts."""

    ids: Labels
    scores: NDArray[np.float64]
    begins: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MotifModel:
    """A grammar over units (None: flat) and the phrases of each motif with how often they occurred."""

    unit_ids: tuple[int, ...]
    grammar: Grammar | None
    phrases: Mapping[Phrase, int]  # phrase of unit ids -> motif id
    counts: Mapping[Phrase, int]  # phrase -> occurrences in the fitted recordings
    phrase_distance: float
    evidence: float  # log-evidence for composition over flat units

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.phrases.values())))

    def composition(self, motif: int) -> str:
        """What a motif is made of, for people."""
        return composition({phrase: self.counts[phrase] for phrase, id in self.phrases.items() if id == motif})

    def timeline(self, units: Timeline) -> MotifTimeline:
        """The motif of every window."""
        if not units.ids.size:
            return MotifTimeline(units.ids, units.scores, np.zeros(0, np.bool_))
        runs = _Runs.of([units])
        phrases, scores = self._read(runs, units)
        motifs = np.full(runs.units.size, OTHER, dtype=np.int32)
        begins = np.zeros(runs.units.size, dtype=np.bool_)
        at = 0
        for phrase, motif in zip(phrases, self._motifs_of(phrases), strict=True):
            stop = at + len(phrase)
            if motif is None:  # recurs nowhere: each unit stands for itself
                motifs[at:stop] = [self.phrases.get((unit,), OTHER) for unit in phrase]
                begins[at:stop] = True
            else:
                motifs[at:stop] = motif
                begins[at] = True
            at = stop
        window_begins = np.zeros(units.ids.size, dtype=np.bool_)
        window_begins[runs.starts[begins]] = True
        return MotifTimeline(np.repeat(motifs, runs.lengths), scores, window_begins)

    def _read(self, runs: _Runs, units: Timeline) -> tuple[list[Phrase], NDArray[np.float64]]:
        """The phrases in order, and a score per window."""
        if self.grammar is None:
            return [(int(unit),) for unit in runs.units], units.scores
        codes = np.searchsorted(np.array(self.unit_ids), runs.units)
        _, begins, posterior = decode_runs(codes, runs.first, self.grammar)
        return list(_cut(runs.units, begins)), np.repeat(posterior, runs.lengths)

    def _motifs_of(self, phrases: Sequence[Phrase]) -> Iterator[int | None]:
        """The motif of each phrase; a new phrase takes the nearest known one, if it is near enough."""
        known = list(self.phrases)
        new = sorted(set(phrases) - set(known))
        nearest: dict[Phrase, int] = {}
        for first in range(0, len(new) if known else 0, 256):
            some = new[first : first + 256]
            table = phrase_distances(some, known)
            for phrase, row in zip(some, table, strict=True):
                if row.min() <= self.phrase_distance and len(phrase) > 1:
                    nearest[phrase] = self.phrases[known[int(row.argmin())]]
        for phrase in phrases:
            yield self.phrases.get(phrase, nearest.get(phrase))

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        phrases = list(self.phrases)
        named: dict[str, NDArray[np.generic]] = {
            "unit_ids": np.array(self.unit_ids, dtype=np.int64),
            "phrase_units": np.array([unit for phrase in phrases for unit in phrase], dtype=np.int64),
            "phrase_lengths": np.array([len(phrase) for phrase in phrases], dtype=np.int64),
            "phrase_motifs": np.array([self.phrases[phrase] for phrase in phrases], dtype=np.int64),
            "phrase_counts": np.array([self.counts[phrase] for phrase in phrases], dtype=np.int64),
            "settings": np.array([self.phrase_distance, self.evidence]),
        }
        if self.grammar is not None:
            grammar = self.grammar
            named |= {
                "grammar.go": grammar.go,
                "grammar.start": grammar.start,
                "grammar.follow": grammar.follow,
            }
        return named

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> MotifModel:
        """The model that wrote these tensors."""
        units = np.asarray(tensors["phrase_units"], np.int64)
        edges = np.cumsum(np.asarray(tensors["phrase_lengths"], np.int64))
        phrases = [tuple(part.tolist()) for part in np.split(units, edges[:-1])]
        motifs, counts = (np.asarray(tensors[f"phrase_{name}"], np.int64).tolist() for name in ("motifs", "counts"))
        grammar = None
        if "grammar.go" in tensors:
            grammar = Grammar(
                *(np.asarray(tensors[f"grammar.{name}"], np.float64) for name in ("go", "start", "follow"))
            )
        distance, evidence = np.asarray(tensors["settings"], np.float64).tolist()
        unit_ids = tuple(np.asarray(tensors["unit_ids"], np.int64).tolist())
        book, tally = dict(zip(phrases, motifs, strict=True)), dict(zip(phrases, counts, strict=True))
        return cls(unit_ids, grammar, book, tally, distance, evidence)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Unit runs of one or more timelines, one after the other."""

    units: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    first: NDArray[np.bool_]  # True where a span begins

    @classmethod
    def of(cls, timelines: Sequence[Timeline]) -> _Runs:
        units, starts, lengths, first = [], [], [], []
        for timeline in timelines:
            for start, stop in timeline.spans:
                runs = runs_of(timeline.ids[start:stop])
                units.append(runs.ids)
                starts.append(runs.starts + start)
                lengths.append(runs.lengths)
                first.append(np.arange(len(runs)) == 0)
        return cls(*(np.concatenate(parts) for parts in (units, starts, lengths, first)))


def fit_motifs(
    timelines: Sequence[Timeline], unit_ids: Sequence[int], config: MotifsConfig, rng: np.random.Generator
) -> MotifModel:
    """Motifs of one or more unit timelines that share a unit vocabulary."""
    if isinstance(config, NoMotifsConfig):
        return _flat(timelines, unit_ids, 0.0, evidence=0.0)
    if not isinstance(config, GrammarMotifsConfig):
        raise SettingError(
            f"motifs.method = '{config.method}' is not in this version of Rondo; use motifs.method = 'grammar'"
        )
    runs = _Runs.of(timelines)
    codes = np.searchsorted(np.array(unit_ids), runs.units)
    units, first = _sample(codes, runs.first)
    n_motifs = max(config.motif_cap, len(unit_ids))
    hypotheses = starts(units, first, len(unit_ids), n_motifs, rng)
    grammar, bound = fit_grammar(units, first, len(unit_ids), hypotheses, n_motifs, config.prior)
    one_chain = fit_grammar(units, first, len(unit_ids), [np.zeros_like(units)], 1, config.prior)[1]
    evidence = bound - one_chain
    if evidence < config.min_evidence:
        return _flat(timelines, unit_ids, config.phrase_distance, evidence)
    used = np.unique(decode_runs(codes, runs.first, grammar)[0])
    grammar = grammar.kept([int(motif) for motif in used])
    phrases = list(_cut(runs.units, decode_runs(codes, runs.first, grammar)[1]))
    groups = recurring(phrases, config.phrase_distance)
    free = max(groups.values(), default=0) + 1
    for unit in unit_ids:
        groups.setdefault((int(unit),), free + int(unit))  # a group of its own, kept only if it is used below
    draft = MotifModel(tuple(unit_ids), grammar, groups, {}, config.phrase_distance, evidence)
    return _numbered(draft, timelines, phrases)


def _numbered(draft: MotifModel, timelines: Sequence[Timeline], phrases: Sequence[Phrase]) -> MotifModel:
    """Ids by first appearance; groups that label nothing are left out."""
    seen = np.concatenate([draft.timeline(timeline).ids for timeline in timelines])
    groups, first = np.unique(seen, return_index=True)
    number = {int(group): id for id, group in enumerate(groups[np.argsort(first)])}
    book = {phrase: number[group] for phrase, group in draft.phrases.items() if group in number}
    tally: Counter[Phrase] = Counter()
    for phrase, motif in zip(phrases, draft._motifs_of(phrases), strict=True):
        tally.update([phrase] if motif is not None else [(unit,) for unit in phrase])
    counts = {phrase: tally[phrase] for phrase in book}
    return MotifModel(draft.unit_ids, draft.grammar, book, counts, draft.phrase_distance, draft.evidence)


def _flat(timelines: Sequence[Timeline], unit_ids: Sequence[int], distance: float, evidence: float) -> MotifModel:
    """Every unit is its own motif, under the unit's id."""
    units = _Runs.of(timelines).units
    book: dict[Phrase, int] = {(int(unit),): int(unit) for unit in unit_ids}
    counts: dict[Phrase, int] = {phrase: int((units == phrase[0]).sum()) for phrase in book}
    return MotifModel(tuple(unit_ids), None, book, counts, distance, evidence)


def _cut(units: NDArray[np.int64], begins: NDArray[np.bool_]) -> Iterator[Phrase]:
    for part in np.split(units, np.flatnonzero(begins)[1:]):
        yield tuple(part.tolist())


def _sample(codes: NDArray[np.int64], first: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """All runs, or evenly spaced stretches of them when there are very many."""
    if codes.size <= _SEARCH_RUNS:
        return codes, first
    begins = np.linspace(0, codes.size - _STRETCH_RUNS, _SEARCH_RUNS // _STRETCH_RUNS).astype(np.int64)
    chosen = np.concatenate([np.arange(begin, begin + _STRETCH_RUNS) for begin in begins])
    opened = first.copy()
    opened[begins] = True
    return codes[chosen], opened[chosen]
