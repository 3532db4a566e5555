"""Phrases that no motif explains: the novelty buffer of the motifs.

Where units are known by their windows, motifs are known by the units they are made of. Two phrases are of one kind
when their sets of units are near (Jaccard distance), so that an occurrence that leaves out a unit
joins the others; hence one buffer for phrases of all lengths. Support counts windows, and halves like that of a
micro-cluster of windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from rondo.continual.novelty import MicroCluster
from rondo.motifs.phrases import Phrase

_CAPACITY = 64  # kinds of phrases; the weakest makes room
_MOST_WORDINGS = 16  # phrases remembered of one kind
_FORGOTTEN = 0.5  # support below which a kind is given up


class Occurrence(NamedTuple):
    """One phrase, and the windows [first, last] it lasted."""

    phrase: Phrase
    first: int
    last: int


class Wordings:
    """How often each phrase of one kind occurred; the commonest stands for the kind."""

    def __init__(self, counts: Mapping[Phrase, int] | None = None) -> None:
        self.counts: Counter[Phrase] = Counter(counts)

    def add(self, phrase: Phrase) -> None:
        self.counts[phrase] += 1
        if len(self.counts) > _MOST_WORDINGS:
            del self.counts[min(self.counts, key=lambda own: (self.counts[own], own == phrase, own))]

    @property
    def typical(self) -> Phrase:
        """The commonest; of equals the longest, then the last in order."""
        return max(self.counts, key=lambda own: (self.counts[own], len(own), own))

    def distance(self, phrase: Phrase) -> float:
        """From the typical one."""
        return unit_distance(self.typical, phrase)

    def state(self) -> list[list[Any]]:
        """As plain values, in their order."""
        return [[list(phrase), count] for phrase, count in self.counts.items()]

    @classmethod
    def restore(cls, plain: list[list[Any]]) -> Wordings:
        return cls({tuple(phrase): count for phrase, count in plain})


def unit_distance(one: Phrase, other: Phrase) -> float:
    """Jaccard distance of the units of two phrases.

    >>> unit_distance((2, 6, 9), (2, 6, 8, 9))
    0.25
    """
    some, others = set(one), set(other)
    return 1.0 - len(some & others) / len(some | others)


class PhraseBuffer:
    """Kinds of phrases, each with its micro-cluster."""

    def __init__(self, reach: float, half_life: float, apart: int) -> None:
        self.reach, self.half_life, self.apart = reach, half_life, apart
        self.kinds: list[tuple[MicroCluster, Wordings]] = []
        self.next_id = 0

    def add(self, found: Occurrence) -> tuple[int, list[MicroCluster]]:
        """File a phrase; gives where, and the micro-clusters that were given up."""
        expired = self._expire(found.first)
        distances = [wordings.distance(found.phrase) for _, wordings in self.kinds]
        nearest = min(range(len(distances)), key=distances.__getitem__, default=None)
        if nearest is None or distances[nearest] > self.reach:
            if len(self.kinds) == _CAPACITY:
                weakest = min(self.kinds, key=lambda kind: kind[0].support_at(found.first, self.half_life))
                self.kinds.remove(weakest)
                expired.append(weakest[0])
            self.kinds.append((self._opened(found), Wordings()))
            nearest = len(self.kinds) - 1
        else:
            self.kinds[nearest] = (self._visited(self.kinds[nearest][0], found), self.kinds[nearest][1])
        self.kinds[nearest][1].add(found.phrase)
        return nearest, expired

    def take(self, index: int) -> tuple[MicroCluster, Wordings]:
        """Remove a kind."""
        return self.kinds.pop(index)

    def supports(self, window: int) -> list[float]:
        """Of all kinds, decayed to that window."""
        return [cluster.support_at(window, self.half_life) for cluster, _ in self.kinds]

    def _opened(self, found: Occurrence) -> MicroCluster:
        id, self.next_id = self.next_id, self.next_id + 1
        return MicroCluster(id, float(found.last - found.first + 1), found.first, found.last, 1)

    def _visited(self, cluster: MicroCluster, found: Occurrence) -> MicroCluster:
        support = cluster.support_at(found.last, self.half_life) + (found.last - found.first + 1)
        regions = cluster.regions + (found.first - cluster.last > self.apart)
        return replace(cluster, support=support, last=found.last, regions=regions)

    def _expire(self, window: int) -> list[MicroCluster]:
        weak = [kind for kind in self.kinds if kind[0].support_at(window, self.half_life) < _FORGOTTEN]
        self.kinds = [kind for kind in self.kinds if kind not in weak]
        return [cluster for cluster, _ in weak]

    def state(self) -> dict[str, Any]:
        """Everything that changes, exactly, as plain values."""
        kinds = [[asdict(cluster), wordings.state()] for cluster, wordings in self.kinds]
        return {"kinds": kinds, "next_id": self.next_id}

    def restored(self, plain: Mapping[str, Any]) -> PhraseBuffer:
        """This buffer as it was when it gave that state."""
        self.kinds = [(MicroCluster(**cluster), Wordings.restore(words)) for cluster, words in plain["kinds"]]
        self.next_id = plain["next_id"]
        return self
