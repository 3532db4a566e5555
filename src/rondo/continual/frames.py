"""RunFrames: the frames that each decided window speaks for, by the alignment of a whole recording.

`units/boundaries.py` puts the boundary between two runs at the likeliest block edge between their middles, and gives
each frame to the window of its run with the nearest middle. Here the same is done while windows are decided one after
another: a boundary is found when the run after it has ended, or has lasted for twice `reach` windows; and it is looked
for no further than `reach` windows from where the windows have it. A run shorter than half a window is absorbed once
both of its boundaries are found. So no window waits for more than that, and for the short runs before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors
from rondo.continual.reading import Recent
from rondo.data.windows import Span
from rondo.units.boundaries import Boundaries, block_statistics, edge_within, likeliest_edge, summed_up

_REACH_LENGTHS = 4  # window lengths, 1 or more; on ActRecTut 2 moves 1.3 % of rows, 4 0.1 %, 8 none


class _UnitRun(NamedTuple):
    """Windows of one unit, from `window` on, counted from the first of the stretch."""

    unit: int
    window: int
    cut: int | None  # its first frame; None: not found yet
    is_settled: bool = False  # whether its first frame stays what it is
    is_absorbed: bool = False  # it ends where the next run begins that is not


class RunFrames:
    """The runs whose frames are not settled, and the densities of the blocks in which their boundaries lie."""

    def __init__(self, boundaries: Boundaries | None, length_frames: int, step_frames: int) -> None:
        self._boundaries = boundaries  # None: boundaries lie half way between windows
        self._length, self._step = length_frames, step_frames
        self._reach = _REACH_LENGTHS * -(-length_frames // step_frames)
        self._block = 1 if boundaries is None else boundaries.block_frames
        self._codes = {} if boundaries is None else {id: code for code, id in enumerate(boundaries.unit_ids)}
        self._reach_blocks = self._reach * step_frames // self._block
        self._forget()

    def _forget(self) -> None:
        self._start: int | None = None  # first frame of the stretch
        self._runs: deque[_UnitRun] = deque()
        self._n_decided = self._n_spoken = 0  # windows
        self._next_frame = 0  # that nobody has spoken for
        self._kept: int | None = None  # the unit of the last run that is settled and not absorbed
        self._first_block, self._density = 0, np.zeros((0, len(self._codes)))  # of the blocks kept
        self._tail: NDArray[np.float32] | None = None  # the last whole block and the frames after it

    @property
    def reach_frames(self) -> int:
        """The last of the frames that were decided, where boundaries may still move."""
        return 3 * self._reach * self._step + self._length

    def settle(self, boundaries: Boundaries, recent: Recent | None) -> None:
        """Boundaries are found so from now on, if they are looked for; in `recent` too, as far as they are open."""
        if self._boundaries is None:
            return
        self._boundaries = boundaries
        if recent is None or self._start is None or self._tail is None or not len(self._density):
            return
        first_frame = recent.stop_frame - len(recent.values)
        past = self._first_block + len(self._density)  # the first block that is not whole
        known = max(self._first_block, -(-(first_frame + 1 - self._start) // self._block))
        start, stop, tail = (self._start + block * self._block - first_frame for block in (known, past, past - 1))
        if known < past:
            before = recent.values[start - 1 : start] if start else None
            points = boundaries.space.points(block_statistics(recent.values[start:stop], self._block, before))
            self._density[known - self._first_block :] = boundaries.gaussians.log_joint(points)
            self._tail = recent.values[tail : tail + len(self._tail)].copy()

    def see(self, window: NDArray[np.float32], start_frame: int) -> None:
        """One more window (n_channels, length) of the stretch, which will be decided later."""
        frames = window.T if self._start is None else window.T[-self._step :]
        if self._start is None:
            self._start = self._next_frame = start_frame
        if self._boundaries is None:
            return
        known = frames if self._tail is None else np.concatenate([self._tail, frames])
        n_blocks, n_old = len(known) // self._block, int(self._tail is not None and len(self._tail) >= self._block)
        if n_blocks > n_old:  # the first block of those known is there for the change from it to the next
            points = self._boundaries.space.points(block_statistics(known, self._block)[n_old:])
            self._density = np.concatenate([self._density, self._boundaries.gaussians.log_joint(points)])
        self._tail = known[max(0, n_blocks - 1) * self._block :].copy()

    def push(self, unit: int) -> list[Span]:
        """The unit of the next window; gives the frames of the windows that are settled, which may be none."""
        if not self._runs or self._runs[-1].unit != unit:
            self._runs.append(_UnitRun(unit, self._n_decided, None if self._runs or self._n_spoken else self._start))
        self._n_decided += 1
        self._find_cuts(ended=False)
        return self._settled(None)

    def end(self, frame: int) -> list[Span]:
        """The stretch ends before this frame: gives the frames of all windows that are left."""
        self._find_cuts(ended=True, stop_frame=frame)
        spans = self._settled(frame)
        self._forget()
        return spans

    def _find_cuts(self, ended: bool, stop_frame: int | None = None) -> None:
        for i, run in enumerate(self._runs):
            is_last = i + 1 == len(self._runs)
            following = self._n_decided if is_last else self._runs[i + 1].window
            if run.cut is None:
                if is_last and not ended and following - run.window < 2 * self._reach:
                    break
                self._runs[i] = run._replace(cut=self._cut(self._runs[i - 1], run, following, ended and is_last))
        self._absorb(stop_frame)
        unknown = next((run.window for run in self._runs if run.cut is None), self._n_decided)
        half = -(-self._length // (2 * self._block))
        n_past = max(0, self._edge(unknown) - self._reach_blocks - half - self._first_block)
        self._first_block, self._density = self._first_block + n_past, self._density[n_past:]

    def _absorb(self, stop_frame: int | None) -> None:
        """Settle the runs whose end is known: what is shorter than half a window goes to its neighbours."""
        for i, run in enumerate(self._runs):
            if run.is_settled or run.is_absorbed:
                continue
            is_last = i + 1 == len(self._runs)
            end = stop_frame if is_last else self._runs[i + 1].cut
            following = self._n_decided if is_last else self._runs[i + 1].window
            if run.cut is None or (end is None and not self._lasts(run, following)):
                return
            is_only = self._kept is None and is_last
            is_sliver = self._boundaries is not None and end is not None and 2 * (end - run.cut) < self._length
            if end is None or run.unit == self._kept or is_only or not is_sliver:
                self._settle(run.cut, i)
                self._kept, self._runs[i] = run.unit, run._replace(is_settled=True)
                continue
            self._runs[i] = run._replace(is_absorbed=True)
            if not is_last:
                after = self._runs[i + 1]
                cut = run.cut if self._kept is None else self._cut_within(run.cut, end, self._kept, after.unit)
                self._runs[i + 1] = after._replace(cut=cut)
        if stop_frame is not None:
            self._settle(stop_frame, len(self._runs))

    def _settle(self, cut: int, n: int) -> None:
        """The absorbed ones of the first n runs end here."""
        for i in range(n):
            if self._runs[i].is_absorbed and not self._runs[i].is_settled:
                self._runs[i] = self._runs[i]._replace(cut=cut, is_settled=True)

    def _lasts(self, run: _UnitRun, following: int) -> bool:
        """Whether a run is sure to be longer than half a window, where the next begins with `following` or later."""
        assert self._start is not None and run.cut is not None
        drawn = min(self._edge(following), self._first_block + len(self._density))
        low = max((self._edge(run.window) + drawn) // 2, drawn - self._reach_blocks)  # as in `_cut`
        earliest = self._start + (low - 1) * self._block  # less one: between unknown units no block is asked
        return self._boundaries is None or 2 * (earliest - run.cut) >= self._length

    def _cut_within(self, first: int, last: int, before: int, after: int) -> int:
        assert self._start is not None
        low, high = ((frame - self._start) // self._block for frame in (first, last))
        summed = summed_up(self._density[low - self._first_block : high - self._first_block])
        edge = edge_within(summed, 0, high - low, self._codes[before], self._codes[after])
        return self._start + (low + edge) * self._block

    def _cut(self, before: _UnitRun, run: _UnitRun, following: int, is_end: bool) -> int:
        """The first frame of a run."""
        assert self._start is not None
        if before.unit not in self._codes or run.unit not in self._codes:
            return self._middle(run.window)
        n_blocks = self._first_block + len(self._density)
        drawn = min(self._edge(run.window), n_blocks)
        low = max((self._edge(before.window) + drawn) // 2, drawn - self._reach_blocks, self._first_block)
        stop = n_blocks if is_end else min(self._edge(following), n_blocks)
        high = max(low, min((drawn + stop) // 2, drawn + self._reach_blocks))
        summed = summed_up(self._density[low - self._first_block : high - self._first_block])
        codes = self._codes[before.unit], self._codes[run.unit]
        edge = low + likeliest_edge(summed, np.arange(len(summed)), *codes, drawn=drawn - low)
        return self._start + edge * self._block

    def _settled(self, stop_frame: int | None) -> list[Span]:
        """The frames of the windows that nothing to come can change; all of them where the stretch has ended."""
        spans: list[Span] = []
        while self._runs:
            run = self._runs[0]
            following = self._runs[1].window if len(self._runs) > 1 else self._n_decided
            next_cut = stop_frame
            if len(self._runs) > 1:
                next_cut = self._runs[1].cut if self._runs[1].is_settled else None
            after = self._n_spoken + 1
            if run.cut is None or not run.is_settled or (next_cut is None and after > following - self._reach):
                break
            stop = max(run.cut, self._middle(after)) if after < following else next_cut
            assert stop is not None
            stop = max(self._next_frame, stop if next_cut is None else min(stop, next_cut))
            spans.append((self._next_frame, stop))
            self._n_spoken, self._next_frame = after, stop
            if after == following:
                self._runs.popleft()
        return spans

    def _middle(self, window: int) -> int:
        """The first frame that a window speaks for when its neighbours agree with it."""
        assert self._start is not None
        return self._start + window * self._step + (self._length - self._step + 1) // 2

    def _edge(self, window: int) -> int:
        """The first block of a run that begins with this window, as the windows have it; the stretch begins at 0."""
        return -(-(2 * window * self._step + self._length - self._step) // (2 * self._block)) if window else 0

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        tail = np.zeros((0, 0), np.float32) if self._tail is None else self._tail
        plain = {
            "start": self._start,
            "runs": [list(run) for run in self._runs],
            "windows": [self._n_decided, self._n_spoken],
            "next_frame": self._next_frame,
            "kept": self._kept,
            "first_block": self._first_block,
        }
        return {"density": self._density.copy(), "tail": tail.copy()}, plain

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        self._start, self._next_frame, self._first_block = plain["start"], plain["next_frame"], plain["first_block"]
        self._kept = plain.get("kept")
        self._runs = deque(_UnitRun(*run) for run in plain["runs"])
        self._n_decided, self._n_spoken = plain["windows"]
        self._density = np.array(tensors["density"], np.float64)
        tail = np.array(tensors["tail"], np.float32)
        self._tail = tail if tail.size else None
        if self._density.shape[1:] != (len(self._codes),):
            raise ValueError(f"densities of {self._density.shape[1:]} units, expected {len(self._codes)}")
