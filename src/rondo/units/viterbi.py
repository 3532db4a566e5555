"""Timeline: the entry of every window after smoothing, and how well it fits. Used for units and for motifs.

Viterbi smoothing: the cheapest labelling when each change of label costs the same penalty.

    minimise  sum_t cost[t, u_t] + penalty * #{t : u_t != u_{t-1}}

With one penalty for all changes the best predecessor of an entry is either the same entry or the cheapest
one, so a step costs n_entries, not its square:

    total[t, k] = cost[t, k] + min(total[t-1, k], min_j total[t-1, j] + penalty)

A whole recording is labelled by the path that is cheapest in the end. With a lag, window t is labelled by the path that
is cheapest `lag` windows later, and its label never changes: for streams. Of paths that cost the same, one that stays
longer wins, then the smaller column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags as Flags
from rondo.arrays import Floats
from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span
from rondo.units.vocabulary import Vocabulary

FARTHEST, STRANGEST = 3.0, 3.5  # the measurement follows
"""A window is OTHER farther than 3 radii from the centre of its unit, or 3.5 exemplar radii from every exemplar.

The slow projection keeps what tells units apart; a burst may differ from them in everything else, and then only its
distance from all known windows shows it (`rondo.units.model`). Of the windows of seven public data sets (up to four
recordings each) at most 0.2 % lie beyond 3 radii; of the next recording in six of them none beyond 3 exemplar radii. A
burst at ten times the amplitude lies at 3.8 to 4.7, where statistics are cut off; many windows of a sensor that is worn
turned lie beyond 3.
"""
_BLOCK = 1 << 14  # windows whose running totals are held at once: 4 MB at 30 entries, whatever the recording
_FEWEST_IN_CHUNKS = 256  # windows; fewer are smoothed one after the other
_CHUNK, _SMALLEST_CHUNK, _FEWEST_CHUNKS = 128, 16, 64  # windows in a chunk: fewer where they would be few chunks
_CHUNKS_AT_ONCE = 128  # whose totals are held: 4 MB at 30 entries
_ROUNDING = 1e-9  # penalties by which the start of a chunk may differ from where the chunk before it ends

Path = NDArray[np.int64]


def smooth(costs: NDArray[np.floating], penalty: float) -> Path:
    """Column of each row of `costs` (n_windows, n_entries) on the cheapest path.

    >>> smooth(np.array([[0.0, 9.0], [1.0, 0.9], [0.0, 9.0]]), penalty=1.0).tolist()
    [0, 0, 0]
    """
    n_windows, n_entries = costs.shape
    if n_windows == 0 or n_entries == 1:
        return np.zeros(n_windows, dtype=np.int64)
    whole = Viterbi(n_entries, penalty)
    whole.push(costs)
    return whole.flush()


class Viterbi:
    """Costs of windows in, their columns out, however many windows come at a time.

    >>> stream = Viterbi(2, penalty=1.0, lag=1)
    >>> stream.push(np.array([[0.0, 9.0], [1.0, 0.9]])).tolist(), stream.push(np.array([[9.0, 0.0]])).tolist()
    ([0], [1])
    >>> stream.flush().tolist()
    [1]
    """

    def __init__(self, n_entries: int, penalty: float, lag: int | None = None) -> None:
        """`lag`: how many windows stay open; None: all, until `flush`."""
        self.penalty, self.lag = penalty, lag
        self.totals = np.zeros(n_entries)  # least cost of every column now; it only grows, by some units per window
        self._has_begun = False
        # Of the open windows, in blocks: is changing after it cheaper, per column; and the column of the least total.
        self._leaves: list[Flags] = []  # (n_entries, n_windows) each
        self._cheapest: list[Path] = []

    def add_entry(self) -> None:
        """One column more, the last; no path so far has been in it."""
        self.totals = np.append(self.totals, np.inf if self._has_begun else 0.0)
        self._leaves = [np.vstack([block, np.ones((1, block.shape[1]), np.bool_)]) for block in self._leaves]

    def begin_again(self, column: int | None) -> None:
        """Forget the open windows; the path so far ended in this column, None where it has not begun."""
        self.totals, self._leaves, self._cheapest = np.zeros(self.totals.size), [], []
        if self._has_begun and column is not None:
            self.totals += self.penalty
            self.totals[column] = 0.0

    def push(self, costs: NDArray[np.floating]) -> Path:
        """Costs (n_windows, n_entries) of the next windows; the columns of those that are due."""
        for first in range(0, len(costs), _BLOCK):
            totals = costs[first : first + _BLOCK].astype(np.float64)
            reached, previous = np.empty(totals.shape[1]), self.totals
            for row in totals:  # only what must be sequential is done row by row
                np.minimum(previous, previous[previous.argmin()] + self.penalty, out=reached)
                np.add(row, reached, out=row)
                previous = row
            least = totals.min(axis=1, keepdims=True)
            self._cheapest.append(totals.argmin(axis=1))
            self._leaves.append(np.ascontiguousarray((totals > least + self.penalty).T))
            self.totals, self._has_begun = totals[-1], True
        if self.lag is None or sum(block.size for block in self._cheapest) <= self.lag:
            return np.zeros(0, dtype=np.int64)
        leaves, cheapest = self._joined()
        n_due, flags = cheapest.size - self.lag, [row.tobytes() for row in leaves]
        due = []
        for at in range(n_due):  # its column on the path that is cheapest `lag` windows later
            path = runs_back(flags, cheapest, at + self.lag + 1)
            due.append(next(column for start, _, column in path if start <= at))
        self._leaves, self._cheapest = [leaves[:, n_due:]], [cheapest[n_due:]]
        return np.array(due, dtype=np.int64)

    def flush(self) -> Path:
        """The columns of all windows that are still open; then forget everything but how many columns there are."""
        leaves, cheapest = self._joined()
        path = np.empty(cheapest.size, dtype=np.int64)
        for start, stop, column in runs_back([row.tobytes() for row in leaves], cheapest, cheapest.size):
            path[start:stop] = column
        self.totals, self._has_begun, self._leaves, self._cheapest = np.zeros(self.totals.size), False, [], []
        return path

    def _joined(self) -> tuple[Flags, Path]:
        if not self._leaves:
            return np.zeros((self.totals.size, 0), np.bool_), np.zeros(0, np.int64)
        return np.concatenate(self._leaves, axis=1), np.concatenate(self._cheapest)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        leaves, cheapest = self._joined()
        tensors: dict[str, NDArray[np.generic]] = {
            "totals": self.totals.copy(),
            "leaves": leaves.astype(np.uint8),
            "cheapest": cheapest,
        }
        return tensors, {"penalty": self.penalty, "lag": self.lag, "has_begun": self._has_begun}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> Viterbi:
        totals = np.array(tensors["totals"], np.float64)
        viterbi = cls(totals.size, plain["penalty"], plain["lag"])
        leaves, cheapest = np.asarray(tensors["leaves"]).astype(np.bool_), np.array(tensors["cheapest"], np.int64)
        if leaves.shape != (totals.size, cheapest.size):
            raise ValueError(f"paths of {leaves.shape} for {cheapest.size} windows of {totals.size} columns")
        viterbi.totals, viterbi._leaves, viterbi._cheapest = totals, [leaves], [cheapest]
        viterbi._has_begun = plain["has_begun"]
        return viterbi


def runs_back(flags: Sequence[bytes], cheapest: Path, stop: int, first: int = 0) -> Iterator[tuple[int, int, int]]:
    """The runs (start, stop, column) of the path from window `first` that is cheapest before `stop`, from its end.

    Each run has the column that is cheapest where the run ends. `flags` holds, for a column, a byte per window: 1 where
    changing after that window is cheaper than staying. In bytes the last 1 before a window is found at once.
    """
    while stop > first:
        column = int(cheapest[stop - 1])
        start = max(first, flags[column].rfind(1, first, stop - 1) + 1)
        yield start, stop, column
        stop = start


@dataclass(frozen=True, eq=False)
class Timeline:
    """One id and one normalised distance r = d / R per window; r <= 1 means inside the entry's radius."""

    ids: Labels  # (n_windows,)
    distances: Floats  # (n_windows,)
    spans: tuple[Span, ...]  # contiguous spans of the window axis
    strangeness: Floats | None = None  # (n_windows,), distance to the nearest exemplar in radii

    @property
    def scores(self) -> Floats:
        """exp(-r): 1 at the centre of the entry, 0.37 at its radius."""
        return np.exp(-self.distances)

    @property
    def labels(self) -> Labels:
        """The ids, OTHER where nothing fits."""
        return np.where(is_foreign(self.distances, self.strangeness), np.int32(OTHER), self.ids)

    @property
    def share_accepted(self) -> float:
        return float((self.distances <= 1).mean()) if self.distances.size else 0.0


def is_foreign(distances: Floats, strangeness: Floats | None) -> NDArray[np.bool_]:
    """Whether windows are OTHER: too far from their unit, or from every exemplar where that is known."""
    far = distances > FARTHEST
    return far if strangeness is None else far | (strangeness > STRANGEST)


def typical_step(latents: NDArray[np.floating], spans: Sequence[Span]) -> float:
    """Median distance between the latents of consecutive windows (paper: "typical embedding change")."""
    steps = [np.linalg.norm(np.diff(latents[a:b], axis=0), axis=1) for a, b in spans]
    joined = np.concatenate(steps) if steps else np.zeros(0)
    return float(np.median(joined)) if joined.size else 0.0


def centre_distances(latents: NDArray[np.floating], centres: Floats) -> Floats:
    """Euclidean distance of every latent (..., n_dims) to every centre, (..., n_entries)."""
    return np.stack([np.sqrt(((latents - centre) ** 2).sum(axis=-1)) for centre in centres], axis=-1)


def smooth_spans(costs: NDArray[np.floating], spans: Sequence[Span], penalty: float) -> Path:
    """Viterbi smoothing inside each span; nothing is carried over a gap.

    Many windows are cut into chunks whose totals are computed side by side (`_chunk_totals`).
    """
    if not spans:
        return np.zeros(0, dtype=np.int64)
    lengths = [stop - start for start, stop in spans]
    if sum(lengths) < _FEWEST_IN_CHUNKS or costs.shape[1] == 1 or not np.isfinite(penalty):
        return np.concatenate([smooth(costs[start:stop], penalty) for start, stop in spans])
    n_windows, n_entries = sum(lengths), costs.shape[1]
    size = min(_CHUNK, max(_SMALLEST_CHUNK, n_windows // _FEWEST_CHUNKS))
    firsts = np.concatenate([np.arange(start, stop, size) for start, stop in spans])
    sizes = np.concatenate([np.diff(np.arange(start, stop, size), append=stop) for start, stop in spans])
    opens = np.isin(firsts, [start for start, _ in spans])  # which chunks begin a span
    leaves, cheapest = np.empty((n_entries, n_windows), np.bool_), np.empty(n_windows, np.int64)
    before, done = np.zeros(n_entries), 0
    for group in range(0, len(firsts), _CHUNKS_AT_ONCE):
        chunks = slice(group, group + _CHUNKS_AT_ONCE)
        totals, before = _chunk_totals(costs, firsts[chunks], sizes[chunks], opens[chunks], penalty, before)
        within = np.arange(len(totals)) < sizes[chunks, None]  # (n_chunks, size): windows, not padding
        rows = slice(done, done + int(sizes[chunks].sum()))
        cheapest[rows] = totals.argmin(axis=1).T[within]
        is_left = totals > (totals.min(axis=1) + penalty)[:, None]
        leaves[:, rows] = is_left.transpose(1, 2, 0)[:, within]
        done = rows.stop
    path, flags = np.empty(n_windows, dtype=np.int64), [row.tobytes() for row in leaves]
    for first, after in pairwise(accumulate(lengths, initial=0)):
        for start, stop, column in runs_back(flags, cheapest, after, first):
            path[start:stop] = column
    return path


def _chunk_totals(
    costs: NDArray[np.floating], firsts: Path, lengths: Path, opens: Flags, penalty: float, before: Floats
) -> tuple[Floats, Floats]:
    """Running totals (size, n_entries, n_chunks), those of a chunk up to a constant; and where the last chunk ended.

    `before` (n_entries,) is where the chunk before these ended. A chunk does not know at first where the one before it
    ends: it is computed again from there until no start moves any more. The first chunk that is not final becomes
    final in each round, and usually nearly all do in the first two, as a path forgets its start with the first change.
    """
    rows = np.minimum(firsts + np.arange(lengths.max())[:, None], firsts + lengths - 1)  # padded with the last window
    chunks = np.ascontiguousarray(costs[rows].transpose(0, 2, 1), dtype=np.float64)
    starts, totals, moved = np.zeros(chunks.shape[1:]), np.empty_like(chunks), np.arange(len(firsts))
    starts[:, 0] = np.where(opens[0], 0.0, before)
    while moved.size:
        again = np.ascontiguousarray(chunks[:, :, moved])
        reached, previous = np.empty(again.shape[1:]), starts[:, moved]
        for row in again:
            np.minimum(previous, previous.min(axis=0) + penalty, out=reached)
            np.add(row, reached, out=row)
            previous = row
        totals[:, :, moved] = again
        ends = totals[lengths - 1, :, np.arange(len(firsts))].T
        ends = np.minimum(ends - ends.min(axis=0), penalty)  # from farther away a change is cheaper than staying
        expected = starts.copy()
        expected[:, 1:] = np.where(opens[1:], 0.0, ends[:, :-1])
        moved = np.flatnonzero((np.abs(expected - starts) > _ROUNDING * penalty).any(axis=0))
        starts = expected if moved.size else starts
    return totals, ends[:, -1]


def decode(
    latents: NDArray[np.floating],
    spans: Sequence[Span],
    vocabulary: Vocabulary,
    penalty: float,
    centres: Floats | None = None,
) -> Timeline:
    """Smoothed entry of each window: emission cost is the distance to the entry's centre.

    `centres` (n_entries, n_dims): where the entries lie for whose windows these are. Whether a window fits is asked of
    the entry where it was fitted.
    """
    ids = np.array(vocabulary.ids, dtype=np.int32)
    costs = centre_distances(latents, vocabulary.centres if centres is None else centres)
    chosen = smooth_spans(costs, spans, penalty)
    if centres is None:
        distances = costs[np.arange(chosen.size), chosen]
    else:
        distances = np.linalg.norm(latents - vocabulary.centres[chosen], axis=1)
    return Timeline(ids[chosen], distances / vocabulary.radii[chosen], tuple(spans))
