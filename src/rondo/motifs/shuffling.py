"""Order shuffled: the null of the search for phrases and of the evidence for them.

Surrogates are sequences of unit runs in which every unit comes as often as in the recording, in any order, but never
twice in a row (two runs of one unit would be one):

    P(v follows u) = a_v / (1 - a_u),  v != u,  with a such that units come with the frequencies they have.

The surprise of a phrase w_1 .. w_n that occurs c times comes from the same chain, fitted to the sequence itself:

    surprise = -log P(Poisson(e) >= c),   e = max(m q(w_1) P(w_2 follows w_1) .. P(w_n follows w_n-1), r)

where m is the number of places with n runs of one span, q the frequency of a unit, and r how often the phrase occurs
read backwards. A phrase claims an order. Where the signal wavers between units without order (u1 u2 u1 u2, or a slow
walk among neighbours), both directions are equally common and neither surprises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from rondo.arrays import Flags, Floats, Ints

_BISECTIONS = 60
_LEAST_SCALE = 1e-6  # of weights beside one that takes nearly all
_LEAST_PROBABILITY = 1e-300


class FoundPhrases(NamedTuple):
    """Every place at which a phrase of one length begins that occurs often enough."""

    length: int
    row: Ints  # (n_places,), the sequence
    start: Ints  # (n_places,), the run at which it begins
    phrase: Ints  # (n_places,), equal where the phrase and the sequence are
    surprise: Floats  # (n_places,)


class Sequences(NamedTuple):
    """Sequences of unit runs that are cut into the same spans; units are 0 .. n_units-1."""

    units: Ints  # (n_sequences, n_runs)
    first: Flags  # (n_runs,), True where a span begins
    n_units: int

    def shuffled(self, n: int, rng: np.random.Generator) -> Sequences:
        """n surrogates of the first sequence."""
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
        weights = np.stack([quasi_independent(own) for own in self._frequencies()])
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
            mean = np.maximum(
                self._starts(length, row[own], start[own]) * np.exp(expected[own]), backwards[phrase[own]]
            )
            tail = np.maximum(gammainc(counts[phrase[own]], mean), _LEAST_PROBABILITY)
            surprise = np.where(counts[phrase[own]] > 1, -np.log(tail), 0.0)
            yield FoundPhrases(length, row[own], start[own], phrase[own], surprise)

    def _starts(self, length: int, row: Ints, start: Ints) -> Floats:
        """How often the unit of each run would begin so many runs of one span, if it came anywhere.

        Not how often it does: where recordings are short, that a unit is always first is order too.
        """
        span = np.cumsum(self.first)
        n_begins = np.count_nonzero(span[: span.size - length + 1] == span[length - 1 :])
        return np.asarray(n_begins * self._frequencies()[row, self.units[row, start]])

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
