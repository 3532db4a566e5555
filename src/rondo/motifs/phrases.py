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
        reading = Readable.of(units, first, self.phrases, places).cheapest(self.costs)
        return [Token(*token) for token in zip(*(column.tolist() for column in reading[:-1]), strict=True)]


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


class TokenColumns(NamedTuple):
    """Tokens as columns (n_tokens,), and the cost of all tokens up to each."""

    start: Ints
    stop: Ints
    phrase: Ints
    edits: Ints
    costs: Floats

    def same_tokens(self, other: TokenColumns) -> bool:
        return all(np.array_equal(own, its) for own, its in zip(self[:-1], other[:-1], strict=True))


class Readable(NamedTuple):
    """Runs, and where phrases of a lexicon may end in them: what readings with different costs have in common."""

    codes: list[int]  # the unit of each run
    opens: list[bool]  # whether a run begins a span
    lengths: list[int]  # units of each phrase
    ending: list[list[tuple[int, int, float, int]]]  # of each run, phrases that end there: start, phrase, price, edits

    @classmethod
    def of(
        cls, units: Ints, first: Flags, phrases: Sequence[Phrase], places: Mapping[Phrase, Sequence[PhrasePlace]]
    ) -> Readable:
        ending: list[list[tuple[int, int, float, int]]] = [[] for _ in range(units.size)]
        for index, phrase in enumerate(phrases):
            for start, stop, edits in places[phrase]:
                ending[stop - 1].append((start, index, edits * EDIT_PRICE, edits))
        return cls(units.tolist(), first.tolist(), [len(phrase) for phrase in phrases], ending)

    def cheapest(self, costs: Floats) -> TokenColumns:
        """The cheapest reading by Viterbi, with the costs of a lexicon, (2, n_units + n_phrases)."""
        n_units = costs.shape[1] - len(self.lengths)
        after_unit, after_phrase = costs[:, :n_units].tolist()
        phrase_after_unit, phrase_after_phrase = (costs[:, n_units:] + UNIT_PRICE * np.array(self.lengths)).tolist()
        opens = self.opens
        # Least cost of the runs so far if the last token is a standing unit, and if it is an occurrence; with each,
        # whether an occurrence came before it. Of an occurrence, its start, phrase and edits too.
        by_unit, by_phrase = np.inf, 0.0
        alone, told = [by_unit], [by_phrase]
        alone_from, told_from = [False], [(0, 0, 0, False)]
        for code, is_first, ending in zip(self.codes, opens, self.ending, strict=True):
            if is_first:
                from_phrase = by_phrase < by_unit
                by_unit = (by_phrase if from_phrase else by_unit) + after_phrase[code]
            else:
                by_unit, other = by_unit + after_unit[code], by_phrase + after_phrase[code]
                if from_phrase := other < by_unit:
                    by_unit = other
            alone_from.append(from_phrase)
            by_phrase, best = np.inf, (0, 0, 0, False)
            for start, phrase, price, edits in ending:
                cost, other = alone[start], told[start]
                if opens[start]:
                    from_phrase = other < cost
                    cost = (other if from_phrase else cost) + phrase_after_phrase[phrase]
                else:
                    cost, other = cost + phrase_after_unit[phrase], other + phrase_after_phrase[phrase]
                    if from_phrase := other < cost:
                        cost = other
                if cost + price < by_phrase:
                    by_phrase, best = cost + price, (start, phrase, edits, from_phrase)
            alone.append(by_unit)
            told.append(by_phrase)
            told_from.append(best)
        i, is_told, rows, upto = len(opens), by_phrase < by_unit, [], []
        while i:  # back from the end
            upto.append(told[i] if is_told else alone[i])
            stop, (start, phrase, edits, before) = i, told_from[i] if is_told else (i - 1, STANDING, 0, alone_from[i])
            rows.append((start, stop, phrase, edits))
            i, is_told = start, before
        starts, stops, phrases, edits_of = np.array(rows[::-1], np.int64).reshape(-1, 4).T
        return TokenColumns(starts, stops, phrases, edits_of, np.array(upto[::-1]))
