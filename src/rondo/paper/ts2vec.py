"""TS2Vec: a contrastive encoder trained from scratch on the windows it will encode.

Z. Yue et al., "TS2Vec: Towards Universal Representation of Time Series", AAAI 2022 (arXiv 2106.10466); own code
after the official implementation (github.com/zhihanyue/ts2vec, MIT), whose defaults hold where the RONDO paper is
silent. Windows are the instances: two overlapping random crops of each window, half of their frames masked, must
find each other among all windows and all frames of the batch. The average of the weights over all steps encodes;
the maximum over a window's frames is its representation.

The contrast is hierarchical: instance and temporal contrast at every time scale. Both are one and the same: 2m vectors
in a group, m from each view, and each must be told from the other 2m − 1 as the partner of its own in the other view.
Instance contrast groups by frame, temporal contrast by window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel

from rondo.arrays import Tensors
from rondo.data.windows import Span, Windows
from rondo.encoders.base import Curves, Representations
from rondo.errors import SettingError
from rondo.paper.settings import TS2VecConfig
from rondo.paper.training import (
    batches,
    load_weights,
    minimise,
    read_in_batches,
    stored,
    training_windows,
    weights_of,
)
from rondo.wording import Progress, silent

# The network of TS2Vec: residual blocks of dilated convolutions over time, one output for every frame.
#
# Tensors are time-major, (n_frames, n_windows, n_dims). A tap of a dilated convolution then is one product of two
# contiguous matrices, and it touches only the frames that have a neighbour at that distance: the padding that the
# published network multiplies by zero is never made. A dilation longer than the view leaves the centre tap alone.
#
# Encoding is window-major instead, (n_windows, n_frames, n_dims), each window by products of its own. What a window
# gets then depends neither on the others nor on how many they are, and one that comes alone needs no company.


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


# Similarities held at once: what fits a core's cache on a CPU; few launches on a GPU.
_CELLS_AT_ONCE = {"cpu": 1 << 18, "cuda": 1 << 26}
_MASKED_SHARE = 0.5  # of a view's frames, TS2Vec section 3.2
_DROPPED_SHARE = 0.1  # of the outputs, official implementation
_LOG = "training_log"
_WINDOWS_AT_ONCE = 32  # encoded together


def hierarchical_contrast(one: Tensor, other: Tensor) -> Tensor:
    """Mean over time scales of ½ instance + ½ temporal contrast (TS2Vec, equations 1 to 3 and algorithm 1).

    `one` and `other` are the outputs of two views for the same frames, (n_frames, n_windows, n_dims). Each next scale
    takes the maximum of two neighbouring frames; at one frame only instance contrast is left.
    """
    both = torch.stack([one, other], dim=1)  # (n_frames, 2, n_windows, n_dims)
    total, n_scales = both[:0].sum(), 0  # a zero with a gradient: one frame of one window has nothing to contrast
    while True:
        n_frames, _, n_windows, _ = both.shape
        n_scales += 1
        if n_windows > 1:
            total = total + 0.5 * contrast(both.flatten(1, 2))  # groups (n_frames, 2 n_windows, n_dims)
        if n_frames == 1:
            return total / n_scales
        total = total + 0.5 * contrast(both.permute(2, 1, 0, 3).flatten(1, 2))  # groups (n_windows, 2 n_frames, n_dims)
        both = cast(Tensor, _Halved.apply(both))


def contrast(groups: Tensor) -> Tensor:
    """Mean cross-entropy of finding one's partner among all others of a group by the dot product.

    `groups` is (n_groups, 2m, n_dims); the partner of vector i is i + m modulo 2m. With P the softmax of the
    similarities z zᵀ without the diagonal, and E the partners, the gradient is (P − E + (P − E)ᵀ) z: it is worked out
    together with the value, while the similarities are at hand, and they are not kept.
    """
    return cast(Tensor, _Contrast.apply(groups))


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, groups: Tensor) -> Tensor:
        n_groups, n_members, _ = groups.shape
        m, n_terms = n_members // 2, n_groups * n_members
        grad = torch.empty(groups.shape, dtype=groups.dtype, device=groups.device)
        total = groups.new_zeros(())
        step = max(1, _CELLS_AT_ONCE[groups.device.type] // n_members**2)
        for first in range(0, n_groups, step):
            z = groups[first : first + step]
            similarity = torch.bmm(z, z.mT)
            similarity.diagonal(dim1=1, dim2=2).fill_(-torch.inf)
            log_p = torch.log_softmax(similarity, dim=2)
            total -= sum(log_p.diagonal(offset, dim1=1, dim2=2).sum() for offset in (m, -m))
            p_minus_e = log_p.exp_()
            for offset in (m, -m):
                p_minus_e.diagonal(offset, dim1=1, dim2=2).sub_(1.0)
            torch.bmm(p_minus_e + p_minus_e.mT, z, out=grad[first : first + step])
        ctx.save_for_backward(grad.div_(n_terms))
        return total / n_terms

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (grad,) = ctx.saved_tensors
        return cast(Tensor, grad * upstream[0])


class _Halved(torch.autograd.Function):
    """Maximum of each two neighbouring frames, an odd last one left out; of equals the first takes the gradient."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        early, late = z[:-1:2], z[1::2]
        ctx.n_frames = len(z)
        ctx.save_for_backward(early >= late)
        return torch.maximum(early, late)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (early_wins,) = ctx.saved_tensors
        grad = upstream[0].new_zeros((ctx.n_frames, *upstream[0].shape[1:]))
        torch.mul(upstream[0], early_wins, out=grad[:-1:2])
        torch.sub(upstream[0], grad[:-1:2], out=grad[1::2])
        return grad


@dataclass(frozen=True)
class TS2Vec:
    """The encoder before it has seen data."""

    config: TS2VecConfig
    seed: int = 0
    device: str = "cpu"

    def fit(self, windows: Sequence[Windows], progress: Progress = silent) -> FittedTS2Vec:
        """Train on all windows that lie within the first `fit_share` of the stream, recordings taken in order."""
        stream, starts, length = training_windows(windows, self.config.fit_share)
        generator = torch.Generator().manual_seed(self.seed)
        net = self._net(stream.shape[1])
        net.fill(generator)
        averaged = AveragedModel(net)
        averaged.update_parameters(net)  # as published, the weights at the start count too
        steps = training_steps(len(starts), length, self.config, generator)
        frames = stream.to(self.device)
        losses = minimise(
            lambda _: _loss_of_step(net, frames, starts, next(steps)),
            torch.optim.AdamW(net.parameters(), lr=self.config.learning_rate, fused=True),
            self.config.iterations,
            after_step=lambda _: averaged.update_parameters(net),
            progress=progress,
        )
        if not np.isfinite(losses).all():
            largest = float(stream.nan_to_num().abs().max())
            raise SettingError(
                f"TS2Vec cannot train on values as large as {largest:.3g}: its loss overflows; "
                "set preprocess.scaling = 'channel'"
            )
        return FittedTS2Vec(self, cast(TS2VecNet, averaged.module), tuple(losses))

    def restore(self, tensors: Tensors) -> FittedTS2Vec:
        net = self._net(int(stored(tensors, "entry.weight").shape[1]))
        load_weights(net, tensors)
        return FittedTS2Vec(self, net, tuple(np.asarray(stored(tensors, _LOG), np.float64).tolist()))

    def _net(self, n_channels: int) -> TS2VecNet:
        config = self.config
        return TS2VecNet(n_channels, config.hidden_dim, config.depth, config.output_dim).to(self.device)


@dataclass(frozen=True, eq=False)
class FittedTS2Vec:
    """The network with averaged weights, and the loss of each training step."""

    encoder: TS2Vec
    net: TS2VecNet
    training_log: tuple[float, ...]

    @property
    def curves(self) -> Curves:
        return {"loss": self.training_log}

    def encode(self, windows: Windows) -> Representations:
        """Representations (n_windows, output_dim): the maximum over the frames of each window."""
        device, n_dims = self.encoder.device, self.encoder.config.output_dim
        # A GPU chooses how to add by the number of products too: there a short batch is filled up, so that a window's
        # representation does not depend on how many others come with it.
        return read_in_batches(
            windows,
            _WINDOWS_AT_ONCE,
            n_dims,
            lambda frames: self.net.pooled(torch.from_numpy(frames).to(device)),
            fill=device != "cpu",
        )

    def tensors(self) -> Tensors:
        return {**weights_of(self.net), _LOG: np.array(self.training_log, dtype=np.float64)}


@dataclass(frozen=True, eq=False)
class CroppedView:
    """One of the two crops of a step."""

    start: int  # first frame, within the window, before each window's own shift
    kept: slice  # the frames that both views have, within this view
    masked: Tensor  # (n_frames, n_windows), True where the network sees nothing
    dropout: Tensor  # (n_kept, n_windows, output_dim), the factor of each output


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """Everything random about one training step."""

    batch: Tensor  # (n_windows,) indices of windows
    shifts: Tensor  # (n_windows,) frames by which both crops of a window are moved
    views: tuple[CroppedView, CroppedView]


def training_steps(
    n_windows: int, length: int, config: TS2VecConfig, generator: torch.Generator
) -> Iterator[TrainingStep]:
    """Batches and crops as published: shuffled, an incomplete last batch left out, and in each step one geometry

        0 ≤ a' ≤ a < b ≤ b' ≤ length,   view one [a', b),   view two [a, b'),   kept [a, b)

    for all windows, each moved by a shift of its own that keeps both views inside the window.
    """
    size = min(config.batch_size, n_windows)
    for batch in _full_batches(n_windows, size, config.iterations, generator):
        n_kept = _integer(min(2, length), length, generator)
        a = _integer(0, length - n_kept, generator)
        b = a + n_kept
        outer_a, outer_b = _integer(0, a, generator), _integer(b, length, generator)
        shifts = torch.randint(-outer_a, length - outer_b + 1, (size,), generator=generator)
        outputs = (n_kept, size, config.output_dim)
        one = _view((outer_a, b), slice(a - outer_a, None), outputs, generator)
        other = _view((a, outer_b), slice(n_kept), outputs, generator)
        yield TrainingStep(batch, shifts, (one, other))


def _view(span: Span, kept: slice, outputs: tuple[int, int, int], generator: torch.Generator) -> CroppedView:
    masked = torch.rand((span[1] - span[0], outputs[1]), generator=generator) < _MASKED_SHARE
    dropped = torch.rand(outputs, generator=generator) < _DROPPED_SHARE
    return CroppedView(span[0], kept, masked, torch.where(dropped, 0.0, 1 / (1 - _DROPPED_SHARE)))


def _full_batches(n_windows: int, size: int, n_steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    if size == 1:
        return repeat(torch.zeros(1, dtype=torch.int64), n_steps)
    full = (batch for batch in batches(n_windows, size, n_steps, generator) if len(batch) == size)
    return islice(full, n_steps)  # an epoch has one or more


def _integer(least: int, most: int, generator: torch.Generator) -> int:
    return int(torch.randint(least, most + 1, (), generator=generator))


def _loss_of_step(net: TS2VecNet, stream: Tensor, starts: Tensor, step: TrainingStep) -> Tensor:
    firsts, outputs = starts[step.batch] + step.shifts, []
    for view in step.views:
        index = firsts + torch.arange(view.start, view.start + len(view.masked))[:, None]
        frames = stream[index.to(stream.device)]  # (n_frames, n_windows, n_channels)
        kept = net(frames, view.masked.to(stream.device), view.kept)  # (n_kept, n_windows, output_dim)
        outputs.append(kept * view.dropout.to(stream.device))
    return hierarchical_contrast(outputs[0], outputs[1])
