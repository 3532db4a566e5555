"""What all readers of a stream share: windows in, decisions and events out.

`updater.py` learns as it goes, by the default rule; `rondo/paper/continual.py` by that of the paper; `frozen.py` reads
with the model as it was fitted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats as Floats
from rondo.arrays import owned
from rondo.continual.journal import Event
from rondo.continual.phrases import Change, Motif
from rondo.data.labels import OTHER
from rondo.data.recording import Values
from rondo.data.windows import Span, StreamWindow, WindowGrid, Windows
from rondo.motifs.base import MotifTimeline
from rondo.units.boundaries import Boundaries, likeliest_edge, summed_up

if TYPE_CHECKING:
    from rondo.encoders.base import FittedEncoder, Representations
    from rondo.units.places import Place
    from rondo.units.viterbi import Timeline

DEFAULT_RULE = "exemplars"


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


class Move(NamedTuple):
    """How representations move with the scaling of a stream, dimension by dimension: new = factor * old + shift."""

    factor: Floats
    shift: Floats

    @classmethod
    def between(cls, old: NDArray[np.floating], new: NDArray[np.floating]) -> Move:
        """The line through the same windows before and after; a dimension that does not vary is shifted."""
        before, after = old.astype(np.float64), new.astype(np.float64)
        centred = before - before.mean(axis=0)
        squares, products = (centred**2).sum(axis=0), (centred * (after - after.mean(axis=0))).sum(axis=0)
        factor = np.divide(products, squares, out=np.ones_like(squares), where=squares > 0)
        return cls(factor, after.mean(axis=0) - factor * before.mean(axis=0))

    def of(self, points: Floats) -> Floats:
        return np.asarray(points * self.factor + self.shift)


class Recent(NamedTuple):
    """The last frames of the stretch, scaled as those to come; the frame after them is `stop_frame`."""

    values: Values
    stop_frame: int

    def n_windows(self, last_start: int, step_frames: int) -> int:
        """How many windows there are up to the one that begins at `last_start`."""
        return max(0, (last_start - self.stop_frame + len(self.values)) // step_frames + 1)

    def windows(self, starts: Sequence[int], length_frames: int) -> Windows:
        """The windows that begin at these frames, one after the other."""
        first = self.stop_frame - len(self.values)
        frames = (np.array(starts, np.int64)[:, None] - first + np.arange(length_frames)).ravel()
        n = len(frames)
        return Windows(self.values[frames], WindowGrid(length_frames, length_frames, n, ((0, n),)))


class Setting(NamedTuple):
    """What a stream has learned about itself, for its reader (`scaling.py`)."""

    place: Place | None  # None: the common one
    boundaries: Boundaries | None  # None: those of the model
    learns: bool  # False: it is too early, or hardly a window is like a known one
    stretch: float = 1.0  # how much farther from the exemplars its windows lie than those of a known person
    move: Move | None = None  # of representations so far, where the scaling has changed
    recent: Recent | None = None  # from which windows that are not decided are read again


class Reader(Protocol):
    """Windows of one stretch after another, and what becomes due with them."""

    @property
    def rule(self) -> str: ...  # by which it learns; that of the default where it learns nothing
    @property
    def length_frames(self) -> int: ...
    @property
    def step_frames(self) -> int: ...
    @property
    def reach_frames(self) -> int: ...  # the last frames, of which something is not decided
    @property
    def unit_ids(self) -> tuple[int, ...]: ...  # those there are now, as are the motifs
    @property
    def motif_ids(self) -> tuple[int, ...]: ...
    @property
    def own_motifs(self) -> Mapping[int, int]: ...  # of each unit that has come since it began
    @property
    def n_buffered(self) -> int: ...  # windows that are candidates for a new unit

    learns: bool  # whether the next window may change the vocabularies

    def push(self, window: NDArray[np.float32], start_frame: int) -> Due: ...  # (n_channels, length)

    def push_all(self, windows: Sequence[StreamWindow]) -> Iterable[Due]:
        """What becomes due with each of these windows; the same in any chunks."""

    def boundary(self, frame: int) -> Due:
        """The stretch ends before this frame: everything open is decided, and nothing is carried over."""

    def settle(self, setting: Setting) -> None:
        """Windows to come are read so; labels that were issued stay."""

    def timelines(self, windows: Windows) -> tuple[Timeline, MotifTimeline]:
        """Unit and motif of every window of one signal, by the vocabularies as they are now; nothing changes."""

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""

    def restored(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> Reader:
        """The reader that gave this state; this one has only begun, from the same model."""


State = tuple[dict[str, NDArray[np.generic]], dict[str, Any]]
"""Tensors, and plain values for JSON."""


class HasState(Protocol):
    def state(self) -> State: ...


def joined_states(parts: Mapping[str, HasState]) -> State:
    """The states of parts as their owner keeps them, each under its name."""
    tensors: dict[str, NDArray[np.generic]] = {}
    plain: dict[str, Any] = {}
    for name, part in parts.items():
        own, plain[name] = part.state()
        tensors |= owned(name, own)
    return tensors, plain


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


def motif_timeline(read: Sequence[Motif], spans: Sequence[Span]) -> MotifTimeline:
    """Motif and score of every window, read stretch by stretch."""
    ids = np.array([motif for motif, _ in read], dtype=np.int32)
    begins = np.diff(ids, prepend=OTHER - 1) != 0
    begins[[start for start, _ in spans]] = True
    return MotifTimeline(ids, np.array([score for _, score in read]), begins)


class MotifsInOrder(Protocol):
    def push(self, unit: int, learns: bool = True) -> list[Motif]: ...  # whether it may teach anything
    def boundary(self) -> list[Motif]: ...
    def take_changes(self) -> list[Change]: ...


class Opened(NamedTuple):
    """Of a window that awaits its label: its number, its place, and what a boundary is found from."""

    window: int
    start_frame: int
    blocks: Floats  # (n_blocks, n_dims)
    is_first: bool  # of its stretch: it speaks for the frames before its middle too


class Issue:
    """The decisions of a stream that learns, in the order of their windows, with their frames and their motifs.

    Both rules (`updater.py`, `rondo/paper/continual.py`) give the unit of one window after the other. A decision waits
    here until its motif is known too. Until then the frames that it speaks for may still change: where the unit of the
    next window is another, the signal says at which frame, and those that wait give way or reach up to it. What has
    been issued stays.

    When the first window of a new run is decided, its own blocks are at hand: the cut is put at the likeliest of their
    edges, by the alignment of `Boundaries`. Units that the model was fitted with have their Gaussians from there. Units
    promoted since, and OTHER, have none: there the cut is half way between the middles of the two windows. A cut never
    lies before the last one.
    """

    def __init__(
        self, motifs: MotifsInOrder, boundaries: Boundaries | None, length_frames: int, step_frames: int
    ) -> None:
        """Without boundaries, cuts lie always half way."""
        self.motifs, self._boundaries, self._step_frames = motifs, boundaries, step_frames
        self._codes = {} if boundaries is None else {id: code for code, id in enumerate(boundaries.unit_ids)}
        self._to_middle = (length_frames - step_frames + 1) // 2
        self._last_cut = 0
        self._waiting: deque[Decision] = deque()

    def blocks(self, windows: NDArray[np.float32]) -> Floats:
        """What windows (..., n_channels, length) must leave behind to be cut later, (..., n_blocks, n_dims).

        Several windows at once give the exact values that each gives alone.
        """
        if self._boundaries is None:
            return np.zeros((*windows.shape[:-2], 0, 0))
        return self._boundaries.points(np.ascontiguousarray(windows.swapaxes(-1, -2)))

    def add(self, opened: Opened, unit: int, score: float, learns: bool = True) -> list[Decision]:
        """The unit of the next window; gives the windows that thereby have a motif too.

        Without `learns` it teaches no motif anything.
        """
        start, stop = self._frames(opened, unit)
        self._waiting.append(Decision(opened.window, start, stop, unit, OTHER, score, 0.0))
        return self._with_motifs(self.motifs.push(unit, learns))

    def end(self, frame: int, decided: list[Decision]) -> list[Decision]:
        """The stretch ends before this frame: what was decided with its last windows, and all that still wait."""
        decisions = decided + self._with_motifs(self.motifs.boundary())
        if decisions:  # the last window speaks for the frames after its middle too
            decisions[-1] = decisions[-1]._replace(stop_frame=max(decisions[-1].stop_frame, frame))
        return decisions

    def events(self, frame: int) -> list[Event]:
        """What has happened to motifs since this was last asked."""
        changes = self.motifs.take_changes()
        return [Event(change.kind, "motif", frame, None, (change.id,), change.evidence) for change in changes]

    def _frames(self, opened: Opened, unit: int) -> tuple[int, int]:
        """The frames that the window speaks for, up to where the next one would if it had the same unit."""
        middle, after = (opened.start_frame + step + self._to_middle for step in (0, self._step_frames))
        stop = max(self._last_cut, after)
        if opened.is_first:
            self._last_cut = opened.start_frame
            return opened.start_frame, stop
        before = self._waiting[-1]  # it always waits: for what follows it
        if before.unit == unit:
            return max(self._last_cut, middle), stop
        start = max(self._cut(before.unit, unit, opened, middle), self._waiting[0].start_frame)  # what is issued stays
        for i, decision in enumerate(self._waiting):
            if decision.stop_frame > start:
                first = min(decision.start_frame, start)
                self._waiting[i] = decision._replace(start_frame=first, stop_frame=start)
        self._waiting[-1] = self._waiting[-1]._replace(stop_frame=start)
        return start, stop

    def _cut(self, before: int, after: int, opened: Opened, middle: int) -> int:
        """The first frame of unit `after`, whose first window this is."""
        cut = middle
        if self._boundaries is not None and {before, after} <= self._codes.keys() and len(opened.blocks):
            summed = summed_up(self._boundaries.gaussians.log_joint(opened.blocks))
            block, codes = self._boundaries.block_frames, (self._codes[before], self._codes[after])
            edge = likeliest_edge(summed, np.arange(len(summed)), *codes, drawn=self._to_middle / block)
            cut = opened.start_frame + edge * block
        self._last_cut = max(self._last_cut, cut)
        return self._last_cut

    def _with_motifs(self, motifs: list[Motif]) -> list[Decision]:
        return [self._waiting.popleft()._replace(motif=motif, motif_score=score) for motif, score in motifs]

    def state(self) -> dict[str, Any]:
        return {"waiting": [list(decision) for decision in self._waiting], "last_cut": self._last_cut}

    def restore(self, plain: Mapping[str, Any]) -> None:
        self._waiting = deque(Decision(*values) for values in plain["waiting"])
        self._last_cut = plain["last_cut"]
