"""Updater: window after window, it labels, refines, buffers and promotes. The only thing here that learns as it goes.

A window is compared with the exemplars of every unit in the encoder's space (`units/model.py` says why there):

    q_k = distance to the nearest exemplar of unit k / (1.25 radius)

- *Label.* Viterbi over q, plus what the unit model says against each of its own units (`ModelExcess`), with OTHER
  at a constant 1, decided one window length later (`units/viterbi.py`); the frame
  at which units change is found in the signal (`units/boundaries.py`); the motif when the phrase has ended
  (`phrases.py`); frozen then.
- *Refine.* A window labelled k with q_k <= 1 is shown to unit k, which keeps a fair sample of all it has seen.
- *Buffer.* A window farther than one radius from every exemplar is unexplained; between one and 1.25 it has a unit all
  the same. Windows that straddle two known units may be unexplained too, but never more in a row than share a frame
  with the boundary. The middle of a longer row is novel, and gathers in micro-clusters.
- *Promote.* A micro-cluster with support, extent and recurrence becomes a unit under a fresh id, or part of one that is
  as near as its own windows are.

Another person may lie farther from all exemplars of the model (`scaling.py`). Then distances to them are divided by how
much farther, and which of its units a window is, is decided by the model alone, as in `label`: exemplars are of others.

Feeding changes nothing but the state; what comes out depends on the windows alone, not on how they were handed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, check_shapes, owned_by
from rondo.config.settings import ContinualConfig
from rondo.continual.contexts import reader_of
from rondo.continual.journal import Event
from rondo.continual.novelty import MicroCluster, NoveltyBuffer, PointSets, Scales, compatible_entry, is_eligible
from rondo.continual.reading import (
    DEFAULT_RULE,
    Decision,
    Due,
    Issue,
    Opened,
    Setting,
    State,
    encoded,
    joined_states,
    motif_timeline,
    straddling_windows,
)
from rondo.data.labels import OTHER
from rondo.data.windows import StreamWindow
from rondo.encoders.summary_stats import FittedSummaryStats
from rondo.units.slow import SlowProjection
from rondo.units.viterbi import Timeline, Viterbi, smooth_spans

if TYPE_CHECKING:
    from rondo.data.windows import Windows
    from rondo.encoders.base import Representations
    from rondo.motifs.base import Motifs, MotifTimeline
    from rondo.units.model import Exemplars, UnitModel
    from rondo.units.places import Place


_SHARE = 0.3  # 0.2 to 0.5 are alike on ActRecTut, OpenPack and planted streams
_KEPT = 128  # exemplars of a unit
_YOUNG, _YOUNG_REACH = 64, 1.2  # a unit that has seen fewer windows holds them more thinly: it reaches further
_OWN = 0.8  # radii within which 95 % of the windows of a known unit lie from its exemplars, in planted streams
_TINY = float(np.finfo(float).tiny)
_REFINED_PER_EVENT = 64  # windows that refine a unit before the journal says so


class ModelExcess:
    """What the fitted unit model says against each of its own units, in the scale of a stream that learns.

    The nearest exemplar tells whether a window is anything known. It tells known units apart less well than the model
    does, whose projection was fitted for that. So each unit of the model costs more by

        share * price * (d_k - min_j d_j) / penalty

    where d_k is what the window costs under unit k in the model and `penalty` is what a change costs there; `price` is
    what a change costs in the stream. The cheapest unit costs nothing more: whether a window is OTHER stays with the
    exemplars. With a share of 1 and no exemplars, known units would be told apart exactly as `label` does.
    """

    def __init__(self, model: UnitModel, unit_ids: list[int], price: float) -> None:
        """`unit_ids`: those of the model, in the order of the columns to be given."""
        self._model, self._n_units = model, len(unit_ids)
        shown = model.tree.coarsened(np.array(model.vocabulary.ids), model.n_merges).tolist()
        self._column = np.array([unit_ids.index(unit) for unit in shown])  # of each entry of the vocabulary
        self._scale = _SHARE * price / model.penalty if model.penalty > 0 else 0.0

    def of(self, representations: NDArray[np.floating], place: Place | None = None, *, each: bool = False) -> Floats:
        """How much more each unit costs than the cheapest, (n_windows, n_units); 0 for that one.

        `each`: every row exactly as for one window, as a product of many rows rounds differently.
        """
        if each and isinstance(self._model.projection, SlowProjection):  # a stack of matrices: one product for each row
            costs = self._model.costs(representations[:, None], place)[:, 0]
        else:
            parts = [row[None] for row in representations] if each else [representations]
            costs = np.concatenate([self._model.costs(part, place) for part in parts])
        least = np.full((self._n_units, len(costs)), np.inf)
        np.minimum.at(least, self._column, costs.T)  # a merged unit costs what the nearest of its entries does
        return np.asarray(self._scale * (least - least.min(axis=0)).T)


def fitted_sets(exemplars: Exemplars) -> PointSets:
    """The exemplars of the units of a model, to be refined."""
    sets = PointSets(exemplars.points.shape[1], _KEPT)
    for id, support in zip(np.unique(exemplars.units).tolist(), exemplars.supports.tolist(), strict=True):
        sets.add(id, exemplars.points[exemplars.units == id].astype(np.float64), support)
    return sets


class _Open(NamedTuple):
    """A window that awaits its label."""

    place: Opened
    point: Floats
    q: Floats  # (n_units,) as there were when it came
    learns: bool = True  # whether it may refine its unit, and teach motifs


class Counters(NamedTuple):
    """How the stream went so far, for status lines."""

    windows: int
    accepted: int
    promoted: int
    merged: int
    expired: int


class Updater:
    """Labels, refines, buffers and promotes."""

    rule = DEFAULT_RULE
    learns = True

    def __init__(
        self, units: UnitModel, motifs: Motifs, config: ContinualConfig, grid: tuple[int, int], aligned: bool
    ) -> None:
        """From what was fitted; the vocabularies of the model itself are left as they are.

        `grid` is length and step of windows in frames; `aligned`: boundaries are found in the signal.
        """
        exemplars, self.encoder, self.config = units.exemplars, units.encoder, config
        self.length_frames, self.step_frames = grid
        n_dims, half_life = exemplars.points.shape[1], config.half_life * float(exemplars.supports.sum())
        self.units = fitted_sets(exemplars)
        self.n_fitted = len(self.units)  # those of the model; the others were promoted
        self.buffer = NoveltyBuffer(n_dims, Scales(exemplars.radius, half_life, config.apart))
        penalty = config.transition_scale * exemplars.step / max(self.buffer.scales.reach, _TINY)
        self.viterbi = Viterbi(self.n_fitted + 1, penalty, lag=-(-grid[0] // grid[1]))
        self.excess = ModelExcess(units, self.units.ids, penalty)
        self._model, self.setting = units, Setting(None, None, learns=True)
        self.motifs = reader_of(motifs, config, half_life, grid)
        self.issue = Issue(self.motifs, units.boundaries if aligned else None, *grid)
        self.beside = -(-straddling_windows(*grid) // 2)  # unexplained windows on each side that make one novel
        self.open: deque[_Open] = deque()
        self.at_start = True
        self.rejected: deque[tuple[int, Floats]] = deque()  # the last unexplained ones in a row
        self.is_filed = False  # whether that row has reached the buffer
        self.refined = [0] * self.n_fitted
        self.counters = Counters(0, 0, 0, 0, 0)
        self.next_id = max([*(id + 1 for id in self.units.ids), units.vocabulary.next_id])

    def state(self) -> State:
        n_dims = self.units.points.shape[2]
        rows = [opened.point for opened in self.open] + [point for _, point in self.rejected]
        q = np.zeros((len(self.open), len(self.units)))
        for row, opened in zip(q, self.open, strict=True):
            row[: opened.q.size] = opened.q
        tensors, plain = joined_states(
            {"units": self.units, "buffer": self.buffer, "viterbi": self.viterbi, "motifs": self.motifs}
        )
        tensors |= {"points": np.array(rows, np.float64).reshape(-1, n_dims), "q": q}
        tensors |= {"blocks": np.array([opened.place.blocks for opened in self.open], np.float64)}
        return tensors, plain | {
            "open": [[at.window, at.start_frame, int(q.size), at.is_first, learns] for at, _, q, learns in self.open],
            "at_start": self.at_start,
            "rejected": [window for window, _ in self.rejected],
            "is_filed": self.is_filed,
            "refined": list(self.refined),
            "counters": list(self.counters),
            "next_id": self.next_id,
            **self.issue.state(),
        }

    def restored(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> Updater:
        n_dims = self.units.points.shape[-1]
        self.motifs = self.motifs.restored(owned_by("motifs", tensors), plain["motifs"])
        self.units = PointSets.restore(owned_by("units", tensors), plain["units"])
        self.buffer = NoveltyBuffer.restore(owned_by("buffer", tensors), plain["buffer"])
        self.viterbi = Viterbi.restore(owned_by("viterbi", tensors), plain["viterbi"])
        n_open, n_units = len(plain["open"]), len(self.units)
        if self.units.points.shape[-1] != n_dims or self.buffer.sets.points.shape[-1] != n_dims:
            raise ValueError(f"units in {self.units.points.shape[-1]} dimensions, expected {n_dims}")
        if self.viterbi.totals.size != n_units + 1 or len(plain["refined"]) != n_units:
            raise ValueError(f"paths of {self.viterbi.totals.size} columns for {n_units} units")
        if not len(self.units.seen) == len(self.units.points) == n_units:
            raise ValueError(f"exemplars of {len(self.units.points)} units, expected {n_units}")
        n_points = n_open + len(plain["rejected"])
        check_shapes(tensors, {"points": "n_points d", "q": "n_open units"}, d=n_dims, n_points=n_points, n_open=n_open)
        points, q, blocks = (np.asarray(tensors[name], np.float64) for name in ("points", "q", "blocks"))
        self.open = deque(
            _Open(Opened(window, start, blocks[i], first), points[i], q[i, :size], *learns)
            for i, (window, start, size, first, *learns) in enumerate(plain["open"])  # 0.2.0 kept four
        )
        self.rejected = deque(zip(plain["rejected"], points[n_open:], strict=True))
        self.at_start, self.is_filed = plain["at_start"], plain["is_filed"]
        self.refined, self.next_id = list(plain["refined"]), plain["next_id"]
        self.counters = Counters(*plain["counters"])
        self.issue.motifs = self.motifs
        self.issue.restore(plain)
        return self

    def push(self, window: NDArray[np.float32], start_frame: int) -> Due:
        """One window (n_channels, length); gives the decisions that have become due, and what happened."""
        point = self._at_home(encoded(self.encoder, window))[0]
        return self.push_point(point, start_frame, self.issue.blocks(window))

    def push_all(self, windows: Sequence[StreamWindow]) -> Iterator[Due]:
        """What `push` gives for each of these windows in turn; all of them are encoded at once where that is exact."""
        encoder = self.encoder
        if not (isinstance(encoder, FittedSummaryStats) and encoder.encodes_batches_exactly):
            yield from (self.push(*window) for window in windows)
            return
        values = np.stack([window.values for window in windows])
        points = self._at_home(encoder.encode_batch(values))
        blocks, excess = self.issue.blocks(values), self.excess.of(points, self.setting.place, each=True)
        for i, window in enumerate(windows):
            yield self.push_point(points[i], window.start_frame, blocks[i], excess[i : i + 1])

    def push_point(self, point: Floats, start_frame: int, blocks: Floats, excess: Floats | None = None) -> Due:
        """The same for a window that is encoded already; without `blocks` (0, 0) boundaries lie between windows.

        `excess` (1, n_fitted) is what the unit model says against each of its units, if that is known already.
        """
        number = self.counters.windows
        distances = self.units.distances(point)
        q = distances / self.reaches()
        accepted = bool(q.size) and float(q.min()) <= 1
        is_explained = bool(q.size) and float((distances / self.stretches()).min()) <= self.buffer.scales.radius
        self.counters = self.counters._replace(windows=number + 1, accepted=self.counters.accepted + accepted)
        self.open.append(_Open(Opened(number, start_frame, blocks, self.at_start), point, q, self.learns))
        self.at_start = False
        due = self.viterbi.push(self.path_costs(point[None], q[None], excess))
        decisions, events = self._decide(int(due[0]), start_frame) if due.size else ([], [])
        return decisions, events + self._novelty(number, point, is_explained or not self.learns, start_frame)

    def path_costs(self, points: Floats, q: Floats, excess: Floats | None = None) -> Floats:
        """What windows cost as OTHER, the first column, and as each unit there is, (n_windows, 1 + n_units)."""
        costs = np.column_stack([np.ones(len(q)), q])
        excess = self.excess.of(points, self.setting.place) if excess is None else excess
        known = slice(1, 1 + self.n_fitted)
        if self.setting.stretch > 1:
            costs[:, known] = costs[:, known].min(axis=1, keepdims=True)
            excess = excess / _SHARE
        costs[:, known] += excess
        return costs

    def _at_home(self, representations: Representations) -> Floats:
        return self._model.at_home(representations, self.setting.place).astype(np.float64)

    @property
    def reach_frames(self) -> int:
        return (self.viterbi.lag or 0) * self.step_frames + 2 * self.length_frames

    def settle(self, setting: Setting) -> None:
        """Windows to come are read so. What the stream has gathered moves with its scaling.

        Units of the model return to their own exemplars, which lie where windows at home do; what the stream has added
        to them was read with other statistics. Units that it has promoted, and the buffer, are moved.
        """
        self.setting, move = setting._replace(recent=None), setting.move
        if move is None:
            return
        before = self.units
        self.units = fitted_sets(self._model.exemplars)
        for index in range(self.n_fitted, len(before)):
            self.units.add(before.ids[index], move.of(before.kept(index)), before.seen[index])
        self.buffer.sets.move(move.of)
        self.open = deque(opened._replace(point=move.of(opened.point)) for opened in self.open)
        self.rejected = deque((window, move.of(point)) for window, point in self.rejected)

    def boundary(self, frame: int) -> Due:
        decisions: list[Decision] = []
        events: list[Event] = []
        for column in self.viterbi.flush().tolist():
            decided, own = self._decide(column, frame)
            decisions += decided
            events += own
        self.rejected.clear()
        self.is_filed = False
        decisions = self.issue.end(frame, decisions)
        self.at_start = True
        return decisions, events + self.issue.events(frame)

    @property
    def unit_ids(self) -> tuple[int, ...]:
        return tuple(self.units.ids)

    @property
    def motif_ids(self) -> tuple[int, ...]:
        return self.motifs.ids

    @property
    def own_motifs(self) -> Mapping[int, int]:
        return self.motifs.own

    @property
    def n_buffered(self) -> int:
        return sum(self.buffer.sets.seen)

    def reaches(self) -> Floats:
        reaches = np.full(len(self.units), max(self.buffer.scales.reach, _TINY))
        for index in range(self.n_fitted, len(self.units)):
            if self.units.seen[index] < _YOUNG:
                reaches[index] *= _YOUNG_REACH
        return reaches * self.stretches()

    def stretches(self) -> Floats:
        """How much farther than the stream's own exemplars those of each unit lie: the model's are of others."""
        stretches = np.ones(len(self.units))
        stretches[: self.n_fitted] = self.setting.stretch
        return stretches

    def timelines(self, windows: Windows) -> tuple[Timeline, MotifTimeline]:
        """Unit and motif of every window of one signal, by the vocabularies as they are now; nothing changes.

        Labels of a stream freeze when they are issued; here a unit is known from the start. Windows are compared as
        above, and smoothed over each whole stretch instead of a few windows. The distance of a window of no unit is
        that to the nearest one.
        """
        spans = windows.grid.window_spans
        if not spans:
            return Timeline(np.zeros(0, np.int32), np.zeros(0), ()), motif_timeline([], ())
        points = self._at_home(self.encoder.encode(windows))
        q = np.array([self.units.distances(point) for point in points]) / self.reaches()
        states = smooth_spans(self.path_costs(points, q), spans, self.viterbi.penalty)  # state 0 is OTHER
        ids = np.array([OTHER, *self.units.ids], dtype=np.int32)[states]
        of_state = np.column_stack([q.min(axis=1), q])
        read = [motif for start, stop in spans for motif in self.motifs.read(ids[start:stop])]
        return Timeline(ids, of_state[np.arange(len(q)), states], tuple(spans)), motif_timeline(read, spans)

    def _decide(self, column: int, frame: int) -> Due:
        """The unit of the oldest open window; gives the windows that thereby have a motif too."""
        opened = self.open.popleft()
        index = column - 1
        known = 0 <= index < opened.q.size  # a unit promoted meanwhile did not know this window
        unit = self.units.ids[index] if index >= 0 else OTHER
        distance = float(opened.q[index]) if known else float("inf")
        may_refine = distance <= 1 and opened.learns and self.setting.learns
        events = self._refine(index, opened.point, frame) if may_refine else []
        score = float(np.exp(-distance)) if unit != OTHER else 0.0
        decisions = self.issue.add(opened.place, unit, score, opened.learns)
        return decisions, events + self.issue.events(frame)

    def _refine(self, index: int, point: Floats, frame: int) -> list[Event]:
        self.units.see(index, point)
        self.refined[index] += 1
        if self.refined[index] % _REFINED_PER_EVENT:
            return []
        evidence = {"support": self.units.seen[index], "refined": self.refined[index]}
        return [Event("refine", "unit", frame, None, (self.units.ids[index],), evidence)]

    def _novelty(self, number: int, point: Floats, is_explained: bool, frame: int) -> list[Event]:
        """The middle of a row of unexplained windows that is too long for a passage goes to the buffer."""
        if is_explained:
            self.rejected.clear()
            self.is_filed = False
            return []
        self.rejected.append((number, point))
        if len(self.rejected) <= 2 * self.beside:
            return []
        window, novel = self.rejected[self.beside]
        self.rejected.popleft()
        # The first stands for the windows before it too: half of those that hold a boundary, as if cut in the middle.
        cluster, expired = self.buffer.add(novel, window, 1 if self.is_filed else 1 + self.beside)
        self.is_filed = True
        self.counters = self.counters._replace(expired=self.counters.expired + len(expired))
        events = [
            Event("expire", "unit", frame, None, (gone.id,), {"support": gone.support, "regions": gone.regions})
            for gone in expired
        ]
        if self.setting.learns and is_eligible(cluster, [own.support for own in self.buffer.clusters], self.config):
            events.append(self._promote(cluster, frame))
        return events

    def _promote(self, cluster: MicroCluster, frame: int) -> Event:
        """Into an entry that is near enough, or as a new one."""
        points, seen = self.buffer.take(cluster.id)
        index, distance = compatible_entry(points, self.units, _OWN * self.buffer.scales.radius, self.config)
        evidence = cluster.evidence() | {"distance": distance / max(self.buffer.scales.reach, _TINY)}
        if index is not None:
            for point in points:
                self.units.see(index, point)
            self.counters = self.counters._replace(merged=self.counters.merged + 1)
            return Event("merge", "unit", frame, None, (self.units.ids[index],), evidence)
        unit, self.next_id = self.next_id, self.next_id + 1
        self.units.add(unit, points, seen)
        self.refined.append(0)
        self.viterbi.add_entry()
        evidence["motif"] = self.motifs.add_unit(unit)
        self.counters = self.counters._replace(promoted=self.counters.promoted + 1)
        return Event("promote", "unit", frame, None, (unit,), evidence)
