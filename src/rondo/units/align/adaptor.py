"""The adaptor of UnitAlign: a residual bottleneck that bends the encoder's space to the recording at hand.

    h = LayerNorm(y + alpha W2 Dropout(GELU(W1 y)))        z = normalize(Wh h)

W2 starts at zero, so that h starts as LayerNorm(y). Each W is a linear layer with a bias, which the paper's equations
leave out; dropout, which it does not number, is 0.1.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what torch itself calls it
from torch import nn

from rondo.config.schema import UnitAlignConfig
from rondo.training.networks import seeded_linear

_DROPOUT = 0.1


class Adaptor(nn.Module):
    """Representations y (B, D) -> adapted h (B, D) and unit embeddings z (B, output_dim)."""

    def __init__(self, n_dims: int, config: UnitAlignConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.alpha = config.alpha
        self.down = seeded_linear(n_dims, config.bottleneck_dim, generator)  # W1
        self.up = seeded_linear(config.bottleneck_dim, n_dims, generator)  # W2
        self.norm = nn.LayerNorm(n_dims)
        self.head = seeded_linear(n_dims, config.output_dim, generator)  # Wh
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, y: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """h and z; `mask` (B, bottleneck_dim) multiplies the bottleneck, and is given in training only."""
        inner = F.gelu(self.down(y))  # (B, bottleneck_dim)
        if mask is not None:
            inner = inner * mask
        h = self.norm(y + self.alpha * self.up(inner))  # (B, D)
        return h, F.normalize(self.head(h), dim=1)  # (B, D), (B, output_dim)

    def dropout_mask(self, n_windows: int, generator: torch.Generator) -> torch.Tensor:
        """0 for one in ten, 1/0.9 for the rest, (n_windows, bottleneck_dim); drawn on the CPU whatever the device."""
        kept = torch.rand(n_windows, self.down.out_features, generator=generator) >= _DROPOUT
        return kept.to(self.down.weight) / (1 - _DROPOUT)
