"""Units without UnitAlign, an ablation: representations, standardised, through the autoencoder if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import check_shapes, owned, owned_by
from rondo.encoders.base import Curves
from rondo.errors import ModelError
from rondo.paper.settings import DirectUnitsConfig
from rondo.units.fit import Latents, UnitInput
from rondo.units.model import checked_representations, standardisation

if TYPE_CHECKING:
    from rondo.paper.deep_dpm import FittedAutoencoder  # brings torch


@dataclass(frozen=True, eq=False)
class DirectProjection:
    """Representations -> standardised -> autoencoder."""

    centre: NDArray[np.float64]  # (n_dims,)
    spread: NDArray[np.float64]  # (n_dims,)
    autoencoder: FittedAutoencoder | None  # None where mixture.latent_dim = 0

    @property
    def curves(self) -> Curves:
        return {}  # the autoencoder keeps its last loss only

    def embed(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        return (checked_representations(representations, self.centre.size) - self.centre) / self.spread

    def apply(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        """Latents (n_windows, latent_dim)."""
        y = self.embed(representations)
        return self.autoencoder.encode(y) if self.autoencoder else y

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        own = self.autoencoder.tensors() if self.autoencoder else {}
        return owned("autoencoder", own) | {"centre": self.centre, "spread": self.spread}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], config: DirectUnitsConfig) -> DirectProjection:
        centre, spread = (np.asarray(tensors[name], np.float64) for name in ("centre", "spread"))
        check_shapes(tensors, {"centre": "d", "spread": "d"})
        if not (spread > 0).all():
            raise ModelError("representations with a dimension without spread; fit the model again")
        if not config.mixture.latent_dim:
            return cls(centre, spread, None)
        from rondo.paper.deep_dpm import FittedAutoencoder

        return cls(centre, spread, FittedAutoencoder.restore(owned_by("autoencoder", tensors)))


def fit_latents(data: UnitInput, config: DirectUnitsConfig) -> Latents:
    rows, spans = data.joined()
    return Latents.of(fit_direct(rows, config, data.seed, data.device), rows, spans)


def fit_direct(
    representations: NDArray[np.floating], config: DirectUnitsConfig, seed: int, device: str
) -> DirectProjection:
    """Fit on representations (n_windows, n_dims)."""
    rows = checked_representations(representations)
    centre, spread = standardisation(rows)
    y = (rows - centre) / spread
    if not config.mixture.latent_dim:
        return DirectProjection(centre, spread, None)
    from rondo.paper.deep_dpm import fit_autoencoder

    return DirectProjection(centre, spread, fit_autoencoder(y, config.mixture, seed, device))
