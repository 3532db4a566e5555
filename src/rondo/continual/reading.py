"""What both ways of reading a stream share: windows in, decisions and events out.

`updater.py` learns as it goes; `frozen.py` reads with the model as it was fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats as Floats
from rondo.continual.journal import Event
from rondo.data.windows import WindowGrid, Windows

if TYPE_CHECKING:
    from rondo.encoders.base import FittedEncoder, Representations


class Decision(NamedTuple):
    """The labels of one window of a stream; they never change.

    Each decision labels the frames nearest to the middle of its window. The decisions of a stretch without gaps follow
    each other without a break. A window whose frames all belong to other units has no decision.

    Parameters
    ----------
    window : int
        Number of the window, from 0.
    start_frame : int
        First frame that is labelled.
    stop_frame : int
        First frame after them.
    unit : int
        Id of the unit, or OTHER.
    motif : int
        Id of the motif, or OTHER.
    unit_score : float
        Score of the unit, as in `Result.segments`.
    motif_score : float
        Score of the motif.
    start_s : float or None
        Time of the first frame by the clock of the data; None without a clock.

    Examples
    --------
    >>> decision = Decision(window=3, start_frame=75, stop_frame=112, unit=4, motif=1, unit_score=0.9, motif_score=0.8)
    >>> decision.stop_frame - decision.start_frame
    37
    """

    window: int
    start_frame: int
    stop_frame: int
    unit: int
    motif: int
    unit_score: float
    motif_score: float
    start_s: float | None = None


Due = tuple[list[Decision], list[Event]]


class Reader(Protocol):
    """Windows of one stretch after another, and what becomes due with them."""

    @property
    def length_frames(self) -> int: ...
    @property
    def step_frames(self) -> int: ...
    @property
    def unit_ids(self) -> tuple[int, ...]:
        """The units there are now."""

    @property
    def motif_ids(self) -> tuple[int, ...]:
        """The motifs there are now."""

    @property
    def own_motifs(self) -> Mapping[int, int]:
        """The motif of each unit that has come since it began."""

    @property
    def n_buffered(self) -> int:
        """Windows that are held now as candidates for a new unit."""

    def push(self, window: NDArray[np.float32], start_frame: int) -> Due:
        """One window (n_channels, length)."""

    def boundary(self, frame: int) -> Due:
        """The stretch ends before this frame: everything open is decided, and nothing is carried over."""

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""

    def restored(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> Reader:
        """The reader that gave this state; this one has only begun, from the same model."""


def encoded(encoder: FittedEncoder, window: NDArray[np.float32]) -> Representations:
    """One window (n_channels, length) as (1, n_dims).

    One at a time, because a batch may round differently: what a stream decides must not depend on how rows arrive.
    """
    length = window.shape[1]
    grid = WindowGrid(length, length, length, ((0, length),))
    return encoder.encode(Windows(np.ascontiguousarray(window.T), grid))


def straddling_windows(length_frames: int, step_frames: int) -> int:
    """The most windows that hold one boundary inside."""
    return -(-length_frames // step_frames) - 1
