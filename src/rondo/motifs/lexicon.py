"""A lexicon of phrases, and the reading of unit runs with it: which runs are an occurrence, which stand for themselves.

A reading divides the runs into tokens: standing units, and occurrences of phrases. What a token costs (nats) depends
only on whether a standing unit or an occurrence came before it: costs[0] and costs[1]. Without phrases this is the null
of order shuffled. The cheapest reading is found by Viterbi.

An occurrence may lack units of its phrase, and hold units that are repeated or belong elsewhere, or that stand in for
others: one such edit for every three units of the phrase. It begins and ends with units of the phrase, in their order.
One unit in ten is taken to be edited: an edit costs log 10 nats, a unit of the phrase log 10/9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rondo.arrays import Flags, Floats, Ints
from rondo.motifs.phrases import Phrase

EDIT_PRICE, UNIT_PRICE = float(np.log(10)), float(np.log(10 / 9))  # nats
UNITS_PER_EDIT = 3
_FAR = 10_000  # edits


class Token(NamedTuple):
    """Runs [start, stop): an occurrence of a phrase of the lexicon, or STANDING."""

    start: int
    stop: int
    phrase: int
    edits: int = 0


class PhrasePlace(NamedTuple):
    """Runs [start, stop) that a phrase may explain, with so many edits."""

    start: int
    stop: int
    edits: int


STANDING = -1


class Lexicon(NamedTuple):
    """Phrases over units 0 .. n_units-1, and what tokens cost."""

    phrases: tuple[Phrase, ...]
    costs: Floats  # (2, n_units + n_phrases): after a standing unit, after an occurrence

    @property
    def n_units(self) -> int:
        return int(self.costs.shape[1]) - len(self.phrases)

    def read(self, units: Ints, first: Flags) -> list[Token]:
        """The cheapest reading of runs; `first` marks those that begin a span."""
        places = {phrase: near_places(phrase, units, first) for phrase in self.phrases}
        return cheapest(units, first, self, places)[0]


def near_places(phrase: Phrase, units: Ints, first: Flags) -> list[PhrasePlace]:
    """Where a phrase may stand: edit distance at most a third of its length, first and last run of it, one span.

    >>> units = np.array([1, 2, 3, 0, 1, 3, 0, 1, 9, 2, 3])
    >>> first = np.arange(11) == 0
    >>> [place for place in near_places((1, 2, 3), units, first) if place.stop - place.start > 1]  # doctest: +ELLIPSIS
    [PhrasePlace(start=0, stop=2, edits=1), ..., PhrasePlace(start=9, stop=11, edits=1)]
    """
    n, most = units.size, len(phrase) // UNITS_PER_EDIT
    reach = len(phrase) + most
    span = np.cumsum(first)
    ahead, ahead_span = np.append(units, np.full(reach, -1)), np.append(span, np.full(reach, -1))
    wanted = np.array(phrase)[:, None]
    left = np.arange(len(phrase) - 1, -1, -1)[:, None]  # units of the phrase after each
    # distance[j]: of the first j units of the phrase from the runs so far
    distance = np.where(np.arange(len(phrase) + 1)[:, None] <= most, np.arange(len(phrase) + 1)[:, None], _FAR)
    distance = np.repeat(distance, n, axis=1)
    inside = np.ones(n, dtype=np.bool_)
    found: list[PhrasePlace] = []
    for length in range(1, reach + 1):
        inside &= ahead_span[length - 1 : length - 1 + n] == span
        matched = np.where((ahead[length - 1 : length - 1 + n] == wanted) & inside, distance[:-1], _FAR)
        total = (matched + left).min(axis=0)
        starts = np.flatnonzero(total <= most)
        found += [
            PhrasePlace(start, start + length, edits)
            for start, edits in zip(starts.tolist(), total[starts].tolist(), strict=True)
        ]
        nearer = matched if length == 1 else np.minimum(matched, np.minimum(distance[:-1], distance[1:]) + 1)
        for j in range(1, len(phrase)):
            np.minimum(nearer[j], nearer[j - 1] + 1, out=nearer[j])
        distance = np.concatenate([np.full((1, n), _FAR), nearer])
    return sorted(found)


def cheapest(
    units: Ints, first: Flags, lexicon: Lexicon, places: Mapping[Phrase, Sequence[PhrasePlace]]
) -> tuple[list[Token], Floats]:
    """The cheapest reading, and the cost of all tokens up to each."""
    n, n_units = units.size, lexicon.n_units
    ending: list[list[tuple[int, int, int]]] = [[] for _ in range(n + 1)]
    for index, phrase in enumerate(lexicon.phrases):
        for start, stop, edits in places[phrase]:
            ending[stop].append((start, index, edits))
    lengths = np.array([0] * n_units + [len(phrase) for phrase in lexicon.phrases])
    after_unit, after_phrase = (lexicon.costs + UNIT_PRICE * lengths).tolist()
    opens, codes = first.tolist(), units.tolist()
    # least cost of the runs before i if the last token is a standing unit, and if it is an occurrence
    alone, told = [np.inf] * (n + 1), [0.0] + [np.inf] * n
    came: list[list[tuple[int, int, int, int]]] = [[(0, STANDING, 0, 0)] * 2 for _ in range(n + 1)]
    for i in range(1, n + 1):
        for start, index, edits in ((i - 1, STANDING, 0), *ending[i]):
            token = codes[start] if index == STANDING else n_units + index
            by_unit, by_phrase = alone[start], told[start]
            kind = int(by_phrase < by_unit)
            if opens[start]:
                cost = min(by_unit, by_phrase) + after_phrase[token]
            else:
                one, other = by_unit + after_unit[token], by_phrase + after_phrase[token]
                cost, kind = (one, 0) if one <= other else (other, 1)
            if index == STANDING:
                alone[i], came[i][0] = cost, (start, index, edits, kind)
            elif cost + edits * EDIT_PRICE < told[i]:
                told[i], came[i][1] = cost + edits * EDIT_PRICE, (start, index, edits, kind)
    tokens, costs = [], []
    i, kind = n, int(told[n] < alone[n])
    while i > 0:
        start, index, edits, before = came[i][kind]
        tokens.append(Token(start, i, index, edits))
        costs.append((alone, told)[kind][i])
        i, kind = start, before
    return tokens[::-1], np.array(costs[::-1])
