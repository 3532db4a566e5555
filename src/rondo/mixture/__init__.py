"""EMBEDDINGS -> COMPONENTS: mixtures that choose their number of components, and what a component accepts."""

from __future__ import annotations

from rondo.mixture.acceptance import Acceptance, acceptance_of
from rondo.mixture.dp_gaussian import FittedMixture, fit_mixture

__all__ = ["Acceptance", "FittedMixture", "acceptance_of", "fit_mixture"]
