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
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.optim.swa_utils import AveragedModel

from rondo.data.windows import Span, Windows
from rondo.encoders.base import Curves, Representations, Tensors
from rondo.encoders.nets.training_windows import training_windows
from rondo.encoders.nets.ts2vec_net import TS2VecNet
from rondo.encoders.ts2vec import TS2VecConfig
from rondo.errors import ModelError, SettingError
from rondo.progress import Progress, silent
from rondo.training.loop import batches, minimise
from rondo.training.networks import load_weights, weights_of

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
        """The fitted encoder that wrote these tensors."""
        try:
            net = self._net(int(tensors["entry.weight"].shape[1]))
            log = tuple(np.asarray(tensors[_LOG], np.float64).tolist())
        except KeyError as error:
            raise ModelError(f"the encoder's tensor {error} is missing; fit and save the model again") from None
        load_weights(net, tensors, "encoder")
        return FittedTS2Vec(self, net, log)

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
        out = np.zeros((len(windows), self.encoder.config.output_dim), dtype=np.float32)
        within = np.arange(windows.grid.length_frames)
        for first in range(0, len(windows), _WINDOWS_AT_ONCE):
            starts = windows.grid.starts[first : first + _WINDOWS_AT_ONCE]
            # A GPU chooses how to add by the number of products too: there a short batch is filled up, so that a
            # window's representation does not depend on how many others come with it.
            filled = starts if self.encoder.device == "cpu" else np.resize(starts, _WINDOWS_AT_ONCE)
            frames = torch.from_numpy(windows.values[filled[:, None] + within])  # (n_filled, length, n_channels)
            pooled = self.net.pooled(frames.to(self.encoder.device))
            out[first : first + len(starts)] = pooled[: len(starts)].cpu().numpy()
        return out

    def tensors(self) -> Tensors:
        """Everything learned, as arrays, for the model folder."""
        return {**weights_of(self.net), _LOG: np.array(self.training_log, dtype=np.float64)}


# ---------------------------------------------------------------- what training sees


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
    firsts = starts[step.batch] + step.shifts
    one, other = (_outputs(net, stream, firsts, view) for view in step.views)
    return hierarchical_contrast(one, other)


def _outputs(net: TS2VecNet, stream: Tensor, firsts: Tensor, view: CroppedView) -> Tensor:
    """Outputs of the kept frames, (n_kept, n_windows, output_dim)."""
    index = firsts + torch.arange(view.start, view.start + len(view.masked))[:, None]
    frames = stream[index.to(stream.device)]  # (n_frames, n_windows, n_channels)
    outputs: Tensor = net(frames, view.masked.to(stream.device), view.kept)
    return outputs * view.dropout.to(stream.device)
