"""PublishedReader: the continual rule of the paper, in the latent space of the fitted units.

- *Accept.* A window goes through encoder and adaptor into the latent space. A unit accepts it when it lies within the
  unit's radius and its posterior is above the unit's floor (`latent_entries.py`).
- *Label.* The cheapest path, as in a fit: the cost of a unit is the distance to its prototype, a change costs the
  penalty of the unit model, and a window is decided `continual.lag` windows later. OTHER is one more state, whose cost
  is the radius of the nearest unit: a window just outside stays with its unit, a stretch outside is OTHER.
- *Refine.* A window that is labelled with a unit and was accepted by it moves its prototype, radius and distribution.
- *Gather.* Every window that no unit accepts goes to a micro-cluster (`latent_entries.py`).
- *Merge or promote.* A micro-cluster with support, extent and regions (`continual.*`) is consolidated in the latent
  space. Within 1.25 radii of the nearest unit it becomes part of that unit, else a unit under a fresh id.

A model stores centre, radius and floor of its units, and 64 exemplars of each, but not the mixture they come from: the
distributions that posteriors need are those of the exemplars in the latent space. Motifs: `FormerReader`, or the
readers of the other rule where the motif model is no MotifFormer.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, Tensors, check_shapes, owned, owned_by
from rondo.config.settings import ContinualConfig
from rondo.continual.contexts import ContextReader, reader_of
from rondo.continual.journal import Event, Evidence
from rondo.continual.novelty import MicroCluster, PointSets, is_eligible
from rondo.continual.phrases import Change, Motif, MotifReader
from rondo.continual.reading import Decision, Due, Issue, Opened, encoded, motif_timeline
from rondo.data.labels import OTHER
from rondo.motifs.base import Motifs, MotifTimeline
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.model import MotifModel
from rondo.motifs.phrases import Phrase, composition
from rondo.paper.candidates import LengthMotifs, latents_of
from rondo.paper.latent_entries import REFINED_PER_EVENT, Judgement, LatentEntries, MicroClusters, bootstrap_radius
from rondo.paper.motifs import HIGHEST_SCORE, fused_score
from rondo.units.boundaries import Cuts
from rondo.units.viterbi import Timeline, Viterbi, smooth_spans

if TYPE_CHECKING:
    from rondo.data.windows import StreamWindow, Windows
    from rondo.paper.motifs import FormerMotifs
    from rondo.units.model import UnitModel


class _Open(NamedTuple):
    """A window that awaits its label."""

    place: Opened
    latent: Floats
    r: Floats  # (n_units,) as there were when it came
    accepted: Flags  # (n_units,)


class PublishedReader:
    """Labels, refines, gathers and promotes in the latent space."""

    rule = "published"

    def __init__(
        self,
        units: UnitModel,
        motifs: FormerReader | MotifReader | ContextReader,
        entries: LatentEntries,
        novel: MicroClusters,
        config: ContinualConfig,
        grid: tuple[int, int],
        aligned: bool,
    ) -> None:
        self.units, self.motifs, self.entries, self.novel, self.config = units, motifs, entries, novel, config
        self.length_frames, self.step_frames = grid
        self.cuts = Cuts(units.boundaries if aligned else None, *grid)
        self.viterbi = Viterbi(len(entries) + 1, units.penalty, config.lag)  # column 0 is OTHER
        kept = units.tree.kept_at(units.n_merges)
        self._shown = {id: kept.get(id, id) for id in entries.ids}  # of each entry, the unit that labels show
        self.next_id = units.vocabulary.next_id
        self.n_windows = 0
        self._at_start = True
        self._open: deque[_Open] = deque()
        self.issue = Issue(motifs, self.cuts, self.step_frames)

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
        return cls(units, reader, entries, novel, config, grid, aligned)

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
        return self.novel.n_points

    def push(self, window: NDArray[np.float32], start_frame: int) -> Due:
        """One window (n_channels, length); gives the decisions that have become due, and what happened."""
        representation = encoded(self.units.encoder, window)
        latent = self.units.projection.apply(representation)[0]
        judged = self.entries.judge(latent)
        blocks = self.cuts.blocks(window)
        number, self.n_windows = self.n_windows, self.n_windows + 1
        place = Opened(number, start_frame, blocks, self._at_start)
        self._open.append(_Open(place, latent, judged.r, judged.accepted))
        self._at_start = False
        due = self.viterbi.push(self._costs(judged)[None])
        decisions, events = self._decide(int(due[0]), start_frame) if due.size else ([], [])
        if not judged.accepted.any():
            embedding = self.units.projection.embed(representation)[0]
            events = events + self._gather(np.concatenate([latent, embedding]), number, start_frame)
        return decisions, events

    def push_all(self, windows: Sequence[StreamWindow]) -> Iterable[Due]:
        """What becomes due with each of these windows."""
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
        events = self._refine(index, opened, frame) if known else []
        score = float(np.exp(-r)) if unit != OTHER else 0.0
        decisions = self.issue.add(opened.place, unit, score)
        return decisions, events + self.issue.events(frame)

    def _refine(self, index: int, opened: _Open, frame: int) -> list[Event]:
        if opened.r[index] <= self.config.merge_radius_factor:
            self.entries.see(index, opened.latent)
        if not opened.accepted[index]:
            return []
        self.entries.accept(index, opened.latent)
        n = self.entries.accepted[index]
        if n % REFINED_PER_EVENT:
            return []
        measures = {"radius": float(self.entries.radii[index]), "posterior_floor": float(self.entries.floors[index])}
        evidence = {"support": round(float(self.entries.counts[index])), "refined": n} | measures
        return [Event("refine", "unit", frame, None, (self._shown[self.entries.ids[index]],), evidence)]

    def _gather(self, point: Floats, window: int, frame: int) -> list[Event]:
        """A rejected window, latent and embedding, goes to its micro-cluster, which may thereby be complete."""
        cluster, expired = self.novel.add(point, window)
        events = [_expired(gone, frame) for gone in expired]
        supports = self.novel.supports(window)
        if is_eligible(cluster, supports, self.config):
            coherent = self.novel.consolidate(cluster.id)
            if is_eligible(coherent, supports, self.config):
                events.append(self._settle(coherent, frame))
        return events

    def _settle(self, cluster: MicroCluster, frame: int) -> Event:
        """Into the nearest unit where that is near enough, or as a new one."""
        rows, seen = self.novel.take(cluster.id)
        points, embedding = rows[:, : self.novel.n_dims], rows[:, self.novel.n_dims :].mean(axis=0)
        judged = self.entries.judge(points.mean(axis=0))
        nearest = judged.nearest
        evidence = cluster.evidence() | {"distance": float(judged.r[nearest])}
        if judged.r[nearest] <= self.config.merge_radius_factor:
            self.entries.merge(nearest, points)
            return Event("merge", "unit", frame, None, (self._shown[self.entries.ids[nearest]],), evidence)
        unit, self.next_id = self.next_id, self.next_id + 1
        self.entries.add(unit, points, seen)
        self._shown[unit] = unit
        self.viterbi.add_entry()
        if isinstance(self.motifs, MotifReader | ContextReader):
            evidence["motif"] = self.motifs.add_unit(unit)
        else:
            self.motifs.add_unit(unit, embedding)
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

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""
        tensors: dict[str, NDArray[np.generic]] = {}
        plain: dict[str, Any] = {}
        states = {
            "entries": self.entries.state(),
            "novel": self.novel.state(),
            "viterbi": self.viterbi.state(),
            "motifs": self.motifs.state(),
        }
        for name, (own, plain[name]) in states.items():
            tensors |= owned(name, own)
        r, accepted = np.zeros((2, len(self._open), len(self.entries)))
        for i, opened in enumerate(self._open):
            r[i, : opened.r.size], accepted[i, : opened.r.size] = opened.r, opened.accepted
        latents = np.array([opened.latent for opened in self._open], np.float64).reshape(-1, self.entries.n_dims)
        blocks = np.array([opened.place.blocks for opened in self._open], np.float64)
        tensors |= {"latents": latents, "r": r, "accepted": accepted.astype(np.uint8), "blocks": blocks}
        return tensors, plain | {
            "open": [[at.window, at.start_frame, int(r.size), at.is_first] for at, _, r, _ in self._open],
            "at_start": self._at_start,
            "n_windows": self.n_windows,
            "next_id": self.next_id,
            **self.issue.state(),
        }

    def restored(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> PublishedReader:
        """This reader, which has only begun, as it was when it gave that state."""
        n_dims = self.entries.n_dims
        self.entries = LatentEntries.restore(owned_by("entries", tensors), plain["entries"])
        self.novel = MicroClusters.restore(owned_by("novel", tensors), plain["novel"])
        self.viterbi = Viterbi.restore(owned_by("viterbi", tensors), plain["viterbi"])
        self.motifs = self.motifs.restored(owned_by("motifs", tensors), plain["motifs"])
        if not n_dims == self.entries.n_dims == self.novel.n_dims or self.viterbi.totals.size != len(self.entries) + 1:
            raise ValueError(f"units in {self.entries.n_dims} dimensions, expected {n_dims}")
        self._shown |= {id: id for id in self.entries.ids if id not in self._shown}
        shapes = {"latents": "n d", "r": "n units", "accepted": "n units"}
        check_shapes(tensors, shapes, n=len(plain["open"]), d=n_dims, units=len(self.entries))
        latents, r, blocks = (np.array(tensors[name], np.float64) for name in ("latents", "r", "blocks"))
        accepted = np.asarray(tensors["accepted"]).astype(np.bool_)
        self._open = deque(
            _Open(Opened(window, start, blocks[i], first), latents[i], r[i, :size], accepted[i, :size])
            for i, (window, start, size, first) in enumerate(plain["open"])
        )
        self.issue = Issue(self.motifs, self.cuts, self.step_frames)
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
    supports = np.array([entry.support for entry in vocabulary])
    floors = np.array([entry.posterior_floor for entry in vocabulary])
    measures = vocabulary.centres, supports, vocabulary.radii, floors
    return LatentEntries.of_members(list(vocabulary.ids), *measures, members)


def _motif_reader(
    units: UnitModel, motifs: Motifs, config: ContinualConfig, half_life: float, grid: tuple[int, int]
) -> FormerReader | MotifReader | ContextReader:
    if isinstance(motifs, ComposedMotifs | MotifModel):
        return reader_of(motifs, config, half_life, grid)
    from rondo.paper.motifs import FormerMotifs

    assert isinstance(motifs, FormerMotifs)
    return FormerReader(motifs, units.prototypes, config, half_life)


def _expired(cluster: MicroCluster, frame: int) -> Event:
    evidence: dict[str, float | int | str] = {"support": cluster.support, "regions": cluster.regions}
    return Event("expire", "unit", frame, None, (cluster.id,), evidence)


# MotifFormer while the stream goes on: motifs of each length refine, gather what is rejected, merge and grow.
#
# When a window has its unit, the subsequences of every length that end with it are described by MotifFormer and
# compared with the motifs of their length (paper, app. Continual Update):
#
# - *accepted*: the nearest motif takes it into its prototype and distribution;
# - *rejected*: it goes to the micro-clusters of its length. One that persists is merged into a motif of that length
#   within 1.25 of that motif's radii, or promoted as a motif of that length under a fresh id.
#
# The label of a window fuses all lengths (`motifs/former/fusion.py`) once every subsequence that covers it has been
# seen, as many windows later as the longest length has; then it never changes. No subsequence crosses a window that is
# OTHER. A unit that is promoted gets a centroid of its own, scaled as those that MotifFormer was trained on.
#
# The micro-cluster radius of a length is the bootstrap NN-distance P95 over a fair sample of the subsequences that the
# stream has shown, measured at 16, 32, 64, ... of them; until then the median radius of its motifs. A model stores no
# members of its motifs. Motifs that were promoted are not linked across lengths.

_SAMPLE = 512  # subsequences of a length on which the micro-cluster radius is measured
_FEWEST = 16  # of them
_MOST_LATENTS = 20_000  # items whose latents are remembered: 5 MB at 32 dimensions

UnitCodes = tuple[int, ...]
"""Those of the windows of one subsequence."""


class LengthVocabulary:
    """The motifs of one length, and the micro-clusters of what they reject."""

    def __init__(self, motifs: LengthMotifs, ids: list[int], config: ContinualConfig, half_life: float) -> None:
        self.length, self.config = motifs.length, config
        measures = motifs.centres, motifs.supports, motifs.radii, motifs.floors
        self.entries = LatentEntries.of_mixture(ids, motifs.mixture, *measures)
        n_dims, radius = motifs.centres.shape[1], float(np.median(motifs.radii))
        self.novel = MicroClusters(n_dims, 0, radius, half_life, config.apart)
        self.sample = PointSets(n_dims, _SAMPLE)
        self.sample.add(0, [])

    def learn(self, latent: Floats, judged: Judgement, window: int) -> tuple[list[Change], MicroCluster | None]:
        """What one subsequence does to the motifs of its length; a micro-cluster that is to become one, if any."""
        self._measure(latent)
        best = judged.best
        member = best if best is not None else int(judged.posterior.argmax())
        if judged.r[member] <= self.config.merge_radius_factor:
            self.entries.see(member, latent)
        if best is not None:
            return self._refine(best, latent), None
        cluster, expired = self.novel.add(latent, window)
        changes = [Change("expire", gone.id, self._about({"support": gone.support})) for gone in expired]
        eligible = is_eligible(cluster, self.novel.supports(window), self.config)
        return changes, cluster if eligible else None

    def settle(self, cluster: MicroCluster, fresh_id: int, phrase: Phrase) -> Change:
        """A persistent micro-cluster: merged into a motif that is near enough, or promoted under the fresh id."""
        points, seen = self.novel.take(cluster.id)
        judged = self.entries.judge(points.mean(axis=0))
        nearest = judged.nearest
        about = {"units": composition(Counter({phrase: 1}))} | cluster.evidence()
        evidence = self._about(about | {"distance": float(judged.r[nearest])})
        if judged.r[nearest] <= self.config.merge_radius_factor:
            self.entries.merge(nearest, points)
            return Change("merge", self.entries.ids[nearest], evidence)
        self.entries.add(fresh_id, points, seen)
        return Change("promote", fresh_id, evidence)

    def _refine(self, index: int, latent: Floats) -> list[Change]:
        self.entries.accept(index, latent)
        n = self.entries.accepted[index]
        if n % REFINED_PER_EVENT:
            return []
        evidence = self._about({"refined": n, "radius": float(self.entries.radii[index])})
        return [Change("refine", self.entries.ids[index], evidence)]

    def _measure(self, latent: Floats) -> None:
        self.sample.see(0, latent)
        n = self.sample.seen[0]
        if n >= _FEWEST and n & (n - 1) == 0:
            found = bootstrap_radius(self.sample.kept(0))
            self.novel.radius = found or self.novel.radius  # where all coincide, distances say nothing

    def _about(self, evidence: dict[str, float | int | str]) -> Evidence:
        return {"length": self.length, **evidence}

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""
        tensors: dict[str, NDArray[np.generic]] = {}
        plain: dict[str, Any] = {}
        for name, part in (("entries", self.entries), ("novel", self.novel), ("sample", self.sample)):
            own, plain[name] = part.state()
            tensors |= owned(name, own)
        return tensors, plain

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        n_dims = self.entries.n_dims
        self.entries = LatentEntries.restore(owned_by("entries", tensors), plain["entries"])
        self.novel = MicroClusters.restore(owned_by("novel", tensors), plain["novel"])
        self.sample = PointSets.restore(owned_by("sample", tensors), plain["sample"])
        if not self.entries.n_dims == self.novel.n_dims == n_dims:
            raise ValueError(f"motifs of length {self.length} in {self.entries.n_dims} dimensions, expected {n_dims}")


class FormerReader:
    """The units of the last windows, and the motifs of every length as the stream has them."""

    def __init__(self, motifs: FormerMotifs, prototypes: Floats, config: ContinualConfig, half_life: float) -> None:
        """`prototypes` (n_units, n_dims) are those of the units that MotifFormer was trained on."""
        self.model, self.former, self._prototypes = motifs, motifs.former, prototypes
        self._codes = {unit: code for code, unit in enumerate(motifs.unit_ids)}
        self._centroids: list[Floats] = []  # of units promoted since
        self.own: dict[int, int] = {}  # no unit is a motif here
        self.lengths = [
            LengthVocabulary(own, ids.tolist(), config, half_life)
            for own, ids in zip(motifs.lengths, motifs.motif_ids, strict=True)
        ]
        self.longest = max([own.length for own in self.lengths], default=1)
        self.next_id = max(motifs.ids, default=-1) + 1
        self.n_windows = 0
        self._run: deque[int] = deque(maxlen=self.longest)  # codes of the last windows, none of them OTHER
        self._open: deque[dict[tuple[int, int], float]] = deque()  # r by motif and length, of windows without a label
        self._changes: list[Change] = []
        self._latents: dict[UnitCodes, Floats] = {}

    @property
    def ids(self) -> tuple[int, ...]:
        """Every motif there is."""
        return tuple(sorted({id for own in self.lengths for id in own.entries.ids}))

    def add_unit(self, unit: int, prototype: Floats) -> None:
        """A unit that was promoted, by the mean of its embeddings."""
        self._codes[unit] = len(self._codes)
        self._centroids.append(np.asarray(prototype, np.float64))
        self.former = self.former.with_unit(prototype, self._prototypes)
        self._latents.clear()  # a stream that is restored now knows none, and larger tables may round otherwise

    def take_changes(self) -> list[Change]:
        """What has happened to the motifs since it was last asked."""
        changes, self._changes = self._changes, []
        return changes

    def push(self, unit: int) -> list[Motif]:
        """One more window; gives the motifs that have become final, of the windows that have waited longest."""
        return self._push(unit, self._run, self._open, learns=True)

    def boundary(self) -> list[Motif]:
        """The stretch ends: all that wait are decided, and nothing is carried over."""
        final = [_fused(best) for best in self._open]
        self._run.clear()
        self._open.clear()
        return final

    def read(self, units: NDArray[np.int32]) -> list[Motif]:
        """The motif of each window of a whole stretch, by the motifs there are now; nothing is learned."""
        run: deque[int] = deque(maxlen=self.longest)
        waiting: deque[dict[tuple[int, int], float]] = deque()
        read = [motif for unit in units.tolist() for motif in self._push(unit, run, waiting, learns=False)]
        return read + [_fused(best) for best in waiting]

    def _push(
        self, unit: int, run: deque[int], waiting: deque[dict[tuple[int, int], float]], *, learns: bool
    ) -> list[Motif]:
        waiting.append({})
        if unit == OTHER:
            run.clear()
        else:
            run.append(self._codes[unit])
            for own in self.lengths:
                if own.length <= len(run):
                    self._match(own, tuple(islice(run, len(run) - own.length, None)), waiting, learns=learns)
        self.n_windows += learns
        # The last one always waits: where its unit ends, and so which frames it speaks for, shows in the next.
        n_final = len(waiting) - max(1, min(len(run), self.longest - 1))
        return [_fused(waiting.popleft()) for _ in range(n_final)]

    def _match(
        self, own: LengthVocabulary, item: UnitCodes, waiting: deque[dict[tuple[int, int], float]], *, learns: bool
    ) -> None:
        latent = self._latent(item)
        judged = own.entries.judge(latent)
        for k in np.flatnonzero(judged.accepted).tolist():
            key, r = (own.entries.ids[k], own.length), min(float(judged.r[k]), 1.0)
            for best in islice(waiting, len(waiting) - own.length, None):
                best[key] = min(r, best.get(key, 1.0))
        if learns:
            changes, persistent = own.learn(latent, judged, self.n_windows)
            self._changes += changes
            if persistent is not None:
                change = own.settle(persistent, self.next_id, self._phrase(item))
                self.next_id += change.kind == "promote"
                self._changes.append(change)

    def _latent(self, item: UnitCodes) -> Floats:
        """Every item by itself, whatever came before: a batch would add up in another order."""
        if item not in self._latents:
            if len(self._latents) >= _MOST_LATENTS:
                self._latents.clear()
            autoencoder = self.model.lengths[0].autoencoder
            self._latents[item] = latents_of(self.former.describe(np.array([item], np.int64)), autoencoder)[0]
        return self._latents[item]

    def _phrase(self, item: UnitCodes) -> Phrase:
        units = {code: unit for unit, code in self._codes.items()}
        return tuple(units[code] for i, code in enumerate(item) if i == 0 or item[i - 1] != code)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""
        n_dims = self._prototypes.shape[1]
        tensors: dict[str, NDArray[np.generic]] = {
            "centroids": np.array(self._centroids, np.float64).reshape(-1, n_dims)
        }
        lengths = []
        for own in self.lengths:
            named, plain = own.state()
            tensors |= owned(f"length_{own.length}", named)
            lengths.append(plain)
        return tensors, {
            "lengths": lengths,
            "units": list(self._codes)[len(self.model.unit_ids) :],
            "next_id": self.next_id,
            "n_windows": self.n_windows,
            "run": list(self._run),
            "open": [[[*key, r] for key, r in best.items()] for best in self._open],
        }

    def restored(self, tensors: Tensors, plain: Mapping[str, Any]) -> FormerReader:
        """This reader, which has only begun, as it was when it gave that state."""
        for unit, prototype in zip(plain["units"], np.array(tensors["centroids"], np.float64), strict=True):
            self.add_unit(unit, prototype)
        for own, about in zip(self.lengths, plain["lengths"], strict=True):
            own.load(owned_by(f"length_{own.length}", tensors), about)
        self.next_id, self.n_windows = plain["next_id"], plain["n_windows"]
        self._run.extend(plain["run"])
        self._open.extend({(motif, length): r for motif, length, r in best} for best in plain["open"])
        return self


def _fused(best: Mapping[tuple[int, int], float]) -> Motif:
    """The motif with the highest fused score; of equals the longer one, then the smaller id."""
    found = []
    for motif in sorted({motif for motif, _ in best}):
        lengths = sorted((length for own, length in best if own == motif), reverse=True)
        score = fused_score([best[motif, length] for length in lengths])
        found.append((-score, -lengths[0], motif))
    if not found:
        return OTHER, 0.0
    score, _, motif = min(found)
    return motif, -score / HIGHEST_SCORE
