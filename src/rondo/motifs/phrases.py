"""Phrases of one motif: those that are nearly the same sequence of units, repeats written once.

The distance of two phrases is 1 - 2 L / (m + n), with L the length of their longest common subsequence and m, n their
lengths: a phrase that lacks one unit of four is at 0.14, one in which one unit of three is another at 0.33.

The *composition* of a motif is its phrases in one line, for people, with its repeats and optional parts:

    u6 (u5 u4)×2-4 [u3]     u6, then u5 u4 two to four times over, then sometimes u3

The commonest phrase is the backbone; the others are aligned to it, the commonest first (longest common subsequence),
and add parts of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from rondo.arrays import Flags, Floats, Ints
from rondo.motifs.base import Kept

Phrase = tuple[int, ...]
"""The units of one occurrence, in their order."""
Cycle = tuple[int, ...]
"""Units that come round again, or a single unit."""

_ALWAYS = 0.9  # a part found in this share of occurrences is not called optional
_OFTEN = 0.25  # a part that the commonest phrase lacks is shown from this share on
_MOST_PHRASES = 200  # rarer ones would not change the line


class Part(NamedTuple):
    """A part of the composition: a unit or a cycle, in how many occurrences, and how often it goes round in them."""

    cycle: Cycle
    n_occurrences: int
    fewest: int
    most: int
    in_backbone: bool

    def seen_again(self, count: int, times: int) -> Part:
        fewest, most = min(self.fewest, times), max(self.most, times)
        return self._replace(n_occurrences=self.n_occurrences + count, fewest=fewest, most=most)


def composition(counts: Mapping[Phrase, int]) -> str:
    """A motif's phrases, with how often each occurred, in one line.

    Parts missing in more than a tenth of occurrences stand in brackets.

    >>> composition({(6, 4, 3, 1): 5, (6, 4, 1): 3})
    'u6 u4 [u3] u1'
    >>> composition({(6, 5, 4, 5, 4): 2, (6, 5, 4, 5, 4, 5, 4, 5, 4): 1})
    'u6 (u5 u4)×2-4'
    """
    from rapidfuzz.distance import LCSseq  # not needed to load or apply a model

    ranked = sorted(counts, key=lambda phrase: (counts[phrase], len(phrase), phrase), reverse=True)[:_MOST_PHRASES]
    cycles = _cycles({phrase: counts[phrase] for phrase in ranked})
    backbone, *others = (_folded(phrase, cycles) for phrase in ranked)
    parts = [Part(cycle, counts[ranked[0]], times, times, True) for cycle, times in backbone]
    for phrase, folded in zip(ranked[1:], others, strict=True):
        count, merged = counts[phrase], list[Part]()
        for step in LCSseq.opcodes([part.cycle for part in parts], [cycle for cycle, _ in folded]):
            known, found = parts[step.src_start : step.src_end], folded[step.dest_start : step.dest_end]
            if step.tag == "equal":
                merged += [part.seen_again(count, times) for part, (_, times) in zip(known, found, strict=True)]
            else:  # what the phrase has and the parts lack is put between them
                merged += [*known, *(Part(cycle, count, times, times, False) for cycle, times in found)]
        parts = merged
    total = sum(counts[phrase] for phrase in ranked)
    shares = [part.n_occurrences / total if total else 1.0 for part in parts]
    kept = zip(parts, shares, strict=True)
    return " ".join(_word(part, share) for part, share in kept if part.in_backbone or share >= _OFTEN)


def _word(part: Part, share: float) -> str:
    units = " ".join(f"u{unit}" for unit in part.cycle)
    if part.most > 1:
        units = f"({units})×{part.most}" if part.fewest == part.most else f"({units})×{part.fewest}-{part.most}"
    return units if share >= _ALWAYS else f"[{units}]"


def _cycles(counts: Mapping[Phrase, int]) -> list[Cycle]:
    """What goes round at least twice in any phrase, commonest first; of rotations (u5 u6, u6 u5) the commonest."""
    counted: Counter[Cycle] = Counter()
    for phrase, n in counts.items():
        counted.update({cycle: n for cycle, times in _rounds(phrase) if times > 1})
    chosen: dict[Cycle, Cycle] = {}
    for cycle in sorted(counted, key=lambda cycle: (-counted[cycle], len(cycle), cycle)):
        chosen.setdefault(min(cycle[i:] + cycle[:i] for i in range(len(cycle))), cycle)
    return list(chosen.values())


def _rounds(phrase: Phrase) -> list[tuple[Cycle, int]]:
    """The phrase as cycles and how often each goes round; at each place the one that reaches furthest, then shortest.

    >>> _rounds((6, 5, 4, 5, 4, 3))
    [((6,), 1), ((5, 4), 2), ((3,), 1)]
    """
    found: list[tuple[Cycle, int]] = []
    at = 0
    while at < len(phrase):
        lengths = range(2, (len(phrase) - at) // 2 + 1)
        ways = [(phrase[at : at + n], _times(phrase, at, phrase[at : at + n])) for n in lengths]
        repeated = [(cycle, times) for cycle, times in ways if times > 1]
        cycle, times = max(repeated, key=lambda way: len(way[0]) * way[1], default=(phrase[at : at + 1], 1))
        found.append((cycle, times))
        at += len(cycle) * times
    return found


def _folded(phrase: Phrase, cycles: Sequence[Cycle]) -> list[tuple[Cycle, int]]:
    """The phrase in these cycles and single units; a cycle that goes round once is a cycle too."""
    found: list[tuple[Cycle, int]] = []
    at = 0
    while at < len(phrase):
        cycle = next((c for c in cycles if phrase[at : at + len(c)] == c), phrase[at : at + 1])
        found.append((cycle, _times(phrase, at, cycle) if len(cycle) > 1 else 1))
        at += len(cycle) * found[-1][1]
    return found


def _times(phrase: Phrase, at: int, cycle: Cycle) -> int:
    times, length = 1, len(cycle)
    while phrase[at + times * length : at + (times + 1) * length] == cycle:
        times += 1
    return times


def in_kept(phrase: Phrase, kept: Kept) -> Phrase:
    """The phrase in units under the ids that are kept; what was merged is one run.

    >>> in_kept((6, 5, 3, 4), {3: 3, 4: 4, 5: 3, 6: 6}.__getitem__)
    (6, 3, 4)
    """
    return tuple(unit for unit, _ in groupby(map(kept, phrase)))


def grouped(phrases: Sequence[Phrase], cut: float) -> list[int]:
    """The group of each phrase, from 0: average linkage, cut at that distance.

    >>> grouped([(1, 2, 3, 4), (5, 6), (1, 2, 4), (1, 2, 3, 4, 3, 4)], cut=0.25)
    [0, 1, 0, 0]
    """
    if len(phrases) < 2:
        return [0] * len(phrases)
    from rapidfuzz.distance import Indel  # all three are slow to import, and only needed to fit
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    plain = [without_repeats(phrase) for phrase in phrases]
    distances = np.array([[Indel.normalized_distance(one, other) for other in plain] for one in plain])
    labels = fcluster(linkage(squareform(distances, checks=False), "average"), cut, "distance").tolist()
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return [number[label] for label in labels]


def without_repeats(phrase: Phrase) -> Phrase:
    """The phrase with every part that is repeated at once written once; short parts first.

    >>> without_repeats((6, 5, 4, 5, 4, 3))
    (6, 5, 4, 3)
    """
    for length in range(1, len(phrase) // 2 + 1):
        for at in range(len(phrase) - 2 * length + 1):
            middle = at + length
            if phrase[at:middle] == phrase[middle : middle + length]:
                return without_repeats(phrase[:middle] + phrase[middle + length :])
    return phrase


EDIT_PRICE, UNIT_PRICE = float(np.log(10)), float(np.log(10 / 9))  # nats
UNITS_PER_EDIT = 3  # chosen by hand, not measured
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


STANDING = -1  # a mark, not a number


class Lexicon(NamedTuple):
    """Phrases over units 0 .. n_units-1, and what tokens cost.

    A reading divides the runs into tokens: standing units, and occurrences of phrases. What a token costs (nats)
    depends only on whether a standing unit or an occurrence came before it. Without phrases this is the null of order
    shuffled. An occurrence may lack units of its phrase, and hold units that are repeated or belong elsewhere, or that
    stand in for others: one such edit for every three units of the phrase. It begins and ends with units of the phrase,
    in their order. One unit in ten is taken to be edited: an edit costs log 10 nats, a unit of the phrase log 10/9.
    """

    phrases: tuple[Phrase, ...]
    costs: Floats  # (2, n_units + n_phrases): after a standing unit, after an occurrence

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
    """The cheapest reading by Viterbi, and the cost of all tokens up to each."""
    n, n_units = units.size, int(lexicon.costs.shape[1]) - len(lexicon.phrases)
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
