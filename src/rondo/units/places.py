"""Places: where each group of recordings (a person, a machine) has the units that all groups share.

The same movement looks different in two people: a sensor sits elsewhere, a limb is longer. So the representations y of
a group g are brought home first, dimension by dimension,

    home(y) = m + s (y - m_g) / s_g

with m_g and s_g their mean and spread, m and s those of all groups, each group counting alike; then the latents, in
the same way. What is left differs from unit to unit, so every unit k of the group lies between its common centre c0_k,
which counts as `_CENTRE_COUNTS` window lengths of signal, and the windows of the group that read as it,

    c_k = (kappa c0_k + w sum_t [u_t = k] z_t) / (kappa + w sum_t [u_t = k])

with u the units as always read (nearest centre, smoothed), w the share of a window that the next one adds, and both
steps repeated until nothing changes (maximum a posteriori, with hard assignments). A unit that does not occur stays
where it is. Mean and spread of a short recording are uncertain: m and s count as `_HOME_COUNTS` window lengths in them.
And who does one thing only has another mean and a smaller spread than who does all: a new group lies, in every
dimension, not much farther from the common place than the groups that were fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.windows import Span
from rondo.errors import ModelError
from rondo.units.viterbi import decode
from rondo.units.vocabulary import Vocabulary

FEWEST_LENGTHS = 20.0  # window lengths of a group that takes part in a fit; shorter ones are only read
_CENTRE_COUNTS = 3.0  # window lengths; 1 to 10 make little difference (docs/results/transfer.md)
_HOME_COUNTS = 5.0  # window lengths
_FARTHER = 1.5  # times the distance of the farthest known group, that a new one lies from the common place at most
_LEAST_SPREAD = 1e-12  # of what does not vary, whose logarithm is asked for
_ROUNDING = 1e-12  # relative; what rounding leaves of the spread of a constant is none
_MOST_ROUNDS = 20  # smoothing and means do not lower one and the same cost, so they may go in circles

Project = Callable[[NDArray[np.floating]], Floats]  # representations (n_windows, n_dims) -> latents


class Standing(NamedTuple):
    """Mean and spread of rows (n_windows, n_dims), each (n_dims,)."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, rows: NDArray[np.floating]) -> Standing:
        mean, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        return cls(mean, np.where(spread > _ROUNDING * np.abs(mean), spread, 0.0))

    @classmethod
    def common(cls, each: Sequence[NDArray[np.floating]]) -> Standing:
        """Of the rows of several groups, each counting alike."""
        own = [cls.of(rows) for rows in each]
        mean = np.mean([one.mean for one in own], axis=0)
        return cls(mean, np.sqrt(np.mean([one.spread**2 + (one.mean - mean) ** 2 for one in own], axis=0)))

    def towards(self, common: Standing, n_lengths: float) -> Standing:
        """Between this one, seen for so many window lengths, and the common one."""
        own = n_lengths / (n_lengths + _HOME_COUNTS)
        variance = own * self.spread**2 + (1 - own) * common.spread**2
        return Standing(own * self.mean + (1 - own) * common.mean, np.sqrt(variance))

    def within(self, common: Standing, known: Sequence[Standing]) -> Standing:
        """Not much farther from the common one, in any dimension, than the groups that are known."""
        if not known:
            return self
        means = _clipped(self.mean, common.mean, np.stack([one.mean for one in known]))
        logs = [np.log(np.maximum(one.spread, _LEAST_SPREAD)) for one in (self, common, *known)]
        spread = np.exp(_clipped(logs[0], logs[1], np.stack(logs[2:])))
        return Standing(means, np.where(self.spread > 0, spread, self.spread))

    def home(self, rows: NDArray[np.floating], common: Standing) -> Floats:
        """Rows of a group that stands so, as they would be in the common place.

        >>> tall = Standing(np.array([10.0]), np.array([2.0]))
        >>> tall.home(np.array([[12.0]]), Standing(np.array([0.0]), np.array([1.0]))).tolist()
        [[1.0]]
        """
        varies = (self.spread > 0) & (common.spread > 0)
        factor = np.divide(common.spread, self.spread, out=np.ones_like(self.spread), where=varies)
        return np.asarray(common.mean + (rows - self.mean) * factor)


def _clipped(own: Floats, common: Floats, known: Floats) -> Floats:
    low, high = (common + _FARTHER * (edge - common) for edge in (known.min(axis=0), known.max(axis=0)))
    return np.clip(own, np.minimum(low, common), np.maximum(high, common))


@dataclass(frozen=True, eq=False)
class Place:
    """Of one group: how its representations and their latents stand, and where its units lie."""

    representations: Standing
    latents: Standing
    centres: Floats  # (n_entries, n_latent_dims), in the order of the vocabulary


@dataclass(frozen=True, eq=False)
class Places:
    """The common place, and the place of every group that was fitted."""

    representations: Standing
    latents: Standing
    of_group: Mapping[str, Place] = field(default_factory=dict)

    def home(self, place: Place, representations: NDArray[np.floating]) -> NDArray[np.float32]:
        """Representations of a group, as they would be in the common place."""
        return place.representations.home(representations, self.representations).astype(np.float32)

    def at_home(
        self, place: Place, representations: NDArray[np.floating], project: Project
    ) -> tuple[NDArray[np.float32], Floats]:
        """Representations and latents of a group, as they would be in the common place."""
        there = self.home(place, representations)
        return there, place.latents.home(project(there), self.latents)

    def find(
        self,
        representations: NDArray[np.floating],
        spans: Sequence[Span],
        vocabulary: Vocabulary,
        penalty: float,
        window_weight: float,
        project: Project,
    ) -> Place:
        """The place of a group with these windows; the vocabulary lies in the common place."""
        n_lengths = window_weight * len(representations)
        known = list(self.of_group.values())
        own = Standing.of(representations).towards(self.representations, n_lengths)
        own = own.within(self.representations, [place.representations for place in known])
        latents = project(own.home(representations, self.representations).astype(np.float32))
        of_latents = Standing.of(latents).towards(self.latents, n_lengths)
        of_latents = of_latents.within(self.latents, [place.latents for place in known])
        latents = of_latents.home(latents, self.latents)
        there = moved(vocabulary, latents, latents, spans, penalty, window_weight)
        return Place(own, of_latents, there.centres)

    def with_groups(self, places: Mapping[str, Place]) -> Places:
        """These and other groups; a known one is replaced."""
        return replace(self, of_group={**self.of_group, **places})

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Names of groups are escaped, one per line: one may hold a newline, or half a character."""
        known = list(self.of_group.values())
        every: list[Place | Places] = [self, *known]
        names = b"\n".join(name.encode("unicode_escape") for name in self.of_group)
        return {
            "groups": np.frombuffer(names, np.uint8).copy(),
            "representations": np.stack([np.stack(own.representations) for own in every]),
            "latents": np.stack([np.stack(own.latents) for own in every]),
            "centres": np.stack([own.centres for own in known]),
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> Places:
        try:
            lines = np.asarray(tensors["groups"], np.uint8).tobytes().split(b"\n")
            names = [line.decode("unicode_escape") for line in lines]
            common, *each = (Standing(*own) for own in np.asarray(tensors["representations"], np.float64))
            common_latents, *latents = (Standing(*own) for own in np.asarray(tensors["latents"], np.float64))
            centres = np.asarray(tensors["centres"], np.float64)
            places = [Place(*own) for own in zip(each, latents, centres, strict=True)]
            of_group = dict(zip(names, places, strict=True))
            if len(names) > len(of_group):
                raise ValueError("a group is named twice")
            if centres.ndim != 3 or centres.shape[2] != common_latents.mean.size:
                raise ValueError(f"centres {centres.shape} in {common_latents.mean.size} dimensions")
            standings = [common, common_latents, *each, *latents]
            finite = bool(np.isfinite(centres).all()) and all(np.isfinite(own).all() for own in standings)
            if not finite or min(own.spread.min() for own in standings) < 0:
                raise ValueError("a number is none, or a spread negative")
            return cls(common, common_latents, of_group)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the places of its groups are not complete ({error}); fit and save it again") from None


def moved(
    fitted: Vocabulary,
    latents: Floats,
    embeddings: Floats,
    spans: Sequence[Span],
    penalty: float,
    window_weight: float,
) -> Vocabulary:
    """The same entries, between where they were fitted and the windows that read as them."""
    entries = fitted
    ids = decode(latents, spans, fitted, penalty).ids
    for _ in range(_MOST_ROUNDS):
        centres, prototypes = fitted.centres.copy(), fitted.prototypes.copy()
        for row, id in enumerate(fitted.ids):
            own = ids == id
            share = window_weight * own.sum() / (_CENTRE_COUNTS + window_weight * own.sum())
            if share:
                centres[row] = (1 - share) * centres[row] + share * latents[own].mean(axis=0)
                prototypes[row] = (1 - share) * prototypes[row] + share * embeddings[own].mean(axis=0)
        entries = replace(fitted, centres=centres, prototypes=prototypes)
        before, ids = ids, decode(latents, spans, entries, penalty).ids
        if np.array_equal(ids, before):
            break
    return entries
