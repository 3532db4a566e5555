"""Latents -> vocabulary and timeline: cluster, smooth, keep what is used. The same steps serve units and motifs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.config import AcceptanceConfig, MixtureConfig
from rondo.data.windows import Span
from rondo.mixture import FittedMixture, acceptance_of, fit_mixture
from rondo.units.timeline import Timeline, decode, typical_step
from rondo.units.viterbi import smooth
from rondo.vocabulary import Level, Vocabulary


@dataclass(frozen=True, eq=False)
class Discovery:
    """A vocabulary, the cost of changing from one entry to another, and the timeline it gives on the fitted windows."""

    vocabulary: Vocabulary
    penalty: float


def discover(
    level: Level,
    latents: NDArray[np.float64],
    spans: Sequence[Span],
    config: MixtureConfig,
    transition_scale: float,
    rng: np.random.Generator,
    device: str,
) -> Discovery:
    """Fit the mixture on latents (n_windows, n_dims), smooth its assignments, and make the entries that are used.

    Windows of dropped components join the entry that smoothing gives them. Ids follow first appearance.
    """
    mixture = fit_mixture(latents, config, rng, device=device)
    posterior = mixture.posterior(latents)
    centres = _member_means(latents, posterior.argmax(axis=1), mixture)
    penalty = transition_scale * typical_step(latents, spans)
    costs = np.sqrt(((latents[:, None, :] - centres[None]) ** 2).sum(axis=2))
    path = np.concatenate([smooth(costs[a:b], penalty) for a, b in spans])
    vocabulary = Vocabulary(level)
    for k in _by_first_appearance(path):
        members = path == k
        radius, floor = acceptance_of(costs[members, k], posterior[members, k], AcceptanceConfig())
        vocabulary = vocabulary.with_entry(centres[k], radius, floor, float(members.sum()))
    return Discovery(vocabulary, penalty)


def _member_means(
    latents: NDArray[np.float64], assignment: NDArray[np.int64], mixture: FittedMixture
) -> NDArray[np.float64]:
    """Mean of the members of each component; a component that wins no window keeps its fitted mean."""
    centres = mixture.means.copy()
    for k in range(mixture.n_components):
        members = assignment == k
        if members.any():
            centres[k] = latents[members].mean(axis=0)
    return centres


def _by_first_appearance(path: NDArray[np.int64]) -> list[int]:
    components, first = np.unique(path, return_index=True)
    return [int(k) for k in components[np.argsort(first)]]
