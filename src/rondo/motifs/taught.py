"""TaughtMotifs: what people have taught by a few marked spans, read in any recording.

An entry is *claimed* by a name if it holds the larger part of a marked span, or of several. There are two ways to read:

- by entries, where these tell the names apart: every claimed entry gets the name that marks most of it, with names of
  equal weight. All other entries stay as they were found. So too where names cover little of what was found; then a
  name claims only the entry that it marks most.
- by windows: a ridge regression on their descriptions (`rondo.motifs.described`) scores the names. It is fitted to the
  marked windows, and then once more to all windows as it reads them (self-training). The best path is read, in which
  each change of name has its price. Frames that were found to be OTHER stay so.

No labels but the marks decide between the two. `benchmarks/studies.py teaching` measures them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, check_shapes
from rondo.data.labels import OTHER
from rondo.data.windows import Span, Windows
from rondo.motifs.described import WindowDescriber, principal_axes, ridge
from rondo.units.viterbi import smooth_spans

TOLD_APART = 0.75  # of marked frames, in entries of their own name: then entries are read (of 0.75 to 0.95; studies.py)
COVERING = 0.6  # names for each entry that was found: fewer cover too little (of 0.5 to 0.73; studies.py teaching)
CHANGE = 0.6  # price of a change of name; scores are 1 for a marked name and 0 for others (0.3 to 2; studies.py)
_DIMENSIONS = 120  # of descriptions, by their principal axes (60, 120, 200; studies.py teaching)
_NEVER = 1e6  # price of what is ruled out: more than any path costs


class TaughtReading(NamedTuple):
    """What windows are read as: the column of a name, or OTHER where what was found stays."""

    columns: Ints
    seconds: Ints  # the columns of the names that come next
    margins: Floats  # by how much the first is ahead of the second


@dataclass(frozen=True, eq=False)
class WindowNames:
    """Scores the names of windows."""

    describer: WindowDescriber
    weights: Floats  # (n_dims, n_names)
    bias: Floats  # (n_names,)

    def read(self, windows: Windows, found: Ints) -> TaughtReading:
        """The names of the windows of one recording; `found`: the entries at their middles."""
        return self.read_points(self.describer.describe(windows), windows.grid.window_spans, found)

    def read_points(
        self, points: Floats, spans: Sequence[Span], found: Ints, marks: Ints | None = None
    ) -> TaughtReading:
        """The same from descriptions; where there are `marks`, they hold."""
        scores = points @ self.weights + self.bias
        stays = found == OTHER
        costs = np.column_stack([np.where(stays[:, None], _NEVER, -scores), np.where(stays, 0.0, _NEVER)])
        if marks is not None:
            costs[marks != OTHER] = _NEVER
            costs[marks != OTHER, marks[marks != OTHER]] = 0.0
        path = smooth_spans(costs, spans, CHANGE)
        columns, order = np.where(path == self.bias.size, OTHER, path), np.argsort(-scores, axis=1, kind="stable")
        seconds = np.where(order[:, 0] == columns, order[:, min(1, self.bias.size - 1)], order[:, 0])
        rows = np.arange(len(scores))
        return TaughtReading(columns, seconds, scores[rows, columns] - scores[rows, seconds])


@dataclass(frozen=True, eq=False)
class TaughtMotifs:
    """Reads taught names. Teaching gives it; it never changes afterwards."""

    entries: Ints  # that are claimed, ascending
    columns: Ints  # of their names
    windows: WindowNames | None  # None: entries are read

    def of_entries(self, found: Ints) -> Ints:
        """The column of each entry that was found, OTHER where it is not claimed."""
        if not self.entries.size:  # every mark lies in OTHER
            return np.full(found.shape, OTHER)
        places = np.minimum(np.searchsorted(self.entries, found), self.entries.size - 1)
        return np.where(self.entries[places] == found, self.columns[places], OTHER)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        own: dict[str, NDArray[np.generic]] = {"entries": self.entries, "columns": self.columns}
        if self.windows is None:
            return own
        return own | {"weights": self.windows.weights, "bias": self.windows.bias} | self.windows.describer.tensors()

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], n_names: int) -> TaughtMotifs:
        """From tensors that may be someone else's; ValueError or ModelError where they do not fit together."""
        check_shapes(tensors, {"entries": "entries", "columns": "entries"})
        entries, columns = (np.asarray(tensors[name], np.int64) for name in ("entries", "columns"))
        if not ((columns >= 0) & (columns < n_names)).all() or (np.diff(entries) <= 0).any():
            raise ValueError(f"entries {entries.tolist()[:8]} of {n_names} names")
        if "weights" not in tensors:
            return cls(entries, columns, None)
        sizes = check_shapes(
            tensors, {"axes": "channels axes", "weights": "dims names", "bias": "names"}, names=n_names
        )
        describer = WindowDescriber.restore(tensors)
        if describer.n_dims != sizes["dims"]:
            raise ValueError(f"weights of {sizes['dims']} dimensions")
        weights, bias = (np.asarray(tensors[name], np.float64) for name in ("weights", "bias"))
        return cls(entries, columns, WindowNames(describer, weights, bias))


def taught_by_entries(entries: Ints, marked: Ints, claimed: Ints) -> tuple[TaughtMotifs, bool]:
    """What entries alone say, and whether that is how to read.

    `marked`: rows that are marked with each name in each entry, (n_names, n_entries); `claimed`: some of the entries.
    """
    shares = marked / marked.sum(axis=1, keepdims=True)
    columns, is_found = shares.argmax(axis=0), entries != OTHER
    told_apart = np.mean([shares[name, columns == name].sum() for name in range(len(shares))])
    covers = len(shares) >= COVERING * np.count_nonzero(is_found)
    of = np.isin(entries, claimed) & is_found
    if not covers:
        of &= shares.argmax(axis=1)[columns] == np.arange(entries.size)
    return TaughtMotifs(entries[of], columns[of], None), bool(told_apart >= TOLD_APART or not covers)


def taught_by_windows(
    by_entries: TaughtMotifs, n_names: int, windows: Sequence[Windows], found: Sequence[Ints], marks: Sequence[Ints]
) -> TaughtMotifs:
    """Learn names from the windows of recordings that hold marks; a name without a window is never read.

    `found`, `marks`: the entry and the column at the middle of each window, OTHER where there is none.
    """
    filled = [own for own in windows if len(own)]
    describer, each = WindowDescriber.fit(windows)
    points, every_mark = np.concatenate(each), np.concatenate(marks)
    reduced = principal_axes(points, _DIMENSIONS)
    latents, names = points @ reduced, every_mark
    for _ in range(2):  # by the marks, then by all windows
        of = names != OTHER
        weights, bias = ridge(latents[of], names[of], n_names)
        reader = WindowNames(describer, reduced @ weights, bias)
        reads = [reader.read_points(own, w.grid.window_spans, f, m)
                 for own, w, f, m in zip(each, filled, found, marks, strict=True)]  # fmt: skip
        names = np.concatenate([read.columns for read in reads])
    return TaughtMotifs(by_entries.entries, by_entries.columns, reader)
