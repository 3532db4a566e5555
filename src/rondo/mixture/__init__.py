"""EMBEDDINGS -> COMPONENTS: mixtures that choose their number of components, and what a component accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rondo.mixture.acceptance import Acceptance, acceptance_of
from rondo.mixture.fitted import FittedMixture

if TYPE_CHECKING:
    from rondo.mixture.dp_gaussian import fit_mixture

__all__ = ["Acceptance", "FittedMixture", "acceptance_of", "fit_mixture"]


def __getattr__(name: str) -> Any:
    """`fit_mixture` on first use: it brings torch, which takes seconds to import and which only fitting needs."""
    if name == "fit_mixture":
        from rondo.mixture.dp_gaussian import fit_mixture

        return fit_mixture
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
