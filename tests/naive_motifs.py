"""Slow twins of the motif stage: every reading is written out, edit distance by its definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rondo.motifs.phrases import EDIT_PRICE, STANDING, UNIT_PRICE, UNITS_PER_EDIT, Lexicon


def speak(
    grammars: list[list[int]], separator: int, n_phrases: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Unit runs made of phrases with a separator between them, and the true motif of each run (separator: 0)."""
    units, motifs = [], []
    for _ in range(n_phrases):
        motif = int(rng.integers(len(grammars)))
        units += [separator, *grammars[motif]]
        motifs += [0, *[motif + 1] * len(grammars[motif])]
    return units, motifs


def edit_distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Levenshtein, by its recursive definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(
        edit_distance(a[1:], b) + 1,
        edit_distance(a, b[1:]) + 1,
        edit_distance(a[1:], b[1:]) + (a[0] != b[0]),
    )


def bounded_distance(phrase: tuple[int, ...], runs: tuple[int, ...]) -> float:
    """Edit distance where the first and the last of the runs are units of the phrase, in their places."""
    best = float("inf")
    for i, opening in enumerate(phrase):
        for j, closing in enumerate(phrase):
            if opening == runs[0] and closing == runs[-1] and (i < j or (i == j and len(runs) == 1)):
                inner = edit_distance(phrase[i + 1 : j], runs[1:-1]) if i < j and len(runs) > 1 else 0
                if i == j or len(runs) > 1:
                    best = min(best, i + inner + len(phrase) - 1 - j)
    return best


def naive_places(phrase: tuple[int, ...], units: Sequence[int], first: Sequence[bool]) -> dict[tuple[int, int], int]:
    """The edits of every stretch of runs that the phrase may explain."""
    found = {}
    for start in range(len(units)):
        for stop in range(start + 1, len(units) + 1):
            edits = bounded_distance(phrase, tuple(units[start:stop]))
            if edits <= len(phrase) // UNITS_PER_EDIT and not any(first[start + 1 : stop]):
                found[start, stop] = int(edits)
    return found


def least_cost(units: Sequence[int], first: Sequence[bool], lexicon: Lexicon) -> float:
    """Of all readings, the cost of the cheapest."""
    places = [naive_places(phrase, units, first) for phrase in lexicon.phrases]
    return min(cost for cost in _readings(0, 1, units, first, lexicon, places))


def _readings(
    start: int,
    after: int,
    units: Sequence[int],
    first: Sequence[bool],
    lexicon: Lexicon,
    places: Sequence[dict[tuple[int, int], int]],
) -> Iterator[float]:
    if start == len(units):
        yield 0.0
        return
    after = 1 if first[start] else after
    ways = [(start + 1, STANDING, 0)]
    ways += [(stop, i, edits) for i, own in enumerate(places) for (at, stop), edits in own.items() if at == start]
    for stop, phrase, edits in ways:
        token = units[start] if phrase == STANDING else lexicon.costs.shape[1] - len(lexicon.phrases) + phrase
        length = 0 if phrase == STANDING else len(lexicon.phrases[phrase])
        cost = lexicon.costs[after, token] + edits * EDIT_PRICE + length * UNIT_PRICE
        for rest in _readings(stop, int(phrase != STANDING), units, first, lexicon, places):
            yield float(cost + rest)
