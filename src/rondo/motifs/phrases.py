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
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rondo.motifs.base import Kept

Phrase = tuple[int, ...]
"""The units of one occurrence, in their order."""
Cycle = tuple[int, ...]
"""Units that come round again, or a single unit."""

_ALWAYS = 0.9  # a part found in this share of occurrences is not called optional
_OFTEN = 0.25  # a part that the commonest phrase lacks is shown from this share on
_MOST_PHRASES = 200  # rarer ones would not change the line


@dataclass(frozen=True)
class Part:
    """A place in the composition: a unit or a cycle, in how many occurrences, and how often it goes round in them."""

    cycle: Cycle
    count: int
    times: tuple[int, int]  # fewest, most

    def seen_again(self, count: int, times: int) -> Part:
        return Part(self.cycle, self.count + count, (min(self.times[0], times), max(self.times[1], times)))


def composition(counts: Mapping[Phrase, int]) -> str:
    """A motif's phrases, with how often each occurred, in one line.

    Parts missing in more than a tenth of occurrences stand in brackets.

    >>> composition({(6, 4, 3, 1): 5, (6, 4, 1): 3})
    'u6 u4 [u3] u1'
    >>> composition({(6, 5, 4, 5, 4): 2, (6, 5, 4, 5, 4, 5, 4, 5, 4): 1})
    'u6 (u5 u4)×2-4'
    """
    ranked = sorted(counts, key=lambda phrase: (counts[phrase], len(phrase), phrase), reverse=True)[:_MOST_PHRASES]
    cycles = _cycles({phrase: counts[phrase] for phrase in ranked})
    backbone, *others = (_folded(phrase, cycles) for phrase in ranked)
    parts = [Part(cycle, counts[ranked[0]], (times, times)) for cycle, times in backbone]
    own = [True] * len(parts)  # of the backbone
    for phrase, folded in zip(ranked[1:], others, strict=True):
        parts, own = _with_phrase(parts, own, folded, counts[phrase])
    total = sum(counts[phrase] for phrase in ranked)
    shares = [part.count / total if total else 1.0 for part in parts]
    kept = zip(parts, own, shares, strict=True)
    return " ".join(_word(part, share) for part, is_own, share in kept if is_own or share >= _OFTEN)


def _with_phrase(
    parts: Sequence[Part], own: Sequence[bool], folded: Sequence[tuple[Cycle, int]], count: int
) -> tuple[list[Part], list[bool]]:
    """The parts with one more phrase counted in; what it has and they lack is put between them."""
    from rapidfuzz.distance import LCSseq  # not needed to load or apply a model

    merged: list[Part] = []
    merged_own: list[bool] = []
    for step in LCSseq.opcodes([part.cycle for part in parts], [cycle for cycle, _ in folded]):
        known, found = parts[step.src_start : step.src_end], folded[step.dest_start : step.dest_end]
        merged_own += own[step.src_start : step.src_end]
        if step.tag == "equal":
            merged += [part.seen_again(count, times) for part, (_, times) in zip(known, found, strict=True)]
        else:
            merged += [*known, *(Part(cycle, count, (times, times)) for cycle, times in found)]
            merged_own += [False] * len(found)
    return merged, merged_own


def _word(part: Part, share: float) -> str:
    units = " ".join(f"u{unit}" for unit in part.cycle)
    fewest, most = part.times
    if most > 1:
        units = f"({units})×{most}" if fewest == most else f"({units})×{fewest}-{most}"
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


# ---------------------------------------------------------------- phrases of one motif


def grouped(phrases: Sequence[Phrase], cut: float) -> list[int]:
    """The group of each phrase, from 0: average linkage, cut at that distance.

    >>> grouped([(1, 2, 3, 4), (5, 6), (1, 2, 4), (1, 2, 3, 4, 3, 4)], cut=0.25)
    [0, 1, 0, 0]
    """
    if len(phrases) < 2:
        return [0] * len(phrases)
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, and only needed to fit
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(phrase_distances(phrases), checks=False), "average")
    labels = fcluster(tree, cut, "distance").tolist()
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return [number[label] for label in labels]


def phrase_distances(phrases: Sequence[Phrase]) -> NDArray[np.float64]:
    """Between all phrases, (n, n)."""
    from rapidfuzz.distance import Indel  # not needed to load or apply a model

    plain = [without_repeats(phrase) for phrase in phrases]
    return np.array([[Indel.normalized_distance(one, other) for other in plain] for one in plain])


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
