"""The encoder of Time2State: a causal network over one window, the loss it is trained with, and its training.

Tensors are time-major rows, (n_frames · n_windows, n_dims): a tap of a dilated convolution is then one product of two
matrices, and only frames that have a past at that distance take part. The published network pads a window on both
sides by twice the dilation and cuts the surplus off again; from a dilation as long as the window on (the last three of
its eleven blocks, at 256 frames) all but one tap multiply nothing but that padding. The numbers are the same.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from rondo.arrays import Tensors
from rondo.data.recording import Values
from rondo.data.windows import Windows
from rondo.paper.training import load_weights, minimise, seeded_linear, weights_of
from rondo.wording import Progress, silent

if TYPE_CHECKING:
    from rondo_bench.baselines.time2state import Time2StateConfig
    from rondo_bench.baselines.window_states import Groups

_TAPS = 3
_SLOPE = 0.01  # of LeakyReLU below zero, torch's default
_WINDOWS_AT_ONCE = 32  # that are encoded together; more of them no longer fit the cache


def trained(
    values: Values, groups: Groups, config: Time2StateConfig, seed: int, progress: Progress = silent
) -> CausalNet:
    """The encoder, trained on groups of windows of these values (n_frames, n_channels)."""
    generator = torch.Generator().manual_seed(seed)
    net = CausalNet(values.shape[1], config, generator)
    stream = torch.from_numpy(values)

    def loss_of_step(_: int) -> Tensor:
        drawn = torch.randint(groups.starts.size, (config.n_groups,), generator=generator)
        firsts = torch.from_numpy(groups.starts[drawn.numpy()])[:, None] + torch.arange(config.group_size)
        return lse_loss(net(stream, firsts.flatten(), groups.length).unflatten(0, firsts.shape))

    minimise(loss_of_step, torch.optim.Adam(net.parameters(), lr=config.learning_rate), config.n_steps, None, progress)
    return net


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


class CausalNet(nn.Module):
    """Blocks of causal convolutions, dilation 2^j in block j; the maximum over the window; a linear map."""

    def __init__(self, n_channels: int, config: Time2StateConfig, generator: torch.Generator) -> None:
        super().__init__()
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

    @torch.no_grad()
    def embed(self, windows: Windows, progress: Progress = silent) -> NDArray[np.float64]:
        """One embedding for each window, (n_windows, output_dim)."""
        stream, grid = torch.from_numpy(windows.values), windows.grid
        embeddings = np.empty((grid.n_windows, self.readout.out_features))
        for first in range(0, grid.n_windows, _WINDOWS_AT_ONCE):
            batch = slice(first, first + _WINDOWS_AT_ONCE)
            embeddings[batch] = self(stream, torch.from_numpy(grid.starts[batch]), grid.length_frames).numpy()
            progress("embedding", min(batch.stop, grid.n_windows), grid.n_windows)
        return embeddings

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Its weights."""
        return {**weights_of(self)}

    @classmethod
    def from_tensors(cls, n_channels: int, config: Time2StateConfig, tensors: Tensors) -> CausalNet:
        """The network that these weights were those of."""
        net = cls(n_channels, config, torch.Generator())
        load_weights(net, tensors, "time2state network")
        return net


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
