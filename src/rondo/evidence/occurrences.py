"""Occurrences of units on the window axis: what the tests of spacing, order and place are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.windows import Span
from rondo.units.timeline import Timeline

_LEAST_SPREAD, _ROUNDING = 1e-12, 1e-9


class Tested(NamedTuple):
    """p of each unit that one test could judge, corrected for the number of these units, and what it saw."""

    p: dict[int, float]
    seen: dict[int, float]  # in the terms of the test: an interval in windows, a number of recordings

    @classmethod
    def nothing(cls) -> Tested:
        return cls({}, {})


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Runs of equal labels of one or more recordings, one after the other; a run ends with its span."""

    units: Ints  # (n_runs,), OTHER among them
    starts: Ints  # first window of a run, within its recording
    spans: Ints  # number of the span, over all recordings
    labels: tuple[Labels, ...]  # of the windows of each recording

    @classmethod
    def of(cls, labels: Sequence[Labels], spans: Sequence[Sequence[Span]]) -> Occurrences:
        units: list[Ints] = []
        starts: list[Ints] = []
        numbers: list[Ints] = []
        for own, own_spans in zip(labels, spans, strict=True):
            for start, stop in own_spans:
                runs = runs_of(own[start:stop])
                units.append(runs.ids)
                starts.append(runs.starts + start)
                numbers.append(np.full(len(runs), len(numbers)))
        if not units:
            none = np.zeros(0, np.int64)
            return cls(none, none, none, ())
        return cls(np.concatenate(units), np.concatenate(starts), np.concatenate(numbers), tuple(labels))

    @classmethod
    def of_timelines(cls, timelines: Sequence[Timeline]) -> Occurrences:
        """Of the units that label the windows; windows that no unit explains are OTHER."""
        return cls.of([timeline.labels for timeline in timelines], [timeline.spans for timeline in timelines])

    @property
    def ids(self) -> list[int]:
        return [int(id) for id in np.unique(self.units) if id != OTHER]

    def counts(self) -> dict[int, int]:
        """How often each unit occurs."""
        return {id: int((self.units == id).sum()) for id in self.ids}

    def successive(self, id: int) -> tuple[Ints, Ints]:
        """The runs of a unit, each with the next one of the same span: places in `units`."""
        at = np.flatnonzero(self.units == id)
        same = self.spans[at[1:]] == self.spans[at[:-1]]
        return at[:-1][same], at[1:][same]


def family_p(own: Floats, chance: Floats) -> Floats:
    """p of figures (n_units,) against draws (n_draws, n_units), corrected for all units at once.

    Figures are standardised by the mean and deviation of their draws, and compared with the largest of each draw
    (Westfall & Young 1993).

    >>> family_p(np.array([9.0, 1.0]), np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])).tolist()
    [0.25, 1.0]
    """
    centre, spread = chance.mean(axis=0), np.maximum(chance.std(axis=0), _LEAST_SPREAD)
    largest = ((chance - centre) / spread).max(axis=1)
    return np.asarray(ranks(((own - centre) / spread), largest))


def ranks(figures: Floats, by_chance: Floats) -> Floats:
    """(1 + draws that reach each figure) / (1 + draws)."""
    return np.asarray((1 + (by_chance[:, None] >= figures - _ROUNDING).sum(axis=0)) / (1 + by_chance.size))
