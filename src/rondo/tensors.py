"""Named arrays: what a fitted value is kept as. A part keeps its own names, its owner puts its own name before them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Tensors = Mapping[str, NDArray[np.generic]]


def owned(owner: str, tensors: Tensors) -> dict[str, NDArray[np.generic]]:
    """The tensors of a part, as its owner keeps them.

    >>> sorted(owned("encoder", {"mean": np.zeros(1)}))
    ['encoder.mean']
    """
    return {f"{owner}.{name}": tensor for name, tensor in tensors.items()}


def owned_by(owner: str, tensors: Tensors) -> dict[str, NDArray[np.generic]]:
    """The tensors of a part, as the part knows them; what others own is left out.

    >>> sorted(owned_by("encoder", {"encoder.mean": np.zeros(1), "encoders": np.zeros(1)}))
    ['mean']
    """
    prefix = f"{owner}."
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
