"""MotifModel: reads motifs from a unit timeline. Fitting gives it (`motifs/discover.py`); it never changes afterwards.

Two steps: the grammar cuts the unit runs into phrases, the phrase book says which motif a phrase is. Where the data
give no evidence for composition, there is no grammar and every unit is its own motif: the two levels coincide, and
Rondo says so instead of inventing a hierarchy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels, runs_of
from rondo.encoders import Curves
from rondo.motifs.base import MotifTimeline as MotifTimeline
from rondo.motifs.grammar import Grammar, decode_runs
from rondo.motifs.phrases import Content, Phrase, composition, content_distances, content_of
from rondo.units.timeline import Timeline


@dataclass(frozen=True)
class PhraseUse:
    """A phrase of the fitted recordings: its motif, the grammar's motif it was filed under, how often it occurred."""

    motif: int
    heading: int
    phrase: Phrase
    count: int


@dataclass(frozen=True, eq=False)
class MotifModel:
    """A grammar over units (None: flat) and the phrases of each motif."""

    unit_ids: tuple[int, ...]  # ascending
    grammar: Grammar | None
    usages: tuple[PhraseUse, ...]
    phrase_distance: float  # a new phrase takes the motif of the nearest known one up to this distance
    evidence: float  # log-evidence for composition over flat units

    @cached_property
    def motif_of(self) -> dict[Content, int]:
        """The motif of every known content."""
        return {content_of(usage.phrase, usage.heading): usage.motif for usage in self.usages}

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(sorted({usage.motif for usage in self.usages}))

    @property
    def composed(self) -> bool:
        return self.grammar is not None

    @property
    def standing_units(self) -> tuple[int, ...]:
        """Units that more often than not are a motif by themselves, beside motifs of several units."""
        if self.grammar is None:
            return ()
        alone, all_told = Counter[int](), Counter[int]()
        for usage in self.usages:
            for unit in usage.phrase:
                all_told[unit] += usage.count
            if len(usage.phrase) == 1:
                alone[usage.phrase[0]] += usage.count
        return tuple(sorted(unit for unit in alone if alone[unit] >= 2 and all_told[unit] <= 2 * alone[unit]))

    @property
    def known_phrases(self) -> Sequence[tuple[Phrase, int]]:
        return [(usage.phrase, usage.motif) for usage in self.usages if len(usage.phrase) > 1]

    @property
    def curves(self) -> Curves:
        return {}  # nothing is trained

    def composition(self, motif: int) -> str:
        """What a motif is made of, for people."""
        counts: dict[Phrase, int] = {}
        for usage in self.usages:
            if usage.motif == motif:
                counts[usage.phrase] = counts.get(usage.phrase, 0) + usage.count
        return composition(counts)

    def timeline(self, units: Timeline) -> MotifTimeline:
        """The motif of every window."""
        if not units.ids.size:
            return MotifTimeline(units.ids, units.scores, np.zeros(0, np.bool_))
        runs = UnitRuns.of([units])
        phrases, headings, posterior = self.read(runs)
        motifs, begins = self.named(phrases, headings)
        window_begins = np.zeros(units.ids.size, dtype=np.bool_)
        window_begins[runs.starts[begins]] = True
        scores = units.scores if posterior is None else np.repeat(posterior, runs.lengths)
        return MotifTimeline(np.repeat(motifs, runs.lengths), scores, window_begins)

    def read(self, runs: UnitRuns) -> tuple[list[Phrase], list[int], NDArray[np.float64] | None]:
        """The phrases in order, the grammar's motif of each, and its posterior at each run."""
        if self.grammar is None:
            return [(int(unit),) for unit in runs.units], [0] * runs.units.size, None
        codes = np.searchsorted(np.array(self.unit_ids), runs.units)
        headings, begins, posterior = decode_runs(codes, runs.first, self.grammar)
        edges = np.flatnonzero(begins)
        phrases = [tuple(part.tolist()) for part in np.split(runs.units, edges[1:])]
        return phrases, headings[edges].tolist(), posterior

    def named(self, phrases: Sequence[Phrase], headings: Sequence[int]) -> tuple[Labels, NDArray[np.bool_]]:
        """The motif of each run, and where occurrences begin."""
        contents = [content_of(phrase, heading) for phrase, heading in zip(phrases, headings, strict=True)]
        motif_of = self.motif_of | self._motifs_of_new(sorted(set(contents) - self.motif_of.keys()))
        motifs: list[int] = []
        begins: list[bool] = []
        for phrase, content in zip(phrases, contents, strict=True):
            if content in motif_of:
                motifs += [motif_of[content]] * len(phrase)
                begins += [True] + [False] * (len(phrase) - 1)
            else:  # recurs nowhere: each unit stands for itself
                motifs += [motif_of.get(content_of((unit,), content[0]), OTHER) for unit in phrase]
                begins += [True] * len(phrase)
        return np.array(motifs, dtype=np.int32), np.array(begins, dtype=np.bool_)

    def _motifs_of_new(self, contents: Sequence[Content]) -> dict[Content, int]:
        """The motif of the nearest known content under the same heading, if it is near enough; of equals the first."""
        found: dict[Content, int] = {}
        for content in contents:
            known = [other for other in self.motif_of if other[0] == content[0]]
            if known and len(content[1]) > 1:
                distances = content_distances([content], known)[0]
                if distances.min() <= self.phrase_distance:
                    found[content] = self.motif_of[known[int(distances.argmin())]]
        return found

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        named: dict[str, NDArray[np.generic]] = {
            "unit_ids": np.array(self.unit_ids, dtype=np.int64),
            "phrases.units": np.array([unit for usage in self.usages for unit in usage.phrase], dtype=np.int64),
            "phrases.lengths": np.array([len(usage.phrase) for usage in self.usages], dtype=np.int64),
            "phrases.motifs": np.array([usage.motif for usage in self.usages], dtype=np.int64),
            "phrases.headings": np.array([usage.heading for usage in self.usages], dtype=np.int64),
            "phrases.counts": np.array([usage.count for usage in self.usages], dtype=np.int64),
            "settings": np.array([self.phrase_distance, self.evidence]),
        }
        if self.grammar is not None:
            named |= {f"grammar.{name}": getattr(self.grammar, name) for name in ("go", "start", "follow")}
        return named

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> MotifModel:
        """The model that wrote these tensors."""
        units, lengths, motifs, headings, counts = (
            np.asarray(tensors[f"phrases.{name}"], np.int64)
            for name in ("units", "lengths", "motifs", "headings", "counts")
        )
        phrases = [tuple(part.tolist()) for part in np.split(units, np.cumsum(lengths)[:-1])]
        rows = zip(motifs.tolist(), headings.tolist(), phrases, counts.tolist(), strict=True)
        grammar = None
        if "grammar.go" in tensors:
            go, start, follow = (
                np.asarray(tensors[f"grammar.{name}"], np.float64) for name in ("go", "start", "follow")
            )
            grammar = Grammar(go, start, follow)
        distance, evidence = np.asarray(tensors["settings"], np.float64).tolist()
        unit_ids = tuple(np.asarray(tensors["unit_ids"], np.int64).tolist())
        return cls(unit_ids, grammar, tuple(PhraseUse(*row) for row in rows), distance, evidence)


@dataclass(frozen=True, eq=False)
class UnitRuns:
    """Unit runs of one or more timelines, one after the other; a run never crosses the end of a span."""

    units: NDArray[np.int64]
    starts: NDArray[np.int64]  # window at which a run starts, within its timeline
    lengths: NDArray[np.int64]
    first: NDArray[np.bool_]  # True where a span begins

    @classmethod
    def of(cls, timelines: Sequence[Timeline]) -> UnitRuns:
        """The runs of timelines that have windows."""
        units, starts, lengths, first = [], [], [], []
        for timeline in timelines:
            for start, stop in timeline.spans:
                runs = runs_of(timeline.ids[start:stop])
                units.append(runs.ids)
                starts.append(runs.starts + start)
                lengths.append(runs.lengths)
                first.append(np.arange(len(runs)) == 0)
        return cls(*(np.concatenate(parts) for parts in (units, starts, lengths, first)))
