"""What every motif model is, whichever way it was learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, Ints
from rondo.data.labels import Labels, runs_of
from rondo.data.windows import Span
from rondo.encoders.base import Curves
from rondo.units.viterbi import Timeline

MotifKind = Literal["unit", "phrase", "context"]
"""A unit that stands for itself, a sequence of units that comes back, a stretch in which the same units keep coming."""
PhraseBook = Mapping[int, Counter[tuple[int, ...]]]
"""How often each phrase of each motif occurs in the fitted recordings."""
Kept = Callable[[int], int]
"""Of each unit, the one that it counts as since people have merged some; `int`: itself."""


class UnitRuns(NamedTuple):
    """Runs of equal labels of one or more recordings, one after the other; a run ends with its span."""

    units: Ints  # (n_runs,)
    starts: Ints  # first window of a run, within its recording
    lengths: Ints
    spans: Ints  # number of the span, over all recordings

    @classmethod
    def of(cls, timelines: Sequence[Timeline]) -> UnitRuns:
        return cls.of_labels([(timeline.ids, timeline.spans) for timeline in timelines])

    @classmethod
    def of_labels(cls, recordings: Sequence[tuple[Labels, Sequence[Span]]]) -> UnitRuns:
        """From the labels of the windows of each recording, and its spans of windows."""
        columns: list[tuple[Ints, ...]] = []
        for labels, spans in recordings:
            for start, stop in spans:
                runs = runs_of(labels[start:stop])
                columns.append((runs.ids, runs.starts + start, runs.lengths, np.full(len(runs), len(columns))))
        if not columns:
            return cls(*(np.zeros(0, np.int64) for _ in cls._fields))
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    @property
    def first(self) -> Flags:
        """True where a span begins."""
        return np.asarray(np.diff(self.spans, prepend=-1) != 0)


@dataclass(frozen=True, eq=False)
class MotifTimeline:
    """One motif and one score in (0, 1] per window (0 for OTHER); `begins` is True where an occurrence starts."""

    ids: Labels
    scores: Floats
    begins: Flags


class Motifs(Protocol):
    """A vocabulary of motifs over a vocabulary of units, whichever way it was learned."""

    @property
    def unit_ids(self) -> tuple[int, ...]: ...  # ascending
    @property
    def ids(self) -> tuple[int, ...]: ...  # of the motifs that labels show
    @property
    def unshown_ids(self) -> tuple[int, ...]: ...  # of those of the kind that labels do not show, in the same space
    @property
    def composed(self) -> bool: ...  # False where every unit is its own motif: the two levels coincide
    @property
    def curves(self) -> Curves: ...  # the training log, to be plotted; empty where nothing is trained

    @property
    def standing_units(self) -> tuple[int, ...]:
        """Units that mostly stand for themselves, between the motifs; none where the levels coincide or none does."""

    @property
    def known_phrases(self) -> Sequence[tuple[tuple[int, ...], int]]:
        """Phrases of several units, as runs, with the motif of each; none where motifs are not made of such."""

    def kind(self, motif: int) -> MotifKind: ...
    def timeline(self, units: Timeline) -> MotifTimeline: ...

    def phrase_book(self) -> PhraseBook:
        """The phrases in which each motif occurs in the fitted recordings; a motif that occurs nowhere has none."""

    def composition(self, motif: int, kept: Kept = int) -> str:
        """What a motif is made of, for people, in units under the ids that are kept."""

    def tensors(self) -> Mapping[str, NDArray[np.generic]]: ...
