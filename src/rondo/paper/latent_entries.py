"""Entries of one latent space: prototype, radius, posterior floor and distribution, all of which follow the stream.

A point x is accepted by entry k when

    d(x, prototype_k) <= R_k   and   p(k | x) >= floor_k,   p(k | x) ~ n_k N(x; mean_k, cov_k)

(paper, app. MotifFormer and Continual Update). Accepted points move prototype and distribution, as running moments:

    n <- n + 1,   mean <- mean + (x - mean) / n,   scatter <- scatter + (n - 1) / n (x - mean_before)(x - mean_before)^T

The radius is the P95 of the distances of members, the floor the P5 of their posteriors, measured on a fair sample of at
most 128 members, at every 16th. A member lies within the merge reach, 1.25 radii, accepted or not: the P95 of points
that all lie within the last P95 would be smaller every time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, owned, owned_by
from rondo.config.settings import AcceptanceConfig
from rondo.continual.novelty import PointSets
from rondo.units.mixture import FittedMixture, acceptance_of

SAMPLE = 128  # members of an entry that are kept
_MEASURED_EVERY = 16  # members between two measurements of radius and floor
_FEWEST_MEASURED = 32  # members below which the fitted radius and floor stay: a P95 of fewer is one point
_MOST_FULL = 8  # dimensions; a sample of 64 tells no full covariance of more
_PRIOR_POINTS = 8.0  # points that the covariance of all entries counts for in that of one, in each dimension it has
_ROUNDING, _AT_CENTRE = 1e-9, 1e-9  # as in `candidates.py`: what lies on the radius is inside
_LEAST_VARIANCE, _TINY = 1e-12, 1e-18  # relative to the largest, and in any case: members may coincide
_MOMENTS = ("counts", "prototypes", "means", "scatters", "offsets", "radii", "floors")


class Judgement(NamedTuple):
    """What every entry says to one point; all (n_entries,)."""

    distances: Floats
    r: Floats  # distance / radius
    posterior: Floats
    accepted: Flags

    @property
    def nearest(self) -> int:
        return int(self.r.argmin())

    @property
    def best(self) -> int | None:
        """The nearest of the entries that accept the point."""
        return int(np.where(self.accepted, self.r, np.inf).argmin()) if self.accepted.any() else None


class LatentEntries:
    """Entries in the order in which they came; arrays have a row for each."""

    def __init__(self, n_dims: int, *, full: bool) -> None:
        """`full`: covariances are full, else diagonal, and kept as (n_dims,)."""
        self.n_dims, self.full = n_dims, full
        self.ids: list[int] = []
        self.accepted: list[int] = []  # points accepted since the stream began
        self.n_seen: list[int] = []  # members since the stream began, or the entry was promoted
        self.members = PointSets(n_dims, SAMPLE)
        spread = (n_dims, n_dims) if full else (n_dims,)
        self.counts, self.offsets, self.radii, self.floors = (np.zeros(0) for _ in range(4))
        self.prototypes, self.means = np.zeros((0, n_dims)), np.zeros((0, n_dims))
        self.scatters = np.zeros((0, *spread))
        self._roots, self._constants = np.zeros((0, *spread)), np.zeros(0)

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of_members(
        cls, ids: list[int], centres: Floats, supports: Floats, radii: Floats, floors: Floats, members: list[Floats]
    ) -> LatentEntries:
        """From what a vocabulary stores, with the distributions of some members (n, n_dims) of each entry.

        A floor is lowered where the members themselves have less certain posteriors under these distributions.
        """
        n_dims = centres.shape[1]
        entries = cls(n_dims, full=n_dims <= _MOST_FULL)
        apart = [own - centre for own, centre in zip(members, centres, strict=True)]
        common = entries._scatter(np.concatenate(apart)) / max(1, sum(map(len, apart)))
        for k, (id, own, gaps) in enumerate(zip(ids, members, apart, strict=True)):
            spread = entries._spread(gaps, common)
            moments = float(supports[k]), centres[k], centres[k], supports[k] * spread
            entries._append(id, *moments, 0.0, float(radii[k]), float(floors[k]))
            entries.members.add(id, list(own), int(supports[k]))
        for k, own in enumerate(members):
            if len(own):
                measured = float(np.quantile(entries.posteriors(own)[:, k], AcceptanceConfig().posterior_quantile))
                entries.floors[k] = min(entries.floors[k], measured)
        return entries

    @classmethod
    def of_mixture(
        cls, ids: list[int], mixture: FittedMixture, centres: Floats, supports: Floats, radii: Floats, floors: Floats
    ) -> LatentEntries:
        """From a fitted mixture: posteriors are its own until an entry changes."""
        roots = mixture.precision_roots
        n_dims = roots.shape[1]
        diagonal = not (roots - np.einsum("kdd->kd", roots)[:, None] * np.eye(n_dims)).any()
        entries = cls(n_dims, full=not diagonal)
        for k, id in enumerate(ids):
            covariance = np.diag(roots[k]) ** -2.0 if diagonal else np.linalg.inv(roots[k] @ roots[k].T)
            moments = float(supports[k]), centres[k], mixture.means[k], supports[k] * covariance
            entries._append(id, *moments, 0.0, float(radii[k]), float(floors[k]))
            entries.members.add(id, [])
        entries.offsets = mixture.log_constants - entries._constants  # a DP mixture weighs by more than plain shares
        return entries

    def judge(self, point: Floats) -> Judgement:
        """Distance, posterior and acceptance of one point (n_dims,)."""
        distances = np.sqrt(np.square(point - self.prototypes).sum(axis=1))
        r = np.where(distances < _AT_CENTRE, 0.0, distances) / self.radii
        posterior = self.posteriors(point[None])[0]
        accepted = (r <= 1 + _ROUNDING) & (posterior >= self.floors * (1 - _ROUNDING))
        return Judgement(distances, r, posterior, accepted)

    def posteriors(self, points: Floats) -> Floats:
        """p(k | point) of points (n, n_dims), (n, n_entries)."""
        gaps = points[:, None] - self.means  # (n, n_entries, n_dims)
        scaled = np.einsum("nkd,kde->nke", gaps, self._roots) if self.full else gaps * self._roots
        joint = self.offsets + self._constants - 0.5 * np.square(scaled).sum(axis=2)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def accept(self, index: int, point: Floats) -> None:
        """Prototype and distribution after one more point that the entry has accepted."""
        n = self.counts[index] + 1
        gap = point - self.means[index]
        self.scatters[index] += self._scatter(gap[None]) * (n - 1) / n
        self.means[index] += gap / n
        self.prototypes[index] += (point - self.prototypes[index]) / n
        self.counts[index] = n
        self.accepted[index] += 1
        self._derive(index)

    def see(self, index: int, point: Floats) -> None:
        """One more member, accepted or just outside; every 16th time radius and floor are measured again."""
        self.members.see(index, point)
        self.n_seen[index] += 1
        if self.n_seen[index] % _MEASURED_EVERY == 0 and self._n_kept(index) >= _FEWEST_MEASURED:
            self.measure(index)

    def measure(self, index: int) -> None:
        kept = self.members.kept(index)
        distances = np.sqrt(np.square(kept - self.prototypes[index]).sum(axis=1))
        posteriors = self.posteriors(kept)[:, index]
        self.radii[index], self.floors[index] = acceptance_of(distances, posteriors, AcceptanceConfig())

    def add(self, id: int, points: Floats, seen: int) -> None:
        """A new entry from points (n, n_dims), kept of `seen`, with a radius, a floor and a distribution of its own."""
        centre = points.mean(axis=0)
        spread = self._spread(points - centre, self.scatters.sum(axis=0) / self.counts.sum())
        self._append(id, float(seen), centre, centre, seen * spread, float(np.median(self.offsets)), 0.0, 0.0)
        self.members.add(id, list(points), seen)
        self.measure(len(self) - 1)

    def merge(self, index: int, points: Floats) -> None:
        """An entry takes in the points of a candidate, and reaches as far as its members then do."""
        for point in points:
            self.members.see(index, point)
            self.accept(index, point)
        self.accepted[index] -= len(points)
        if self._n_kept(index) >= _FEWEST_MEASURED:
            self.measure(index)
        else:  # its fitted members are not kept: the radius grows to hold what came
            gaps = np.sqrt(np.square(points - self.prototypes[index]).sum(axis=1))
            self.radii[index] = max(self.radii[index], float(np.quantile(gaps, AcceptanceConfig().radius_quantile)))

    def _append(
        self,
        id: int,
        count: float,
        prototype: Floats,
        mean: Floats,
        scatter: Floats,
        offset: float,
        radius: float,
        floor: float,
    ) -> None:
        self.ids.append(id)
        self.accepted.append(0)
        self.n_seen.append(0)
        new = (count, prototype, mean, scatter, offset, radius, floor)
        for name, value in zip(_MOMENTS, new, strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), np.asarray(value)[None]]))
        self._roots = np.concatenate([self._roots, np.zeros_like(scatter)[None]])
        self._constants = np.append(self._constants, 0.0)
        self._derive(len(self) - 1)

    def _derive(self, index: int) -> None:
        """The root of the precision, and the constant of the log density, n_k as its share."""
        covariance = self.scatters[index] / self.counts[index]
        variances = np.diag(covariance) if self.full else covariance
        least = _LEAST_VARIANCE * float(variances.max()) + _TINY
        if self.full:
            root = np.linalg.cholesky(covariance + least * np.eye(self.n_dims))
            self._roots[index] = np.linalg.inv(root).T
        else:
            self._roots[index] = 1 / np.sqrt(covariance + least)
        scales = np.diag(self._roots[index]) if self.full else self._roots[index]
        self._constants[index] = math.log(self.counts[index]) + float(np.log(scales).sum())

    def _scatter(self, gaps: Floats) -> Floats:
        """Of points (n, n_dims) about 0."""
        return np.asarray(gaps.T @ gaps if self.full else np.square(gaps).sum(axis=0))

    def _spread(self, gaps: Floats, common: Floats) -> Floats:
        """Covariance of a few points about their centre, drawn to the common one."""
        prior = _PRIOR_POINTS + self.n_dims * self.full
        return np.asarray((self._scatter(gaps) + prior * common) / (len(gaps) + prior))

    def _n_kept(self, index: int) -> int:
        return int(np.isfinite(self.members.squares[index]).sum())

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        members, plain = self.members.state()
        own = {name: getattr(self, name).copy() for name in _MOMENTS}
        about = {"ids": list(self.ids), "accepted": list(self.accepted), "n_seen": list(self.n_seen)}
        return owned("members", members) | own, about | {"full": self.full, "n_dims": self.n_dims, "members": plain}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> LatentEntries:
        entries, n = cls(plain["n_dims"], full=plain["full"]), len(plain["ids"])
        entries.members = PointSets.restore(owned_by("members", tensors), plain["members"])
        for name in _MOMENTS:
            values = np.array(tensors[name], np.float64)
            if values.shape != (n, *getattr(entries, name).shape[1:]) or len(entries.members) != n:
                raise ValueError(f"{name} {values.shape} for {n} entries of {entries.n_dims} dimensions")
            setattr(entries, name, values)
        entries.ids, entries.accepted, entries.n_seen = (list(plain[key]) for key in ("ids", "accepted", "n_seen"))
        entries._roots, entries._constants = np.zeros_like(entries.scatters), np.zeros(n)
        for index in range(n):
            entries._derive(index)
        return entries
