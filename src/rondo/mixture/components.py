"""The mixture that a configuration names, fitted. DeepDPM brings torch, so it is imported when it is asked for.

The *acceptance* of an entry: how far from it, and how sure, its own members are; for units, motifs and updates alike.

Radius R = P95 of the members' distances to the centre; posterior floor = P5 of the members' posteriors
(paper, Table Motif discovery).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import AcceptanceConfig, MixtureConfig
from rondo.mixture.dp_gaussian import fit_mixture
from rondo.mixture.fitted import FittedMixture

_LEAST_RADIUS = 1e-9  # members that coincide would give r = 0/0
_HIGHEST_FLOOR = 0.99  # posteriors saturate at 1; a floor of exactly 1 would reject by rounding


def fit_components(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    window_weight: float = 1.0,
    device: str = "cpu",  # of DeepDPM's nets
    start: NDArray[np.int64] | None = None,
) -> FittedMixture:
    """Components of latents (n_windows, n_dims), as many as the data ask for.

    A window counts as `window_weight` observations: windows that overlap are not independent of each other. `start`
    is a component for each window, from 0, to begin with; DeepDPM, which splits and merges, has no use for it.
    """
    if config.kind == "deep_dpm":
        from rondo.mixture.deep_dpm import fit_deep_dpm

        return fit_deep_dpm(latents, config, rng, device, window_weight=window_weight)
    given = None if start is None else np.eye(int(start.max()) + 1)[start]
    return fit_mixture(latents, config, rng, np.full(len(latents), window_weight), given)


class Acceptance(NamedTuple):
    """What an entry accepts: distance up to `radius` and posterior from `posterior_floor`."""

    radius: float
    posterior_floor: float


def acceptance_of(
    distances: NDArray[np.floating], posteriors: NDArray[np.floating], config: AcceptanceConfig
) -> Acceptance:
    """Acceptance from the distances and posteriors (n_members,) of the members of one entry.

    >>> widest = AcceptanceConfig(radius_quantile=1.0)
    >>> acceptance_of(np.array([1.0, 2.0, 3.0]), np.array([0.9, 1.0, 1.0]), widest)
    Acceptance(radius=3.0, posterior_floor=0.91)
    """
    radius = max(float(np.quantile(distances, config.radius_quantile)), _LEAST_RADIUS)
    floor = min(float(np.quantile(posteriors, config.posterior_quantile)), _HIGHEST_FLOOR)
    return Acceptance(radius, floor)
