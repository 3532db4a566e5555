"""EMBEDDINGS -> COMPONENTS: mixtures that choose their number of components, and what a component accepts."""

from __future__ import annotations

from rondo.mixture.components import Acceptance, acceptance_of, fit_components
from rondo.mixture.fitted import FittedMixture

__all__ = ["Acceptance", "FittedMixture", "acceptance_of", "fit_components"]
