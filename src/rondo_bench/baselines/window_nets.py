"""The networks of Time2State and E2USD over windows, the losses they are trained with, and their training.

Time2State: a causal network over one window.
Tensors are time-major rows, (n_frames · n_windows, n_dims): a tap of a dilated convolution is then one product of two
matrices, and only frames that have a past at that distance take part. The published network pads a window on both
sides by twice the dilation and cuts the surplus off again; from a dilation as long as the window on (the last three of
its eleven blocks, at 256 frames) all but one tap multiply nothing but that padding. The numbers are the same.

E2USD: few frequencies, two views, frozen random convolutions.
Everything before the maximum over time is linear and never trained. Low-pass compression, moving average and residual
are therefore one matrix (2 · n_samples, length), applied to all channels of many windows in one product, and no
gradient passes through them: a step of training differentiates three small linear maps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from rondo.data.recording import Values
from rondo.data.windows import Windows
from rondo.paper.training import minimise, seeded_linear
from rondo.wording import Progress, silent

if TYPE_CHECKING:
    from rondo_bench.baselines.e2usd import E2USDConfig
    from rondo_bench.baselines.time2state import Time2StateConfig
    from rondo_bench.baselines.window_states import Groups, WindowStatesConfig

_TAPS = 3  # of the convolutions of both
_SLOPE = 0.01  # of LeakyReLU below zero, torch's default
_SMOOTHED = 5  # samples of the moving average


class _WindowNet(nn.Module):
    """A network over windows: `embeddings` and `loss` take a stream (n_frames, n_channels), starts and a length."""

    output_dim: int
    at_once: int  # windows that are embedded together; more of them no longer fit the cache
    embeddings: Callable[[Tensor, Tensor, int], Tensor]  # starts (n_windows,) -> (n_windows, output_dim)
    loss: Callable[[Tensor, Tensor, int], Tensor]  # starts (n_groups, group_size)

    @classmethod
    def trained(
        cls, values: Values, groups: Groups, config: WindowStatesConfig, seed: int, progress: Progress = silent
    ) -> Self:
        """A network trained on groups of windows of these values (n_frames, n_channels)."""
        generator = torch.Generator().manual_seed(seed)
        net = cls(values.shape[1], config, generator)
        stream = torch.from_numpy(values)

        def loss_of_step(_: int) -> Tensor:
            drawn = torch.randint(groups.starts.size, (config.n_groups,), generator=generator)
            firsts = torch.from_numpy(groups.starts[drawn.numpy()])[:, None] + torch.arange(config.group_size)
            return net.loss(stream, firsts, groups.length)

        optimiser = torch.optim.Adam(net.parameters(), lr=config.learning_rate)
        minimise(loss_of_step, optimiser, config.n_steps, None, progress)
        return net

    @torch.no_grad()
    def embed(self, windows: Windows, progress: Progress = silent) -> NDArray[np.float64]:
        """One embedding for each window, (n_windows, output_dim)."""
        stream, grid = torch.from_numpy(windows.values), windows.grid
        found = np.empty((grid.n_windows, self.output_dim))
        for first in range(0, grid.n_windows, self.at_once):
            batch = slice(first, first + self.at_once)
            found[batch] = self.embeddings(stream, torch.from_numpy(grid.starts[batch]), grid.length_frames).numpy()
            progress("embedding", min(batch.stop, grid.n_windows), grid.n_windows)
        return found


def lse_loss(embeddings: Tensor) -> Tensor:
    """The loss of latent state encoding for embeddings (n_groups, group_size, output_dim): with c the mean of a group,

        − mean over groups and pairs i < j within one  log σ(e_i · e_j)  −  mean over pairs of groups  log σ(−c_i · c_j)

    so that windows a frame apart come together and windows from anywhere else are pushed away.
    """
    n_groups, group_size, _ = embeddings.shape
    near = embeddings @ embeddings.mT  # (n_groups, group_size, group_size)
    centres = embeddings.mean(dim=1)
    far = centres @ centres.T  # (n_groups, n_groups)
    one, other = torch.triu_indices(group_size, group_size, offset=1)
    this, that = torch.triu_indices(n_groups, n_groups, offset=1)
    return functional.softplus(-near[:, one, other]).mean() + functional.softplus(far[this, that]).mean()


class CausalNet(_WindowNet):
    """Blocks of causal convolutions, dilation 2^j in block j; the maximum over the window; a linear map."""

    at_once = 32

    def __init__(self, n_channels: int, config: Time2StateConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.output_dim = config.output_dim
        widths = [n_channels, *[config.hidden_dim] * config.depth, config.pooled_dim]
        self.blocks = nn.ModuleList(
            Block(n_in, n_out, 2**j, generator) for j, (n_in, n_out) in enumerate(pairwise(widths))
        )
        self.readout = seeded_linear(config.pooled_dim, config.output_dim, generator)

    def forward(self, stream: Tensor, starts: Tensor, length: int) -> Tensor:
        """Embeddings (n_windows, output_dim) of the windows of `length` frames that begin at `starts`."""
        n_windows = len(starts)
        index = torch.arange(length)[:, None] + starts  # (length, n_windows)
        rows = stream[index.flatten()]  # (length · n_windows, n_channels)
        for block in self.blocks:
            rows = block(rows, n_windows)  # (length · n_windows, hidden_dim), the last one: pooled_dim
        pooled = rows.view(length, n_windows, -1).max(dim=0).values
        return cast(Tensor, self.readout(pooled))

    embeddings = forward

    def loss(self, stream: Tensor, starts: Tensor, length: int) -> Tensor:
        return lse_loss(self(stream, starts.flatten(), length).unflatten(0, starts.shape))


class Block(nn.Module):
    """Two causal convolutions, each followed by LeakyReLU, plus the input, projected where the width changes."""

    def __init__(self, n_in: int, n_out: int, dilation: int, generator: torch.Generator) -> None:
        super().__init__()
        self.dilation = dilation
        self.first = NormedTaps(n_in, n_out, generator)
        self.second = NormedTaps(n_out, n_out, generator)
        self.skip = nn.Identity() if n_in == n_out else seeded_linear(n_in, n_out, generator)

    def forward(self, rows: Tensor, n_windows: int) -> Tensor:
        shift = self.dilation * n_windows  # rows from a frame to the one `dilation` frames later
        inner = _CausalLayer.apply(rows, self.first.weight(), self.first.bias, shift)
        outer = _CausalLayer.apply(inner, self.second.weight(), self.second.bias, shift)
        return cast(Tensor, outer + self.skip(rows))


class NormedTaps(nn.Module):
    """Weights of a convolution as length times direction, w = g v / ‖v‖ for each output (weight normalisation).

    The start is torch's own, v and bias uniform within 1/√(fan in) and g = ‖v‖, drawn from a given generator. Tap k
    looks (2 − k) dilations back.
    """

    def __init__(self, n_in: int, n_out: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(_TAPS * n_in)
        self.direction = nn.Parameter(torch.empty(_TAPS, n_in, n_out).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound, generator=generator))
        self.gain = nn.Parameter(self.direction.detach().norm(dim=(0, 1)))

    def weight(self) -> Tensor:
        return cast(Tensor, self.direction * (self.gain / self.direction.norm(dim=(0, 1))))


class _CausalLayer(torch.autograd.Function):
    """leaky(bias + Σ_k x[t − (2 − k) shift] weight[k]), x taken as 0 before its first row.

    LeakyReLU keeps the sign, so the way back needs the result only: one tensor is kept where autograd keeps several.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, shift: int) -> Tensor:
        ctx.lags = [(k, back) for k, back in ((1, shift), (0, 2 * shift)) if back < len(x)]
        y = torch.addmm(bias, x, weight[2])
        for k, back in ctx.lags:
            y[back:].addmm_(x[:-back], weight[k])
        functional.leaky_relu_(y, _SLOPE)
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        x, weight, y = ctx.saved_tensors
        grad = torch.ops.aten.leaky_relu_backward(upstream[0], y, _SLOPE, True)
        grad_weight = torch.zeros_like(weight)
        torch.mm(x.t(), grad, out=grad_weight[2])
        for k, back in ctx.lags:
            torch.mm(x[:-back].t(), grad[back:], out=grad_weight[k])
        return _input_gradient(ctx, grad, weight), grad_weight, grad.sum(dim=0), None


def _input_gradient(ctx: Any, grad: Tensor, weight: Tensor) -> Tensor | None:
    if not ctx.needs_input_grad[0]:  # the recording itself
        return None
    grad_x = grad @ weight[2].t()
    for k, back in ctx.lags:
        grad_x[:-back].addmm_(grad[back:], weight[k].t())
    return grad_x


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


class TwoViewNet(_WindowNet):
    """Trend and season of a compressed window, each through frozen random filters, their maxima, and linear maps."""

    at_once = 64
    taps: Tensor
    bias: Tensor

    def __init__(self, n_channels: int, config: E2USDConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.n_bins, self.negative_share, self.output_dim = config.n_bins, config.negative_share, config.output_dim
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

    def embeddings(self, stream: Tensor, starts: Tensor, length: int) -> Tensor:
        return cast(Views, self(self.pooled(stream, starts, length))).joint

    def loss(self, stream: Tensor, starts: Tensor, length: int) -> Tensor:
        views = self(self.pooled(stream, starts.flatten(), length))
        joint, trend, seasonal = (view.unflatten(0, starts.shape) for view in views)
        return fncc_loss(joint, trend, seasonal, self.negative_share)


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
