"""WindowGrid: all windows of one recording, and the only place that converts between frames and windows.

A window is `length_frames` consecutive frames; the next one starts `step_frames` later. Windows never cross
the end of a contiguous span (see `rondo.data.preparation`), and frames that no window can reach are OTHER.
A `Windower` cuts the same windows from frames that come in chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Tensors
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Values
from rondo.errors import ModelError, SettingError

Projection = Literal["vote", "centre", "start"]
Span = tuple[int, int]
T = TypeVar("T", bound=np.generic)

FEW_CHANNELS = 3  # up to here window statistics say little, and shapes count (docs/results/units.md)
_CELLS_PER_BLOCK = 1 << 12  # votes are counted for so many cells at once; ours, not measured


@dataclass(frozen=True)
class WindowGrid:
    """Windows over the frame spans of one recording.

    >>> grid = WindowGrid(length_frames=4, step_frames=2, n_frames=11, spans=((0, 7), (7, 11)))
    >>> grid.starts.tolist(), grid.project([5, 6, 7], "vote").tolist()
    ([0, 2, 7], [5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7])
    """

    length_frames: int
    step_frames: int
    n_frames: int
    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        if self.length_frames < 1 or self.step_frames < 1:
            raise SettingError(
                f"windows.length and windows.step must be at least 1 frame, "
                f"got {self.length_frames} and {self.step_frames}"
            )
        if self.step_frames > self.length_frames:
            raise SettingError(
                f"windows.step ({self.step_frames} frames) is longer than "
                f"windows.length ({self.length_frames} frames): frames between windows would never be seen; "
                "choose a step up to the length"
            )
        edges = np.array([0, *(edge for span in self.spans for edge in span), self.n_frames])
        if (np.diff(edges) < 0).any():
            raise ValueError(f"spans must be in order, apart and within {self.n_frames} frames, got {self.spans}")

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
        edges = accumulate((self.n_windows_in(span) for span in self.spans), initial=0)
        return tuple((a, b) for a, b in pairwise(edges) if b > a)

    def project(self, window_labels: ArrayLike, rule: Projection = "vote") -> Labels:
        """Labels per frame from labels per window.

        vote: the most frequent label among the windows that cover a frame; a tie goes to the window whose
        centre is nearest, else to the smallest label. centre: the window whose centre is nearest, of two the
        earlier. start: the last window that has begun (what painting [start, start + step) does). Frames of a
        span after its last window take that window; frames of spans too short for a window, or of no span,
        are OTHER.
        """
        if rule not in get_args(Projection):
            raise ValueError(f"expected one of the rules {get_args(Projection)}, got {rule!r}")
        labels = self._one_per_window(window_labels, np.int32)
        track = np.full(self.n_frames, OTHER, dtype=np.int32)
        first = 0
        for start, stop in self.spans:
            n_windows = self.n_windows_in((start, stop))
            if n_windows:
                inside = labels[first : first + n_windows]
                track[start:stop] = self._project_span(inside, stop - start, rule)
                first += n_windows
        return track

    def spread(self, window_scores: ArrayLike) -> NDArray[np.float32]:
        """A number per frame from one per window: that of the window with the nearest centre; 0 if none."""
        scores = self._one_per_window(window_scores, np.float32)
        index = self.project(np.arange(self.n_windows), "centre")
        return np.append(scores, np.float32(0))[index]  # OTHER = -1 finds the 0 at the end

    def n_windows_in(self, span: Span) -> int:
        """How many windows a contiguous span of frames holds."""
        return max(0, (span[1] - span[0] - self.length_frames) // self.step_frames + 1)

    def _one_per_window(self, values: ArrayLike, dtype: type[T]) -> NDArray[T]:
        array = np.asarray(values, dtype=dtype)
        if array.shape != (self.n_windows,):
            raise ValueError(f"expected one number for each of {self.n_windows} windows, got {array.shape}")
        return array

    def _project_span(self, labels: Labels, n_frames: int, rule: Projection) -> Labels:
        """Labels of the frames of one span from those of its windows.

        Which windows a frame sees changes only three times per step, so a label is found per *cell* (frames
        that see the same) and then repeated: the cost is that of writing the frames down.
        """
        length, step, last = self.length_frames, self.step_frames, labels.size - 1
        # Window k covers [k step, k step + length) and is nearest from k step + (length - step) / 2 on.
        phases = sorted({0, length % step, (length - step + 1) // 2 % step})
        cells = (np.arange(0, n_frames, step)[:, None] + phases).ravel()
        cells = cells[cells < n_frames]
        begun = np.minimum(cells // step, last)
        if rule == "start":
            chosen = labels[begun]
        else:
            nearest = np.clip((2 * cells - length + step) // (2 * step), 0, last)
            oldest = np.clip(-((length - 1 - cells) // step), 0, last)  # the first that still covers the cell
            chosen = labels[nearest] if rule == "centre" else _vote(labels, oldest, begun, nearest)
        return np.repeat(chosen, np.diff(cells, append=n_frames))


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of one signal: its values (n_frames, n_channels) under a grid. Encoders take this."""

    values: Values
    grid: WindowGrid

    def __len__(self) -> int:
        return self.grid.n_windows

    @property
    def n_channels(self) -> int:
        return int(self.values.shape[1])

    @property
    def weight(self) -> float:
        """Window lengths that one window is worth, as neighbours overlap: a step over a length."""
        return self.grid.step_frames / self.grid.length_frames

    def batches(self, windows_per_batch: int = 256) -> Iterator[Values]:
        """Window contents in order, (b, n_channels, length_frames); only one batch is ever copied."""
        if not len(self):
            return
        view = sliding_window_view(self.values, self.grid.length_frames, axis=0)  # a view: nothing is copied yet
        for first in range(0, len(self), windows_per_batch):
            yield view[self.grid.starts[first : first + windows_per_batch]]


class StreamWindow(NamedTuple):
    """One window and where it begins on the frame axis."""

    values: Values  # (n_channels, length_frames), contiguous, the caller's own
    start_frame: int


class Windower:
    """The windows of a grid, from frames that come in chunks; fewer frames than one window are kept between them."""

    def __init__(self, length_frames: int, step_frames: int, n_channels: int) -> None:
        self._grid = WindowGrid(length_frames, step_frames, 0, ())
        self._kept = np.zeros((length_frames, n_channels), np.float32)
        self._n_kept = 0
        self._first_frame = 0  # of those kept: where the next window begins

    @property
    def n_kept(self) -> int:
        """Frames that are kept for the windows to come."""
        return self._n_kept

    def put_kept(self, values: Values) -> None:
        """The frames that are kept, scaled otherwise."""
        self._kept[: self._n_kept] = values

    def push(self, values: Values, first_frame: int, *, begins: bool) -> Iterator[StreamWindow]:
        """The windows that these frames complete; `begins`: they do not follow on those before.

        Exhaust the iterator before the next push: frames are taken in as it goes.
        """
        if begins:
            self._n_kept, self._first_frame = 0, first_frame
        n_kept = self._n_kept
        n_frames = n_kept + len(values)
        if n_frames < self._grid.length_frames:
            self._kept[n_kept:n_frames], self._n_kept = values, n_frames
            return
        frames, first_frame = np.concatenate([self._kept[:n_kept], values]), self._first_frame
        n_past = self._grid.n_windows_in((0, n_frames)) * self._grid.step_frames
        self._n_kept, self._first_frame = n_frames - n_past, first_frame + n_past
        self._kept[: self._n_kept] = frames[n_past:]
        for start in range(0, n_past, self._grid.step_frames):
            window = frames[start : start + self._grid.length_frames]
            yield StreamWindow(window.T.copy(), first_frame + start)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: arrays and plain JSON."""
        grid = {"length": self._grid.length_frames, "step": self._grid.step_frames}
        return {"kept": self._kept[: self._n_kept].copy()}, {"first_frame": self._first_frame} | grid

    @classmethod
    def restore(cls, tensors: Tensors, plain: Mapping[str, Any]) -> Windower:
        """The windower that gave this state."""
        kept = np.asarray(tensors["kept"], np.float32)
        windower = cls(plain["length"], plain["step"], kept.shape[1])
        if kept.shape[0] >= plain["length"]:
            raise ModelError(f"stream state: expected fewer than {plain['length']} frames kept, got {kept.shape[0]}")
        windower._n_kept, windower._first_frame = kept.shape[0], plain["first_frame"]
        windower._kept[: kept.shape[0]] = kept
        return windower


def _vote(labels: Labels, first: NDArray[np.int64], last: NDArray[np.int64], favourite: NDArray[np.int64]) -> Labels:
    """Majority of labels[first[i] .. last[i]] for each i; ties go to labels[favourite[i]], else the smallest.

    `first` and `last` never fall, so a block of cells sees one stretch of windows: counts are kept for that
    stretch and the labels in it only, and memory does not grow with the recording.
    """
    winners = np.empty(first.size, dtype=np.int32)
    for block in range(0, first.size, _CELLS_PER_BLOCK):
        part = slice(block, block + _CELLS_PER_BLOCK)
        offset, stop = first[part][0], last[part][-1] + 1
        ids, codes = np.unique(labels[offset:stop], return_inverse=True)
        counted = np.zeros((codes.size + 1, ids.size), dtype=np.int32)
        np.cumsum(codes[:, None] == np.arange(ids.size), axis=0, out=counted[1:])
        votes = 2 * (counted[last[part] + 1 - offset] - counted[first[part] - offset])
        votes[np.arange(votes.shape[0]), codes[favourite[part] - offset]] += 1  # less than one vote: ties only
        winners[part] = ids[votes.argmax(axis=1)]
    return winners
