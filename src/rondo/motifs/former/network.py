"""MotifFormer's network: a small Transformer that describes a subsequence of units by its [CLS] output.

    x_0 = cls + length_l        x_p = W c(u_p) + position_p + length_l,  p = 1 .. l        h = Transformer(x_0 .. x_l)_0

c(u) is the centroid of unit u. The paper gives layers, width and heads; the rest is the plain encoder of Vaswani et al.
(2017): norms after the residuals, a feed-forward layer four times as wide as the model. There is no dropout: the views
that the network learns from are corrupted already.

In a corrupted view some tokens are masked, some dropped (paper: MotifFormer Implementation). A masked token keeps its
place and hides its unit; a dropped token is not there, and the others keep their positions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - what torch itself calls it
from torch import nn

from rondo.config.schema import MotifFormerConfig
from rondo.errors import SettingError
from rondo.training.networks import seeded_linear

_WIDENING = 4  # Vaswani et al.; it costs little here, since only [CLS] and masked tokens go through the last one
_EMBEDDING_SPREAD = 0.02  # BERT's


class View(NamedTuple):
    """What is done to each token of a batch of equal lengths; no token is both masked and dropped."""

    masked: torch.Tensor  # (B, length), bool
    dropped: torch.Tensor  # (B, length), bool


def corrupted(
    n_items: int, length: int, mask_probability: float, drop_probability: float, generator: torch.Generator
) -> View:
    """An independent view of each item; at least one of its tokens stays as it is.

    One number u in [0, 1) decides per token: dropped below `drop_probability`, masked in the next `mask_probability`.
    The token with the largest u always stays: a view without any unit says nothing of the subsequence it came from.
    Drawn on the CPU, whatever the device.
    """
    u = torch.rand(n_items, length, generator=generator)
    u.scatter_(1, u.argmax(1, keepdim=True), math.inf)
    dropped = u < drop_probability
    return View((u < drop_probability + mask_probability) & ~dropped, dropped)


class Layer(nn.Module):
    """One post-norm encoder layer: some tokens look at all tokens of their item, then each goes on by itself.

    Which tokens do is the caller's choice: of the last layer, few are wanted. At lengths up to ten, sums over gathered
    keys take 0.6 times the CPU time of torch's attention over all tokens.
    """

    def __init__(self, dim: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.heads = heads
        self.query = seeded_linear(dim, dim, generator)
        self.key = seeded_linear(dim, dim, generator)
        self.value = seeded_linear(dim, dim, generator)
        self.seen = seeded_linear(dim, dim, generator)
        self.widen = seeded_linear(dim, _WIDENING * dim, generator)
        self.narrow = seeded_linear(_WIDENING * dim, dim, generator)
        self.norm_seen, self.norm_out = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(
        self, looking: torch.Tensor, item: torch.Tensor, tokens: torch.Tensor, visible: torch.Tensor
    ) -> torch.Tensor:
        """`looking` (R, dim) are tokens of the items `item` (R,), `tokens` (B, T, dim) all; gives (R, dim)."""
        n_heads, per_head = self.heads, tokens.shape[2] // self.heads
        query = self.query(looking).view(-1, 1, n_heads, per_head)  # (R, 1, heads, dim / heads)
        key, value = (
            of(tokens).index_select(0, item).view(-1, tokens.shape[1], n_heads, per_head)
            for of in (self.key, self.value)
        )  # (R, T, heads, dim / heads)
        fit = (query * key).sum(3) / math.sqrt(per_head)  # (R, T, heads)
        fit = fit.masked_fill(~visible[item][:, :, None], -math.inf)  # [CLS] is always visible
        seen = (fit.softmax(1)[..., None] * value).sum(1).flatten(1)  # (R, dim)
        x = self.norm_seen(looking + self.seen(seen))
        out: torch.Tensor = self.norm_out(x + self.narrow(F.gelu(self.widen(x))))
        return out


class MotifFormerNet(nn.Module):
    """Unit codes (B, length) -> descriptors (B, model_dim), with heads for reconstruction and pseudo-labels."""

    def __init__(self, centroids: torch.Tensor, config: MotifFormerConfig, generator: torch.Generator) -> None:
        super().__init__()
        dim, n_dims, longest = config.model_dim, centroids.shape[1], max(config.lengths)
        if dim % config.heads:
            raise SettingError(
                f"motifs.model_dim = {dim} does not divide into motifs.heads = {config.heads}; give a multiple"
            )
        self.centroids: torch.Tensor
        self.register_buffer("centroids", centroids)  # (n_units, n_dims)
        self.project = seeded_linear(n_dims, dim, generator)  # W
        self.cls, self.mask, self.position, self.length = (
            nn.Parameter(_EMBEDDING_SPREAD * torch.randn(*shape, generator=generator))
            for shape in ((1, dim), (1, dim), (longest, dim), (longest + 1, dim))
        )
        self.layers = nn.ModuleList(Layer(dim, config.heads, generator) for _ in range(config.layers))
        self.reconstruct = seeded_linear(dim, n_dims, generator)
        self.classify = seeded_linear(dim, config.mixture.component_cap, generator)

    def forward(self, codes: torch.Tensor, view: View | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Descriptors (B, model_dim), and the features of the masked tokens (n_masked, model_dim) in row order."""
        n_items, length = codes.shape
        masked, dropped = view or View(*torch.zeros(2, n_items, length, dtype=torch.bool, device=codes.device))
        units = torch.cat([self.project(self.centroids), self.mask])  # (n_units + 1, dim); the last is [MASK]
        tokens = F.embedding(codes.masked_fill(masked, len(units) - 1), units) + self.position[:length]
        x = torch.cat([self.cls.expand(n_items, 1, -1), tokens], dim=1) + self.length[length]  # (B, 1 + length, dim)
        visible = F.pad(~dropped, (1, 0), value=True)  # (B, 1 + length)
        items = torch.arange(n_items, device=codes.device)
        *lower, last = self.layers
        for layer in lower:
            x = layer(x.flatten(0, 1), items.repeat_interleave(1 + length), x, visible).view_as(x)
        wanted = torch.cat([x[:, 0], x[:, 1:][masked]])  # (B + n_masked, dim)
        out = last(wanted, torch.cat([items, items[:, None].expand_as(masked)[masked]]), x, visible)
        return out[:n_items], out[n_items:]
