"""The networks of Time-MAE: transformer blocks over patches, and what predicts hidden patches from visible ones.

Tensors are (n_windows, n_tokens, n_dims). `noise` is the generator that dropout draws from while training; None
encodes. The published patch embedding, a convolution as wide as its stride, is a linear map of each patch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.training.networks import seeded_linear

HEADS = 4  # this and the rest: defaults of the official implementation (github.com/Mingyue-Cheng/TimeMAE)
VOCABULARY_SIZE = 192
_WIDENING = 4
_FIRST_GAIN = 1e-8  # every sublayer starts all but silent and earns its say
_FIRST_BIAS = 0.1
_REGRESSOR_DROPOUT = 0.1  # whatever the encoder's


class TimeMAENet(nn.Module):
    """What encodes: patch embedding, learned positions, blocks of self-attention, the mean over patches."""

    def __init__(
        self, patch_size: int, n_patches: int, dim: int, n_layers: int, dropout: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.embedding = seeded_linear(patch_size, dim, generator)
        self.position = nn.Parameter(torch.randn((n_patches, dim), generator=generator))
        self.blocks = Blocks(n_layers, dim, dropout, generator)

    def forward(self, patches: Tensor) -> Tensor:
        """Representations (n_windows, dim) of patches (n_windows, n_patches, patch_size)."""
        tokens = self.embedding(patches) + self.position  # (n_windows, n_patches, dim)
        encoded: Tensor = self.blocks(tokens)
        return encoded.mean(dim=1)


class Pretext(nn.Module):
    """What only training needs: the tokenizer, and the regressor from visible tokens to hidden ones."""

    def __init__(self, dim: int, n_layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.tokenizer = _xavier_linear(dim, VOCABULARY_SIZE, generator)
        self.mask_token = nn.Parameter(torch.randn(dim, generator=generator))
        self.blocks = Blocks(n_layers, dim, _REGRESSOR_DROPOUT, generator)

    def forward(self, visible: Tensor, position: Tensor, noise: torch.Generator) -> tuple[Tensor, Tensor]:
        """Predicted tokens (n_windows, n_hidden, dim) and codeword logits of hidden patches at `position`."""
        queries = (self.mask_token + position)[None]  # (1, n_hidden, dim): windows differ only in what is visible
        predicted: Tensor = self.blocks(queries, visible, noise)
        return predicted, self.tokenizer(predicted)  # (n_windows, n_hidden, VOCABULARY_SIZE)

    def codewords(self, embedded: Tensor, noise: torch.Generator) -> Tensor:
        """A codeword per patch, (n_windows, n_patches), drawn from softmax(logits) by adding Gumbel noise."""
        logits: Tensor = self.tokenizer(embedded)
        exponential = -torch.rand(logits.shape, generator=noise).log()
        return (logits - exponential.log().to(logits.device)).argmax(dim=-1)


class Blocks(nn.ModuleList):
    """Blocks one after the other, over `memory` or, without it, each over its own input."""

    def __init__(self, n_layers: int, dim: int, dropout: float, generator: torch.Generator) -> None:
        super().__init__(Block(dim, dropout, generator) for _ in range(n_layers))

    def forward(self, x: Tensor, memory: Tensor | None = None, noise: torch.Generator | None = None) -> Tensor:
        for block in self:
            x = block(x, x if memory is None else memory, noise)
        return x


class Block(nn.Module):
    """x ← LayerNorm(x + dropout(gain · sublayer(x))) for attention, then for a two-layer perceptron."""

    def __init__(self, dim: int, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.dropout = dropout
        self.attention = Attention(dim, dropout, generator)
        self.attention_gain = nn.Parameter(torch.full((1,), _FIRST_GAIN))
        self.attention_norm = nn.LayerNorm(dim)
        self.widen = _xavier_linear(dim, _WIDENING * dim, generator)
        self.narrow = _xavier_linear(_WIDENING * dim, dim, generator)
        self.perceptron_gain = nn.Parameter(torch.full((1,), _FIRST_GAIN))
        self.perceptron_norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor, memory: Tensor, noise: torch.Generator | None) -> Tensor:
        mixed = self.attention_gain * self.attention(x, memory, noise)
        x = self.attention_norm(x + dropped(mixed, self.dropout, noise))
        inner = self.perceptron_gain * self.narrow(functional.gelu(self.widen(x)))
        twice = 1 - (1 - self.dropout) ** 2  # published: one dropout in the perceptron, one around it
        y: Tensor = self.perceptron_norm(x + dropped(inner, twice, noise))
        return y


class Attention(nn.Module):
    """What each token of x takes from the tokens of a memory, by `HEADS` heads."""

    def __init__(self, dim: int, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.dropout = dropout
        self.query, self.key, self.value, self.output = (_xavier_linear(dim, dim, generator) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, noise: torch.Generator | None) -> Tensor:
        query, key, value = self.query(x), self.key(memory), self.value(memory)
        query, key, value = (z.unflatten(-1, (HEADS, -1)).transpose(1, 2) for z in (query, key, value))
        if noise is None:
            mixed = functional.scaled_dot_product_attention(query, key, value)
        else:  # (n_windows, HEADS, n_tokens, n_memory)
            weights = (query * query.shape[-1] ** -0.5 @ key.transpose(2, 3)).softmax(dim=-1)
            mixed = dropped(weights, self.dropout, noise) @ value  # (n_windows, HEADS, n_tokens, dim / HEADS)
        taken: Tensor = self.output(mixed.transpose(1, 2).flatten(2))  # (n_windows, n_tokens, dim)
        return taken


# ---------------------------------------------------------------- randomness


def dropped(x: Tensor, share: float, noise: torch.Generator | None) -> Tensor:
    """x with a share of its values set to zero and the rest enlarged to keep the expectation."""
    return x if noise is None or share == 0 else x * dropout_factors(x.shape, share, noise).to(x.device)


def dropout_factors(shape: Sequence[int], share: float, noise: torch.Generator) -> Tensor:
    """0 for a share of the places, 1 / (1 − share) for the others, the share rounded to 1/65536.

    Attention has ten million places in a step. Sixteen random bits for each, four places from one draw of the
    generator, compared by numpy, take a fifth of the time of torch's own uniform numbers.
    """
    n_places, of_65536 = math.prod(shape), min(round(share * 65536), 65535)
    draws = torch.empty(-(-n_places // 4), dtype=torch.int64).random_(-(2**63), None, generator=noise)
    kept = draws.numpy().view(np.int16)[:n_places] >= np.int16(of_65536 - 32768)
    return torch.from_numpy(kept.astype(np.float32)).mul_(65536 / (65536 - of_65536)).view(*shape)


def _xavier_linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_in, n_out)
    with torch.no_grad():
        layer.weight.normal_(0.0, math.sqrt(2 / (n_in + n_out)), generator=generator)
        layer.bias.fill_(_FIRST_BIAS)
    return layer
