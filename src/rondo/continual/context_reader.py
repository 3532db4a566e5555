"""Contexts while the stream goes on: the same long windows, costs and boundaries as in a whole recording.

A long window is complete when its frames have come and its windows have units. Its context is decided by the cheapest
path some long windows later (`Viterbi`), its frames by the signal (`RunFrames`), and the boundary is moved to where a
unit begins (`at_unit_boundaries`). So a window waits for a few long windows; what was said is never changed. A unit
that was promoted meanwhile belongs to no context: it stands for itself, under a motif id of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors, owned, owned_by
from rondo.config.schema import ContinualConfig
from rondo.continual.motif_reader import Change, Motif, MotifReader
from rondo.continual.reading import encoded, straddling_windows
from rondo.continual.run_frames import RunFrames
from rondo.data.labels import OTHER
from rondo.data.windows import Windows
from rondo.motifs.base import Motifs, MotifTimeline, UnitMotifs
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import at_unit_boundaries, unit_shares
from rondo.units.timeline import Timeline, Viterbi

if TYPE_CHECKING:
    from rondo.motifs.contexts import ContextModel

_LAG = 8  # long windows that the path looks ahead
_REACH_LENGTHS = 2  # long windows that a boundary is looked for, each way; on ActRecTut 1 moves 1.7 % of rows, 2 0.1 %


class ContextReader:
    """The frames and units of long windows that are not complete, and contexts that are not settled."""

    def __init__(self, contexts: ContextModel, grid: tuple[int, int], next_id: int) -> None:
        """`grid` is length and step of windows of units in frames; `next_id` the first motif that nobody has."""
        self.model = contexts
        self.length, self.step = grid
        long = contexts.windows
        self.long_length = self.length + (long.n_covered - 1) * self.step
        self.long_step = long.n_apart * self.step
        self.reach = -(-self.length // self.step)
        self.own: dict[int, int] = {}  # promoted unit -> its motif
        self.next_id = next_id
        self.viterbi = Viterbi(len(contexts.ids), contexts.penalty, _LAG)
        self._forget()

    def _forget(self) -> None:
        self._runs = RunFrames(self.model.boundaries, self.long_length, self.long_step, _REACH_LENGTHS)
        self._start = 0  # first frame of the stretch
        self._n_seen = self._n_long = 0  # windows, and long windows whose statistics are known
        self._frames = np.zeros((0, 0), np.float32)  # from the first of the next long window on
        self._statistics: deque[NDArray[np.float32]] = deque()  # of long windows without a cost
        self._costs: deque[NDArray[np.float64]] = deque()  # of long windows without a context
        self._decided: deque[Motif] = deque()  # contexts of long windows without frames
        self._units: list[int] = []  # of the windows from `_n_gone` on
        self._n_gone = 0
        self._n_costed = 0  # long windows whose costs are known
        self._drawn: list[Motif] = []  # contexts of the windows from `_n_gone` on, as the long windows have them
        self._n_final = 0  # windows whose motif was given

    @property
    def ids(self) -> tuple[int, ...]:
        """Every motif there is: those of the model, then those that have come since."""
        return (*self.model.ids, *sorted(self.own.values()))

    def add_unit(self, unit: int) -> int:
        """A motif for a unit that was promoted; gives its id."""
        self.own[unit], self.next_id = self.next_id, self.next_id + 1
        return self.own[unit]

    def take_changes(self) -> list[Change]:
        """Contexts do not change in a stream."""
        return []

    def read(self, units: Timeline, windows: Windows) -> MotifTimeline:
        """The motif of every window of a recording, by the motifs there are now; nothing is learned."""
        read = self.model.timeline(units, windows)
        own = np.array([self.own.get(unit, OTHER) for unit in units.ids.tolist()], np.int32)
        ids = np.where(units.ids == OTHER, np.int32(OTHER), np.where(own == OTHER, read.ids, own))
        return replace(read, ids=ids, scores=np.where(units.ids == OTHER, 0.0, read.scores))

    # ------------------------------------------------------------ window by window

    def see(self, window: NDArray[np.float32], start_frame: int) -> None:
        """One more window (n_channels, length) of the stretch, whose unit is told later."""
        if self._n_seen == 0:
            self._start, self._frames = start_frame, np.ascontiguousarray(window.T)
        else:
            self._frames = np.concatenate([self._frames, window.T[-self.step :]])
        self._n_seen += 1
        if len(self._frames) >= self.long_length:
            long = np.ascontiguousarray(self._frames[: self.long_length].T)
            self._statistics.append(encoded(self.model.encoder, long)[0])
            self._runs.see(long, self._start + self._n_long * self.long_step)
            self._n_long += 1
            self._frames = self._frames[self.long_step :]

    def push(self, unit: int) -> list[Motif]:
        """The unit of the next window; gives the motifs that have become final, of the windows that waited longest."""
        self._units.append(unit)
        self._cost()
        return self._settled(ended=False)

    def boundary(self, frame: int) -> list[Motif]:
        """The stretch ends before this frame: all that wait are read, and nothing is carried over."""
        if not self._units:
            return []
        if self._n_costed:
            self._decide(self.viterbi.flush().tolist())
            self._draw(self._runs.end(frame))
        final = self._settled(ended=True)
        self._forget()
        return final

    def _cost(self) -> None:
        """The costs of the next long window, once its windows have units."""
        long = self.model.windows
        first = self._n_costed * long.n_apart - self._n_gone
        if not self._statistics or len(self._units) < first + long.n_covered:
            return
        codes = self.model.codes(np.array(self._units[first : first + long.n_covered]))
        shares = unit_shares(codes, np.zeros(1, np.int64), long.n_covered, len(self.model.unit_ids))
        costs = self.model.costs(self._statistics.popleft()[None], shares)
        self._n_costed += 1
        self._costs.append(costs[0])
        self._decide(self.viterbi.push(costs).tolist())

    def _decide(self, columns: list[int]) -> None:
        for column in columns:
            distance = float(self._costs.popleft()[column] / self.model.vocabulary.radii[column])
            self._decided.append((self.model.ids[column], float(np.exp(-distance))))
            self._draw(self._runs.push(self.model.ids[column]))

    def _draw(self, spans: list[tuple[int, int]]) -> None:
        """The context of every window whose middle lies in frames that are settled."""
        for _, stop in spans:
            motif = self._decided.popleft()
            n_before = -(-(stop - self._start - self.length // 2) // self.step)  # windows whose middle is before
            self._drawn += [motif] * (n_before - self._n_gone - len(self._drawn))

    # ------------------------------------------------------------ what is final

    def _settled(self, ended: bool) -> list[Motif]:
        """Motifs of windows that nothing to come can change; all of them where the stretch has ended."""
        if ended:
            self._drawn = self._drawn[: len(self._units)] or [self._likeliest()]
            self._drawn += self._drawn[-1:] * (len(self._units) - len(self._drawn))
        n_known = len(self._drawn) if ended else min(len(self._drawn), len(self._units))
        settles = 3 * self.reach  # a boundary moves by up to one, within half of the runs on both of its sides
        n_final = n_known if ended else n_known - settles
        first = self._n_final - self._n_gone
        if n_final <= first:
            return []
        drawn = np.array([id for id, _ in self._drawn[:n_known]], np.int32)
        contexts = at_unit_boundaries(drawn, self.model.codes(np.array(self._units[:n_known])), self.reach)
        final = [self._motif(at, int(contexts[at])) for at in range(first, n_final)]
        self._n_final += len(final)
        n_past = max(0, min(self._n_final - settles, self._n_costed * self.model.windows.n_apart) - self._n_gone)
        self._units, self._drawn, self._n_gone = self._units[n_past:], self._drawn[n_past:], self._n_gone + n_past
        return final

    def _motif(self, at: int, context: int) -> Motif:
        unit = self._units[at]
        if unit == OTHER:
            return OTHER, 0.0
        return (self.own[unit], 1.0) if unit in self.own else (context, self._drawn[at][1])

    def _likeliest(self) -> Motif:
        """Of a stretch too short for a long window: the context in which its units are likeliest."""
        return self.model.likeliest(self.model.codes(np.array(self._units))), 1.0

    # ------------------------------------------------------------ keeping

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""
        viterbi, viterbi_plain = self.viterbi.state()
        runs, runs_plain = self._runs.state()
        tensors: dict[str, NDArray[np.generic]] = {
            "frames": self._frames,
            "statistics": np.stack(self._statistics) if self._statistics else np.zeros((0, 0), np.float32),
            "costs": np.stack(self._costs) if self._costs else np.zeros((0, 0)),
        }
        plain = {
            "viterbi": viterbi_plain,
            "runs": runs_plain,
            "own": [list(pair) for pair in sorted(self.own.items())],
            "counts": [self._start, self._n_seen, self._n_long, self._n_gone, self._n_costed, self._n_final],
            "next_id": self.next_id,
            "units": list(self._units),
            "decided": [list(motif) for motif in self._decided],
            "drawn": [list(motif) for motif in self._drawn],
        }
        return tensors | owned("viterbi", viterbi) | owned("runs", runs), plain

    def restored(self, tensors: Tensors, plain: Mapping[str, Any]) -> ContextReader:
        """This reader, which has only begun, as it was when it gave that state."""
        self.viterbi = Viterbi.restore(owned_by("viterbi", tensors), plain["viterbi"])
        self._runs.load(owned_by("runs", tensors), plain["runs"])
        self._frames = np.array(tensors["frames"], np.float32)
        self._statistics = deque(np.array(tensors["statistics"], np.float32))
        self._costs = deque(np.array(tensors["costs"], np.float64))
        self.own = {int(unit): int(motif) for unit, motif in plain["own"]}
        counts = plain["counts"]
        self._start, self._n_seen, self._n_long, self._n_gone, self._n_costed, self._n_final = counts
        self.next_id, self._units = plain["next_id"], list(plain["units"])
        self._decided = deque((id, score) for id, score in plain["decided"])
        self._drawn = [(id, score) for id, score in plain["drawn"]]
        return self


def reader_of(
    motifs: Motifs, config: ContinualConfig, half_life: float, grid: tuple[int, int], *, learns: bool = True
) -> MotifReader | ContextReader:
    """What reads, in a stream, the motifs that labels show; without `learns` nothing grows."""
    next_id = max([*motifs.ids, *motifs.unshown_ids], default=-1) + 1
    if isinstance(motifs, ComposedMotifs):
        if motifs.shown_contexts is not None:
            return ContextReader(motifs.shown_contexts, grid, next_id)
        motifs = motifs.by_units
    passage = straddling_windows(*grid)
    return MotifReader(cast(UnitMotifs, motifs), config, half_life, passage, next_id, learns=learns)
