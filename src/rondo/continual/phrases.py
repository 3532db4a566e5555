"""Motifs while the stream goes on: read from the units so far, phrase by phrase; and phrases that are new.

*Where some units stand for themselves* (rest between gestures, waiting between jobs), what lies between two of them is
a phrase. It is read when it has ended: by the motif model; or, where the model does not explain all of it (a unit it
does not know, a combination it has never seen), by the motifs that have grown; else it goes to the phrase buffer and
may be promoted like a unit, with support, extent and recurrence. Passages that were no unit are left out of a phrase.

*Elsewhere* a window waits until as many more units have begun as the longest phrase has, at least two: what a unit
belongs to shows in what follows it. Nothing grows there, for nothing says where a phrase ends; a promoted unit stands
for itself, under a motif id of its own.

No window waits for more than ninety-six others; what was said is never changed. Learning the motifs again from the
labels of the stream was tried and is worse: they are noisier than those they were learned from.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors
from rondo.config.settings import ContinualConfig
from rondo.continual.journal import Evidence
from rondo.continual.novelty import ClusterBuffer, MicroCluster, is_eligible
from rondo.data.labels import OTHER, runs_of
from rondo.motifs.base import Motifs
from rondo.motifs.phrases import Phrase, composition
from rondo.units.viterbi import Timeline

_MOST_WORDINGS = 16  # phrases remembered of one kind
_MOST_WAITING = 96  # windows
_CONTEXT = 96  # windows before those that wait, which are read with them
_UNITS_LATER = 2  # a phrase is decided once so many units have followed; chosen by hand, not measured
_REACH = 0.5  # Jaccard, between phrases of one motif that has grown
_MERGE_REACH = 0.25  # between a new kind and a known motif; 0.4 costs 1.3 points of motif AMI on planted streams

Motif = tuple[int, float]
"""An id and its score."""


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
        return unit_distance(self.typical, phrase)

    def state(self) -> list[list[Any]]:
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


class PhraseBuffer(ClusterBuffer):
    """Phrases that no motif explains, in kinds, each with its micro-cluster: the novelty buffer of the motifs.

    Where units are known by their windows, motifs are known by the units they are made of. Two phrases are of one kind
    when their sets of units are near (Jaccard distance), so that an occurrence that leaves out a unit joins the others;
    hence one buffer for phrases of all lengths. Support counts windows.
    """

    def __init__(self, reach: float, half_life: float, apart: int) -> None:
        super().__init__(half_life, apart)
        self.reach = reach
        self.wordings: list[Wordings] = []

    def drop(self, indices: Sequence[int]) -> None:
        self.wordings = [words for index, words in enumerate(self.wordings) if index not in indices]

    def add(self, phrase: Phrase, first: int, last: int) -> tuple[int, list[MicroCluster]]:
        """File a phrase of the windows [first, last]; gives the index of its kind, and what was given up."""
        expired = self.expire(first)
        distances = [words.distance(phrase) for words in self.wordings]
        nearest = min(range(len(distances)), key=distances.__getitem__, default=None)
        if nearest is None or distances[nearest] > self.reach:
            expired += self.open(first, last, last - first + 1)
            self.wordings.append(Wordings())
            nearest = len(self.wordings) - 1
        else:
            self.visit(nearest, first, last, last - first + 1)
        self.wordings[nearest].add(phrase)
        return nearest, expired

    def state(self) -> dict[str, Any]:
        plain = self.plain()
        kinds = [[own, words.state()] for own, words in zip(plain["clusters"], self.wordings, strict=True)]
        return {"kinds": kinds, "next_id": plain["next_id"]}

    def restored(self, plain: Mapping[str, Any]) -> PhraseBuffer:
        self.load({"clusters": [own for own, _ in plain["kinds"]], "next_id": plain["next_id"]})
        self.wordings = [Wordings.restore(words) for _, words in plain["kinds"]]
        return self


ChangeKind = Literal["refine", "merge", "promote", "expire"]


class Change(NamedTuple):
    """Something that happened to the motifs: the id is a motif's, of "expire" a micro-cluster's."""

    kind: ChangeKind
    id: int
    evidence: Evidence


class _Run(NamedTuple):
    """Windows [start, stop) of a phrase that are one unit."""

    start: int
    stop: int
    unit: int


class GrowingMotifs:
    """What every reader of motifs keeps in a stream: fresh ids, motifs of promoted units, and what has changed."""

    def __init__(self, next_id: int) -> None:
        """`next_id` is the first motif that nobody has."""
        self.own: dict[int, int] = {}  # promoted unit -> its motif
        self.next_id = next_id
        self._changes: list[Change] = []

    def add_unit(self, unit: int) -> int:
        """A motif for a unit that was promoted; gives its id."""
        self.own[unit] = self.fresh_id()
        return self.own[unit]

    def fresh_id(self) -> int:
        id, self.next_id = self.next_id, self.next_id + 1
        return id

    def changed(self, kind: ChangeKind, id: int, evidence: Evidence) -> None:
        self._changes.append(Change(kind, id, evidence))

    def take_changes(self) -> list[Change]:
        changes, self._changes = self._changes, []
        return changes


class MotifReader(GrowingMotifs):
    """The units of the last windows, the motifs there are, and those that have grown."""

    def __init__(
        self,
        motifs: Motifs,
        config: ContinualConfig,
        half_life: float,
        passage: int,
        next_id: int,
        *,
        learns: bool = True,
    ) -> None:
        """Without `learns` nothing grows, or is read by the phrase."""
        super().__init__(next_id)
        self.model, self.config, self.passage = motifs, config, passage
        self.standing = frozenset(motifs.standing_units if learns else ())
        self.reads_at_once = not learns and not motifs.composed  # then every unit is its own motif, whatever follows
        self.units_later = max([_UNITS_LATER, *(len(phrase) for phrase, _ in motifs.known_phrases)])
        self.past: deque[int] = deque(maxlen=_CONTEXT + _MOST_WAITING + 1)  # the last `n_waiting` of them wait
        self.n_waiting = self.n_windows = 0
        self.last_doubted = -1  # window that teaches nothing
        self.grown: list[tuple[int, Wordings]] = []
        self.buffer = PhraseBuffer(_REACH, half_life, config.apart)

    @property
    def ids(self) -> tuple[int, ...]:
        """Every motif there is: those of the model, then those that have come since."""
        return (*self.model.ids, *sorted([*self.own.values(), *(id for id, _ in self.grown)]))

    def push(self, unit: int, learns: bool = True) -> list[Motif]:
        """One more window; gives the motifs that have become final, of the windows that have waited longest.

        A phrase with a window without `learns` in it is read, and teaches nothing.
        """
        if self.reads_at_once:
            return self._read(np.array([unit], dtype=np.int32))
        before = self.past[-1] if self.past else None
        final: list[Motif] = []
        if self.standing and before is not None and before != unit and {before, unit} & self.standing:
            final = self.boundary()
        self.last_doubted = self.last_doubted if learns else self.n_windows
        self.past.append(unit)
        self.n_waiting += 1
        self.n_windows += 1
        n_final = self.n_waiting - _MOST_WAITING
        if not self.standing and unit != before:  # windows after which enough units have begun
            begins = np.flatnonzero(np.diff(np.array(self.past)[-self.n_waiting :]) != 0) + 1
            n_final = max(n_final, int(begins[-self.units_later]) if begins.size >= self.units_later else 0)
        if n_final > 0:
            read = self._read(np.array(self.past, dtype=np.int32))
            final += read[len(self.past) - self.n_waiting :][:n_final]
            self.n_waiting -= n_final
        return final

    def boundary(self) -> list[Motif]:
        """The stretch ends, or a phrase does: all that wait are read, and nothing is carried over."""
        if not self.n_waiting:
            self.past.clear()
            return []
        is_whole = self.n_waiting == len(self.past)
        units = np.array(self.past, dtype=np.int32)
        is_sound = self.last_doubted < self.n_windows - len(self.past)
        read = self._read_phrase(units, is_sound) if self.standing and is_whole else self._read(units)
        final = read[-self.n_waiting :]
        self.past.clear()
        self.n_waiting = 0
        return final

    def read(self, units: NDArray[np.int32]) -> list[Motif]:
        """The motif of each window of a whole stretch, by the motifs there are now; nothing is learned."""
        if not self.standing:
            return self._read(units)
        alone = np.isin(units, list(self.standing))
        ends = np.flatnonzero((np.diff(units) != 0) & (alone[1:] | alone[:-1])) + 1
        return [motif for part in np.split(units, ends) if part.size for motif in self._read_phrase(part, learns=False)]

    def _read(self, units: NDArray[np.int32]) -> list[Motif]:
        """The motif of each window by the model; units that it does not know are bounds of what it reads.

        Where some units stand for themselves, passages within a motif belong to it.
        """
        motifs = [(self.own.get(unit, OTHER), 1.0 if unit in self.own else 0.0) for unit in units.tolist()]
        runs = self._spoken(units)
        if not self.standing:
            self._read_known([_Run(i, i + 1, unit) for i, unit in enumerate(units.tolist())], motifs)
            return motifs
        self._read_known(runs, motifs)
        for before, after in pairwise(runs):
            is_passage = before.stop < after.start and after.start - before.stop <= self.passage
            if is_passage and motifs[before.stop - 1][0] == motifs[after.start][0]:
                motifs[before.stop : after.start] = [motifs[after.start]] * (after.start - before.stop)
        return motifs

    def _read_known(self, runs: list[_Run], motifs: list[Motif]) -> None:
        """Fill in the motifs of all stretches of units that the model knows."""
        stretches = runs_of(np.array([run.unit in self.model.unit_ids for run in runs], dtype=np.int32))
        for start, stop, is_known in zip(stretches.starts, stretches.stops, stretches.ids, strict=True):
            if is_known:
                units = np.array([run.unit for run in runs[start:stop]], dtype=np.int32)
                read = self.model.timeline(Timeline(units, np.zeros(units.size), ((0, units.size),)))
                for run, id, score in zip(runs[start:stop], read.ids.tolist(), read.scores.tolist(), strict=True):
                    motifs[run.start : run.stop] = [(id, score)] * (run.stop - run.start)

    def _spoken(self, units: NDArray[np.int32]) -> list[_Run]:
        """The runs of units; what is OTHER is left out, and a unit that goes on after it is one run."""
        runs: list[_Run] = []
        found = runs_of(units)
        for start, stop, unit in zip(found.starts.tolist(), found.stops.tolist(), found.ids.tolist(), strict=True):
            if runs and runs[-1].unit == unit:
                runs[-1] = runs[-1]._replace(stop=stop)
            elif unit != OTHER:
                runs.append(_Run(start, stop, unit))
        return runs

    def _read_phrase(self, units: NDArray[np.int32], learns: bool = True) -> list[Motif]:
        """A whole phrase: as the model has it where it explains all of it, else by what has grown."""
        read = self._read(units)
        phrase = tuple(run.unit for run in self._spoken(units))
        others = runs_of(units == OTHER)
        is_explained = not (others.lengths[others.ids == 1] > self.passage).any() and all(
            motif in self.model.ids for unit, (motif, _) in zip(units, read, strict=True) if unit != OTHER
        )
        if len(set(phrase)) < 2 or is_explained:
            return read
        distance, nearest = min(((own.distance(phrase), i) for i, (_, own) in enumerate(self.grown)), default=(1.0, -1))
        motif = self.grown[nearest][0] if distance <= _REACH else None
        if learns and motif is not None:  # a grown motif is one occurrence richer
            wordings = self.grown[nearest][1]
            before = wordings.typical
            wordings.add(phrase)
            if wordings.typical != before:
                words, n_occurrences = composition(wordings.counts), wordings.counts.total()
                self.changed("refine", motif, {"units": words, "occurrences": n_occurrences})
        elif learns:
            motif, distance = self._filed(phrase, units.size)
        return read if motif is None else [(motif, 1.0 - distance)] * units.size

    def _filed(self, phrase: Phrase, n_windows: int) -> tuple[int | None, float]:
        """Into the buffer; gives its motif, and how near, if that was the occurrence that was still missing.

        Its kind becomes another wording of a motif that is near enough, or a new motif.
        """
        last = self.n_windows - 1
        index, expired = self.buffer.add(phrase, last - n_windows + 1, last)
        for gone in expired:
            self.changed("expire", gone.id, {"support": gone.support})
        cluster, wordings = self.buffer.clusters[index], self.buffer.wordings[index]
        if not is_eligible(cluster, self.buffer.supports(last), self.config):
            return None, 1.0
        self.buffer.remove([index])
        known = [*self.model.known_phrases, *((own.typical, motif) for motif, own in self.grown)]
        distance, motif = min(((wordings.distance(own), motif) for own, motif in known), default=(1.0, OTHER))
        kind: ChangeKind = "merge" if distance <= _MERGE_REACH else "promote"
        if kind == "promote":
            motif = self.fresh_id()
        self.grown.append((motif, wordings))
        units = composition(wordings.counts)
        self.changed(kind, motif, {"units": units, **cluster.evidence(), "distance": distance})
        return motif, wordings.distance(phrase)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        return {}, {
            "past": list(self.past),
            "n_waiting": self.n_waiting,
            "n_windows": self.n_windows,
            "last_doubted": self.last_doubted,
            "own": [list(pair) for pair in sorted(self.own.items())],
            "grown": [[motif, wordings.state()] for motif, wordings in self.grown],
            "buffer": self.buffer.state(),
            "next_id": self.next_id,
        }

    def restored(self, tensors: Tensors, plain: Mapping[str, Any]) -> MotifReader:
        self.past.extend(plain["past"])
        self.own = {int(unit): int(motif) for unit, motif in plain["own"]}
        self.grown = [(motif, Wordings.restore(words)) for motif, words in plain["grown"]]
        self.buffer = self.buffer.restored(plain["buffer"])
        self.n_waiting, self.n_windows, self.next_id = plain["n_waiting"], plain["n_windows"], plain["next_id"]
        self.last_doubted = plain.get("last_doubted", -1)  # earlier versions have none
        return self
