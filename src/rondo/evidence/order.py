"""Occurrences of units on the window axis: what the tests of spacing, order and place are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, gammainc, gammaincinv

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.windows import Span
from rondo.evidence.verdicts import ReasonKind
from rondo.units.viterbi import Timeline

_LEAST_SPREAD, _ROUNDING = 1e-12, 1e-9  # far below any spread; relative, far above what float64 loses


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


# ----------------------------------------------------------------
# Does a unit come after one unit and before another, more often than the other way round?
#
# Slow noise passes from a unit to units that are near it, so that counts of transitions say nothing by themselves. But
# it takes every way back as often as there: what a reversible process does between two occurrences of a unit u,
#
#     u  v_out ... v_in  u,
#
# it does backwards equally often (Kelly 1979, Reversibility and stochastic networks). So the ways from u back to u are
# turned round at random, each with probability one half, and the figure
#
#     sum over units v of (n_out(v) - n_in(v))^2 / (n_out(v) + n_in(v))
#
# is compared with what it is then. Ways that begin and end with the same unit say nothing.

_FEWEST = 5  # ways that can be turned round; with fewer, nothing can pass
_MOST = 500  # ways that are turned round; bounds time
_DRAWS = 399  # p of one test is at least 1 / 400


def order_test(occurrences: Occurrences, rng: np.random.Generator) -> Tested:
    """p of each unit with at least five ways that can be turned round; seen is their number."""
    own, chance, seen = [], [], {}
    for id in occurrences.ids:
        before, after = occurrences.successive(id)
        out, into = occurrences.units[before + 1], occurrences.units[after - 1]
        telling = np.flatnonzero(out != into)[:_MOST]
        if telling.size < _FEWEST:
            continue
        names, codes = np.unique([out[telling], into[telling]], return_inverse=True)
        steps = np.eye(names.size)[codes.reshape(2, -1)]  # (2, n_ways, n_units)
        difference = (steps[0] - steps[1]) / np.sqrt(steps.sum(axis=(0, 1)))
        turned = rng.integers(0, 2, (_DRAWS, telling.size)) * 2.0 - 1
        own.append(np.square(difference.sum(axis=0)).sum())
        chance.append(np.square(turned @ difference).sum(axis=1))
        seen[id] = float(telling.size)
    if not own:
        return Tested.nothing()
    p = family_p(np.array(own), np.stack(chance, axis=1))
    return Tested(dict(zip(seen, p.tolist(), strict=True)), seen)


# ----------------------------------------------------------------
# Does a unit come at the same place of many recordings?
#
# Of recordings laid side by side, first with their first windows together, then with their last ones, n(x) is the
# number that have the unit at window x. The figure, the mean of n(x)^2, is large where recordings agree. It is
# compared with that of the same recordings, each turned round in a circle by a random number of windows: what a
# recording does stays as it is, but where it does it says nothing. Noise has no place of its own; the end of life of
# an engine has.

FEWEST_RECORDINGS = 5  # chosen by hand, not measured
_MOST_RECORDINGS, _MOST_PLACES = 100, 24  # bounds time; chosen by hand, not measured
_PLACE_DRAWS = 199  # p of one test is at least 1 / 200
_EDGE = 0.9  # of the recordings that have it at its place: these have it in their first or last window, too


def place_test(occurrences: Occurrences, rng: np.random.Generator) -> tuple[Tested, dict[int, ReasonKind]]:
    """p of each unit where there are five recordings or more, how many have it at its place, and which place it is."""
    tracks = [track for track in occurrences.labels if track.size > 1]
    n_recordings = len(tracks)
    if n_recordings < FEWEST_RECORDINGS:
        return Tested.nothing(), {}
    chosen = np.linspace(0, n_recordings - 1, min(n_recordings, _MOST_RECORDINGS)).astype(np.int64)
    asked = [tracks[i] for i in chosen]
    shortest = min(track.size for track in asked)
    ids = np.array(occurrences.ids)
    places = np.unique(np.linspace(0, shortest - 1, min(shortest, _MOST_PLACES)).astype(np.int64))
    turns = np.stack([rng.integers(0, track.size, _PLACE_DRAWS + 1) for track in asked])
    turns[:, 0] = 0  # the recordings as they are
    counts = np.stack([_counts(asked, turns, at, ids) for at in (places, places - shortest)])
    figures = np.square(counts).mean(axis=3)  # (2, n_draws, n_units)
    chance = figures[:, 1:]
    standard = (figures - chance.mean(axis=1)[:, None]) / np.maximum(chance.std(axis=1), 1e-12)[:, None]
    side = standard[:, 0].argmax(axis=0)
    best = standard.max(axis=0)
    p = family_p(best[0], best[1:])
    peak = counts[side, 0, np.arange(ids.size)]  # (n_units, n_places)
    seen = {int(id): float(n) * n_recordings / len(asked) for id, n in zip(ids, peak.max(axis=1), strict=True)}
    where: dict[int, ReasonKind] = {}
    for id, at_end, own in zip(ids.tolist(), side, peak, strict=True):
        is_edge = own[-1 if at_end else 0] >= _EDGE * own.max()
        where[id] = ("end" if at_end else "start") if is_edge else "place"
    return Tested(dict(zip(ids.tolist(), p.tolist(), strict=True)), seen), where


def _counts(tracks: list[Labels], turns: Ints, places: Ints, ids: Ints) -> Ints:
    """How many of the tracks, turned, have each unit at each place: (n_draws, n_units, n_places)."""
    counts = np.zeros((turns.shape[1], ids.size, places.size), np.int64)
    for track, own in zip(tracks, turns, strict=True):
        seen = track[(own[:, None] + places) % track.size]
        counts += seen[:, None, :] == ids[:, None]
    return counts


# ----------------------------------------------------------------
# Does a unit come back at regular intervals?
#
# The intervals d_1 .. d_m from one onset of a unit to the next, inside a span, are regular where many of them lie
# within 15 % of their median. The null hypothesis is that they vary by half their mean: a gamma distribution of shape
# 4, of which a share q lies so near to the median. One interval is near because it is the median; of the others n are,
# and
#
#     p = P(Binomial(m - 1, q) >= n).
#
# An occurrence that was missed or cut in two spoils one or two intervals, not all, which a test of their variance
# would not forgive. Random onsets vary by their whole mean, but units last for a while, and slow noise crosses a level
# at intervals that vary by 0.5 to 1 of their mean: a test against random onsets would call it regular.

_NEAR = 0.15  # of the median
_SHAPE = 4.0  # of a gamma distribution; its coefficient of variation is 0.5
_FEWEST_INTERVALS = 4  # intervals


def spacing_test(occurrences: Occurrences) -> Tested:
    """p of each unit with at least four intervals, times their number; seen is the median interval in windows."""
    found: dict[int, tuple[float, float]] = {}
    for id in occurrences.ids:
        before, after = occurrences.successive(id)
        intervals = occurrences.starts[after] - occurrences.starts[before]
        if intervals.size >= _FEWEST_INTERVALS:
            found[id] = _p_of(intervals), float(np.median(intervals))
    return Tested(
        {id: min(1.0, len(found) * p) for id, (p, _) in found.items()}, {id: d for id, (_, d) in found.items()}
    )


def _p_of(intervals: Ints) -> float:
    """p of whole numbers; q is the share of those numbers that count as near."""
    middle = float(np.median(intervals))
    low, high = math.ceil((1 - _NEAR) * middle), math.floor((1 + _NEAR) * middle)
    in_medians = float(gammaincinv(_SHAPE, 0.5)) / middle
    q = float(gammainc(_SHAPE, (high + 0.5) * in_medians) - gammainc(_SHAPE, (low - 0.5) * in_medians))
    n_near = int(((intervals >= low) & (intervals <= high)).sum())
    return float(bdtrc(n_near - 2, intervals.size - 1, q)) if n_near > 1 else 1.0
