"""CompILE: what blocks of time side by side save over the plain loop, and what whole recordings cost.

    OMP_NUM_THREADS=1 python benchmarks/bench_compile.py [n_frames ...]

First one training step over a few sequences of 2,000 frames, with the same weights and draws: once with the masked LSTM
of `baselines.masked_lstm`, once with a loop over the frames, as the released code has it, and gradients left to
autograd (what the input adds to the gates is made once for all segments in both). Both must give the same loss. Then
whole training for recordings of the given lengths (10,000 unless told), extrapolated from a few steps.
"""

from __future__ import annotations

import os
import sys
import time
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded

import numpy as np
import torch
from rondo_bench.baselines.masked_lstm import Blocks
from torch import Tensor

from rondo.data.scaling import Preprocessor
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from rondo_bench.baselines import compile_net
from rondo_bench.baselines.compile import Compile, CompileConfig, estimated_seconds
from rondo_bench.baselines.compile_net import CompileNet, Noise, padded

N_CHANNELS = 9
N_SEQUENCES = 5  # those of a recording of 10,000 frames
N_STEPS = 4  # that are run of a whole training, the first of which does not count


def by_loop(drive: Tensor, mask: Tensor, recurrent: Tensor, blocks: Blocks) -> Tensor:
    """The same states, one frame after another."""
    drive, mask = blocks.sequences(drive), blocks.sequences(mask)
    state = cell = drive.new_zeros(len(drive), recurrent.shape[1])
    states = []
    for x, m in zip(drive.unbind(1), mask[..., None].unbind(1), strict=True):
        into, forget, out, new = torch.addmm(x, state, recurrent.t()).chunk(4, dim=1)
        cell = forget.sigmoid() * cell + into.sigmoid() * new.tanh()
        state, cell = m * (out.sigmoid() * cell.tanh()), m * cell
        states.append(state)
    return blocks.rows(torch.stack(states, dim=1))


def step(net: CompileNet, frames: Tensor, lengths: Tensor, noise: Noise) -> tuple[float, float]:
    """CPU seconds and the loss."""
    start = time.process_time()
    loss = net.loss(frames, lengths, noise)
    loss.backward()  # type: ignore[no-untyped-call]
    return time.process_time() - start, float(loss.detach())


def race() -> None:
    config = CompileConfig()
    values = plant(StreamPlan(n_channels=N_CHANNELS), n_frames=2_000 * N_SEQUENCES, seed=0).recording.values
    frames, lengths = padded(
        [(values[i : i + 2_000] - values.mean(0)) / values.std(0) for i in range(0, len(values), 2_000)]
    )
    net = CompileNet(N_CHANNELS, config, torch.Generator().manual_seed(0))
    noise = Noise.draw(N_SEQUENCES, 2_000, config, torch.Generator().manual_seed(1))
    step(net, frames, lengths, noise)  # once for the caches
    ours_s, ours = step(net, frames, lengths, noise)
    with patch.object(compile_net, "masked_lstm", by_loop):
        plain_s, plain = step(net, frames, lengths, noise)
    print(f"one step, {N_SEQUENCES} sequences of 2,000 frames: blocks {ours_s:.2f} s, plain loop {plain_s:.2f} s")
    print(f"ratio {plain_s / ours_s:.1f}; losses {ours:.3f} and {plain:.3f}")
    if abs(ours - plain) > 1e-3 * abs(plain):
        raise SystemExit("the losses differ: the two are not the same network")


def cost(n_frames: int) -> None:
    config = CompileConfig()
    recording = plant(StreamPlan(n_channels=N_CHANNELS), n_frames=n_frames, seed=0).recording
    signal = Preprocessor.fit([recording], config.preprocess).apply(recording)
    fewer = config.model_copy(update={"n_steps": N_STEPS})
    ticks: list[float] = []

    def progress(what: str, done: int, total: int) -> None:
        if what == "training" and done % (total // N_STEPS) == 0:
            ticks.append(time.process_time())

    Compile(fewer).fit_predict(signal, np.random.default_rng(0), progress)
    seconds = (ticks[-1] - ticks[0]) / (N_STEPS - 1) * config.n_steps
    told = estimated_seconds(n_frames, N_CHANNELS, config)
    print(f"{n_frames:>9,} frames x {N_CHANNELS} channels: about {seconds:.0f} CPU s, estimate {told:.0f} s")


def main(lengths: list[int]) -> None:
    torch.set_num_threads(1)
    race()
    for n_frames in lengths:
        cost(n_frames)


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [10_000])
