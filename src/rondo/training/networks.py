"""What every network here needs: weights drawn from a given generator, kept as arrays, and read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rondo.errors import ModelError

Net = TypeVar("Net", bound=nn.Module)


def seeded_linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """torch's linear layer with torch's own start, U(-1/sqrt(n_in), 1/sqrt(n_in)), drawn from the generator."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_in, n_out)  # type: ignore[no-untyped-call]
    bound = 1 / math.sqrt(n_in)
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


def settled(net: Net) -> Net:
    """The network as a value: float64, on the CPU, without gradients."""
    return net.double().cpu().requires_grad_(False)


def weights_of(net: nn.Module) -> dict[str, NDArray[np.float32]]:
    """Its weights by name, as arrays."""
    return {name: weight.detach().float().cpu().numpy().copy() for name, weight in net.state_dict().items()}


def load_weights(net: nn.Module, tensors: Mapping[str, NDArray[np.generic]], whose: str) -> None:
    """Put the arrays that `weights_of` gave into a network of the same make; others are refused by name."""
    own = net.state_dict()
    for name, weight in own.items():
        if name not in tensors:
            raise ModelError(f"the {whose}'s tensor '{name}' is missing; fit and save the model again")
        if tensors[name].shape != weight.shape:
            raise ModelError(
                f"the {whose}'s tensor '{name}' is {tensors[name].shape}, its settings make it "
                f"{tuple(weight.shape)}; fit and save the model again"
            )
    net.load_state_dict({name: torch.tensor(np.asarray(tensors[name], np.float32)) for name in own})
