"""An LSTM whose state is multiplied by a mask after every step, run over blocks of time side by side.

With x the drive (what the input adds to the gates), m the mask, R the recurrent weights and (h, c) = 0 at the start,

    i, f, o, g = σ(a_1), σ(a_2), σ(a_3), tanh(a_4)    where a = x_t + h_{t-1} Rᵀ
    c = f c_{t-1} + i g,   h = o tanh(c),   c_t = m_t c,   h_t = m_t h

A step is a small product of matrices, so that thousands of them in a row cost mostly the calls. The time axis is
therefore cut into blocks, and all blocks take their steps together. A block must begin in the state in which the one
before it ends. That state is first guessed, by a run over the last frames of each block from zero, which an LSTM that
forgets brings close. Then the blocks run, and run again from the ends they reached, until the state at every seam is
the one the next block began with, to `_AGREED` (states lie within ±1, so that is rounding). After as many runs as there
are blocks it is so whatever the weights: the result is that of one run from end to end. The way back is the same in
reverse, on gradients.

Tensors are in rows: (block_length, n_blocks · n_sequences, …), see `Blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

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
        """The inverse of `rows`."""
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
        start = blocks.later(run.guess()) if blocks.n_blocks > 1 else run.nothing()
        for _ in range(blocks.n_blocks):
            reached = blocks.later(run.all(start))
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
        end = blocks.earlier(run.guess()) if blocks.n_blocks > 1 else run.nothing()
        for _ in range(blocks.n_blocks):
            reached = blocks.earlier(run.all(end))
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

    def nothing(self) -> Tensor:
        return self.drive.new_zeros(self.drive.shape[1], 2 * self.hidden)

    def guess(self) -> Tensor:
        return self._steps(max(0, len(self.drive) - _GUESS_FRAMES), self.nothing())

    def all(self, start: Tensor) -> Tensor:
        return self._steps(0, start)

    def _steps(self, first: int, start: Tensor) -> Tensor:
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

    def nothing(self) -> Tensor:
        return self.upstream.new_zeros(self.upstream.shape[1], 2 * self.hidden)

    def guess(self) -> Tensor:
        return self._slabs(min(len(self.upstream), _GUESS_FRAMES), self.nothing())

    def all(self, end: Tensor) -> Tensor:
        return self._slabs(len(self.upstream), end)

    def _slabs(self, stop: int, end: Tensor) -> Tensor:
        """Gradients (rows, 2 hidden) that leave the first frame, from those that come to frame `stop` - 1."""
        for last in range(stop, 0, -_SLAB):
            end = self._steps(max(0, last - _SLAB), last, end)
        return end

    def _steps(self, first: int, stop: int, end: Tensor) -> Tensor:
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
        """What the gradient of c, in the third place that of h, is multiplied with to give those of the gates."""
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
