"""PublishedReader: the continual rule of the paper, in the latent space of the fitted units.

- *Accept.* A window goes through encoder and adaptor into the latent space. A unit accepts it when it lies within the
  unit's radius and its posterior is above the unit's floor (`latent_entries.py`).
- *Label.* The cheapest path, as in a fit: the cost of a unit is the distance to its prototype, a change costs the
  penalty of the unit model, and a window is decided `continual.lag` windows later. OTHER is one more state, whose cost
  is the radius of the nearest unit: a window just outside stays with its unit, a stretch outside is OTHER.
- *Refine.* A window that is labelled with a unit and was accepted by it moves its prototype, radius and distribution.
- *Gather.* Every window that no unit accepts goes to a micro-cluster (`micro_clusters.py`).
- *Merge or promote.* A micro-cluster with support, extent and regions (`continual.*`) is consolidated in the latent
  space. Within 1.25 radii of the nearest unit it becomes part of that unit, else a unit under a fresh id.

A model stores centre, radius and floor of its units, and 64 exemplars of each, but not the mixture they come from: the
distributions that posteriors need are those of the exemplars in the latent space. Motifs: `former_reader.py`, or the
readers of the other rule where the motif model is no MotifFormer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, check_shapes, owned_by
from rondo.config.settings import ContinualConfig
from rondo.continual.contexts import ContextReader, reader_of
from rondo.continual.journal import Event
from rondo.continual.novelty import MicroCluster, is_eligible
from rondo.continual.phrases import MotifReader
from rondo.continual.reading import Decision, Due, Issue, Opened, encoded, motif_timeline
from rondo.data.labels import OTHER
from rondo.motifs.base import Motifs, MotifTimeline
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.model import MotifModel
from rondo.paper.former_reader import FormerReader
from rondo.paper.latent_entries import Judgement, LatentEntries
from rondo.paper.micro_clusters import LatentVocabulary, MicroClusters, State, bootstrap_radius, states_of
from rondo.units.viterbi import Timeline, Viterbi, smooth_spans

if TYPE_CHECKING:
    from rondo.data.windows import StreamWindow, Windows
    from rondo.units.model import UnitModel


class _Open(NamedTuple):
    """A window that awaits its label."""

    place: Opened
    latent: Floats
    r: Floats  # (n_units,) as there were when it came
    accepted: Flags  # (n_units,)
    learns: bool = True  # whether it may refine its entry, and teach motifs


class PublishedReader:
    """Labels, refines, gathers and promotes in the latent space."""

    rule = "published"
    learns = True

    def __init__(
        self,
        units: UnitModel,
        motifs: FormerReader | MotifReader | ContextReader,
        vocabulary: LatentVocabulary,
        config: ContinualConfig,
        grid: tuple[int, int],
        aligned: bool,
    ) -> None:
        self.units, self.motifs, self.vocabulary, self.config = units, motifs, vocabulary, config
        entries = vocabulary.entries
        self.length_frames, self.step_frames = grid
        self.viterbi = Viterbi(len(entries) + 1, units.penalty, config.lag)  # column 0 is OTHER
        kept = units.tree.kept_at(units.n_merges)
        self._shown = {id: kept.get(id, id) for id in entries.ids}  # of each entry, the unit that labels show
        self.next_id = units.vocabulary.next_id
        self.n_windows = 0
        self._at_start = True
        self._open: deque[_Open] = deque()
        self.issue = Issue(motifs, units.boundaries if aligned else None, *grid)

    @classmethod
    def begin(
        cls, units: UnitModel, motifs: Motifs, config: ContinualConfig, grid: tuple[int, int], aligned: bool
    ) -> PublishedReader:
        """From what was fitted; the vocabularies of the model itself are left as they are.

        `grid` is length and step of windows in frames; `aligned`: boundaries are found in the signal.
        """
        latents = units.projection.apply(units.exemplars.points)
        entries = _entries(units, latents)
        half_life = config.half_life * float(units.exemplars.supports.sum())
        n_embedding = units.vocabulary.prototypes.shape[1]
        novel = MicroClusters(latents.shape[1], n_embedding, bootstrap_radius(latents), half_life, config.apart)
        reader = _motif_reader(units, motifs, config, half_life, grid)
        return cls(units, reader, LatentVocabulary(entries, novel, config), config, grid, aligned)

    @property
    def entries(self) -> LatentEntries:
        return self.vocabulary.entries

    @property
    def unit_ids(self) -> tuple[int, ...]:
        return tuple(sorted(set(self._shown.values())))

    @property
    def motif_ids(self) -> tuple[int, ...]:
        return self.motifs.ids

    @property
    def own_motifs(self) -> Mapping[int, int]:
        return self.motifs.own

    @property
    def n_buffered(self) -> int:
        return self.vocabulary.novel.n_points

    def push(self, window: NDArray[np.float32], start_frame: int) -> Due:
        """One window (n_channels, length); gives the decisions that have become due, and what happened."""
        representation = encoded(self.units.encoder, window)
        latent = self.units.projection.apply(representation)[0]
        judged = self.entries.judge(latent)
        blocks = self.issue.blocks(window)
        number, self.n_windows = self.n_windows, self.n_windows + 1
        place = Opened(number, start_frame, blocks, self._at_start)
        self._open.append(_Open(place, latent, judged.r, judged.accepted, self.learns))
        self._at_start = False
        due = self.viterbi.push(self._costs(judged)[None])
        decisions, events = self._decide(int(due[0]), start_frame) if due.size else ([], [])
        if self.learns and not judged.accepted.any():
            embedding = self.units.projection.embed(representation)[0]
            events = events + self._gather(np.concatenate([latent, embedding]), number, start_frame)
        return decisions, events

    def push_all(self, windows: Sequence[StreamWindow]) -> Iterable[Due]:
        return (self.push(*window) for window in windows)

    def boundary(self, frame: int) -> Due:
        """The stretch ends before this frame: everything open is decided, and nothing is carried over."""
        decisions: list[Decision] = []
        events: list[Event] = []
        for column in self.viterbi.flush().tolist():
            decided, own = self._decide(column, frame)
            decisions += decided
            events += own
        decisions = self.issue.end(frame, decisions)
        self._at_start = True
        return decisions, events + self.issue.events(frame)

    def _costs(self, judged: Judgement) -> Floats:
        """Of OTHER, then of each entry: distances, as in the fit."""
        return np.concatenate([[self.entries.radii[judged.nearest]], judged.distances])

    def _decide(self, column: int, frame: int) -> Due:
        """The unit of the oldest open window; gives the windows that thereby have a motif too."""
        opened = self._open.popleft()
        index = column - 1
        known = 0 <= index < opened.r.size  # a unit promoted meanwhile did not know this window
        unit = self._shown[self.entries.ids[index]] if index >= 0 else OTHER
        r = float(opened.r[index]) if known else float("inf")
        events = self._refine(index, opened, frame) if known and opened.learns else []
        score = float(np.exp(-r)) if unit != OTHER else 0.0
        decisions = self.issue.add(opened.place, unit, score, opened.learns)
        return decisions, events + self.issue.events(frame)

    def _refine(self, index: int, opened: _Open, frame: int) -> list[Event]:
        r, accepted = float(opened.r[index]), bool(opened.accepted[index])
        refined = self.vocabulary.refine(index, opened.latent, r, accepted=accepted)
        if refined is None:
            return []
        support, floor = round(float(self.entries.counts[index])), float(self.entries.floors[index])
        evidence = {"support": support, **refined, "posterior_floor": floor}
        return [Event("refine", "unit", frame, None, (self._shown[self.entries.ids[index]],), evidence)]

    def _gather(self, point: Floats, window: int, frame: int) -> list[Event]:
        """A rejected window, latent and embedding, goes to its micro-cluster, which may thereby be complete."""
        novel = self.vocabulary.novel
        cluster, expired = novel.add(point, window)
        events = [
            Event("expire", "unit", frame, None, (gone.id,), {"support": gone.support, "regions": gone.regions})
            for gone in expired
        ]
        supports = novel.supports(window)
        if is_eligible(cluster, supports, self.config):
            coherent = novel.consolidate(cluster.id)
            if is_eligible(coherent, supports, self.config):
                events.append(self._settle(coherent, frame))
        return events

    def _settle(self, cluster: MicroCluster, frame: int) -> Event:
        """Into the nearest unit where that is near enough, or as a new one."""
        kind, unit, distance, rows = self.vocabulary.settle(cluster, self.next_id)
        evidence = cluster.evidence() | {"distance": distance}
        if kind == "merge":
            return Event("merge", "unit", frame, None, (self._shown[unit],), evidence)
        self.next_id += 1
        self._shown[unit] = unit
        self.viterbi.add_entry()
        if isinstance(self.motifs, MotifReader | ContextReader):
            evidence["motif"] = self.motifs.add_unit(unit)
        else:
            self.motifs.add_unit(unit, rows[:, self.entries.n_dims :].mean(axis=0))
        return Event("promote", "unit", frame, None, (unit,), evidence)

    def timelines(self, windows: Windows) -> tuple[Timeline, MotifTimeline]:
        """Unit and motif of every window of one signal, by the vocabularies as they are now; nothing changes."""
        spans = tuple(windows.grid.window_spans)
        if not spans:
            return Timeline(np.zeros(0, np.int32), np.zeros(0), ()), motif_timeline([], ())
        latents = self.units.projection.apply(self.units.encoder.encode(windows))
        judged = [self.entries.judge(latent) for latent in latents]
        states = smooth_spans(np.stack([self._costs(own) for own in judged]), spans, self.viterbi.penalty)
        ids = np.array([OTHER, *(self._shown[id] for id in self.entries.ids)], dtype=np.int32)[states]
        r = [own.r[state - 1] if state else own.r.min() for own, state in zip(judged, states, strict=True)]
        read = [motif for start, stop in spans for motif in self.motifs.read(ids[start:stop])]
        return Timeline(ids, np.array(r), spans), motif_timeline(read, spans)

    def state(self) -> State:
        """Everything that changed since it began, exactly."""
        novel = self.vocabulary.novel
        tensors, plain = states_of(entries=self.entries, novel=novel, viterbi=self.viterbi, motifs=self.motifs)
        r, accepted = np.zeros((2, len(self._open), len(self.entries)))
        for i, opened in enumerate(self._open):
            r[i, : opened.r.size], accepted[i, : opened.r.size] = opened.r, opened.accepted
        latents = np.array([opened.latent for opened in self._open], np.float64).reshape(-1, self.entries.n_dims)
        blocks = np.array([opened.place.blocks for opened in self._open], np.float64)
        tensors |= {"latents": latents, "r": r, "accepted": accepted.astype(np.uint8), "blocks": blocks}
        return tensors, plain | {
            "open": [[at.window, at.start_frame, int(r.size), at.is_first, own] for at, _, r, _, own in self._open],
            "at_start": self._at_start,
            "n_windows": self.n_windows,
            "next_id": self.next_id,
            **self.issue.state(),
        }

    def restored(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> PublishedReader:
        self.vocabulary.load(tensors, plain)
        self.viterbi = Viterbi.restore(owned_by("viterbi", tensors), plain["viterbi"])
        self.motifs = self.motifs.restored(owned_by("motifs", tensors), plain["motifs"])
        if self.viterbi.totals.size != len(self.entries) + 1:
            raise ValueError(f"a path over {self.viterbi.totals.size - 1} units, expected {len(self.entries)}")
        self._shown |= {id: id for id in self.entries.ids if id not in self._shown}
        shapes = {"latents": "n d", "r": "n units", "accepted": "n units"}
        check_shapes(tensors, shapes, n=len(plain["open"]), d=self.entries.n_dims, units=len(self.entries))
        latents, r, blocks = (np.array(tensors[name], np.float64) for name in ("latents", "r", "blocks"))
        accepted = np.asarray(tensors["accepted"]).astype(np.bool_)
        self._open = deque(
            _Open(Opened(window, start, blocks[i], first), latents[i], r[i, :size], accepted[i, :size], *learns)
            for i, (window, start, size, first, *learns) in enumerate(plain["open"])  # 0.2.0 kept four
        )
        self.issue.motifs = self.motifs
        self.issue.restore(plain)
        self._at_start, self.n_windows, self.next_id = plain["at_start"], plain["n_windows"], plain["next_id"]
        return self


def _entries(units: UnitModel, latents: Floats) -> LatentEntries:
    """The fitted units, with the distributions of their exemplars."""
    vocabulary, shown = units.vocabulary, units.tree.kept_at(units.n_merges)
    parts = np.array([shown[id] for id in vocabulary.ids])
    gaps = np.sqrt(np.square(latents[:, None] - vocabulary.centres).sum(axis=2))  # (n_exemplars, n_entries)
    elsewhere = units.exemplars.units[:, None] != parts  # an exemplar is of a part of the unit it is labelled as
    gaps[elsewhere] = np.inf
    nearest = gaps.argmin(axis=1)
    members = [latents[nearest == k] for k in range(len(vocabulary))]
    measures = vocabulary.centres, vocabulary.supports, vocabulary.radii, vocabulary.posterior_floors
    return LatentEntries.of_members(list(vocabulary.ids), *measures, members)


def _motif_reader(
    units: UnitModel, motifs: Motifs, config: ContinualConfig, half_life: float, grid: tuple[int, int]
) -> FormerReader | MotifReader | ContextReader:
    if isinstance(motifs, ComposedMotifs | MotifModel):
        return reader_of(motifs, config, half_life, grid)
    from rondo.paper.motifs import FormerMotifs

    assert isinstance(motifs, FormerMotifs)
    return FormerReader(motifs, units.prototypes, config, half_life)
