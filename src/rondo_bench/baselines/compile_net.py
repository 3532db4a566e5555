"""The network of CompILE for continuous channels: boundary and latent of one segment after another, and its training.

One LSTM reads the whole sequence once for each segment s = 1 … S, its state multiplied at every frame by a mask m_s(t),
which is 1 for the first segment (see `masked_lstm`). From its states h_s(t)

    boundary   b_s = softmax over t of (head(h_s(t)) + Gumbel noise); read: 1 at the largest logit; b_S: the last frame
    latent     mean and log variance = head(Σ_t h_s(t) b_s(t + 1)), the state just before the boundary
    next mask  m_{s+1}(t) = m_s(t) Σ_{u ≤ t} b_s(u)
    share      p_s(t) = m_s(t) (1 − Σ_{u ≤ t} b_s(u)), how much frame t belongs to segment s
    picture    x̂_s = decoder(z_s), one vector for all frames of the segment

and the loss, a mean over sequences, is

    Σ_s Σ_t p_s(t) ‖x_t − x̂_s‖²  +  β Σ_s KL(z_s ‖ N(0, I))  +  β S KL(softmax of the first logits ‖ Poisson(λ))

Sequences may differ in length: frames after the last one take no boundary. All shares are 0 from the last frame on, so
that neither it, which the released code leaves out of the loss, nor what follows it counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rondo.errors import ModelError
from rondo.paper.training import load_weights, seeded_linear
from rondo.wording import Progress, silent
from rondo_bench.baselines.masked_lstm import Blocks, masked_lstm

if TYPE_CHECKING:
    from rondo_bench.baselines.compile import CompileConfig

_WEIGHT = 0.1  # β, of both divergences: released code, beta_b and beta_z
_TINY = 1e-17  # released code: what a logarithm is kept from zero by
_NEVER = -1e30  # released code: the logit of a frame that cannot be a boundary
_AT_ONCE = 16  # sequences that go through the network together, of a batch that may be larger: memory


class CompileNet(nn.Module):
    """The encoder with its two heads, and the decoder; weights start as in torch, drawn from the generator."""

    def __init__(self, n_channels: int, config: CompileConfig, generator: torch.Generator) -> None:
        super().__init__()
        hidden, latent = config.hidden_dim, config.latent_dim
        self.n_segments, self.prior_rate = config.n_segments, config.prior_rate
        self.embed = seeded_linear(n_channels, hidden, generator)
        self.feed = _uniform((4 * hidden, hidden), hidden, generator)
        self.recurrent = _uniform((4 * hidden, hidden), hidden, generator)
        self.bias = _uniform((2, 4 * hidden), hidden, generator)  # torch's LSTM has two, which are added
        self.latent_1 = seeded_linear(hidden, hidden, generator)
        self.latent_2 = seeded_linear(hidden, 2 * latent, generator)
        self.boundary_1 = seeded_linear(hidden, hidden, generator)
        self.boundary_2 = seeded_linear(hidden, 1, generator)
        self.decode_1 = seeded_linear(latent, hidden, generator)
        self.decode_2 = seeded_linear(hidden, n_channels, generator)

    def forward(self, frames: Tensor, lengths: Tensor, noise: Noise | None = None) -> list[Segment]:
        """The segments of sequences (n_sequences, n_frames, n_channels); soft with noise, hard without."""
        n_sequences, n_frames, _ = frames.shape
        blocks = Blocks.of(n_frames, n_sequences)
        drive = self.embed(blocks.rows(frames)) @ self.feed.t() + self.bias.sum(0)
        time = torch.arange(n_frames, device=frames.device)
        closed = (time == 0) | (time >= lengths[:, None])  # (n_sequences, n_frames)
        last = (time == lengths[:, None] - 1).to(frames.dtype)
        mask = torch.ones_like(frames[:, :, 0])
        segments = []
        for s in range(self.n_segments):
            states = masked_lstm(drive, blocks.rows(mask), self.recurrent, blocks)
            logits, boundary = None, last
            if s < self.n_segments - 1:
                scores = self.boundary_2(torch.relu(self.boundary_1(states)))[..., 0]
                logits = blocks.sequences(scores).masked_fill(closed, _NEVER)
                boundary = _hard(logits) if noise is None else torch.softmax(logits + noise.gumbel[s], dim=1)
            mean, log_variance = self._latents(states, boundary, blocks)
            z = mean if noise is None else mean + torch.exp(0.5 * log_variance) * noise.normal[s]
            picture = self.decode_2(torch.relu(self.decode_1(z)))
            passed = boundary.cumsum(dim=1)
            segments.append(Segment(logits, boundary, mean, log_variance, picture, mask * (1 - passed)))
            mask = mask * (passed + _TINY)
        return segments

    def _latents(self, states: Tensor, boundary: Tensor, blocks: Blocks) -> tuple[Tensor, Tensor]:
        """Mean and log variance (n_sequences, latent) from the state one frame before the boundary."""
        here = blocks.rows(torch.nn.functional.pad(boundary[:, 1:], (0, 1)))  # (length, rows)
        by_row = torch.einsum("tr,trh->rh", here, states)
        readout = by_row.unflatten(0, (blocks.n_blocks, blocks.n_sequences)).sum(0)
        mean, log_variance = self.latent_2(torch.relu(self.latent_1(readout))).chunk(2, dim=1)
        return mean, log_variance

    def loss(self, frames: Tensor, lengths: Tensor, noise: Noise) -> Tensor:
        """The sum of the sequences' losses."""
        segments = self(frames, lengths, noise)
        total = frames.new_zeros(())
        for segment in segments:
            errors = (frames - segment.picture[:, None]).square().sum(dim=2)
            total = total + (errors * segment.share).sum()
            mean, log_variance = segment.mean, segment.log_variance
            total = total - 0.5 * _WEIGHT * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        chance = torch.softmax(segments[0].logits, dim=1)[:, 1:]  # type: ignore[arg-type]
        prior = _poisson(frames.shape[1], self.prior_rate).to(frames)[1:]
        return total + _WEIGHT * self.n_segments * (chance * (torch.log(chance + _TINY) - prior)).sum()


@dataclass(frozen=True)
class Segment:
    """What the network says of one segment of each sequence."""

    logits: Tensor | None  # (n_sequences, n_frames); None for the last segment, which ends with its sequence
    boundary: Tensor  # (n_sequences, n_frames), sums to 1
    mean: Tensor  # (n_sequences, latent)
    log_variance: Tensor  # (n_sequences, latent)
    picture: Tensor  # (n_sequences, n_channels)
    share: Tensor  # (n_sequences, n_frames)


@dataclass(frozen=True)
class Noise:
    """The draws of one training step."""

    gumbel: Tensor  # (n_segments - 1, n_sequences, n_frames)
    normal: Tensor  # (n_segments, n_sequences, latent)

    @classmethod
    def draw(cls, n_sequences: int, n_frames: int, config: CompileConfig, generator: torch.Generator) -> Noise:
        uniform = torch.rand(config.n_segments - 1, n_sequences, n_frames, generator=generator)
        gumbel = -torch.log(_TINY - torch.log(uniform + _TINY))
        return cls(gumbel, torch.randn(config.n_segments, n_sequences, config.latent_dim, generator=generator))

    def of(self, part: slice, n_frames: int) -> Noise:
        """That of some sequences, the longest of which has so many frames."""
        return Noise(self.gumbel[:, part, :n_frames], self.normal[:, part])


def _uniform(shape: tuple[int, int], hidden: int, generator: torch.Generator) -> nn.Parameter:
    """Weights of an LSTM with torch's start, U(-1/sqrt(hidden), 1/sqrt(hidden))."""
    bound = hidden**-0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def _hard(logits: Tensor) -> Tensor:
    return torch.zeros_like(logits).scatter_(1, logits.argmax(dim=1, keepdim=True), 1)


def _poisson(n_frames: int, rate: float) -> Tensor:
    """Log probability that the first boundary lies at frame t, ∝ Poisson(t + 1; rate), as in the released code."""
    at = torch.arange(1, n_frames + 1, dtype=torch.float64)
    return torch.log_softmax(at * np.log(rate) - torch.lgamma(at + 1), dim=0)


# ---------------------------------------------------------------- training and reading


def trained(
    pieces: Sequence[NDArray[np.float32]], config: CompileConfig, seed: int, progress: Progress = silent
) -> CompileNet:
    """Train on sequences (n_frames, n_channels). One step is one mini-batch of `batch_size`, or of all there are."""
    generator = torch.Generator().manual_seed(seed)
    net = CompileNet(pieces[0].shape[1], config, generator)
    optimiser = torch.optim.Adam(net.parameters(), lr=config.learning_rate)
    n_chosen = min(config.batch_size, len(pieces))
    for step in range(config.n_steps):
        chosen = torch.randperm(len(pieces), generator=generator)[:n_chosen].tolist()
        chosen.sort(key=lambda i: -len(pieces[i]))  # those of like length together: less padding
        noise = Noise.draw(n_chosen, len(pieces[chosen[0]]), config, generator)
        optimiser.zero_grad(set_to_none=True)
        for first in range(0, n_chosen, _AT_ONCE):
            part = slice(first, min(first + _AT_ONCE, n_chosen))
            frames, lengths = padded([pieces[i] for i in chosen[part]])
            (net.loss(frames, lengths, noise.of(part, frames.shape[1])) / n_chosen).backward()  # type: ignore[no-untyped-call]
            progress("training", step * n_chosen + part.stop, config.n_steps * n_chosen)
        optimiser.step()
    return net


def read(net: CompileNet, pieces: Sequence[NDArray[np.float32]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Where segments end, (n_pieces, n_segments), never before the one before, and their latents, with latent_dim last.

    The last frame of a piece belongs to the last segment that has any.
    """
    ends, latents = [], []
    with torch.no_grad():
        for first in range(0, len(pieces), _AT_ONCE):
            frames, lengths = padded(pieces[first : first + _AT_ONCE])
            segments = net(frames, lengths)
            cuts = torch.stack([segment.boundary.argmax(dim=1) for segment in segments], dim=1).cummax(dim=1).values
            ends.append(torch.where(cuts >= lengths[:, None] - 1, lengths[:, None], cuts))
            latents.append(torch.stack([segment.mean for segment in segments], dim=1))
    return torch.cat(ends).numpy(), torch.cat(latents).double().numpy()


def restored(tensors: Mapping[str, NDArray[np.generic]], config: CompileConfig) -> CompileNet:
    """A network with these weights."""
    if "embed.weight" not in tensors:
        raise ModelError("the network's tensor 'embed.weight' is missing; fit and save the model again")
    net = CompileNet(tensors["embed.weight"].shape[-1], config, torch.Generator())
    load_weights(net, tensors, "network")
    return net


def padded(pieces: Sequence[NDArray[np.float32]]) -> tuple[Tensor, Tensor]:
    """Sequences as one tensor (n_pieces, longest, n_channels) with zeros after each, and their lengths."""
    lengths = torch.tensor([len(piece) for piece in pieces])
    sequences = [torch.from_numpy(np.ascontiguousarray(piece)) for piece in pieces]
    return nn.utils.rnn.pad_sequence(sequences, batch_first=True), lengths
