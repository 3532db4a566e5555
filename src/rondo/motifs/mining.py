"""The search for phrases: the lexicon with which the runs take least to describe, read and lexicon together.

Candidates are all sequences of units that occur at least three times. From no phrases at all, where units come in any
order, the candidate that promises most is added for as long as the description gets shorter; phrases that are hardly
used any more, or not worth their price, leave. Nothing is drawn at random.

One thing the description length cannot judge: a phrase that holds the rest before it, u0 u1 u2, describes the same runs
as u0 and u1 u2. People want the two apart. So the search is repeated with each of the commonest units kept out of the
phrases, or away from their ends, and the best of these is preferred unless it is longer by REST_PRICE. A rest stands
between different things: a unit that is always followed by the same phrase is no rest but part of a cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rondo.arrays import Flags, Floats, Ints
from rondo.motifs.lexicon import STANDING, Lexicon, PhrasePlace, Token, cheapest, near_places
from rondo.motifs.phrases import Phrase
from rondo.motifs.shuffling import Sequences

LEAST_COUNT = 3  # occurrences of a phrase
LONGEST = 64  # units
REST_PRICE = 5.0  # nats
_RESTS = 2  # the most frequent units that are tried as rests
_ROUNDS = 6  # of reading and counting
_TRIED = 4  # candidates, the most promising ones, at each step
_LEAST_GAIN = 1e-6  # nats
_TOKENS_REMEMBERED = 1 << 19  # in the descriptions of lexicons that were tried: some 80 MB
_SMOOTHING = 0.3  # pseudo-count of every token


class LexiconCost(NamedTuple):
    """A lexicon, the reading with it, and how many nats both take."""

    lexicon: Lexicon
    tokens: list[Token]
    costs: Floats  # (n_tokens,), up to each
    total: float

    def used(self) -> Ints:
        """How often each phrase occurs."""
        told = [token.phrase for token in self.tokens if token.phrase != STANDING]
        return np.bincount(np.array(told, dtype=np.int64), minlength=len(self.lexicon.phrases))


class Miner:
    """The runs, the candidates among their phrases, and the places of every phrase that was tried."""

    def __init__(self, units: Ints, first: Flags, n_units: int) -> None:
        self.units, self.first, self.n_units = units, first, n_units
        self.candidates, self.index, self.starts, self.stops = _candidates(units, first, n_units)
        self._places: dict[Phrase, list[PhrasePlace]] = {}
        self._descriptions: dict[tuple[Phrase, ...], LexiconCost] = {}
        self._n_remembered = 0  # tokens in them

    def flat(self) -> LexiconCost:
        """No phrases: every run stands for itself."""
        return self.described(())

    def best(self) -> LexiconCost:
        """The shortest description found; of nearly equals, one whose phrases leave a rest apart."""
        found = self._grown(self.flat(), np.ones(len(self.candidates), np.bool_))
        best = found
        for unit in np.argsort(-np.bincount(self.units, minlength=self.n_units), kind="stable")[:_RESTS].tolist():
            outside = np.array([unit not in phrase for phrase in self.candidates], dtype=np.bool_)
            not_at_ends = np.array([unit not in (phrase[0], phrase[-1]) for phrase in self.candidates], dtype=np.bool_)
            stripped = dict.fromkeys(_stripped(phrase, unit) for phrase in found.lexicon.phrases)
            begun = self.described(phrase for phrase in stripped if len(phrase) > 1)
            apart = [self._grown(self._grown(self.flat(), outside), not_at_ends), self._grown(begun, not_at_ends)]
            other = min(apart, key=lambda one: one.total)
            longest = best.total + (REST_PRICE if best is found else 0.0)
            best = other if other.total < longest and self._is_rest(unit, other) else best
        return best

    def _is_rest(self, unit: int, description: LexiconCost) -> bool:
        """Whether at least two phrases follow the unit where it stands for itself."""
        followed = Counter(
            after.phrase
            for before, after in pairwise(description.tokens)
            if before.phrase == STANDING and self.units[before.start] == unit and not self.first[after.start]
        )
        return sum(n >= LEAST_COUNT for phrase, n in followed.items() if phrase != STANDING) > 1

    def described(self, phrases: Iterable[Phrase]) -> LexiconCost:
        """The runs described with these phrases; those that occur less than three times are dropped."""
        kept = tuple(phrases)
        while True:
            description = self._known(kept)
            used = description.used() >= LEAST_COUNT
            if used.all():
                return description
            kept = tuple(phrase for phrase, is_used in zip(kept, used, strict=True) if is_used)

    def _known(self, phrases: tuple[Phrase, ...]) -> LexiconCost:
        """`_read`, remembered: searches with different rests try the same lexicons first."""
        if phrases in self._descriptions:
            return self._descriptions[phrases]
        description = self._read(phrases)
        self._n_remembered += len(description.tokens)
        if self._n_remembered <= _TOKENS_REMEMBERED:
            self._descriptions[phrases] = description
        return description

    def _grown(self, description: LexiconCost, allowed: Flags) -> LexiconCost:
        """With candidates added one by one while the total falls, then phrases taken away while it falls."""
        while (longer := self._added(description, allowed)) is not None:
            description = longer
        while True:
            phrases = description.lexicon.phrases
            fewer = [self.described(phrases[:i] + phrases[i + 1 :]) for i in range(len(phrases))]
            best = min(fewer, key=lambda one: one.total, default=description)
            if best.total >= description.total:
                return description
            description = best

    def _added(self, description: LexiconCost, allowed: Flags) -> LexiconCost | None:
        """With that of the most promising candidates which shortens the description most, if one does."""
        upto = np.zeros(self.units.size + 1)
        upto[[token.stop for token in description.tokens]] = description.costs
        upto = np.maximum.accumulate(upto)
        n = len(self.candidates)
        counts = np.bincount(self.index, minlength=n)
        now = np.bincount(self.index, upto[self.stops] - upto[self.starts], minlength=n)
        then = counts * np.log(np.maximum(len(description.tokens) / (2 * np.maximum(counts, 1)), 1.0))
        gain = np.where(allowed & (counts >= LEAST_COUNT), now - then - self._prices(self.candidates), -np.inf)
        known = set(description.lexicon.phrases)
        promising = [i for i in np.argsort(-gain, kind="stable")[: _TRIED + len(known)] if gain[i] > 0]
        tried = [self.candidates[i] for i in promising if self.candidates[i] not in known][:_TRIED]
        longer = [self.described((*description.lexicon.phrases, phrase)) for phrase in tried]
        best = min(longer, key=lambda one: one.total, default=description)
        return best if best.total < description.total - _LEAST_GAIN else None

    def _read(self, phrases: tuple[Phrase, ...]) -> LexiconCost:
        """Reading and counting in turn, until the reading stays."""
        places = {phrase: self._places_of(phrase) for phrase in phrases}
        common = [sum(place.edits == 0 for place in places[phrase]) for phrase in phrases]
        counts = np.tile(np.append(np.bincount(self.units, minlength=self.n_units), common), (2, 1))
        tokens: list[Token] = []
        for _ in range(_ROUNDS):
            lexicon = Lexicon(phrases, _costs(counts))
            before, (tokens, costs) = tokens, cheapest(self.units, self.first, lexicon, places)
            if tokens == before:
                break
            counts = self._counts(tokens, len(phrases))
        return LexiconCost(lexicon, tokens, costs, float(costs[-1] + self._prices(phrases).sum()))

    def _counts(self, tokens: Sequence[Token], n_phrases: int) -> Floats:
        counts = np.zeros((2, self.n_units + n_phrases))
        after = 1
        for token in tokens:
            after = 1 if self.first[token.start] else after
            alone = token.phrase == STANDING
            counts[after, self.units[token.start] if alone else self.n_units + token.phrase] += 1
            after = int(not alone)
        return counts

    def _places_of(self, phrase: Phrase) -> list[PhrasePlace]:
        if phrase not in self._places:
            self._places[phrase] = near_places(phrase, self.units, self.first)
        return self._places[phrase]

    def _prices(self, phrases: Sequence[Phrase]) -> Floats:
        """Of phrases in the lexicon: their units, an end, and one more frequency to know."""
        lengths = np.array([len(phrase) for phrase in phrases], dtype=np.float64)
        return np.asarray((lengths + 1) * np.log(self.n_units) + 0.5 * np.log(self.units.size))


def _candidates(units: Ints, first: Flags, n_units: int) -> tuple[list[Phrase], Ints, Ints, Ints]:
    """Phrases that occur often enough; and the index, start and stop of occurrences that do not overlap.

    A phrase in which its first two units come again together goes round: its first round is a candidate, it is none.
    """
    phrases: list[Phrase] = []
    rows: list[tuple[int, int, int]] = []
    round_and_round = np.zeros(units.size, dtype=np.bool_)  # from each run on, whether a round has begun again
    for found in Sequences(units[None], first, n_units).phrases(LONGEST, LEAST_COUNT):
        again = units[found.start + found.length - 1] == units[found.start + 1]
        again &= units[found.start + found.length - 2] == units[found.start]
        round_and_round[found.start] |= again & (found.length > 2)
        once = ~round_and_round[found.start]
        order = np.lexsort((found.start[once], found.phrase[once]))
        starts, same = found.start[once][order], found.phrase[once][order]
        for own in np.split(starts, np.flatnonzero(np.diff(same)) + 1) if starts.size else ():
            free = 0
            for start in own.tolist():
                if start >= free:
                    free = start + found.length
                    rows.append((len(phrases), start, free))
            phrases.append(tuple(units[own[0] : own[0] + found.length].tolist()))
    index, starts, stops = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return phrases, index, starts, stops


def _costs(counts: Floats) -> Floats:
    smooth = counts + _SMOOTHING
    return np.asarray(-np.log(smooth / smooth.sum(axis=1, keepdims=True)))


def _stripped(phrase: Phrase, unit: int) -> Phrase:
    while phrase and phrase[0] == unit:
        phrase = phrase[1:]
    while phrase and phrase[-1] == unit:
        phrase = phrase[:-1]
    return phrase
