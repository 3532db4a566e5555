"""Time-MAE: a masked autoencoder of patches, trained from scratch on the windows it will encode.

M. Cheng et al., "TimeMAE: Self-Supervised Representations of Time Series with Decoupled Masked Autoencoders", WSDM
2026 (arXiv 2303.00320); own implementation, with the defaults of the official implementation (github.com/Mingyue-Cheng/
TimeMAE) where the RONDO paper is silent. In each step 60 % of the patches are hidden, the same ones in all windows.
The encoder sees the others; from its tokens a regressor predicts, for every hidden patch, the token that a slow copy
of the encoder makes of it, and its codeword. The mean over all tokens of a window is its representation. Training
ends with the last epoch: the published choice among checkpoints needs labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from rondo.arrays import Tensors
from rondo.data.windows import Windows
from rondo.encoders.base import Curves, Representations
from rondo.errors import SettingError
from rondo.paper.settings import TimeMAEConfig
from rondo.paper.training import (
    TrainingWindows,
    batches,
    load_weights,
    minimise,
    read_in_batches,
    seeded_linear,
    stored,
    training_windows,
    weights_of,
)
from rondo.wording import Progress, silent

# The networks of Time-MAE: transformer blocks over patches, and what predicts hidden patches from visible ones.
#
# Tensors are (n_windows, n_tokens, n_dims). `noise` is the generator that dropout draws from while training; None
# encodes. The published patch embedding, a convolution as wide as its stride, is a linear map of each patch.

HEADS = 4  # this and the rest: defaults of the official implementation (github.com/Mingyue-Cheng/TimeMAE)
VOCABULARY_SIZE = 192  # default of the official implementation
_WIDENING = 4  # default of the official implementation
_FIRST_GAIN = 1e-8  # every sublayer starts all but silent and earns its say
_FIRST_BIAS = 0.1  # default of the official implementation
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


_HIDDEN_SHARE = 0.6  # this and the next four: defaults of the official implementation
_MOMENTUM = 0.99  # default of the official implementation
_LABEL_SMOOTHING = 0.2  # default of the official implementation
_REPRESENTATION_WEIGHT = 5.0  # default of the official implementation
_CODEWORD_WEIGHT = 1.0  # default of the official implementation
_LOG, _MEAN, _SPREAD = "training_log", "channel_mean", "channel_spread"

# Windows encoded together, a short last batch being filled up: products of one shape go to one kernel, so that a
# window's representation is the same in whatever company it comes, to the last bit on most CPUs and up to rounding on
# those whose kernels treat the edge of a batch apart. A stream brings one at a time and pays for all: eight take 14 ms,
# 32 took 55, and many windows take 1.7 ms each with either, 2.0 with four.
_WINDOWS_AT_ONCE = 8


class StepLoss(NamedTuple):
    """The losses of one training step."""

    representation: float  # masked representation regression
    codeword: float  # masked codeword classification
    total: float


@dataclass(frozen=True)
class TimeMAE:
    """The encoder before it has seen data."""

    config: TimeMAEConfig
    seed: int = 0
    device: str = "cpu"

    def fit(self, windows: Sequence[Windows], progress: Progress = silent) -> FittedTimeMAE:
        """Train on all windows that lie within the first `fit_share` of the stream, recordings taken in order."""
        config, seen = self.config, training_windows(windows, self.config.fit_share)
        scaling = channel_scaling(seen)
        frames = torch.from_numpy(scaling.scaled(seen.frames.numpy())).to(self.device)
        generator = torch.Generator().manual_seed(self.seed)
        net = self._net(frames.shape[1], _n_patches(seen.length, config), generator)
        pretext = Pretext(config.output_dim, config.regressor_layers, generator).to(self.device)
        # Its first update copies, the later ones average. So does the published one, whose copy shares memory with
        # the encoder until then.
        momentum = AveragedModel(net.blocks, multi_avg_fn=get_ema_multi_avg_fn(_MOMENTUM))
        steps = training_batches(len(seen.starts), len(net.position), config, generator)
        parts: list[Tensor] = []

        def loss_of_step(step: int) -> Tensor:
            firsts = seen.starts[steps[step]].to(self.device)
            patches = patches_of(frames, firsts, seen.length, config.patch_frames)
            losses = losses_of(net, cast(Blocks, momentum.module), pretext, patches, generator)
            parts.append(torch.stack(losses).detach())
            return _REPRESENTATION_WEIGHT * losses[0] + _CODEWORD_WEIGHT * losses[1]

        optimiser = torch.optim.AdamW([*net.parameters(), *pretext.parameters()], lr=config.learning_rate, fused=True)
        totals = minimise(
            loss_of_step, optimiser, len(steps), lambda _: momentum.update_parameters(net.blocks), progress
        )
        log = tuple(StepLoss._make([*part.tolist(), total]) for part, total in zip(parts, totals, strict=True))
        lost = ~np.isfinite(totals)
        if lost.any():
            raise SettingError(
                f"Time-MAE's loss is not a number from step {int(lost.argmax()) + 1} of {len(log)} on, with "
                f"encoder.learning_rate = {config.learning_rate:g}; lower it, or look for values that are not "
                "finite in the recording"
            )
        return FittedTimeMAE(self, net, scaling, log)

    def restore(self, tensors: Tensors) -> FittedTimeMAE:
        mean, spread, rows = (np.asarray(stored(tensors, name), np.float64) for name in (_MEAN, _SPREAD, _LOG))
        log = tuple(StepLoss._make(row) for row in rows.tolist())
        net = self._net(mean.size, len(stored(tensors, "position")), torch.Generator())
        load_weights(net, tensors)
        return FittedTimeMAE(self, net, ChannelScaling(mean, spread), log)

    def _net(self, n_channels: int, n_patches: int, generator: torch.Generator) -> TimeMAENet:
        config = self.config
        patch_size = config.patch_frames * n_channels
        net = TimeMAENet(patch_size, n_patches, config.output_dim, config.encoder_layers, config.dropout, generator)
        return net.to(self.device)


@dataclass(frozen=True, eq=False)
class FittedTimeMAE:
    """The network, the scaling of its input, and the losses of each training step."""

    encoder: TimeMAE
    net: TimeMAENet
    scaling: ChannelScaling
    training_log: tuple[StepLoss, ...]

    @property
    def curves(self) -> Curves:
        return {name: [float(getattr(step, name)) for step in self.training_log] for name in StepLoss._fields}

    def encode(self, windows: Windows) -> Representations:
        """Representations (n_windows, output_dim): the mean over the tokens of each window, none of them hidden."""
        config, length = self.encoder.config, windows.grid.length_frames
        n_patches = _n_patches(length, config)
        if n_patches != len(self.net.position):
            raise SettingError(
                f"Time-MAE was fitted on windows of {len(self.net.position)} patches, got windows of {length} frames, "
                f"which are {n_patches} patches of {config.patch_frames}; keep windows.length, or fit again"
            )

        def encode(values: NDArray[np.float32]) -> Tensor:
            frames = torch.from_numpy(self.scaling.scaled(values)).to(self.encoder.device)
            encoded: Tensor = self.net(_in_patches(frames, config.patch_frames))
            return encoded

        return read_in_batches(windows, _WINDOWS_AT_ONCE, config.output_dim, encode, fill=True)

    def tensors(self) -> Tensors:
        log = np.array(self.training_log, dtype=np.float64).reshape(-1, len(StepLoss._fields))
        scaling = {_MEAN: self.scaling.mean.copy(), _SPREAD: self.scaling.spread.copy()}
        return {**weights_of(self.net), **scaling, _LOG: log}


@dataclass(frozen=True, eq=False)
class ChannelScaling:
    """Mean and standard deviation of each channel, (n_channels,); the deviation of a constant channel is 1."""

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    def scaled(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values (…, n_channels) in standard deviations from the mean."""
        return ((values - self.mean) / self.spread).astype(np.float32)


def channel_scaling(seen: TrainingWindows) -> ChannelScaling:
    """Statistics over all windows and their frames: a frame counts once for every window it is in."""
    starts = seen.starts.numpy()
    changes = np.zeros(len(seen.frames) + 1, dtype=np.int64)
    np.add.at(changes, starts, 1)
    np.add.at(changes, starts + seen.length, -1)
    counts = changes.cumsum()[:-1]
    values = seen.frames.numpy()[counts > 0].astype(np.float64)
    reference = values[0].copy()  # a constant channel is exactly zero after subtracting it, whatever its level
    values -= reference
    weights = counts[counts > 0] / counts.sum()
    mean = weights @ values
    spread = np.sqrt(weights @ (values - mean) ** 2)
    return ChannelScaling(reference + mean, np.where(spread > 0, spread, 1.0))


def training_batches(
    n_windows: int, n_patches: int, config: TimeMAEConfig, generator: torch.Generator
) -> Sequence[Tensor]:
    """Windows of each step, all epochs; none where a window is a single patch, which cannot be both hidden and seen."""
    if n_hidden(n_patches) == 0:
        return []
    if n_windows == 1:
        return [torch.zeros(1, dtype=torch.int64)] * config.epochs
    return list(batches(n_windows, config.batch_size, config.epochs, generator))


def n_hidden(n_patches: int) -> int:
    """How many of the patches a step hides; one at least stays visible.

    >>> n_hidden(128), n_hidden(45), n_hidden(2), n_hidden(1)
    (76, 27, 1, 0)
    """
    return int(_HIDDEN_SHARE * n_patches)


def patches_of(frames: Tensor, firsts: Tensor, length: int, patch_frames: int) -> Tensor:
    """Patches of the windows of `frames` (n_frames, n_channels) that begin at `firsts`."""
    return _in_patches(frames[firsts[:, None] + torch.arange(length, device=frames.device)], patch_frames)


def _in_patches(windows: Tensor, patch_frames: int) -> Tensor:
    """(n_windows, length, n_channels) -> (n_windows, n_patches, patch_frames · n_channels), zeros after the end."""
    padded: Tensor = functional.pad(windows, (0, 0, 0, -windows.shape[1] % patch_frames))
    n_windows, n_frames, n_channels = padded.shape
    return padded.reshape(n_windows, n_frames // patch_frames, patch_frames * n_channels)


def _n_patches(length: int, config: TimeMAEConfig) -> int:
    return -(-length // config.patch_frames)


def losses_of(
    net: TimeMAENet, momentum: Blocks, pretext: Pretext, patches: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Regression and classification of the hidden patches (n_windows, n_patches, patch_size), the latter smoothed.

    No gradient passes through the hidden patches: their tokens and codewords are what is to be predicted.
    """
    order = torch.randperm(patches.shape[1], generator=generator).to(patches.device)
    hidden, visible = order.tensor_split([n_hidden(patches.shape[1])])
    seen = net.blocks(net.embedding(patches[:, visible]) + net.position[visible], noise=generator)
    with torch.no_grad():
        embedded = net.embedding(patches[:, hidden])  # (n_windows, n_hidden, dim)
        codewords = pretext.codewords(embedded, generator)
        targets = momentum(embedded + net.position[hidden], noise=generator)
    predicted, logits = pretext(seen, net.position[hidden], generator)
    representation = functional.mse_loss(predicted, targets)
    codeword = functional.cross_entropy(logits.flatten(0, 1), codewords.flatten(), label_smoothing=_LABEL_SMOOTHING)
    return representation, codeword
