"""Prepared frames -> windows, one at a time: those of `rondo.data.windows.WindowGrid`, in any chunks.

Window k of a contiguous stretch covers its frames [k step, k step + length); none crosses a boundary. Only the last
`length` frames of the stretch are kept between chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.continual.frames import Prepared
from rondo.data.recording import Values
from rondo.data.windows import WindowGrid
from rondo.errors import ModelError
from rondo.tensors import Tensors


class StreamWindow(NamedTuple):
    """One window and where it begins on the frame axis."""

    values: Values  # (n_dims, length_frames), contiguous, the caller's own
    start_frame: int


class Boundary(NamedTuple):
    """Frames before and from `frame` on are not contiguous: forget the past. None comes before the first frame."""

    frame: int


class Windower:
    """The frames that windows to come may still need: fewer than one window of them."""

    def __init__(self, length_frames: int, step_frames: int, n_dims: int) -> None:
        WindowGrid(length_frames, step_frames, 0, ())  # refuses what no grid can be
        self._length, self._step = length_frames, step_frames
        self._kept = np.zeros((length_frames, n_dims), np.float32)
        self._n_kept = 0
        self._next_frame = 0  # the one that would follow on those kept
        self._has_begun = False

    @property
    def n_kept(self) -> int:
        return self._n_kept

    def push(self, prepared: Prepared) -> Iterator[StreamWindow | Boundary]:
        """The windows that these frames complete, and a boundary before them where a new stretch begins.

        Exhaust the iterator before the next push: frames are taken in as it goes.
        """
        if prepared.begins:
            self._n_kept = 0
            self._next_frame = prepared.first_frame
            if self._has_begun:
                yield Boundary(prepared.first_frame)
        self._has_begun = True
        values = prepared.values
        while values.shape[0]:
            n_taken = min(values.shape[0], self._length - self._n_kept)
            self._kept[self._n_kept : self._n_kept + n_taken] = values[:n_taken]
            self._n_kept += n_taken
            self._next_frame += n_taken
            values = values[n_taken:]
            if self._n_kept == self._length:
                window = StreamWindow(self._kept.T.copy(), self._next_frame - self._length)
                self._kept[: self._length - self._step] = self._kept[self._step :].copy()
                self._n_kept -= self._step
                yield window

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: arrays and plain JSON."""
        plain = {"next_frame": self._next_frame, "has_begun": self._has_begun}
        return {"kept": self._kept[: self._n_kept].copy()}, plain | {"length": self._length, "step": self._step}

    @classmethod
    def restore(cls, tensors: Tensors, plain: Mapping[str, Any]) -> Windower:
        """The windower that gave this state."""
        kept = np.asarray(tensors["kept"], np.float32)
        windower = cls(plain["length"], plain["step"], kept.shape[1])
        if kept.shape[0] >= windower._length:
            raise ModelError(f"stream state: expected fewer than {windower._length} frames kept, got {kept.shape[0]}")
        windower._n_kept = kept.shape[0]
        windower._kept[: kept.shape[0]] = kept
        windower._next_frame, windower._has_begun = plain["next_frame"], plain["has_begun"]
        return windower
