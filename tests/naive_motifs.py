"""Slow twins of the motif grammar: every path is written out."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln

from rondo.arrays import Floats
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


def log_evidence(units: list[int], first: list[bool], n_motifs: int, n_units: int, prior: float) -> float:
    """log p(units) over all grammars with sparse Dirichlet rows, and over all paths."""
    return float(np.log(sum(np.exp(p) for p in joint_evidence(units, first, n_motifs, n_units, prior).values())))


def joint_evidence(
    units: list[int], first: list[bool], n_motifs: int, n_units: int, prior: float
) -> dict[tuple[tuple[int, bool], ...], float]:
    """log p(units, path) of every possible path, all rows integrated out: one Dirichlet-multinomial per row."""
    uniform = Grammar(
        np.zeros((n_motifs, n_units, n_units + 1)), np.zeros((n_motifs, n_units)), np.zeros((n_motifs,) * 2)
    )
    evidence = {}
    for path, possible in all_paths(units, first, uniform).items():
        if possible > 0:
            tables = rule_counts(path, units, first, n_motifs, n_units)
            total = -sum(first) * np.log(n_motifs)
            for table in tables:
                mass = table.shape[-1] * prior
                total += (gammaln(mass) - gammaln(mass + table.sum(axis=-1))).sum()
                total += (gammaln(prior + table) - gammaln(prior)).sum()
            evidence[path] = float(total)
    return evidence


def rule_counts(
    path: tuple[tuple[int, bool], ...], units: list[int], first: list[bool], n_motifs: int, n_units: int
) -> tuple[Floats, Floats, Floats]:
    """How often a path uses each rule: go, start, follow."""
    go, start = np.zeros((n_motifs, n_units, n_units + 1)), np.zeros((n_motifs, n_units))
    follow = np.zeros((n_motifs, n_motifs))
    for i, (motif, begins) in enumerate(path):
        if begins:
            start[motif, units[i]] += 1
        if begins and not first[i]:
            go[path[i - 1][0], units[i - 1], n_units] += 1
            follow[path[i - 1][0], motif] += 1
        if not begins:
            go[motif, units[i - 1], units[i]] += 1
    return go, start, follow


def edit_distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Levenshtein, by its recursive definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(
        edit_distance(a[1:], b) + 1,
        edit_distance(a, b[1:]) + 1,
        edit_distance(a[1:], b[1:]) + (a[0] != b[0]),
    )
