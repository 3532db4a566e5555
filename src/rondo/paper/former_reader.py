"""FormerReader: the motifs of MotifFormer while the stream goes on; those of each length refine, merge and grow.

When a window has its unit, the subsequences of every length that end with it are described by MotifFormer and
compared with the motifs of their length (paper, app. Continual Update):

- *accepted*: the nearest motif takes it into its prototype and distribution;
- *rejected*: it goes to the micro-clusters of its length. One that persists is merged into a motif of that length
  within 1.25 of that motif's radii, or promoted as a motif of that length under a fresh id.

The label of a window fuses all lengths (`fusion.py`) once every subsequence that covers it has been seen, as many
windows later as the longest length has; then it never changes. No subsequence crosses a window that is OTHER. A unit
that is promoted gets a centroid of its own, scaled as those that MotifFormer was trained on.

The micro-cluster radius of a length is the bootstrap NN-distance P95 over a fair sample of the subsequences that the
stream has shown, measured at 16, 32, 64, ... of them; until then the median radius of its motifs. A model stores no
members of its motifs. Motifs that were promoted are not linked across lengths.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Tensors, owned, owned_by
from rondo.config.settings import ContinualConfig
from rondo.continual.journal import Evidence
from rondo.continual.novelty import MicroCluster, PointSets, is_eligible
from rondo.continual.phrases import Change, Motif
from rondo.data.labels import OTHER
from rondo.motifs.phrases import Phrase, composition
from rondo.paper.candidates import LengthMotifs, latents_of
from rondo.paper.fusion import fused_score, highest_score
from rondo.paper.latent_entries import Judgement, LatentEntries
from rondo.paper.micro_clusters import LatentVocabulary, MicroClusters, State, bootstrap_radius, states_of

if TYPE_CHECKING:
    from rondo.paper.motifs import FormerMotifs

_SAMPLE = 512  # subsequences of a length on which the micro-cluster radius is measured
_FEWEST = 16  # of them
_MOST_LATENTS = 20_000  # items whose latents are remembered: 5 MB at 32 dimensions

UnitCodes = tuple[int, ...]
"""Those of the windows of one subsequence."""


class LengthVocabulary(LatentVocabulary):
    """The motifs of one length, and the micro-clusters of what they reject."""

    def __init__(self, motifs: LengthMotifs, ids: list[int], config: ContinualConfig, half_life: float) -> None:
        measures = motifs.centres, motifs.supports, motifs.radii, motifs.floors
        n_dims, radius = motifs.centres.shape[1], float(np.median(motifs.radii))
        novel = MicroClusters(n_dims, 0, radius, half_life, config.apart)
        super().__init__(LatentEntries.of_mixture(ids, motifs.mixture, *measures), novel, config)
        self.length = motifs.length
        self.sample = PointSets(n_dims, _SAMPLE)
        self.sample.add(0, [])

    def learn(self, latent: Floats, judged: Judgement, window: int) -> tuple[list[Change], MicroCluster | None]:
        """What one subsequence does to the motifs of its length; a micro-cluster that is to become one, if any."""
        self.sample.see(0, latent)
        n = self.sample.seen[0]
        if n >= _FEWEST and n & (n - 1) == 0:
            found = bootstrap_radius(self.sample.kept(0))
            self.novel.radius = found or self.novel.radius  # where all coincide, distances say nothing
        best = judged.best
        member = best if best is not None else int(judged.posterior.argmax())
        refined = self.refine(member, latent, float(judged.r[member]), accepted=best is not None)
        if best is not None:
            about = [] if refined is None else [{"length": self.length, **refined}]
            return [Change("refine", self.entries.ids[best], evidence) for evidence in about], None
        cluster, expired = self.novel.add(latent, window)
        changes = [Change("expire", gone.id, {"length": self.length, "support": gone.support}) for gone in expired]
        eligible = is_eligible(cluster, self.novel.supports(window), self.config)
        return changes, cluster if eligible else None

    def changed(self, cluster: MicroCluster, fresh_id: int, phrase: Phrase) -> Change:
        """A persistent micro-cluster: merged into a motif that is near enough, or promoted under the fresh id."""
        kind, id, distance, _ = self.settle(cluster, fresh_id)
        about: Evidence = {"length": self.length, "units": composition(Counter({phrase: 1})), **cluster.evidence()}
        return Change(kind, id, {**about, "distance": distance})

    def state(self) -> State:
        return states_of(entries=self.entries, novel=self.novel, sample=self.sample)

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        super().load(tensors, plain)
        self.sample = PointSets.restore(owned_by("sample", tensors), plain["sample"])


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

    def push(self, unit: int, learns: bool = True) -> list[Motif]:
        """One more window; gives the motifs that have become final, of the windows that have waited longest."""
        return self._push(unit, self._run, self._open, learns=learns)

    def boundary(self) -> list[Motif]:
        """The stretch ends: all that wait are decided, and nothing is carried over."""
        final = [_fused(best, self.model.bonus) for best in self._open]
        self._run.clear()
        self._open.clear()
        return final

    def read(self, units: NDArray[np.int32]) -> list[Motif]:
        """The motif of each window of a whole stretch, by the motifs there are now; nothing is learned."""
        run: deque[int] = deque(maxlen=self.longest)
        waiting: deque[dict[tuple[int, int], float]] = deque()
        read = [motif for unit in units.tolist() for motif in self._push(unit, run, waiting, learns=False)]
        return read + [_fused(best, self.model.bonus) for best in waiting]

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
        return [_fused(waiting.popleft(), self.model.bonus) for _ in range(n_final)]

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
                change = own.changed(persistent, self.next_id, self._phrase(item))
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

    def state(self) -> State:
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
        for unit, prototype in zip(plain["units"], np.array(tensors["centroids"], np.float64), strict=True):
            self.add_unit(unit, prototype)
        for own, about in zip(self.lengths, plain["lengths"], strict=True):
            own.load(owned_by(f"length_{own.length}", tensors), about)
        self.next_id, self.n_windows = plain["next_id"], plain["n_windows"]
        self._run.extend(plain["run"])
        self._open.extend({(motif, length): r for motif, length, r in best} for best in plain["open"])
        return self


def _fused(best: Mapping[tuple[int, int], float], bonus: float) -> Motif:
    """The motif with the highest fused score; of equals the longer one, then the smaller id."""
    found = []
    for motif in sorted({motif for motif, _ in best}):
        lengths = sorted((length for own, length in best if own == motif), reverse=True)
        score = fused_score([best[motif, length] for length in lengths], bonus)
        found.append((-score, -lengths[0], motif))
    if not found:
        return OTHER, 0.0
    score, _, motif = min(found)
    return motif, -score / highest_score(bonus)
