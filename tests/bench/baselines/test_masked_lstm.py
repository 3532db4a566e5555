from __future__ import annotations

import numpy.testing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from rondo_bench.baselines import compile_net as module
from rondo_bench.baselines.compile_net import Blocks, masked_lstm

HIDDEN = 5


def by_steps(drive: Tensor, mask: Tensor, recurrent: Tensor) -> Tensor:
    """States (n_sequences, n_frames, hidden), one frame after another, gradients left to torch."""
    n_sequences, n_frames, _ = drive.shape
    state = cell = drive.new_zeros(n_sequences, HIDDEN)
    states = []
    for t in range(n_frames):
        into, forget, out, new = (drive[:, t] + state @ recurrent.T).chunk(4, dim=1)
        cell = forget.sigmoid() * cell + into.sigmoid() * new.tanh()
        state = out.sigmoid() * cell.tanh() * mask[:, t, None]
        cell = cell * mask[:, t, None]
        states.append(state)
    return torch.stack(states, dim=1)


def drawn(n_sequences: int, n_frames: int, memory: float, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Drive, mask and weights; `memory` is added to the forget gate's drive."""
    source = torch.Generator().manual_seed(seed)
    drive = torch.randn(n_sequences, n_frames, 4 * HIDDEN, generator=source, dtype=torch.float64)
    drive[:, :, HIDDEN : 2 * HIDDEN] += memory
    mask = torch.rand(n_sequences, n_frames, generator=source, dtype=torch.float64)
    mask = torch.where(mask < 0.1, 0.0, 1 - 0.1 * mask) if memory else mask
    recurrent = torch.randn(4 * HIDDEN, HIDDEN, generator=source, dtype=torch.float64) * 0.7
    return drive.requires_grad_(), mask.requires_grad_(), recurrent.requires_grad_()


def in_blocks(drive: Tensor, mask: Tensor, recurrent: Tensor, blocks: Blocks) -> Tensor:
    return blocks.sequences(masked_lstm(blocks.rows(drive), blocks.rows(mask), recurrent, blocks))


@pytest.mark.parametrize("n_blocks", [1, 4, 29])
@pytest.mark.parametrize("memory", [0.0, 4.0])  # 4: a state lasts for longer than a block
def test_blocks_change_nothing_forth_and_back(n_blocks: int, memory: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AGREED", 1e-14)
    monkeypatch.setattr(module, "_GUESS_FRAMES", 6)
    given_ = drawn(3, 203, memory)
    weight = torch.randn(3, 203, HIDDEN, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    plain = by_steps(*given_)
    ours = in_blocks(*given_, Blocks(203, 3, n_blocks))
    npt.assert_allclose(ours.detach(), plain.detach(), atol=1e-13)
    expected = torch.autograd.grad((plain * weight).sum(), given_)
    for name, got, want in zip("xmR", torch.autograd.grad((ours * weight).sum(), given_), expected, strict=True):
        npt.assert_allclose(got, want, atol=1e-10, err_msg=name)


def test_one_run_is_not_enough_for_what_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above could not tell a guess from an agreement."""
    given_ = drawn(1, 120, memory=4.0)
    given_[1].detach().fill_(1.0)
    monkeypatch.setattr(module, "_GUESS_FRAMES", 2)
    monkeypatch.setattr(module, "_AGREED", 1e9)
    with torch.no_grad():
        assert float((in_blocks(*given_, Blocks(120, 1, 10)) - by_steps(*given_)).abs().max()) > 1e-3


@given(st.integers(1, 5), st.integers(1, 60), st.integers(1, 9))
def test_rows_are_frames_in_another_order(n_sequences: int, n_frames: int, n_blocks: int) -> None:
    blocks = Blocks(n_frames, n_sequences, n_blocks)
    frames = torch.arange(1, n_sequences * n_frames + 1).view(n_sequences, n_frames)
    rows = blocks.rows(frames)
    assert rows.shape == (blocks.length, n_blocks * n_sequences)
    assert torch.equal(blocks.sequences(rows), frames)
    for k in range(min(n_blocks, n_frames // blocks.length)):
        for b in range(n_sequences):
            assert torch.equal(rows[:, k * n_sequences + b], frames[b, k * blocks.length : (k + 1) * blocks.length])
