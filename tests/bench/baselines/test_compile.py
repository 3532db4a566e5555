"""CompILE against the textbook: its masked LSTM, its segments and its loss."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from rondo.checks.encoders import planted
from rondo.data.windows import Span
from rondo_bench.baselines import compile_net as module
from rondo_bench.baselines.baseline import JoiningBaseline
from rondo_bench.baselines.compile import Compile, CompileConfig, sequences_of
from rondo_bench.baselines.compile_net import Blocks, CompileNet, Noise, masked_lstm, padded, read
from tests import naive_compile as naive
from tests.bench.baselines.signals import signal_of

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


TINY = CompileConfig(sequence_length=60, n_segments=4, hidden_dim=6, latent_dim=3, n_steps=3, learning_rate=0.02)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pieces(lengths: tuple[int, ...] = (60, 37, 2), n_channels: int = 3) -> list[NDArray[np.float32]]:
    return [planted(length, n_channels, seed=i) for i, length in enumerate(lengths)]


@pytest.fixture
def net() -> CompileNet:
    """In double precision, with weights large enough that boundaries are not all alike."""
    made = CompileNet(3, TINY, generator()).double()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(2)
    return made


def weights_of(net: CompileNet) -> naive.Weights:
    return {name: weight.detach().numpy() for name, weight in net.named_parameters()}


def in_double(noise: Noise) -> Noise:
    return Noise(noise.gumbel.double(), noise.normal.double())


def test_soft_segments_and_loss_are_those_of_the_textbook(net: CompileNet) -> None:
    frames, lengths = padded(pieces())
    noise = in_double(Noise.draw(3, 60, TINY, generator(1)))
    ours = net(frames.double(), lengths, noise)
    total = 0.0
    for b, piece in enumerate(pieces()):
        n = len(piece)
        draws = noise.gumbel[:, b, :n].numpy(), noise.normal[:, b].numpy()
        plain = naive.segments(weights_of(net), piece.astype(float), 4, *draws)
        for one, other in zip(ours, plain, strict=True):
            npt.assert_allclose(one.boundary[b].detach(), np.pad(other.boundary, (0, 60 - n)), atol=1e-10)
            npt.assert_allclose(one.share[b, :n].detach(), other.share, atol=1e-10)
            npt.assert_allclose(one.mean[b].detach(), other.mean, atol=1e-9)
            npt.assert_allclose(one.log_variance[b].detach(), other.log_variance, atol=1e-9)
            npt.assert_allclose(one.picture[b].detach(), other.picture, atol=1e-9)
        total += naive.loss(plain, piece.astype(float), TINY.prior_rate)
    npt.assert_allclose(float(net.loss(frames.double(), lengths, noise).detach()), total, rtol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])  # -1: frames before the last boundary are the likeliest for the next
def test_hard_segments_are_those_of_the_textbook(net: CompileNet, sign: int) -> None:
    with torch.no_grad():
        net.boundary_2.weight.mul_(sign)
    ends, latents = read(net.float(), pieces())
    weights = {name: weight.astype(float) for name, weight in weights_of(net).items()}
    cuts = []
    for b, piece in enumerate(pieces()):
        plain = naive.segments(weights, piece.astype(float), 4)
        cuts.append([int(np.argmax(segment.boundary)) for segment in plain])
        for s, segment in enumerate(plain):
            furthest = max(cuts[-1][: s + 1])
            assert ends[b, s] == (len(piece) if furthest == len(piece) - 1 else furthest)
            npt.assert_allclose(latents[b, s], segment.mean, atol=1e-4)
    went_back = any(later < earlier for each in cuts for earlier, later in pairwise(each))
    assert went_back == (sign == -1)  # else one of the two was not tested


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=5), st.integers(2, 20))
def test_sequences_hold_every_frame_of_stretches_longer_than_one(stretches: list[tuple[int, int]], length: int) -> None:
    spans: list[Span] = []
    for width, gap in stretches:
        start = (spans[-1][1] if spans else 0) + gap
        spans.append((start, start + width))
    values = planted(spans[-1][1] + 1, 2)
    if sum(stop - start for start, stop in spans) < 2:
        return
    found, sequences = sequences_of(signal_of(values, tuple(spans)), length)
    covered = [t for start, stop in found for t in range(start, stop)]
    assert covered == [t for start, stop in spans if stop - start > 1 for t in range(start, stop)]
    assert all(2 <= len(sequence) <= length + 1 for sequence in sequences)


def test_recordings_together_share_their_states() -> None:
    method = Compile(TINY)
    assert isinstance(method, JoiningBaseline)
    one, two = signal_of(planted(300)), signal_of(planted(250, seed=1), id="b")
    first, second, again = method.fit_predict_many([one, two, replace(one, id="c")], np.random.default_rng(0))
    npt.assert_array_equal(first, again)
    assert second.shape == (250,)
    assert set(second.tolist()) & set(first.tolist())
    assert len(set(first.tolist())) > 1
