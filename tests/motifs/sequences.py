"""Unit runs in which nothing is composed, and timelines that have given runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rondo.units.viterbi import Timeline

Ints = NDArray[np.int64]


def independent_runs(n_runs: int, n_units: int, seed: int) -> Ints:
    """Any other unit with equal probability, whatever came before."""
    steps = np.random.default_rng(seed).integers(1, n_units, size=n_runs)
    return np.asarray(steps.cumsum() % n_units)


def first_of(n_runs: int, *spans: int) -> NDArray[np.bool_]:
    """True at run 0 and at the runs named."""
    first = np.zeros(n_runs, dtype=np.bool_)
    first[[0, *spans]] = True
    return first


def timeline_of(units: Sequence[int] | Ints, windows_per_run: int = 2, spans: Sequence[int] = ()) -> Timeline:
    """A timeline with these runs, each of the same length; `spans` names runs at which a new span begins."""
    ids = np.repeat(np.asarray(units, dtype=np.int32), windows_per_run)
    edges = [0, *(run * windows_per_run for run in spans), ids.size]
    return Timeline(ids, np.full(ids.size, 0.5), tuple(pairwise(edges)))
