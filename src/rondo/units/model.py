"""UnitModel: everything needed to read the units of a recording. Fitting gives it; it never changes afterwards.

Exemplars are a few windows of every unit as they are, before any projection. The slow projection keeps what tells the
known units apart. What is new may differ from them in everything else, and then lies inside a known unit's radius: of
planted new windows half do (benchmarks/studies.py). In the encoder's own space it lies further from every known window
than known windows lie from each other. The yardstick for that is

    radius = P95 over windows of the distance to the nearest window that shares no frame with it

(the paper's micro-cluster radius, "bootstrap NN-distance P95").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, owned, owned_by
from rondo.config.settings import EncoderConfig, UnitsConfig
from rondo.data.labels import Labels
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.base import Curves, FittedEncoder, Representations, build_encoder
from rondo.errors import ModelError, RecordingError
from rondo.registry import UNITS
from rondo.units.boundaries import Boundaries, fit_boundaries
from rondo.units.places import FEWEST_LENGTHS, Place, Places
from rondo.units.viterbi import Timeline, centre_distances, decode
from rondo.units.vocabulary import MergeTree, Vocabulary

_PER_UNIT = 64  # exemplars of a unit; chosen by hand, not measured
_MOST_COMPARED = 2000  # windows, in one stretch per span, from which the reach is taken: their distances are a table
_ROWS = 2048  # windows compared with exemplars at a time
_RADIUS_QUANTILE = 0.95  # paper: Table Continual update
_ROUNDING = 1e-6  # relative; a dimension that varies by less, as float32 does, is constant


@dataclass(frozen=True, eq=False)
class Exemplars:
    """Representations of some windows of each unit, and how far apart windows are."""

    points: NDArray[np.float32]  # (n_exemplars, n_dims), grouped by unit
    units: Ints  # (n_exemplars,), ascending
    supports: Ints  # (n_units,), windows that each unit had, in the order of their ids
    radius: float
    step: float  # median distance between consecutive windows

    def strangeness(self, representations: NDArray[np.floating]) -> Floats:
        """Distance of each window (n_windows, n_dims) to the nearest exemplar, in radii."""
        if self.radius <= 0:
            return np.zeros(len(representations))
        norms = np.square(self.points).sum(axis=1)
        nearest = np.empty(len(representations), np.int64)
        for first in range(0, len(representations), _ROWS):
            rows = slice(first, first + _ROWS)
            nearest[rows] = (norms - 2 * representations[rows].astype(np.float32) @ self.points.T).argmin(axis=1)
        gaps = representations - self.points[nearest]
        return np.asarray(np.sqrt(np.square(gaps, dtype=np.float64).sum(axis=1)) / self.radius)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        scales = np.array([self.radius, self.step])
        return {"points": self.points, "units": self.units, "supports": self.supports, "scales": scales}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> Exemplars:
        try:
            points, units = np.asarray(tensors["points"], np.float32), np.asarray(tensors["units"], np.int64)
            supports = np.asarray(tensors["supports"], np.int64)
            radius, step = np.asarray(tensors["scales"], np.float64).tolist()
        except (KeyError, ValueError) as error:
            raise ModelError(f"the exemplars are not complete ({error}); fit and save the model again") from None
        if points.ndim != 2 or units.shape != points.shape[:1] or supports.shape != np.unique(units).shape:
            raise ModelError(f"exemplars {points.shape} of units {units.shape}; fit and save the model again")
        if (supports < 1).any() or not (radius >= 0 and step >= 0):
            least = int(supports.min(initial=1))
            raise ModelError(
                f"exemplars with a support of {least}, a radius of {radius:g} and a step of {step:g}, expected at "
                "least one window each and no negative distance; fit and save the model again"
            )
        return cls(points, units, supports, radius, step)


def fit_exemplars(
    representations: NDArray[np.float32], units: Labels, spans: Sequence[Span], exclude: int
) -> Exemplars:
    """Evenly spread windows of each unit; windows up to `exclude` apart within a span share frames."""
    ids, supports = np.unique(units, return_counts=True)
    chosen = []
    for id, n in zip(ids, supports.tolist(), strict=True):
        chosen += np.flatnonzero(units == id)[np.linspace(0, n - 1, min(n, _PER_UNIT)).astype(np.int64)].tolist()
    steps = [np.linalg.norm(np.diff(representations[a:b], axis=0), axis=1) for a, b in spans]
    step = float(np.median(np.concatenate(steps))) if sum(map(len, steps)) else 0.0
    return Exemplars(
        np.ascontiguousarray(representations[chosen], np.float32),
        units[chosen].astype(np.int64),
        supports.astype(np.int64),
        _radius(representations, spans, exclude),
        step,
    )


def _radius(representations: NDArray[np.float32], spans: Sequence[Span], exclude: int) -> float:
    """Where no two windows are without a common frame, the largest distance there is."""
    share = _MOST_COMPARED / max(_MOST_COMPARED, len(representations))
    rows, places, at = [], [], 0
    for start, stop in spans:
        own = np.arange(start, start + max(1, int(share * (stop - start))))
        rows.append(own)
        places.append(own - start + at)
        at = int(places[-1][-1]) + exclude + 1
    points, place = representations[np.concatenate(rows)].astype(np.float64), np.concatenate(places)
    squares = (points**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0))
    apart = np.abs(place[:, None] - place) > exclude
    nearest = np.where(apart, distances, np.inf).min(axis=1)
    found = nearest[np.isfinite(nearest)]
    return float(np.quantile(found, _RADIUS_QUANTILE)) if found.size else float(distances.max())


class UnitProjection(Protocol):
    """Representations -> embeddings -> latents: the slow projection, UnitAlign, or neither."""

    @property
    def curves(self) -> Curves:
        """The training log, to be plotted; empty where nothing is trained."""

    def embed(self, representations: NDArray[np.floating]) -> Floats:
        """Embeddings (n_windows, n_embedding_dims), of which prototypes are means."""

    def apply(self, representations: NDArray[np.floating]) -> Floats:
        """Latents (n_windows, n_dims)."""

    def tensors(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""


@dataclass(frozen=True, eq=False)
class UnitModel:
    """Encoder -> projection -> vocabulary, smoothed with `penalty` per change of unit."""

    encoder: FittedEncoder
    projection: UnitProjection
    vocabulary: Vocabulary
    penalty: float
    tree: MergeTree  # which units are confused with each other
    n_merges: int  # of the tree, that timelines show: 0 for the fine units
    boundaries: Boundaries  # where in the signal the units of a timeline meet
    exemplars: Exemplars  # what a stream is compared with
    places: Places | None = None  # of groups, where there were several; the vocabulary lies in the common one

    @property
    def ids(self) -> tuple[int, ...]:
        """The units that timelines can show."""
        return tuple(sorted(set(self.tree.kept_at(self.n_merges).values())))

    @property
    def prototypes(self) -> Floats:
        """The prototype of each of `ids`, (n_units, n_embedding_dims); of merged units the mean, by their support."""
        kept = self.tree.kept_at(self.n_merges)
        parts = np.array([kept[id] for id in self.vocabulary.ids])
        weights = self.vocabulary.supports * (parts == np.array(self.ids)[:, None])
        return np.asarray(weights @ self.vocabulary.prototypes / weights.sum(axis=1, keepdims=True))

    @property
    def curves(self) -> Curves:
        """What training reached: `encoder.*` step by step, `units.*` round by round."""
        parts = {"encoder": self.encoder.curves, "units": self.projection.curves}
        return {f"{part}.{name}": values for part, own in parts.items() for name, values in own.items()}

    def timeline(self, windows: Windows, group: str | None = None, *, common: bool = False) -> Timeline:
        """The unit of every window of one signal, which belongs to a group; a group that is new is found its place.

        `common`: it is read in the common place.
        """
        spans = windows.grid.window_spans
        if not spans:
            return Timeline(np.zeros(0, np.int32), np.zeros(0), ())
        representations, place = self.encoder.encode(windows), None
        if self.places is not None and not common:
            known = None if group is None else self.places.of_group.get(group)
            place = known or self.find_place(representations, spans, windows.weight)
        return self.read(representations, spans, place)

    def read(self, representations: Representations, spans: Sequence[Span], place: Place | None) -> Timeline:
        """The unit of every window, from its representation; a `place` of None is the common one."""
        there = self.at_home(representations, place)
        centres = None if place is None else place.centres
        fine = decode(self.latents(there, place), spans, self.vocabulary, self.penalty, centres)
        strangeness = self.exemplars.strangeness(there)
        return replace(fine, ids=self.tree.coarsened(fine.ids, self.n_merges), strangeness=strangeness)

    def at_home(self, representations: Representations, place: Place | None) -> Representations:
        """Representations as they would be in the common place."""
        if self.places is None or place is None:
            return representations
        return self.places.home(place, representations)

    def latents(self, there: NDArray[np.floating], place: Place | None) -> Floats:
        """Latents of representations that are at home, as they would be in the common place."""
        latents = self.projection.apply(there)
        return latents if self.places is None or place is None else place.latents.home(latents, self.places.latents)

    def strangeness(self, windows: Windows) -> Floats:
        """Distance of each window to the nearest exemplar, in radii, without a place."""
        return self.exemplars.strangeness(self.encoder.encode(windows))

    def windows_of_frames(self, windows: Windows, ids: Labels, *, common: bool = False) -> Ints:
        """The window that speaks for each frame of a signal with these units; OTHER where none does."""
        return self.boundaries_in(windows, ids, common=common).windows_of_frames(windows, ids)

    def boundaries_in(self, windows: Windows, ids: Labels, *, common: bool = False) -> Boundaries:
        """What units look like at their boundaries in a signal with these units.

        They differ from group to group there, more than they do in whole windows. So where there are several groups, a
        signal that is long enough tells its own boundaries; not one that is read in the common place.
        """
        if common or self.places is None or windows.weight * len(windows) < FEWEST_LENGTHS:
            return self.boundaries
        return fit_boundaries([windows], [ids], self.ids)

    def find_places(self, windows: Sequence[Windows], groups: Sequence[str]) -> dict[str, Place]:
        """The places of groups as these windows, each of the group named, have them."""
        found = {}
        for group in dict.fromkeys(groups):
            own = [w for w, name in zip(windows, groups, strict=True) if name == group]
            spans = joined_spans([w.grid.window_spans for w in own])
            representations = np.concatenate([self.encoder.encode(w) for w in own])
            found[group] = self.find_place(representations, spans, own[0].weight)
        return found

    def find_place(self, representations: Representations, spans: Sequence[Span], window_weight: float) -> Place:
        assert self.places is not None
        return self.places.find(
            representations, spans, self.vocabulary, self.penalty, window_weight, self.projection.apply
        )

    def costs(self, there: NDArray[np.floating], place: Place | None = None) -> Floats:
        """What windows, at home, cost under each entry of the vocabulary, (n_windows, n_entries), as in `timeline`."""
        centres = self.vocabulary.centres if place is None else place.centres
        return centre_distances(self.latents(there, place), centres)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        parts = {
            "encoder": self.encoder.tensors(),
            "projection": self.projection.tensors(),
            "vocabulary": self.vocabulary.tensors(),
            "merges": self.tree.tensors(),
            "boundaries": self.boundaries.tensors(),
            "exemplars": self.exemplars.tensors(),
            "places": {} if self.places is None else self.places.tensors(),
        }
        named: dict[str, NDArray[np.generic]] = {"penalty": np.array([self.penalty])}
        for part, own in parts.items():
            named |= owned(part, own)
        return named

    @classmethod
    def restore(
        cls, tensors: Mapping[str, NDArray[np.generic]], encoder: EncoderConfig, config: UnitsConfig
    ) -> UnitModel:
        fitted = build_encoder(encoder).restore(owned_by("encoder", tensors))
        vocabulary = Vocabulary.restore(owned_by("vocabulary", tensors))
        projection = UNITS[config.method].restore(owned_by("projection", tensors), config)
        tree = MergeTree.restore(owned_by("merges", tensors))
        if tree.ids != vocabulary.ids:
            raise ModelError(f"the merge tree is about units {tree.ids}, there are {vocabulary.ids}")
        n_merges = tree.best if config.merge else 0
        boundaries = Boundaries.restore(owned_by("boundaries", tensors))
        exemplars = Exemplars.restore(owned_by("exemplars", tensors))
        of_groups = owned_by("places", tensors)
        places = Places.restore(of_groups) if of_groups else None
        if places and any(own.centres.shape != vocabulary.centres.shape for own in places.of_group.values()):
            raise ModelError("the places of its groups are about other units; fit and save it again")
        penalty = float(tensors["penalty"][0])
        restored = cls(fitted, projection, vocabulary, penalty, tree, n_merges, boundaries, exemplars, places)
        if boundaries.unit_ids != tuple(restored.ids):
            raise ModelError(f"the boundaries are about units {boundaries.unit_ids}, there are {restored.ids}")
        return restored

    def refuse_misfit(self, n_channels: int, length_frames: int) -> None:
        """Refuse parts that do not fit windows of this shape, or each other.

        One window of zeros is encoded: only the encoder knows how wide its representations are.
        """
        window = np.zeros((length_frames, n_channels), np.float32)
        windows = Windows(window, WindowGrid(length_frames, length_frames, length_frames, ((0, length_frames),)))
        representations = self.encoder.encode(windows)
        widths = {"exemplars": self.exemplars.points.shape[1]}
        if self.places is not None:
            widths["places of groups"] = self.places.representations.mean.size
        for part, width in widths.items():
            if representations.shape != (1, width):
                raise ValueError(f"representations {representations.shape}, the {part} have {width} dimensions")
        latents, centres = self.projection.apply(representations), self.vocabulary.centres
        embeddings, prototypes = self.projection.embed(representations), self.vocabulary.prototypes
        if latents.shape[1:] != centres.shape[1:] or embeddings.shape[1:] != prototypes.shape[1:]:
            raise ValueError(f"latents {latents.shape}, units with centres {centres.shape}")
        self.boundaries.points(window)


def joined_spans(spans_of_each: Sequence[Sequence[Span]]) -> tuple[Span, ...]:
    """Spans of several window axes laid one after the other."""
    joined: list[Span] = []
    offset = 0
    for spans in spans_of_each:
        joined += [(start + offset, stop + offset) for start, stop in spans]
        offset = joined[-1][1] if spans else offset
    return tuple(joined)


def standardisation(rows: Floats) -> tuple[Floats, Floats]:
    """Mean and spread of each dimension; the spread of a constant one is called 1."""
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    return centre, np.where(spread > _ROUNDING * np.abs(rows).max(axis=0), spread, 1.0)


def checked_representations(representations: NDArray[np.floating], n_dims: int | None = None) -> Floats:
    """As float64; to be fitted (`n_dims` not known yet) there must be a window."""
    rows = np.asarray(representations, dtype=np.float64)
    fits = rows.ndim == 2 and (rows.size > 0 if n_dims is None else rows.shape[1] == n_dims)
    if not fits:
        raise RecordingError(
            f"the units expect representations (n_windows, {n_dims or 'n_dims'}), got {rows.shape}; "
            "give the encoder's output of at least one window"
        )
    refuse_non_finite(rows)
    return rows


def refuse_non_finite(rows: NDArray[np.floating]) -> None:
    """Name the first number in (n_windows, n_dims) that is none."""
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        raise RecordingError(
            f"non-finite representation {rows[row, column]} in window {row}, dimension {column}; "
            "the units expect finite numbers: look at the recording there, or at the encoder"
        )
