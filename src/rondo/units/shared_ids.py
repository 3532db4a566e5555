"""Whether an id means the same in every group (person, machine): what it looks like there, compared without labels.

A unit of one group is compared with all units of another. Where it looks more like a different unit there, in at least
half of the pairs of groups that have it, one id may stand for two things. Representations are compared at home, as the
model compares them with exemplars, every dimension in its spread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rondo.arrays import Floats
from rondo.data.labels import Labels
from rondo.data.own_scaling import thinned_places
from rondo.data.windows import Windows

if TYPE_CHECKING:
    from rondo.units.model import UnitModel

_FEWEST = 8  # windows of a unit in a group, for a mean; by hand
_MOST_GROUPS = 30  # that are compared, each with each; ours, for the cost
_MOST_NAMED = 3  # pairs that are stored


class Doubt(NamedTuple):
    """In `group` unit `id` looks more like unit `like` of the group `other` than like `id` there."""

    id: int
    group: str
    other: str
    like: int


class SharedIds(NamedTuple):
    """Of the units that occur in several groups: how many look most like themselves in each."""

    n_shared: int
    n_alike: int
    doubts: tuple[Doubt, ...]  # one example for each unit that does not

    def as_json(self) -> dict[str, Any]:
        named = [list(doubt) for doubt in self.doubts[:_MOST_NAMED]]
        return {"n_shared": self.n_shared, "n_alike": self.n_alike, "doubts": named}


def shared_ids(
    units: UnitModel, windows: Sequence[Windows], labels: Sequence[Labels], groups: Sequence[str]
) -> SharedIds | None:
    """From the windows of all signals, the unit of each, and the group of each signal; None with a single group."""
    names = list(dict.fromkeys(groups))[:_MOST_GROUPS]
    if len(names) < 2:
        return None
    rows: dict[str, list[Floats]] = {name: [] for name in names}
    ids: dict[str, list[Labels]] = {name: [] for name in names}
    for own, read, group in zip(windows, labels, groups, strict=True):
        if group in rows:
            few, places = thinned_places(own)
            place = None if units.places is None else units.places.of_group.get(group)
            rows[group].append(units.at_home(units.encoder.encode(few), place).astype(np.float64))
            ids[group].append(read[places])
    every = np.concatenate([part for parts in rows.values() for part in parts])
    spread = np.where(every.std(axis=0) > 0, every.std(axis=0), 1.0)
    means = {name: _means(np.concatenate(rows[name]) / spread, np.concatenate(ids[name])) for name in names}
    doubts: dict[int, list[Doubt]] = {}
    n_pairs: Counter[int] = Counter()
    for group, other in permutations(names, 2):
        for id in means[group].keys() & means[other].keys():
            n_pairs[id] += 1
            far = {k: float(np.linalg.norm(mean - means[group][id])) for k, mean in means[other].items()}
            like = min(far, key=lambda k: (far[k], k != id))
            if like != id:
                doubts.setdefault(id, []).append(Doubt(id, group, other, like))
    doubtful = [own[0] for id, own in sorted(doubts.items()) if 2 * len(own) >= n_pairs[id]]
    return SharedIds(len(n_pairs), len(n_pairs) - len(doubtful), tuple(doubtful))


def _means(rows: Floats, ids: Labels) -> dict[int, Floats]:
    kinds, counts = np.unique(ids, return_counts=True)
    return {int(id): rows[ids == id].mean(axis=0) for id, n in zip(kinds, counts, strict=True) if n >= _FEWEST}
