"""Discovery from long to short: the motifs of each length, in what longer motifs have left unclaimed.

Length by length the candidates are clustered, each with weight 1 - rho (below), and the strongest of
those accepted claim their windows. The paper calls it a sampling weight; here it is a true one: the mixture counts an
item as often as the sum of the weights of its candidates, and nothing is drawn at random. Who is a member, and what a
motif accepts, is measured on all candidates of the length, claimed or not: coverage decides what is looked for, not
what a motif looks like. The component cap holds for each length.

*Coverage* is how much of a candidate lies in windows that motifs have claimed (paper, app. MotifFormer).

    rho(q) = |I(q) ∩ C| / |I(q)|,   w(q) = 1 - rho(q)

with I(q) the windows of candidate q and C the claimed windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import AcceptanceConfig, MixtureConfig, MotifFormerConfig
from rondo.data.windows import Span
from rondo.mixture import FittedMixture, acceptance_of, fit_components
from rondo.mixture.autoencoder import FittedAutoencoder, fit_autoencoder
from rondo.mixture.dp_gaussian import fit_mixture
from rondo.motifs.former.matching import Describe, latents_of, match
from rondo.motifs.former.matching import LengthMotifs as LengthMotifs
from rondo.motifs.former.subsequences import Subsequences, subsequences
from rondo.units.timeline import centre_distances

_MOST_ROWS = 16_384  # of the autoencoder; 640 steps in 10 epochs


@dataclass(frozen=True, eq=False)
class Coverage:
    """The claimed windows of the joined window axis.

    >>> coverage = Coverage.none(n_windows=6).claim(np.array([1]), length=3)
    >>> coverage.claimed.astype(int).tolist()
    [0, 1, 1, 1, 0, 0]
    >>> coverage.ratio(np.array([0, 1, 4]), length=2).tolist()
    [0.5, 1.0, 0.0]
    """

    claimed: NDArray[np.bool_]  # (n_windows,)

    @classmethod
    def none(cls, n_windows: int) -> Coverage:
        """Nothing claimed yet."""
        return cls(np.zeros(n_windows, dtype=np.bool_))

    def ratio(self, starts: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """rho of the candidates [start, start + length), (n_candidates,)."""
        before = np.concatenate([[0], np.cumsum(self.claimed)])  # claimed windows before each window
        return np.asarray((before[starts + length] - before[starts]) / length, dtype=np.float64)

    def claim(self, starts: NDArray[np.int64], length: int) -> Coverage:
        """The coverage once the candidates [start, start + length) have claimed their windows too."""
        n_windows = self.claimed.size
        opened = np.bincount(starts, minlength=n_windows + 1)
        closed = np.bincount(starts + length, minlength=n_windows + 1)
        return Coverage(self.claimed | (np.cumsum(opened - closed)[:n_windows] > 0))


def discover_lengths(
    describe: Describe,
    codes: NDArray[np.int64],
    spans: Sequence[Span],
    config: MotifFormerConfig,
    rng: np.random.Generator,
    device: str,
) -> tuple[LengthMotifs, ...]:
    """Motifs of unit codes (n_windows,), longest length first; a length that has none is left out."""
    every = [subsequences(codes, spans, length) for length in sorted(set(config.lengths), reverse=True)]
    every = [candidates for candidates in every if len(candidates.items)]
    if not every:
        return ()
    descriptors = [describe(candidates.items) for candidates in every]
    autoencoder = _shared_autoencoder(every, descriptors, config.mixture, rng, device)
    coverage = Coverage.none(codes.size)
    found = []
    for candidates, own in zip(every, descriptors, strict=True):
        latents = latents_of(own, autoencoder)
        weights = item_weights(candidates, coverage)
        if not weights.any():
            continue
        mixture = _fit_weighted(latents, weights, config.mixture, rng, device)
        motifs = _with_acceptance(mixture, candidates, latents, config.acceptance, autoencoder)
        _, strengths = match(motifs, candidates, latents).best
        coverage = coverage.claim(candidates.starts[_strongest(strengths, config.claim_share)], candidates.length)
        found.append(motifs)
    return tuple(found)


def item_weights(candidates: Subsequences, coverage: Coverage) -> NDArray[np.float64]:
    """The weight of each item, (n_items,): the sum of 1 - rho over its candidates."""
    free = 1.0 - coverage.ratio(candidates.starts, candidates.length)
    return np.asarray(np.bincount(candidates.item_of, free, minlength=len(candidates.items)), dtype=np.float64)


def copies(weights: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers that are the weights (n,) on average, none off by one or more; whole weights stay as they are.

    >>> copies(np.array([2.0, 0.0, 3.0]), np.random.default_rng(0)).tolist()
    [2, 0, 3]
    """
    edges = np.floor(np.cumsum(weights) + rng.random())
    return np.diff(edges, prepend=0.0).astype(np.int64)


def _shared_autoencoder(
    every: Sequence[Subsequences],
    descriptors: Sequence[NDArray[np.float64]],
    config: MixtureConfig,
    rng: np.random.Generator,
    device: str,
) -> FittedAutoencoder | None:
    """One autoencoder for all lengths, so that their latents can be compared.

    It has no weights: an item is repeated by its multiplicity, scaled down where that makes more than _MOST_ROWS.
    """
    if not config.latent_dim:
        return None
    rows = np.concatenate(descriptors)
    counts = np.concatenate([candidates.counts for candidates in every])
    repeated = np.repeat(rows, copies(counts * min(1.0, _MOST_ROWS / counts.sum()), rng), axis=0)
    return fit_autoencoder(repeated, config, int(rng.integers(2**31)), device)


def _fit_weighted(
    latents: NDArray[np.float64],
    weights: NDArray[np.float64],
    config: MixtureConfig,
    rng: np.random.Generator,
    device: str,
) -> FittedMixture:
    """The mixture in which an item counts as often as its weight says."""
    order = np.lexsort(latents.T)  # the fit starts at rows chosen by number; sorted, they do not tell what came first
    order = order[weights[order] > 0]  # the others only cost time
    rows, weights = latents[order], weights[order]
    if config.kind == "deep_dpm":  # knows no weights; its rows are repeated instead
        times = copies(weights, rng)
        return fit_components(np.repeat(rows, times, axis=0) if times.any() else rows, config, rng, device=device)
    return fit_mixture(rows, config, rng, weights)


def _with_acceptance(
    mixture: FittedMixture,
    candidates: Subsequences,
    latents: NDArray[np.float64],
    config: AcceptanceConfig,
    autoencoder: FittedAutoencoder | None,
) -> LengthMotifs:
    """The components that have members, and what their members say; each candidate counts as one member."""
    nearest = mixture.posterior(latents).argmax(axis=1)
    kept, member_of = np.unique(nearest, return_inverse=True)
    mixture = _only(mixture, kept)
    supports = np.asarray(np.bincount(member_of, candidates.counts), dtype=np.float64)
    centres = np.zeros((kept.size, latents.shape[1]))
    np.add.at(centres, member_of, latents * candidates.counts[:, None])
    centres /= supports[:, None]
    distances = centre_distances(latents, centres)
    posterior = mixture.posterior(latents)
    accepted = []
    for k in range(kept.size):
        members = candidates.item_of[member_of[candidates.item_of] == k]
        accepted.append(acceptance_of(distances[members, k], posterior[members, k], config))
    radii, floors = np.array(accepted).T
    return LengthMotifs(candidates.length, mixture, centres, radii, floors, supports, autoencoder)


def _only(mixture: FittedMixture, kept: NDArray[np.int64]) -> FittedMixture:
    return replace(
        mixture,
        weights=mixture.weights[kept],
        means=mixture.means[kept],
        precision_roots=mixture.precision_roots[kept],
        log_constants=mixture.log_constants[kept],
    )


def _strongest(distances: NDArray[np.float64], share: float) -> NDArray[np.int64]:
    """The share of accepted candidates with the smallest normalised distances, at least one; of equals the earliest."""
    n_accepted = int(np.isfinite(distances).sum())
    n_claims = min(n_accepted, max(1, round(share * n_accepted)))
    return np.argsort(distances, kind="stable")[:n_claims]
