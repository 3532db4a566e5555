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

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from rondo.arrays import Flags, Floats, Ints
from rondo.motifs.phrases import STANDING, Lexicon, Phrase, PhrasePlace, Readable, TokenColumns, near_places

LEAST_COUNT = 3  # occurrences of a phrase
LONGEST = 64  # units
REST_PRICE = 5.0  # nats
_RESTS = 2  # the most frequent units that are tried as rests
_ROUNDS = 6  # of reading and counting
_TRIED = 4  # candidates, the most promising ones, at each step
_LEAST_GAIN = 1e-6  # nats
_TOKENS_REMEMBERED = 1 << 19  # in the descriptions of lexicons that were tried: some 80 MB
_SMOOTHING = 0.3  # pseudo-count of every token
_BISECTIONS = 60  # halve an interval down to what float64 holds
_LEAST_SCALE = 1e-6  # of weights beside one that takes nearly all
_LEAST_PROBABILITY = 1e-300  # its logarithm is still a number


class FoundPhrases(NamedTuple):
    """Every place at which a phrase of one length begins that occurs often enough."""

    length: int
    row: Ints  # (n_places,), the sequence
    start: Ints  # (n_places,), the run at which it begins
    phrase: Ints  # (n_places,), equal where the phrase and the sequence are
    surprise: Floats  # (n_places,)


class Sequences(NamedTuple):
    """Sequences of unit runs that are cut into the same spans; units are 0 .. n_units-1.

    Order shuffled is the null of the search for phrases and of the evidence for them: sequences in which every unit
    comes as often as in the recording, in any order, but never twice in a row (two runs of one unit would be one),

        P(v follows u) = a_v / (1 - a_u),  v != u,  with a such that units come with the frequencies they have.

    The surprise of a phrase w_1 .. w_n that occurs c times comes from the same chain, fitted to the sequence itself:

        surprise = -log P(Poisson(e) >= c),   e = max(m q(w_1) P(w_2 follows w_1) .. P(w_n follows w_n-1), r)

    where m is the number of runs at which n runs of one span begin, q the frequency of a unit, and r how often the
    phrase occurs read backwards. A phrase claims an order. Where the signal wavers between units without order (u1 u2
    u1 u2, or a slow walk among neighbours), both directions are equally common and neither surprises.
    """

    units: Ints  # (n_sequences, n_runs)
    first: Flags  # (n_runs,), True where a span begins
    n_units: int

    def shuffled(self, n: int, rng: np.random.Generator) -> Sequences:
        weights = quasi_independent(self._frequencies()[0])
        everywhere = np.cumsum(weights)
        steps = np.cumsum(np.where(np.eye(self.n_units, dtype=np.bool_), 0.0, weights), axis=1)  # after each unit
        drawn = np.empty((self.units.shape[1], n), dtype=np.int64)
        for place, chance in enumerate(rng.random((self.units.shape[1], n))):
            ladder = everywhere[None] if self.first[place] else steps[drawn[place - 1]]
            drawn[place] = (ladder <= chance[:, None] * ladder[:, -1:]).sum(axis=1)
        return Sequences(np.ascontiguousarray(drawn.T), self.first, self.n_units)

    def phrases(self, longest: int, least: int = 2) -> Iterator[FoundPhrases]:
        """Of each length from 2, all phrases within spans that occur `least` times in their sequence."""
        n, n_runs = self.units.shape
        frequencies, span = self._frequencies(), np.cumsum(self.first)
        weights = np.stack([quasi_independent(own) for own in frequencies])
        with np.errstate(divide="ignore"):
            coming, leaving = np.log(weights), np.log1p(-weights)
        both = np.concatenate([self.units, self.units[:, ::-1]])  # a phrase backwards is one of the reversed sequence
        first = np.stack([self.first, np.append(self.first[1:], True)[::-1]])
        row, start = np.repeat(np.arange(2 * n), n_runs), np.tile(np.arange(n_runs), 2 * n)
        phrase, expected = (row % n) * self.n_units + both.ravel(), np.zeros(row.size)
        for length in range(2, min(longest, n_runs) + 1):
            whole = start + length <= n_runs
            whole[whole] = ~first[row[whole] // n, start[whole] + length - 1]
            row, start, phrase, expected = row[whole], start[whole], phrase[whole], expected[whole]
            before, last = both[row, start + length - 2], both[row, start + length - 1]
            expected = expected + coming[row % n, last] - leaving[row % n, before]
            _, phrase = np.unique(phrase * self.n_units + last, return_inverse=True)
            counts, backwards = np.bincount(phrase, row < n), np.bincount(phrase, row >= n)
            often = counts[phrase] >= least
            row, start, phrase, expected = row[often], start[often], phrase[often], expected[often]
            if not row.size:
                return
            own = row < n
            found = FoundPhrases(length, row[own], start[own], phrase[own], np.zeros(0))
            # How often a unit would begin so many runs of one span, if it came anywhere. Not how often it does: where
            # recordings are short, that a unit is always first is order too.
            n_begins = np.count_nonzero(span[: span.size - length + 1] == span[length - 1 :])
            begins = n_begins * frequencies[found.row, self.units[found.row, found.start]]
            mean = np.maximum(begins * np.exp(expected[own]), backwards[found.phrase])
            tail = np.maximum(gammainc(counts[found.phrase], mean), _LEAST_PROBABILITY)
            yield found._replace(surprise=np.where(counts[found.phrase] > 1, -np.log(tail), 0.0))

    def most_surprising(self, longest: int, least: int = 2) -> Floats:
        """The surprise of the most surprising phrase of each sequence; 0 where none recurs."""
        best = np.zeros(len(self.units))
        for found in self.phrases(longest, least):
            np.maximum.at(best, found.row, found.surprise)
        return best

    def surprises(self, longest: int, least: int = 1) -> dict[tuple[int, ...], float]:
        """The surprise of every phrase of the first sequence; 0 where it occurs once."""
        first, table = self.units[0], {}
        for found in Sequences(self.units[:1], self.first, self.n_units).phrases(longest, least):
            _, places = np.unique(found.phrase, return_index=True)
            for place in places:
                start = found.start[place]
                table[tuple(first[start : start + found.length].tolist())] = float(found.surprise[place])
        return table

    def _frequencies(self) -> Floats:
        counts = [np.bincount(own, minlength=self.n_units) for own in self.units]
        return np.asarray(np.stack(counts) / self.units.shape[1])


def sampled(units: Ints, first: Flags, most: int, stretch: int) -> tuple[Ints, Flags]:
    """All runs, or of very many evenly spaced stretches of so many runs; a stretch begins like a span."""
    if units.size <= most:
        return units, first
    begins = np.linspace(0, units.size - stretch, most // stretch).astype(np.int64)
    chosen = (begins[:, None] + np.arange(stretch)).ravel()
    opened = first[chosen]
    opened[::stretch] = True
    return units[chosen], opened


def quasi_independent(frequencies: Floats) -> Floats:
    """The weights a of the chain, P(v follows u) = a_v / (1 - a_u), in which units come with these frequencies q.

    The chain is reversible, with frequencies proportional to a_u (1 - a_u). So a_u = (1 -+ sqrt(1 - 4 c q_u)) / 2 with
    the c that makes them sum to one, and plus for the commonest unit only, where minus does not reach one. No unit can
    be more than every second run of such a chain; one that is gets nearly all the weight.

    >>> quasi_independent(np.array([0.2, 0.2, 0.2, 0.4])).round(3).tolist()
    [0.143, 0.143, 0.143, 0.571]
    """
    top = int(frequencies.argmax())
    low, high = _LEAST_SCALE, 0.25 / frequencies[top]

    def weights(c: float, sign: float) -> Floats:
        roots = np.sqrt(np.maximum(1 - 4 * c * frequencies, 0.0))
        roots[top] *= sign
        return np.asarray((1 - roots) / 2)

    sign = 1.0 if weights(high, 1.0).sum() >= 1 else -1.0
    for _ in range(_BISECTIONS):
        c = (low + high) / 2
        if (weights(c, sign).sum() - 1) * sign < 0:
            low = c
        else:
            high = c
    return weights(high, sign)


class LexiconCost(NamedTuple):
    """A lexicon, the reading with it, and how many nats both take."""

    lexicon: Lexicon
    tokens: TokenColumns
    total: float

    def counts(self) -> Ints:
        """How often each phrase of the lexicon is read."""
        told = self.tokens.phrase[self.tokens.phrase != STANDING]
        return np.bincount(told, minlength=len(self.lexicon.phrases))


class Miner:
    """The runs, the candidates among their phrases, and the places of every phrase that was tried."""

    def __init__(self, units: Ints, first: Flags, n_units: int) -> None:
        self.units, self.first, self.n_units = units, first, n_units
        self.candidates, self.index, self.starts, self.stops = _candidates(units, first, n_units)
        self._places: dict[Phrase, list[PhrasePlace]] = {}
        self._descriptions: dict[tuple[Phrase, ...], LexiconCost] = {}
        self._n_remembered = 0  # tokens in them

    def best(self) -> LexiconCost:
        """The shortest description found; of nearly equals, one whose phrases leave a rest apart."""
        flat = self.described(())
        found = best = self._grown(flat, np.ones(len(self.candidates), np.bool_))
        for unit in np.argsort(-np.bincount(self.units, minlength=self.n_units), kind="stable")[:_RESTS].tolist():
            outside = np.array([unit not in phrase for phrase in self.candidates], dtype=np.bool_)
            not_at_ends = np.array([unit not in (phrase[0], phrase[-1]) for phrase in self.candidates], dtype=np.bool_)
            stripped = dict.fromkeys(_stripped(phrase, unit) for phrase in found.lexicon.phrases)
            begun = self.described(phrase for phrase in stripped if len(phrase) > 1)
            apart = [self._grown(self._grown(flat, outside), not_at_ends), self._grown(begun, not_at_ends)]
            other = min(apart, key=lambda one: one.total)
            start, phrase = other.tokens.start, other.tokens.phrase
            is_after = (phrase[:-1] == STANDING) & (self.units[start[:-1]] == unit) & ~self.first[start[1:]]
            followed = np.bincount(phrase[1:][is_after & (phrase[1:] != STANDING)])
            is_rest = np.count_nonzero(followed >= LEAST_COUNT) > 1
            longest = best.total + (REST_PRICE if best is found else 0.0)
            best = other if other.total < longest and is_rest else best
        return best

    def described(self, phrases: Iterable[Phrase]) -> LexiconCost:
        """The runs described with these phrases; those that occur less than three times are dropped.

        Descriptions are remembered: searches with different rests try the same lexicons first.
        """
        kept = tuple(phrases)
        while True:
            description = self._descriptions.get(kept)
            if description is None:
                description = self._read(kept)
                self._n_remembered += description.tokens.start.size
                if self._n_remembered <= _TOKENS_REMEMBERED:
                    self._descriptions[kept] = description
            is_used = description.counts() >= LEAST_COUNT
            if is_used.all():
                return description
            kept = tuple(phrase for phrase, stays in zip(kept, is_used, strict=True) if stays)

    def _grown(self, description: LexiconCost, allowed: Flags) -> LexiconCost:
        """With candidates added one by one while the total falls, then phrases taken away while it falls."""
        n = len(self.candidates)
        counts = np.bincount(self.index, minlength=n)
        while True:  # of the most promising candidates, the one that shortens the description most
            upto = np.zeros(self.units.size + 1)
            upto[description.tokens.stop] = description.tokens.costs
            upto = np.maximum.accumulate(upto)
            now = np.bincount(self.index, upto[self.stops] - upto[self.starts], minlength=n)
            then = counts * np.log(np.maximum(description.tokens.stop.size / (2 * np.maximum(counts, 1)), 1.0))
            gain = np.where(allowed & (counts >= LEAST_COUNT), now - then - self._prices(self.candidates), -np.inf)
            phrases = description.lexicon.phrases
            promising = [i for i in np.argsort(-gain, kind="stable")[: _TRIED + len(phrases)] if gain[i] > 0]
            tried = [self.candidates[i] for i in promising if self.candidates[i] not in phrases][:_TRIED]
            longer = [self.described((*phrases, phrase)) for phrase in tried]
            best = min(longer, key=lambda one: one.total, default=description)
            if best.total >= description.total - _LEAST_GAIN:
                break
            description = best
        while True:
            phrases = description.lexicon.phrases
            fewer = [self.described(phrases[:i] + phrases[i + 1 :]) for i in range(len(phrases))]
            best = min(fewer, key=lambda one: one.total, default=description)
            if best.total >= description.total:
                return description
            description = best

    def _read(self, phrases: tuple[Phrase, ...]) -> LexiconCost:
        """Reading and counting in turn, until the reading stays."""
        for phrase in phrases:
            if phrase not in self._places:
                self._places[phrase] = near_places(phrase, self.units, self.first)
        common = [sum(place.edits == 0 for place in self._places[phrase]) for phrase in phrases]
        counts = np.tile(np.append(np.bincount(self.units, minlength=self.n_units), common), (2, 1))
        readable = Readable.of(self.units, self.first, phrases, self._places)
        before: TokenColumns | None = None
        for _ in range(_ROUNDS):
            smooth = counts + _SMOOTHING
            lexicon = Lexicon(phrases, np.asarray(-np.log(smooth / smooth.sum(axis=1, keepdims=True))))
            tokens = readable.cheapest(lexicon.costs)
            if before is not None and tokens.same_tokens(before):
                break
            before = tokens
            is_told = tokens.phrase != STANDING
            after = (self.first[tokens.start] | np.append(True, is_told[:-1])).astype(np.int64)
            kinds = np.where(is_told, self.n_units + tokens.phrase, self.units[tokens.start])
            counts = np.bincount(after * counts.shape[1] + kinds, minlength=counts.size).reshape(counts.shape)
        total = float(tokens.costs[-1] + self._prices(phrases).sum())
        return LexiconCost(lexicon, tokens, total)

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


def _stripped(phrase: Phrase, unit: int) -> Phrase:
    while phrase and phrase[0] == unit:
        phrase = phrase[1:]
    while phrase and phrase[-1] == unit:
        phrase = phrase[:-1]
    return phrase
