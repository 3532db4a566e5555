"""MotifModel: reads motifs from a unit timeline. Fitting gives it (`motifs/discover.py`); it never changes afterwards.

The lexicon divides the unit runs into occurrences of phrases and standing units; each phrase belongs to a motif, and a
standing unit is a motif of its own. Where no phrase recurs more often than in shuffled order, there is no lexicon and
every unit is its own motif, under the unit's id: the two levels coincide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import check_shapes
from rondo.config.settings import MotifsConfig
from rondo.data.labels import OTHER
from rondo.encoders.base import Curves
from rondo.motifs.base import Kept, MotifKind, MotifTimeline, PhraseBook, UnitRuns
from rondo.motifs.phrases import STANDING, Lexicon, Phrase, composition, in_kept
from rondo.units.viterbi import Timeline


@dataclass(frozen=True)
class PhraseUse:
    """The units of some occurrences in the fitted recordings, the motif, and how many there were."""

    motif: int
    phrase: Phrase
    count: int


@dataclass(frozen=True, eq=False)
class MotifModel:
    """A lexicon over units (None: flat), the motif of each phrase, and what was read in the fitted recordings."""

    unit_ids: tuple[int, ...]  # ascending
    lexicon: Lexicon | None
    motif_of_phrase: tuple[int, ...]  # of each phrase of the lexicon
    usages: tuple[PhraseUse, ...]  # what occurred; those of one unit say which units are motifs of their own
    p_values: Mapping[int, float]  # of motifs of several units, against the best phrase of each shuffle
    gain_per_run: float  # nats by which the description of a run is shorter with phrases, they included
    rest: int | None = None  # the unit that all phrases lie between, where they were found so

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(sorted({usage.motif for usage in self.usages}))

    @property
    def unshown_ids(self) -> tuple[int, ...]:
        return ()

    def kind(self, motif: int) -> MotifKind:
        return "phrase" if motif in self.motif_of_phrase else "unit"

    @property
    def composed(self) -> bool:
        return self.lexicon is not None

    @property
    def occurrences(self) -> dict[int, int]:
        """How often each motif occurs in the fitted recordings."""
        return {motif: phrases.total() for motif, phrases in self.phrase_book().items()}

    @property
    def standing_units(self) -> tuple[int, ...]:
        """Units that more often than not stand for themselves, among motifs of several units."""
        if self.lexicon is None:
            return ()
        alone, everywhere = Counter[int](), Counter[int]()
        for usage in self.usages:
            for unit in usage.phrase:
                everywhere[unit] += usage.count
            if len(usage.phrase) == 1:
                alone[usage.phrase[0]] += usage.count
        return tuple(sorted(unit for unit in alone if alone[unit] >= 2 and everywhere[unit] <= 2 * alone[unit]))

    @property
    def share_in_phrases(self) -> float:
        """The share of the fitted unit runs, but for rest, that lie in phrases of several units."""
        runs = [(len(usage.phrase), usage.count) for usage in self.usages if usage.phrase != (self.rest,)]
        several = sum(length * count for length, count in runs if length > 1)
        return several / max(1, sum(length * count for length, count in runs))

    @property
    def known_phrases(self) -> Sequence[tuple[Phrase, int]]:
        return [(usage.phrase, usage.motif) for usage in self.usages if len(usage.phrase) > 1]

    @property
    def curves(self) -> Curves:
        return {}  # nothing is trained

    def phrase_book(self) -> PhraseBook:
        book: dict[int, Counter[Phrase]] = {id: Counter() for id in self.ids}
        for usage in self.usages:
            book[usage.motif][usage.phrase] += usage.count
        return book

    def composition(self, motif: int, kept: Kept = int) -> str:
        counts = Counter[Phrase]()
        for usage in self.usages:
            if usage.motif == motif:
                counts[in_kept(usage.phrase, kept)] += usage.count
        return composition(counts)

    def timeline(self, units: Timeline) -> MotifTimeline:
        """The motif of every window; the score of an occurrence is the share of its phrase that it holds."""
        if not units.ids.size:
            return MotifTimeline(units.ids, units.scores, np.zeros(0, np.bool_))
        runs = UnitRuns.of([units])
        begins = np.zeros(units.ids.size, dtype=np.bool_)
        if self.lexicon is None:
            begins[runs.starts] = True
            return MotifTimeline(units.ids, units.scores, begins)
        motifs, shares = np.empty(runs.units.size, dtype=np.int32), np.empty(runs.units.size)
        composed = set(self.motif_of_phrase)
        alone = {usage.phrase[0]: usage.motif for usage in self.usages if usage.motif not in composed}
        for token in self.lexicon.read(np.searchsorted(np.array(self.unit_ids), runs.units), runs.first):
            own = slice(token.start, token.stop)
            if token.phrase == STANDING:  # OTHER if the unit was never seen alone
                motifs[own] = alone.get(int(runs.units[token.start]), OTHER)
                shares[own] = motifs[own] != OTHER
            else:
                length = len(self.lexicon.phrases[token.phrase])
                motifs[own], shares[own] = self.motif_of_phrase[token.phrase], length / (length + token.edits)
            begins[runs.starts[token.start]] = True
        return MotifTimeline(np.repeat(motifs, runs.lengths), np.repeat(shares, runs.lengths), begins)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        named: dict[str, NDArray[np.generic]] = {
            "unit_ids": np.array(self.unit_ids, dtype=np.int64),
            **_phrase_tensors("usages", [usage.phrase for usage in self.usages]),
            "usages.motifs": np.array([usage.motif for usage in self.usages], dtype=np.int64),
            "usages.counts": np.array([usage.count for usage in self.usages], dtype=np.int64),
            "gain_per_run": np.array([self.gain_per_run]),
        }
        if self.rest is not None:
            named["rest"] = np.array([self.rest], dtype=np.int64)
        if self.lexicon is not None:
            named |= _phrase_tensors("lexicon", self.lexicon.phrases)
            named["lexicon.motifs"] = np.array(self.motif_of_phrase, dtype=np.int64)
            named["lexicon.costs"] = self.lexicon.costs
            named["lexicon.p"] = np.array([self.p_values[motif] for motif in self.motif_of_phrase])
        return named

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], config: MotifsConfig | None = None) -> MotifModel:
        usages = {"usages.units": "all", "usages.lengths": "n", "usages.motifs": "n", "usages.counts": "n"}
        check_shapes(tensors, usages | {"unit_ids": "units", "gain_per_run": "one"}, one=1)
        if "lexicon.costs" in tensors:
            named = {"lexicon.units": "all", "lexicon.lengths": "n", "lexicon.motifs": "n", "lexicon.p": "n"}
            check_shapes(tensors, named | {"lexicon.costs": "two tokens"}, two=2)
        motifs, counts = (np.asarray(tensors[f"usages.{name}"], np.int64).tolist() for name in ("motifs", "counts"))
        used = tuple(map(PhraseUse, motifs, _restored_phrases("usages", tensors), counts))
        lexicon, motif_of_phrase, p_values = None, [], {}
        if "lexicon.costs" in tensors:
            lexicon = Lexicon(_restored_phrases("lexicon", tensors), np.asarray(tensors["lexicon.costs"], np.float64))
            motif_of_phrase = np.asarray(tensors["lexicon.motifs"], np.int64).tolist()
            p_values = dict(zip(motif_of_phrase, np.asarray(tensors["lexicon.p"], np.float64).tolist(), strict=True))
        unit_ids = tuple(np.asarray(tensors["unit_ids"], np.int64).tolist())
        (gain,) = np.asarray(tensors["gain_per_run"], np.float64).tolist()
        (rest,) = np.asarray(tensors["rest"], np.int64).tolist() if "rest" in tensors else (None,)  # not before 0.3
        if rest is not None and rest not in unit_ids:
            raise ValueError(f"rest is unit {rest}, of units {unit_ids}")
        return cls(unit_ids, lexicon, tuple(motif_of_phrase), used, p_values, gain, rest)


def _phrase_tensors(name: str, phrases: Sequence[Phrase]) -> dict[str, NDArray[np.generic]]:
    return {
        f"{name}.units": np.array([unit for phrase in phrases for unit in phrase], dtype=np.int64),
        f"{name}.lengths": np.array([len(phrase) for phrase in phrases], dtype=np.int64),
    }


def _restored_phrases(name: str, tensors: Mapping[str, NDArray[np.generic]]) -> tuple[Phrase, ...]:
    units, lengths = (np.asarray(tensors[f"{name}.{part}"], np.int64) for part in ("units", "lengths"))
    return tuple(tuple(part.tolist()) for part in np.split(units, np.cumsum(lengths)[:-1]))
