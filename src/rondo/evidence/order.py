"""Tests of units by their occurrences on the window axis: their order, their place in recordings, their spacing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, gammainc, gammaincinv

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, Labels
from rondo.evidence.verdicts import ReasonKind
from rondo.motifs.base import UnitRuns

_LEAST_SPREAD, _ROUNDING = 1e-12, 1e-9  # far below any spread; relative, far above what float64 loses


class Tested(NamedTuple):
    """p of each unit that one test could judge, corrected for the number of these units, and what it saw."""

    p: dict[int, float]
    seen: dict[int, float]  # in the terms of the test: an interval in windows, a number of recordings


def ids_in(runs: UnitRuns) -> list[int]:
    """The units that occur; OTHER is none."""
    return [int(id) for id in np.unique(runs.units) if id != OTHER]


def _successive(runs: UnitRuns, id: int) -> tuple[Ints, Ints]:
    """The runs of a unit, each with the next one of the same span: places in `units`."""
    at = np.flatnonzero(runs.units == id)
    same = runs.spans[at[1:]] == runs.spans[at[:-1]]
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
    reached = (largest[:, None] >= (own - centre) / spread - _ROUNDING).sum(axis=0)
    return np.asarray((1 + reached) / (1 + largest.size))


_FEWEST = 5  # ways that can be turned round; with fewer, nothing can pass
_MOST = 500  # ways that are turned round; bounds time
_DRAWS = 399  # p of one test is at least 1 / 400


def order_test(runs: UnitRuns, rng: np.random.Generator) -> Tested:
    """Does a unit come after one unit and before another, more often than the other way round?

    Slow noise passes from a unit to units that are near it, so that counts of transitions say nothing by themselves.
    But it takes every way back as often as there: what a reversible process does between two occurrences of a unit u,

        u  v_out ... v_in  u,

    it does backwards equally often (Kelly 1979, Reversibility and stochastic networks). So the ways from u back to u
    are turned round at random, each with probability one half, and the figure

        sum over units v of (n_out(v) - n_in(v))^2 / (n_out(v) + n_in(v))

    is compared with what it is then. Ways that begin and end with the same unit say nothing. p is of each unit with at
    least five ways that can be turned round; seen is their number.
    """
    own, chance, seen = [], [], {}
    for id in ids_in(runs):
        before, after = _successive(runs, id)
        out, into = runs.units[before + 1], runs.units[after - 1]
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
        return Tested({}, {})
    p = family_p(np.array(own), np.stack(chance, axis=1))
    return Tested(dict(zip(seen, p.tolist(), strict=True)), seen)


FEWEST_RECORDINGS = 5  # chosen by hand, not measured
_MOST_RECORDINGS, _MOST_PLACES = 100, 24  # bounds time; chosen by hand, not measured
_PLACE_DRAWS = 199  # p of one test is at least 1 / 200
_EDGE = 0.9  # of the recordings that have it at its place: these have it in their first or last window, too


def place_test(labels: Sequence[Labels], rng: np.random.Generator) -> tuple[Tested, dict[int, ReasonKind]]:
    """Does a unit come at the same place of many recordings?

    Of recordings laid side by side, first with their first windows together, then with their last ones, n(x) is the
    number that have the unit at window x. The figure, the mean of n(x)^2, is large where recordings agree. It is
    compared with that of the same recordings, each turned round in a circle by a random number of windows: what a
    recording does stays as it is, but where it does it says nothing. Noise has no place of its own; the end of life of
    an engine has. p is of each unit where there are five recordings or more; seen is how many have it at its place.
    The second value is which place it is.
    """
    tracks = [track for track in labels if track.size > 1]
    n_recordings = len(tracks)
    if n_recordings < FEWEST_RECORDINGS:
        return Tested({}, {}), {}
    chosen = np.linspace(0, n_recordings - 1, min(n_recordings, _MOST_RECORDINGS)).astype(np.int64)
    asked = [tracks[i] for i in chosen]
    shortest = min(track.size for track in asked)
    ids = np.unique(np.concatenate(labels))
    ids = ids[ids != OTHER]
    places = np.unique(np.linspace(0, shortest - 1, min(shortest, _MOST_PLACES)).astype(np.int64))
    turns = np.stack([rng.integers(0, track.size, _PLACE_DRAWS + 1) for track in asked])
    turns[:, 0] = 0  # the recordings as they are
    counts = np.zeros((2, _PLACE_DRAWS + 1, ids.size, places.size), np.int64)
    for track, own in zip(asked, turns, strict=True):
        for side, at in enumerate((places, places - shortest)):
            counts[side] += track[(own[:, None] + at) % track.size][:, None, :] == ids[:, None]
    figures = np.square(counts).mean(axis=3)  # (2, n_draws, n_units)
    chance = figures[:, 1:]
    standard = (figures - chance.mean(axis=1)[:, None]) / np.maximum(chance.std(axis=1), 1e-12)[:, None]
    sides = standard[:, 0].argmax(axis=0)
    best = standard.max(axis=0)
    p = family_p(best[0], best[1:])
    peak = counts[sides, 0, np.arange(ids.size)]  # (n_units, n_places)
    seen = {int(id): float(n) * n_recordings / len(asked) for id, n in zip(ids, peak.max(axis=1), strict=True)}
    where: dict[int, ReasonKind] = {}
    for id, at_end, own in zip(ids.tolist(), sides, peak, strict=True):
        is_edge = own[-1 if at_end else 0] >= _EDGE * own.max()
        where[id] = ("end" if at_end else "start") if is_edge else "place"
    return Tested(dict(zip(ids.tolist(), p.tolist(), strict=True)), seen), where


_NEAR = 0.15  # of the median
_SHAPE = 4.0  # of a gamma distribution; its coefficient of variation is 0.5
_FEWEST_INTERVALS = 4  # intervals


def spacing_test(runs: UnitRuns) -> Tested:
    """Does a unit come back at regular intervals?

    The intervals d_1 .. d_m from one onset of a unit to the next, inside a span, are regular where many of them lie
    within 15 % of their median. The null hypothesis is that they vary by half their mean: a gamma distribution of shape
    4, of which a share q lies so near to the median. One interval is near because it is the median; of the others n
    are, and

        p = P(Binomial(m - 1, q) >= n).

    An occurrence that was missed or cut in two spoils one or two intervals, not all, which a test of their variance
    would not forgive. Random onsets vary by their whole mean, but units last for a while, and slow noise crosses a
    level at intervals that vary by 0.5 to 1 of their mean: a test against random onsets would call it regular. p is of
    each unit with at least four intervals, times their number; seen is the median interval in windows.
    """
    p, seen = {}, {}
    for id in ids_in(runs):
        before, after = _successive(runs, id)
        intervals = runs.starts[after] - runs.starts[before]
        if intervals.size < _FEWEST_INTERVALS:
            continue
        middle = float(np.median(intervals))
        low, high = math.ceil((1 - _NEAR) * middle), math.floor((1 + _NEAR) * middle)
        in_medians = float(gammaincinv(_SHAPE, 0.5)) / middle  # q: the share of whole numbers that count as near
        q = float(gammainc(_SHAPE, (high + 0.5) * in_medians) - gammainc(_SHAPE, (low - 0.5) * in_medians))
        n_near = int(((intervals >= low) & (intervals <= high)).sum())
        p[id] = float(bdtrc(n_near - 2, intervals.size - 1, q)) if n_near > 1 else 1.0
        seen[id] = middle
    return Tested({id: min(1.0, len(p) * own) for id, own in p.items()}, seen)
