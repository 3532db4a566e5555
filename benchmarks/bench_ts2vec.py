"""CPU time of training TS2Vec, beside the published formulation run plainly, on one thread.

    OMP_NUM_THREADS=1 python -m benchmarks.bench_ts2vec [--iterations 100]

Both start from the same weights and see the same batches, crops, masks and dropout. Wanted: at least twice less CPU
time than the plain run (full dilated convolutions, similarities by tril and triu), with the same loss curve.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch

from rondo.data.windows import WindowGrid, Windows
from rondo.paper.settings import TS2VecConfig
from rondo.paper.ts2vec import TS2Vec, TS2VecNet, training_steps
from tests.naive_ts2vec import train

T = TypeVar("T")

N_WINDOWS, LENGTH, STEP, N_CHANNELS = 208, 256, 50, 4  # as the second MoCap recording
SHOWN = 10


def planted_windows() -> Windows:
    """Four gaits in turn, each a rhythm of its own, standardised."""
    rng = np.random.default_rng(0)
    n_frames = LENGTH + (N_WINDOWS - 1) * STEP
    gait = np.repeat(rng.integers(4, size=n_frames // 700 + 1), 700)[:n_frames]
    phase = np.cumsum(np.array([0.05, 0.09, 0.14, 0.02])[gait])[:, None] + rng.uniform(0, 6, N_CHANNELS)
    values = np.sin(phase) * rng.uniform(0.5, 2, (4, N_CHANNELS))[gait] + rng.normal(0, 0.1, (n_frames, N_CHANNELS))
    standard = ((values - values.mean(axis=0)) / values.std(axis=0)).astype(np.float32)
    return Windows(standard, WindowGrid(LENGTH, STEP, n_frames, ((0, n_frames),)))


def timed(action: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    result = action()
    return result, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=100)
    iterations = parser.parse_args().iterations
    torch.set_num_threads(1)
    config, windows = TS2VecConfig(iterations=iterations), planted_windows()

    def plainly() -> tuple[dict[str, torch.Tensor], list[float]]:
        generator = torch.Generator().manual_seed(0)
        net = TS2VecNet(N_CHANNELS, config.hidden_dim, config.depth, config.output_dim)
        net.fill(generator)
        steps = training_steps(N_WINDOWS, LENGTH, config, generator)
        contents = torch.from_numpy(np.concatenate(list(windows.batches()))).transpose(1, 2).contiguous()
        return train(net.state_dict(), contents, steps, config.learning_rate)

    TS2Vec(TS2VecConfig(iterations=1)).fit([windows])  # warm: libraries load at their first call
    fitted, ours = timed(lambda: TS2Vec(config).fit([windows]))
    (_, losses), plain = timed(plainly)
    _, encoding = timed(lambda: fitted.encode(windows))

    shown = sorted({*range(0, iterations, max(1, iterations // SHOWN)), iterations - 1})
    print("step   loss, ours  loss, plain")
    for step in shown:
        print(f"{step + 1:>4} {fitted.training_log[step]:>12.4f} {losses[step]:>12.4f}")
    apart = np.abs(np.array(fitted.training_log) / losses - 1)
    print(f"losses apart: at most {100 * apart.max():.3g} %, in the first ten steps {100 * apart[:10].max():.3g} %")
    print(f"{iterations} iterations, CPU seconds: ours {ours:.1f}, plain {plain:.1f}, plain / ours {plain / ours:.2f}")
    print(f"encoding {N_WINDOWS} windows: {encoding:.2f} CPU seconds")


if __name__ == "__main__":
    main()
