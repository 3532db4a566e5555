"""Slow twins of the motif grammar: every path is written out."""

from __future__ import annotations

from itertools import product

import numpy as np

from rondo.motifs.grammar import Grammar


def all_paths(units: list[int], first: list[bool], grammar: Grammar) -> dict[tuple[tuple[int, bool], ...], float]:
    """The probability of every sequence of (motif, an occurrence begins here) together with the units."""
    n_motifs = grammar.n_motifs
    paths = {}
    for path in product(product(range(n_motifs), (True, False)), repeat=len(units)):
        log_p = 0.0
        for i, (motif, begins) in enumerate(path):
            if first[i]:
                log_p += (grammar.start[motif, units[i]] - np.log(n_motifs)) if begins else -np.inf
            elif begins:
                before = path[i - 1][0]
                log_p += grammar.go[before, units[i - 1], -1] + grammar.follow[before, motif]
                log_p += grammar.start[motif, units[i]]
            elif motif == path[i - 1][0]:
                log_p += grammar.go[motif, units[i - 1], units[i]]
            else:
                log_p = -np.inf
        paths[path] = float(np.exp(log_p))
    return paths


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
