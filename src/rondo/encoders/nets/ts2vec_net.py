"""The network of TS2Vec: residual blocks of dilated convolutions over time, one output for every frame.

Tensors are time-major, (n_frames, n_windows, n_dims). A tap of a dilated convolution then is one product of two
contiguous matrices, and it touches only the frames that have a neighbour at that distance: the padding that the
published network multiplies by zero is never made. A dilation longer than the view leaves the centre tap alone.

Encoding is window-major instead, (n_windows, n_frames, n_dims), each window by products of its own. What a window
gets then depends neither on the others nor on how many they are, and one that comes alone needs no company.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional


class TS2VecNet(nn.Module):
    """Per-frame outputs of TS2Vec (Yue et al., AAAI 2022, section 3.2); weights are empty until filled or loaded."""

    def __init__(self, n_channels: int, hidden_dim: int, depth: int, output_dim: int) -> None:
        super().__init__()
        self.entry = Taps(1, n_channels, hidden_dim)
        widths = [hidden_dim] * depth + [output_dim]
        self.blocks = nn.ModuleList(
            DilatedBlock(hidden_dim, width, 2**i, last=i == depth) for i, width in enumerate(widths)
        )

    def forward(self, frames: Tensor, masked: Tensor | None = None, kept: slice = slice(None)) -> Tensor:
        """Outputs of the `kept` frames; `masked` (n_frames, n_windows) frames enter as zeros after the first layer."""
        n_frames = frames.shape[0]
        z: Tensor = self.entry(frames)  # (n_frames, n_windows, hidden_dim)
        if masked is not None:
            z = z.masked_fill(masked[:, :, None], 0.0)
        for block in self.blocks:
            if cast(DilatedBlock, block).dilation >= n_frames:  # from here on, no frame looks at another
                z, kept = z[kept], slice(None)  # (n_kept, n_windows, hidden_dim)
            z = block(z)  # the last one: (…, n_windows, output_dim)
        return z[kept]

    @torch.inference_mode()
    def pooled(self, windows: Tensor) -> Tensor:
        """The largest outputs over the frames of each window (n_windows, n_frames, n_channels)."""
        z = _convolved_each(windows, self.entry)  # (n_windows, n_frames, hidden_dim)
        for block in self.blocks:
            z = cast(DilatedBlock, block).of_each(z)  # the last one: (n_windows, n_frames, output_dim)
        return z.amax(dim=1)

    @torch.no_grad()
    def fill(self, generator: torch.Generator) -> None:
        """Draw all weights: uniform within 1/√(fan in), as torch does by default, but from a given generator."""
        for layer in self.modules():
            if isinstance(layer, Taps):
                n_taps, n_in, _ = layer.weight.shape
                bound = (n_taps * n_in) ** -0.5
                for weights in (layer.weight, layer.bias):
                    weights.copy_(torch.empty(weights.shape).uniform_(-bound, bound, generator=generator))


class DilatedBlock(nn.Module):
    """GELU, convolution, GELU, convolution, plus the input, which the last block projects to its own width."""

    def __init__(self, n_in: int, n_out: int, dilation: int, last: bool) -> None:
        super().__init__()
        self.dilation = dilation
        self.first = Taps(3, n_in, n_out)
        self.second = Taps(3, n_out, n_out)
        self.skip = Taps(1, n_in, n_out) if last else nn.Identity()

    def forward(self, z: Tensor) -> Tensor:
        first, second = self.first, self.second
        inner = _TwoConvolutions.apply(z, first.weight, first.bias, second.weight, second.bias, self.dilation)
        return cast(Tensor, inner + self.skip(z))

    def of_each(self, z: Tensor) -> Tensor:
        """The same for windows (n_windows, n_frames, n_in), without a way back."""
        hidden = _convolved_each(functional.gelu(z), self.first, self.dilation)  # (n_windows, n_frames, n_out)
        y = _convolved_each(functional.gelu(hidden), self.second, self.dilation)
        return y.add_(_convolved_each(z, self.skip) if isinstance(self.skip, Taps) else z)


class Taps(nn.Module):
    """Weights (n_taps, n_in, n_out) and bias of a convolution; called, those of one tap are a linear map."""

    def __init__(self, n_taps: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_taps, n_in, n_out))
        self.bias = nn.Parameter(torch.empty(n_out))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight[0] + self.bias


class _TwoConvolutions(torch.autograd.Function):
    """conv(gelu(conv(gelu(z)))), which keeps two tensors for the way back where plain autograd keeps four.

    The way back needs the activations again; computing them again is cheaper than the memory.
    """

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, weight_1: Tensor, bias_1: Tensor, weight_2: Tensor, bias_2: Tensor, dilation: int
    ) -> Tensor:
        n_frames, n_windows, n_in = z.shape
        ctx.shift = dilation * n_windows if dilation < n_frames else 0
        rows = z.reshape(-1, n_in)  # (n_frames · n_windows, n_in)
        hidden = _convolved(functional.gelu(rows), weight_1, bias_1, ctx.shift)  # (n_frames · n_windows, n_out)
        ctx.save_for_backward(rows, hidden, weight_1, weight_2)
        return _convolved(functional.gelu(hidden), weight_2, bias_2, ctx.shift).view(n_frames, n_windows, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, None]:
        rows, hidden, weight_1, weight_2 = ctx.saved_tensors
        n_frames, n_windows, n_out = upstream[0].shape
        outer = upstream[0].reshape(-1, n_out)
        grad_weight_2 = _weight_gradient(functional.gelu(hidden), outer, ctx.shift)
        inner = _through_gelu(_input_gradient(outer, weight_2, ctx.shift), hidden)
        grad_weight_1 = _weight_gradient(functional.gelu(rows), inner, ctx.shift)
        grad_z = _through_gelu(_input_gradient(inner, weight_1, ctx.shift), rows).view(n_frames, n_windows, -1)
        return grad_z, grad_weight_1, inner.sum(dim=0), grad_weight_2, outer.sum(dim=0), None


# Rows are frames of windows, so a neighbour in time is `shift` rows away; shift = 0 where no frame has one.


def _convolved(x: Tensor, weight: Tensor, bias: Tensor, shift: int) -> Tensor:
    """y[t] = bias + x[t − shift] weight[0] + x[t] weight[1] + x[t + shift] weight[2]."""
    y = torch.addmm(bias, x, weight[1])
    if shift:
        y[shift:].addmm_(x[:-shift], weight[0])
        y[:-shift].addmm_(x[shift:], weight[2])
    return y


def _input_gradient(grad_y: Tensor, weight: Tensor, shift: int) -> Tensor:
    grad_x = grad_y @ weight[1].t()
    if shift:
        grad_x[:-shift].addmm_(grad_y[shift:], weight[0].t())
        grad_x[shift:].addmm_(grad_y[:-shift], weight[2].t())
    return grad_x


def _weight_gradient(x: Tensor, grad_y: Tensor, shift: int) -> Tensor:
    grad_weight = x.new_zeros(3, x.shape[1], grad_y.shape[1])
    torch.mm(x.t(), grad_y, out=grad_weight[1])
    if shift:
        torch.mm(x[:-shift].t(), grad_y[shift:], out=grad_weight[0])
        torch.mm(x[shift:].t(), grad_y[:-shift], out=grad_weight[2])
    return grad_weight


def _through_gelu(grad: Tensor, x: Tensor) -> Tensor:
    """The gradient before gelu(x), written over the one after it."""
    return cast(Tensor, torch.ops.aten.gelu_backward.grad_input(grad, x, grad_input=grad))


# ---------------------------------------------------------------- encoding


def _convolved_each(x: Tensor, layer: Taps, dilation: int = 0) -> Tensor:
    """`_convolved` of windows (n_windows, n_frames, n_in): one product per tap and window, of one shape for all.

    Those of the outer taps are added afterwards: straight into a part of y, torch would take them one by one, on
    however many threads.
    """
    n_windows, n_frames, _ = x.shape
    taps = layer.weight[:, None].expand(-1, n_windows, -1, -1).unbind()  # each (n_windows, n_in, n_out), not copied
    y = torch.bmm(x, taps[len(taps) // 2]).add_(layer.bias)  # (n_windows, n_frames, n_out)
    if 0 < dilation < n_frames:
        y[:, dilation:].add_(torch.bmm(x[:, :-dilation], taps[0]))
        y[:, :-dilation].add_(torch.bmm(x[:, dilation:], taps[2]))
    return y
