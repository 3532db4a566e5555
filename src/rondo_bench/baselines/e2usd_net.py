"""The encoder of E2USD: few frequencies, two views, frozen random convolutions; its loss, and its training.

Everything before the maximum over time is linear and never trained. Low-pass compression, moving average and residual
are therefore one matrix (2 · n_samples, length), applied to all channels of many windows in one product, and no
gradient passes through them: a step of training differentiates three small linear maps.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from rondo.arrays import Tensors
from rondo.data.recording import Values
from rondo.data.windows import Windows
from rondo.paper.training import load_weights, minimise, seeded_linear, weights_of
from rondo.wording import Progress, silent

if TYPE_CHECKING:
    from rondo_bench.baselines.e2usd import E2USDConfig
    from rondo_bench.baselines.window_states import Groups

_TAPS = 3  # of the convolutions
_SMOOTHED = 5  # samples of the moving average
_WINDOWS_AT_ONCE = 64


def trained(values: Values, groups: Groups, config: E2USDConfig, seed: int, progress: Progress = silent) -> TwoViewNet:
    """The encoder, trained on groups of windows of these values (n_frames, n_channels)."""
    generator = torch.Generator().manual_seed(seed)
    net = TwoViewNet(values.shape[1], config, generator)
    stream = torch.from_numpy(values)

    def loss_of_step(_: int) -> Tensor:
        drawn = torch.randint(groups.starts.size, (config.n_groups,), generator=generator)
        firsts = torch.from_numpy(groups.starts[drawn.numpy()])[:, None] + torch.arange(config.group_size)
        joint, trend, seasonal = (
            each.unflatten(0, firsts.shape) for each in net(net.pooled(stream, firsts.flatten(), groups.length))
        )
        return fncc_loss(joint, trend, seasonal, config.negative_share)

    minimise(loss_of_step, torch.optim.Adam(net.parameters(), lr=config.learning_rate), config.n_steps, None, progress)
    return net


def fncc_loss(joint: Tensor, trend: Tensor, seasonal: Tensor, negative_share: float) -> Tensor:
    """The contrast that cancels false negatives, for three kinds of embeddings (n_groups, group_size, output_dim).

        − mean over groups and pairs i < j within one  log σ(e_i · e_j)  +  Σ over kept pairs  e_i · e_j / (share · P)

    Of the P pairs of windows from two groups, those are kept as negatives that look least alike in both views, the
    `share` with the smallest (trend_i · trend_j)(seasonal_i · seasonal_j); others may well be the same state.
    """
    group_size = joint.shape[1]
    one, other = torch.triu_indices(group_size, group_size, offset=1)
    near = (joint @ joint.mT)[:, one, other]
    far, alike_in_trend, alike_in_season = (_across_groups(each) for each in (joint, trend.detach(), seasonal.detach()))
    n_kept = int(negative_share * len(far))
    kept = (alike_in_trend * alike_in_season).topk(n_kept, largest=False, sorted=False).indices
    return functional.softplus(-near).mean() + far[kept].sum() / (negative_share * len(far))


def _across_groups(embeddings: Tensor) -> Tensor:
    """Products of all pairs of windows from two different groups, (n_pairs,)."""
    n_groups, group_size, _ = embeddings.shape
    rows = embeddings.flatten(0, 1)
    group = torch.arange(n_groups).repeat_interleave(group_size)
    return (rows @ rows.T)[group[:, None] < group]


class Views(NamedTuple):
    """Embeddings (n_windows, output_dim): of both views together, and of each."""

    joint: Tensor
    trend: Tensor
    seasonal: Tensor


class TwoViewNet(nn.Module):
    """Trend and season of a compressed window, each through frozen random filters, their maxima, and linear maps."""

    taps: Tensor
    bias: Tensor

    def __init__(self, n_channels: int, config: E2USDConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.n_bins = config.n_bins
        bound = 1 / math.sqrt(_TAPS * n_channels)  # torch's own start of a convolution
        taps = torch.empty(2, _TAPS, n_channels, config.pooled_dim).uniform_(-bound, bound, generator=generator)
        self.register_buffer("taps", taps)
        self.register_buffer("bias", torch.empty(2, config.pooled_dim).uniform_(-bound, bound, generator=generator))
        self.trend = seeded_linear(config.pooled_dim, config.output_dim, generator)
        self.seasonal = seeded_linear(config.pooled_dim, config.output_dim, generator)
        self.joint = seeded_linear(2 * config.output_dim, config.output_dim, generator)

    @torch.no_grad()
    def pooled(self, stream: Tensor, starts: Tensor, length: int) -> Tensor:
        """The maximum of each filter over each window and view, (2, n_windows, pooled_dim); this part never learns."""
        index = torch.arange(length)[:, None] + starts  # (length, n_windows)
        rows = stream[index.flatten()].view(length, -1)  # (length, n_windows · n_channels)
        views = (two_views(length, self.n_bins).to(rows) @ rows).view(2, -1, len(starts), stream.shape[1])
        return torch.stack([self._filtered(view, k).amax(dim=0) for k, view in enumerate(views)])

    def _filtered(self, view: Tensor, which: int) -> Tensor:
        """A convolution without padding, (n_samples, n_windows, n_channels) -> (n_samples − 2, n_windows, …)."""
        n_out = len(view) - _TAPS + 1
        taps = self.taps[which]
        y = torch.addmm(self.bias[which], view[:n_out].flatten(0, 1), taps[0])
        for k in range(1, _TAPS):
            y.addmm_(view[k : k + n_out].flatten(0, 1), taps[k])
        return y.view(n_out, view.shape[1], -1)

    def forward(self, pooled: Tensor) -> Views:
        trend, seasonal = self.trend(pooled[0]), self.seasonal(pooled[1])
        return Views(self.joint(torch.cat([trend, seasonal], dim=-1)), trend, seasonal)

    @torch.no_grad()
    def embed(self, windows: Windows, progress: Progress = silent) -> NDArray[np.float64]:
        """One embedding for each window, (n_windows, output_dim)."""
        stream, grid = torch.from_numpy(windows.values), windows.grid
        embeddings = np.empty((grid.n_windows, self.joint.out_features))
        for first in range(0, grid.n_windows, _WINDOWS_AT_ONCE):
            batch = slice(first, first + _WINDOWS_AT_ONCE)
            starts = torch.from_numpy(grid.starts[batch])
            embeddings[batch] = self(self.pooled(stream, starts, grid.length_frames)).joint.numpy()
            progress("embedding", min(batch.stop, grid.n_windows), grid.n_windows)
        return embeddings

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Its weights, those that never learn included."""
        return {**weights_of(self)}

    @classmethod
    def from_tensors(cls, n_channels: int, config: E2USDConfig, tensors: Tensors) -> TwoViewNet:
        """The network that these weights were those of."""
        net = cls(n_channels, config, torch.Generator())
        load_weights(net, tensors, "e2usd network")
        return net


@lru_cache(maxsize=4)
def two_views(length: int, n_bins: int) -> Tensor:
    """The matrix from a window to its trend and its season, (2 · n_samples, length).

    With Q = n_bins: the spectrum of the window, cut after its lowest Q bins, back to 2 (Q − 1) samples, times Q /
    length. A window of fewer than 2 (Q − 1) frames keeps all its bins. Trend is the mean of 5 samples, the first and
    the last repeated beyond the ends; season is the rest.
    """
    spectrum = np.fft.rfft(np.eye(length), axis=0)[:n_bins]
    low = np.fft.irfft(spectrum, axis=0) * n_bins / length  # (n_samples, length)
    reach = _SMOOTHED // 2
    padded = np.pad(low, ((reach, reach), (0, 0)), mode="edge")
    trend = sum(padded[k : k + len(low)] for k in range(_SMOOTHED)) / _SMOOTHED
    return torch.from_numpy(np.concatenate([trend, low - trend]))
