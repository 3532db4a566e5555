"""The mixture that a configuration names, fitted. DeepDPM brings torch, so it is imported when it is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import MixtureConfig
from rondo.mixture.dp_gaussian import fit_mixture
from rondo.mixture.fitted import FittedMixture


def fit_components(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    window_weight: float = 1.0,
    device: str = "cpu",  # of DeepDPM's nets
) -> FittedMixture:
    """Components of latents (n_windows, n_dims), as many as the data ask for.

    A window counts as `window_weight` observations: windows that overlap are not independent of each other.
    """
    if config.kind == "deep_dpm":
        from rondo.mixture.deep_dpm import fit_deep_dpm

        return fit_deep_dpm(latents, config, rng, device, window_weight=window_weight)
    return fit_mixture(latents, config, rng, np.full(len(latents), window_weight))
