"""The network of CompILE for continuous channels: boundary and latent of one segment after another, and its training.

One LSTM reads the whole sequence once for each segment s = 1 … S, its state multiplied at every frame by a mask m_s(t),
which is 1 for the first segment. From its states h_s(t)

    boundary   b_s = softmax over t of (head(h_s(t)) + Gumbel noise); read: 1 at the largest logit; b_S: the last frame
    latent     mean and log variance = head(Σ_t h_s(t) b_s(t + 1)), the state just before the boundary
    next mask  m_{s+1}(t) = m_s(t) Σ_{u ≤ t} b_s(u)
    share      p_s(t) = m_s(t) (1 − Σ_{u ≤ t} b_s(u)), how much frame t belongs to segment s
    picture    x̂_s = decoder(z_s), one vector for all frames of the segment
    loss       Σ_s Σ_t p_s(t) ‖x_t − x̂_s‖² + β Σ_s KL(z_s ‖ N(0, I)) + β S KL(softmax of the first logits ‖ Poisson(λ))

The loss is a mean over sequences, which may differ in length: frames after the last one take no boundary, and all
shares are 0 from the last frame on. With x the drive (what the input adds to the gates), m the mask, R the recurrent
weights and (h, c) = 0 at the start, a step of the LSTM is

    i, f, o, g = σ(a_1), σ(a_2), σ(a_3), tanh(a_4)    where a = x_t + h_{t-1} Rᵀ
    c = f c_{t-1} + i g,   h = o tanh(c),   c_t = m_t c,   h_t = m_t h

Thousands of small products in a row cost mostly the calls, so the time axis is cut into blocks, which take their steps
together as rows (block_length, n_blocks · n_sequences, …). The state in which a block begins is first guessed, by a run
over the last frames of the block before it from zero. Then the blocks run, and run again from the ends they reached,
until the state at every seam is the one the next block began with, to `_AGREED`. After as many runs as there are blocks
it is so whatever the weights. The way back is the same in reverse, on gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from rondo.paper.training import seeded_linear
from rondo.wording import Progress, silent

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


def padded(pieces: Sequence[NDArray[np.float32]]) -> tuple[Tensor, Tensor]:
    """Sequences as one tensor (n_pieces, longest, n_channels) with zeros after each, and their lengths."""
    lengths = torch.tensor([len(piece) for piece in pieces])
    sequences = [torch.from_numpy(np.ascontiguousarray(piece)) for piece in pieces]
    return nn.utils.rnn.pad_sequence(sequences, batch_first=True), lengths


_ROWS = 128  # that step together, about: fewer leave the time to the calls, more leave the cache
_GUESS_FRAMES = 48  # before a seam from which its state is guessed
_AGREED = 1e-6  # at a seam, for states; for gradients relative to the largest
_SLAB = 8  # frames whose factors are made at once on the way back


@dataclass(frozen=True)
class Blocks:
    """How the frames of several sequences of equal length are laid in rows that step together."""

    n_frames: int
    n_sequences: int
    n_blocks: int

    @classmethod
    def of(cls, n_frames: int, n_sequences: int) -> Blocks:
        """As many blocks as fill the rows, none so short that guessing its start would cost more than its own run."""
        n_blocks = max(1, min(_ROWS // n_sequences, n_frames // _GUESS_FRAMES))
        return cls(n_frames, n_sequences, n_blocks)

    @property
    def length(self) -> int:
        return -(-self.n_frames // self.n_blocks)

    def rows(self, sequences: Tensor) -> Tensor:
        """(n_sequences, n_frames, …) as (length, n_blocks · n_sequences, …), zeros after the last frame."""
        short = self.length * self.n_blocks - self.n_frames
        if short:
            sequences = torch.cat([sequences, sequences.new_zeros(self.n_sequences, short, *sequences.shape[2:])], 1)
        blocks: Tensor = sequences.unflatten(1, (self.n_blocks, self.length))
        return blocks.movedim(2, 0).transpose(1, 2).flatten(1, 2)

    def sequences(self, rows: Tensor) -> Tensor:
        blocks: Tensor = rows.unflatten(1, (self.n_blocks, self.n_sequences)).transpose(1, 2)
        return blocks.movedim(0, 2).flatten(1, 2)[:, : self.n_frames]

    def later(self, state: Tensor) -> Tensor:
        """The state (rows, …) at each block's end as that at the next one's start; zero before the first."""
        return torch.cat([torch.zeros_like(state[: self.n_sequences]), state[: -self.n_sequences]])

    def earlier(self, state: Tensor) -> Tensor:
        """The state at each block's start as that at the end of the one before; zero after the last."""
        return torch.cat([state[self.n_sequences :], torch.zeros_like(state[: self.n_sequences])])


def masked_lstm(drive: Tensor, mask: Tensor, recurrent: Tensor, blocks: Blocks) -> Tensor:
    """States h (length, rows, hidden) from the drive (length, rows, 4 hidden), in the order input, forget, output, new.

    `mask` is (length, rows), `recurrent` (4 hidden, hidden).
    """
    return cast(Tensor, _MaskedLSTM.apply(drive, mask, recurrent, blocks))


class _MaskedLSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, drive: Tensor, mask: Tensor, recurrent: Tensor, blocks: Blocks) -> Tensor:
        run = _Forth(drive, mask[..., None], recurrent.t().contiguous())
        zero = drive.new_zeros(drive.shape[1], 2 * recurrent.shape[1])
        start = blocks.later(run.steps(max(0, len(drive) - _GUESS_FRAMES), zero)) if blocks.n_blocks > 1 else zero
        for _ in range(blocks.n_blocks):
            reached = blocks.later(run.steps(0, start))
            if bool((reached - start).abs().max() <= _AGREED):
                break
            start = reached
        ctx.save_for_backward(mask, recurrent, run.gates, run.cells, run.states, start)
        ctx.blocks = blocks
        return run.states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        mask, recurrent, gates, cells, states, start = ctx.saved_tensors
        blocks: Blocks = ctx.blocks
        hidden = recurrent.shape[1]
        run = _Back(upstream[0], mask[..., None], recurrent, gates, cells, start[:, hidden:])
        n_frames, zero = len(mask), mask.new_zeros(mask.shape[1], 2 * hidden)
        end = blocks.earlier(run.steps(min(n_frames, _GUESS_FRAMES), zero)) if blocks.n_blocks > 1 else zero
        for _ in range(blocks.n_blocks):
            reached = blocks.earlier(run.steps(n_frames, end))
            if bool((reached - end).abs().max() <= _AGREED * reached.abs().max()):
                break
            end = reached
        before = torch.cat([start[None, :, :hidden], states[:-1]])
        grad_recurrent = run.grad_gates.flatten(0, 1).t() @ before.flatten(0, 1)
        return run.grad_gates, run.grad_mask, grad_recurrent, None


class _Forth:
    """Buffers of one run, and the run: what it leaves behind is what the way back needs."""

    def __init__(self, drive: Tensor, mask: Tensor, weights: Tensor) -> None:
        self.drive, self.mask, self.weights = drive, mask, weights
        length, rows, self.hidden = drive.shape[0], drive.shape[1], weights.shape[0]
        self.gates = torch.empty_like(drive)
        self.cells = drive.new_empty(length, rows, self.hidden)  # before the mask
        self.states = drive.new_empty(length, rows, self.hidden)  # after it

    def steps(self, first: int, start: Tensor) -> Tensor:
        """States and cells (rows, 2 hidden) after the last frame, from those before frame `first`."""
        hidden = self.hidden
        state, cell = start[:, :hidden], start[:, hidden:]
        for drive, gates, mask, inner, out in zip(
            self.drive[first:].unbind(),
            self.gates[first:].unbind(),
            self.mask[first:].unbind(),
            self.cells[first:].unbind(),
            self.states[first:].unbind(),
            strict=True,
        ):
            torch.addmm(drive, state, self.weights, out=gates)
            gates[:, : 3 * hidden].sigmoid_()
            new = gates[:, 3 * hidden :].tanh_()
            torch.mul(gates[:, hidden : 2 * hidden], cell, out=inner)
            inner.addcmul_(gates[:, :hidden], new)
            torch.tanh(inner, out=out)
            state = out.mul_(gates[:, 2 * hidden : 3 * hidden]).mul_(mask)
            cell = inner * mask
        return torch.cat([state, cell], dim=1)


class _Back:
    """The way back: with u the gradient of h_t and e that of c_t, both with what comes from later frames,

        d = m e + u m o (1 − tanh² c)        the gradient of c
        grad a = (d g i(1−i),  d c_{t-1} f(1−f),  u m tanh(c) o(1−o),  d i (1−g²))
        u_{t-1} += grad a · R,   e_{t-1} = d f,   grad m = u h + e c  (before the mask)

    Factors that do not depend on u and e are made for some frames at once, few enough to stay in the cache.
    """

    def __init__(self, upstream: Tensor, mask: Tensor, weights: Tensor, gates: Tensor, cells: Tensor, start: Tensor):
        self.upstream, self.mask, self.weights, self.cells, self.start = upstream, mask, weights, cells, start
        self.hidden = weights.shape[1]
        self.gates = gates.unflatten(-1, (4, self.hidden))
        self.grad_gates = torch.empty_like(gates)
        self.grad_mask = torch.empty_like(mask[..., 0])

    def steps(self, stop: int, end: Tensor) -> Tensor:
        """Gradients (rows, 2 hidden) that leave the first frame, from those that come to frame `stop` - 1."""
        for last in range(stop, 0, -_SLAB):
            end = self._slab(max(0, last - _SLAB), last, end)
        return end

    def _slab(self, first: int, stop: int, end: Tensor) -> Tensor:
        hidden = self.hidden
        span = slice(first, stop)
        mask, cells = self.mask[span], self.cells[span]
        _, forget, out, _ = self.gates[span].unbind(2)
        squashed = cells.tanh()
        through = (1 - squashed * squashed).mul_(out).mul_(mask)
        factors = self._factors(first, stop, mask * squashed)
        grads = self.grad_gates[span].unflatten(-1, (4, hidden))
        of_states, of_cells = torch.empty_like(cells), torch.empty_like(cells)
        to_state, to_cell = end[:, :hidden], end[:, hidden:]
        for t in range(stop - first - 1, -1, -1):
            state = torch.add(self.upstream[first + t], to_state, out=of_states[t])
            cell = of_cells[t].copy_(to_cell)
            inner = torch.addcmul(cell * mask[t], state, through[t])
            torch.mul(inner[:, None], factors[t], out=grads[t])
            torch.mul(state, factors[t, :, 2], out=grads[t, :, 2])
            to_state = self.grad_gates[first + t] @ self.weights
            to_cell = inner * forget[t]
        bare = squashed.mul_(out)
        torch.sum(bare.mul_(of_states).addcmul_(of_cells, cells), dim=-1, out=self.grad_mask[span])
        return torch.cat([to_state, to_cell], dim=1)

    def _factors(self, first: int, stop: int, squashed: Tensor) -> Tensor:
        """Factors from the gradients of c and, for the output gate, of h to those of the gates."""
        gates, mask = self.gates[first:stop], self.mask
        into, _, _, new = gates.unbind(2)
        before = self.start[None] if first == 0 else self.cells[first - 1 : first] * mask[first - 1 : first]
        before = torch.cat([before, self.cells[first : stop - 1] * mask[first : stop - 1]])
        factors = torch.addcmul(gates, gates, gates, value=-1)  # σ(1 − σ)
        factors[:, :, 0] *= new
        factors[:, :, 1] *= before
        factors[:, :, 2] *= squashed
        torch.mul(into, 1 - new * new, out=factors[:, :, 3])
        return factors
