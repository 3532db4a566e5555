"""Matching: which candidates a motif accepts, and how near to its centre they lie (paper, app. MotifFormer).

Candidate q matches motif m of its own length when, in the mixture's latent space,

    d(q, mu_m) <= R_m   and   p(m | q) >= the posterior floor of m,   with   r(q, m) = d(q, mu_m) / R_m.

A candidate may match several motifs of its length. Everything is computed once per distinct unit sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.data.windows import Span
from rondo.mixture import FittedMixture
from rondo.motifs.former.subsequences import Subsequences, subsequences
from rondo.units.timeline import centre_distances

if TYPE_CHECKING:
    from rondo.mixture.autoencoder import FittedAutoencoder  # brings torch

Describe = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Descriptors (n_items, n_dims) of unit sequences (n_items, length)."""

_ROUNDING = 1e-9  # relative; a member that lies exactly on its radius, or at its floor, is inside
_AT_CENTRE = 1e-9  # members that coincide have a mean off them by rounding, and the least radius there is


@dataclass(frozen=True, eq=False)
class LengthMotifs:
    """The motifs of one length: component k of the mixture, its members' centre, and what it accepts."""

    length: int
    mixture: FittedMixture
    centres: NDArray[np.float64]  # (n_components, latent_dim), mean of the members
    radii: NDArray[np.float64]  # (n_components,)
    floors: NDArray[np.float64]  # (n_components,), posterior floors
    supports: NDArray[np.float64]  # (n_components,), candidates that are members
    autoencoder: FittedAutoencoder | None  # descriptors -> latents, one for all lengths; None: they are the same

    @property
    def n_components(self) -> int:
        return self.mixture.n_components


@dataclass(frozen=True, eq=False)
class Matches:
    """The candidates of one length, and what each of its motifs says to them."""

    candidates: Subsequences
    nearest: NDArray[np.int64]  # (n_items,), component with the largest posterior: an item is its member
    distances: NDArray[np.float64]  # (n_items, n_components), r; infinite where the item is not accepted

    @property
    def best(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The nearest of the components that accept a candidate, and r; both (n_candidates,).

        OTHER and infinity where none does; of equals the first component.
        """
        r = self.distances.min(axis=1, initial=np.inf)
        chosen = np.where(np.isfinite(r), self.distances.argmin(axis=1), OTHER)
        return chosen[self.candidates.item_of], r[self.candidates.item_of]


def match_lengths(
    describe: Describe, codes: NDArray[np.int64], spans: Sequence[Span], lengths: Sequence[LengthMotifs]
) -> tuple[Matches, ...]:
    """Matches of unit codes (n_windows,), one per length; no candidate crosses a span."""
    found = []
    for motifs in lengths:
        candidates = subsequences(codes, spans, motifs.length)
        if len(candidates.items):
            found.append(match(motifs, candidates, latents_of(describe(candidates.items), motifs.autoencoder)))
        else:
            found.append(Matches(candidates, np.zeros(0, np.int64), np.zeros((0, motifs.n_components))))
    return tuple(found)


def match(motifs: LengthMotifs, candidates: Subsequences, latents: NDArray[np.float64]) -> Matches:
    """Matches of the items whose latents (n_items, latent_dim) are given."""
    posterior = motifs.mixture.posterior(latents)
    distances = centre_distances(latents, motifs.centres)
    r = np.where(distances < _AT_CENTRE, 0.0, distances) / motifs.radii
    accepted = (r <= 1 + _ROUNDING) & (posterior >= motifs.floors * (1 - _ROUNDING))
    return Matches(candidates, posterior.argmax(axis=1), np.where(accepted, np.minimum(r, 1.0), np.inf))


def latents_of(descriptors: NDArray[np.float64], autoencoder: FittedAutoencoder | None) -> NDArray[np.float64]:
    """Where the mixture sees the descriptors (n_items, n_dims)."""
    return autoencoder.encode(descriptors) if autoencoder else np.asarray(descriptors, dtype=np.float64)
