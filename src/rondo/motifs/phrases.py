"""Phrases: the unit sequence of an occurrence, and which phrases are the same motif.

The grammar has cut the runs into phrases and filed each under one of its motifs. Phrases under one heading that have
few units in common (Jaccard distance of their unit sets, average linkage) are different motifs after all: a grammar
may well file "any single gesture" under one heading. The order of units is the grammar's business, and how often a
cycle goes round (u6 u5 u6 u5 ...) does not matter. A phrase of one unit is that unit, standing for itself. A longer
phrase that stands alone recurs nowhere: it is read as its units.

The *composition* of a motif is its phrases in one line, for people, with its repeats and optional parts:

    u6 (u5 u4)×2-4 [u3]     u6, then u5 u4 two to four times over, then sometimes u3

The commonest phrase is the backbone; the others are aligned to it, the commonest first (longest common subsequence),
and add parts of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Phrase = tuple[int, ...]
"""The units of one occurrence, in their order."""
Cycle = tuple[int, ...]
"""Units that come round again, or a single unit."""

_ALWAYS = 0.9  # a part found in this share of occurrences is not called optional
_OFTEN = 0.25  # a part that the commonest phrase lacks is shown from this share on
_MOST_PHRASES = 200  # rarer ones would not change the line
Content = tuple[int, tuple[int, ...]]
_ALONE = -1  # the heading of single units: a unit is itself wherever the grammar files it
MOST_PHRASES = 400  # distinct phrases beyond this are not compared pairwise: the table grows with the square


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


def group_phrases(phrases: Sequence[Phrase], cuts: Sequence[float]) -> list[dict[Phrase, int]]:
    """For each cut, the group of every distinct phrase among the MOST_PHRASES most frequent ones."""
    counts = Counter(phrases)
    distinct = sorted(counts, key=lambda phrase: (-counts[phrase], phrase))[:MOST_PHRASES]
    if len(distinct) < 2:
        return [dict.fromkeys(distinct, 0) for _ in cuts]
    labels = _linked(phrase_distances(distinct, distinct), cuts)
    return [dict(zip(distinct, own, strict=True)) for own in labels]


def phrase_distances(some: Sequence[Phrase], others: Sequence[Phrase]) -> NDArray[np.float64]:
    """Levenshtein distance over the longer length, (n_some, n_others).

    >>> phrase_distances([(1, 2, 3, 4)], [(1, 2, 3, 4), (1, 3, 4), (5,)]).tolist()
    [[0.0, 0.25, 1.0]]
    """
    from rapidfuzz.distance import Levenshtein  # not needed to load or apply a model
    from rapidfuzz.process import cdist

    return np.asarray(cdist(some, others, scorer=Levenshtein.normalized_distance, dtype=np.float64))


def recurrence(phrases: Sequence[Phrase]) -> float:
    """Of the runs in phrases of several units, the share whose phrase occurs again, word for word.

    >>> recurrence([(0,), (1, 2), (0,), (1, 2), (3, 4, 5, 6)])
    0.5
    """
    counts = Counter(phrase for phrase in phrases if len(phrase) > 1)
    composed = sum(n * len(phrase) for phrase, n in counts.items())
    again = sum(n * len(phrase) for phrase, n in counts.items() if n > 1)
    return again / composed if composed else 0.0


def recurring(phrases: Sequence[Phrase], headings: Sequence[int], cut: float) -> dict[Content, int]:
    """The group of every content that recurs, over all headings; single units are left out.

    `headings` holds the grammar's motif of each phrase. A content is a heading and the sorted units of a phrase.
    """
    counts = Counter(content_of(phrase, heading) for phrase, heading in zip(phrases, headings, strict=True))
    groups: dict[Content, int] = {}
    for heading in sorted(set(headings)):
        own = [content for content in counts if content[0] == heading and len(content[1]) > 1]
        own = sorted(own, key=lambda content: (-counts[content], content))[:MOST_PHRASES]
        for members in _grouped(own, cut):
            if sum(counts[content] for content in members) > 1:
                groups |= dict.fromkeys(members, len(set(groups.values())))
    return groups


def content_of(phrase: Phrase, heading: int) -> Content:
    """What makes a phrase the motif it is: the grammar's motif, and which units occur in it.

    >>> content_of((6, 5, 6, 5), heading=3), content_of((6,), heading=3)
    ((3, (5, 6)), (-1, (6,)))
    """
    units = tuple(sorted(set(phrase)))
    return (heading if len(units) > 1 else _ALONE), units


def content_distances(some: Sequence[Content], others: Sequence[Content]) -> NDArray[np.float64]:
    """Jaccard distance of the unit sets, (n_some, n_others); 1 under different headings.

    >>> content_distances([(0, (1, 2))], [(0, (1, 2)), (0, (1, 2, 3, 4)), (0, (4, 5)), (7, (1, 2))]).tolist()
    [[0.0, 0.5, 1.0, 1.0]]
    """
    units = sorted({unit for _, held in (*some, *others) for unit in held})
    rows, columns = (np.array([[unit in held for unit in units] for _, held in side], float) for side in (some, others))
    common = rows @ columns.T
    distances = 1.0 - common / (rows.sum(axis=1)[:, None] + columns.sum(axis=1) - common)
    headings = (np.array([heading for heading, _ in side]) for side in (some, others))
    return np.where(np.equal.outer(*headings), distances, 1.0)


def _grouped(contents: Sequence[Content], cut: float) -> list[list[Content]]:
    if len(contents) < 2:
        return [list(contents)] if contents else []
    labels = _linked(content_distances(contents, contents), [cut])[0]
    return [[c for c, label in zip(contents, labels, strict=True) if label == g] for g in sorted(set(labels))]


def _linked(distances: NDArray[np.float64], cuts: Sequence[float]) -> list[list[int]]:
    """Groups by average linkage at each cut."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, and only needed to fit
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(distances, checks=False), "average")
    return [fcluster(tree, cut, "distance").tolist() for cut in cuts]
