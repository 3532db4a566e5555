"""The colour of a true class: that of the found entry with which it shares most time, one to one.

Found and true then look alike where they agree. Classes that are left over are grey: a colour would claim an agreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, from_runs
from rondo.report.colours import colour_of
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    from rondo.result import Result

_GREYS = ("#9aa0a6", "#c0c4c9", "#767c83")
_MOST_RECORDINGS = 20  # that are compared: more would change no colour


class Spans(NamedTuple):
    """Named stretches [starts[i], ends[i]) of frames."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    names: list[str]


def true_colours(
    result: Result, recording_id: str, truth: Mapping[str, Spans], levels: Sequence[Level]
) -> dict[str, str]:
    """The colour of each class by its name; of several levels the one that shares more time gives the colours.

    `truth`: the classes of each recording. Where every recording has a vocabulary of its own, one is compared.
    """
    names = list(dict.fromkeys(name for spans in truth.values() for name in spans.names))
    own = [recording_id] if result.summary.own_vocabularies else [*truth][:_MOST_RECORDINGS]
    compared = {id: truth[id] for id in own if id in truth}
    colours, most = dict[str, str](), -1.0
    for level in levels:
        pairs, shared = _paired(_shared_frames(result, compared, names, level))
        if shared > most:
            colours, most = {names[place]: colour_of(level, id) for place, id in pairs.items()}, shared
    left = [name for name in names if name not in colours]
    return colours | {name: _GREYS[place % len(_GREYS)] for place, name in enumerate(left)}


def _shared_frames(
    result: Result, truth: Mapping[str, Spans], names: Sequence[str], level: Level
) -> NDArray[np.float64]:
    """Frames that class i shares with the entry of id j: (n_classes, n_ids)."""
    numbers = {name: place for place, name in enumerate(names)}
    rows = result.table_of([*truth])
    rows = rows.filter((rows["level"] == level) & (rows["id"] != OTHER))
    n_ids = 1 + max(rows["id"].to_list(), default=-1)
    shared = np.zeros((len(names), n_ids))
    for id, spans in truth.items():
        own = rows.filter(rows["recording"] == id)
        n_frames = max([*spans.ends.tolist(), *own["end_frame"].to_list()], default=0)
        true = from_runs(spans.starts, spans.ends, [numbers[name] for name in spans.names], n_frames)
        found = from_runs(own["start_frame"], own["end_frame"], own["id"], n_frames)
        both = (true != OTHER) & (found != OTHER)
        np.add.at(shared, (true[both], found[both]), 1)
    return shared


def _paired(shared: NDArray[np.float64]) -> tuple[dict[int, int], float]:
    """The entry of each class such that they share most frames in all, and how many these are.

    >>> _paired(np.array([[9.0, 5.0], [8.0, 0.0]]))
    ({0: 1, 1: 0}, 13.0)
    """
    from scipy.optimize import linear_sum_assignment

    if not shared.size:
        return {}, 0.0
    rows, columns = linear_sum_assignment(shared, maximize=True)
    pairs = {row: column for row, column in zip(rows.tolist(), columns.tolist(), strict=True) if shared[row, column]}
    return pairs, float(shared[rows, columns].sum())
