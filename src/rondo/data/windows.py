"""WindowGrid: all windows of one recording, and the only place that converts between frames and windows.

A window is `length_frames` consecutive frames; the next one starts `step_frames` later. Windows never cross the end of
a contiguous span (see `rondo.data.preprocess`), and frames that no window can reach are OTHER.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Values
from rondo.errors import SettingError

Projection = Literal["vote", "centre", "start"]
Span = tuple[int, int]


@dataclass(frozen=True)
class WindowGrid:
    """Windows over the frame spans of one recording.

    >>> grid = WindowGrid(length_frames=4, step_frames=2, n_frames=11, spans=((0, 7), (7, 11)))
    >>> grid.starts.tolist()
    [0, 2, 7]
    >>> grid.project([5, 6, 7], "vote").tolist()
    [5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]
    """

    length_frames: int
    step_frames: int
    n_frames: int
    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        if self.length_frames < 1 or self.step_frames < 1:
            raise SettingError(
                f"windows need a length and a step of at least 1 frame, got {self.length_frames} and {self.step_frames}"
            )
        if self.step_frames > self.length_frames:
            raise SettingError(
                f"windows.step ({self.step_frames} frames) is longer than windows.length ({self.length_frames} frames): "
                "frames between windows would never be seen; choose a step up to the length"
            )

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First frame of each window, (n_windows,)."""
        pieces = [
            np.arange(start, stop - self.length_frames + 1, self.step_frames, dtype=np.int64)
            for start, stop in self.spans
        ]
        return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)

    @property
    def n_windows(self) -> int:
        return int(self.starts.size)

    @cached_property
    def window_spans(self) -> tuple[Span, ...]:
        """Spans on the window axis that lie in one contiguous frame span each; empty ones are left out."""
        counts = [max(0, (stop - start - self.length_frames) // self.step_frames + 1) for start, stop in self.spans]
        edges = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return tuple((int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True) if b > a)

    def project(self, window_labels: ArrayLike, rule: Projection = "vote") -> Labels:
        """Labels per frame from labels per window.

        vote: the most frequent label among the windows that cover a frame; a tie goes to the window whose centre is
        nearest, else to the smaller label. centre: the window whose centre is nearest. start: the last window that
        has begun (what painting [start, start + step) does). Frames before, between or after windows of a span take
        the nearest window; frames of spans too short for a window, or of no span, are OTHER.
        """
        labels = np.asarray(window_labels, dtype=np.int32)
        if labels.shape != (self.n_windows,):
            raise ValueError(f"expected {self.n_windows} window labels, got shape {labels.shape}")
        track = np.full(self.n_frames, OTHER, dtype=np.int32)
        first = 0
        for start, stop in self.spans:
            n_windows = (stop - start - self.length_frames) // self.step_frames + 1
            if n_windows < 1:
                continue
            inside = labels[first : first + n_windows]
            track[start:stop] = self._project_span(inside, stop - start, rule)
            first += n_windows
        return track

    def spread(self, window_scores: ArrayLike) -> NDArray[np.float32]:
        """One number per frame from one per window: that of the window whose centre is nearest; 0 where there is none."""
        scores = np.asarray(window_scores, dtype=np.float32)
        index = self.project(np.arange(self.n_windows), "centre")
        return np.where(index == OTHER, np.float32(0), scores[np.maximum(index, 0)] if scores.size else np.float32(0))

    def _project_span(self, labels: Labels, n_frames: int, rule: Projection) -> Labels:
        """`labels` of the windows of one span that is `n_frames` long, frame 0 being its first frame."""
        length, step, last = self.length_frames, self.step_frames, labels.size - 1
        if rule == "start":
            return labels[np.minimum(np.arange(n_frames) // step, last)]
        # Frame t is nearest to the window whose centre start + (length - 1) / 2 is nearest; halves go to the earlier.
        nearest = (2 * np.arange(n_frames) - (length - 1) + step - 1) // (2 * step)
        nearest = np.clip(nearest, 0, last)
        if rule == "centre":
            return labels[nearest]
        frames = np.arange(n_frames)
        lowest = np.clip(-((length - 1 - frames) // step), 0, last)  # first window that still covers the frame
        highest = np.clip(frames // step, 0, last)  # last window that has begun
        return _vote(labels, lowest, highest, nearest)


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of one signal: its values (n_frames, n_channels) under a grid. This is what encoders take."""

    values: Values
    grid: WindowGrid

    def __len__(self) -> int:
        return self.grid.n_windows

    @property
    def n_channels(self) -> int:
        return int(self.values.shape[1])

    def batches(self, windows_per_batch: int = 256) -> Iterator[Values]:
        """Window contents in order, (b, n_channels, length_frames); only one batch is ever copied."""
        if not len(self):
            return
        view = sliding_window_view(self.values, self.grid.length_frames, axis=0)  # a view: nothing is copied yet
        for first in range(0, len(self), windows_per_batch):
            yield view[self.grid.starts[first : first + windows_per_batch]]


def _vote(
    labels: Labels, lowest: NDArray[np.int64], highest: NDArray[np.int64], nearest: NDArray[np.int64]
) -> Labels:
    """Majority of labels[lowest[i] .. highest[i]] for each i; memory is bounded by the block, not by the recording."""
    ids, codes = np.unique(labels, return_inverse=True)
    if ids.size == 1:
        return np.full(lowest.size, ids[0], dtype=np.int32)
    counted = np.zeros((labels.size + 1, ids.size), dtype=np.int32)
    np.cumsum(codes[:, None] == np.arange(ids.size), axis=0, out=counted[1:])
    winners = np.empty(lowest.size, dtype=np.int32)
    # Neighbouring frames mostly see the same windows, so each distinct (lowest, highest, nearest) is counted once.
    change = (np.diff(lowest) != 0) | (np.diff(highest) != 0) | (np.diff(nearest) != 0)
    cells = np.concatenate([[0], np.flatnonzero(change) + 1])
    lengths = np.diff(np.append(cells, lowest.size))
    chosen = np.empty(cells.size, dtype=np.int64)
    block = max(1, (1 << 22) // ids.size)
    for first in range(0, cells.size, block):
        at = cells[first : first + block]
        votes = 2 * (counted[highest[at] + 1] - counted[lowest[at]])
        votes[np.arange(at.size), codes[nearest[at]]] += 1  # breaks ties only: votes are counted in twos
        chosen[first : first + block] = votes.argmax(axis=1)
    winners[:] = np.repeat(ids[chosen], lengths)
    return winners
