"""Does a unit come at the same place of many recordings?

Of recordings laid side by side, first with their first windows together, then with their last ones, n(x) is the number
that have the unit at window x. The figure, the mean of n(x)^2, is large where recordings agree. It is compared with
that of the same recordings, each turned round in a circle by a random number of windows: what a recording does stays
as it is, but where it does it says nothing. Noise has no place of its own; the end of life of an engine has.
"""

from __future__ import annotations

import numpy as np

from rondo.arrays import Ints
from rondo.data.labels import Labels
from rondo.evidence.occurrences import Occurrences, Tested, family_p
from rondo.evidence.reasons import ReasonKind

FEWEST_RECORDINGS = 5
_MOST_RECORDINGS, _MOST_PLACES = 100, 24
_DRAWS = 199
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
    turns = np.stack([rng.integers(0, track.size, _DRAWS + 1) for track in asked])
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
