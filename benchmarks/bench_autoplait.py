"""AutoPlait: seconds for recordings of growing length, how much quicker than its plain twin, and its row on MoCap.

    OMP_NUM_THREADS=1 python benchmarks/bench_autoplait.py [DATA] [n_seeds]

CPU time of one thread. The streams have eight regimes that differ in level, pace and size, in 24 segments, for every
split costs time: one that has none to find takes a tenth. The twin (`tests/naive_autoplait.py`, loops over frames) must
find the same segments, on a stream short enough for it. With DATA, which holds MoCap/*.npz
(`X`, and `y` for scoring), the row of each seed follows, their mean and spread, and the published row. Bars: a MoCap
recording within 60 s, 100,000 frames within 10 minutes.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy is loaded

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the twin lives with the tests

from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.metrics.scores import evaluate
from rondo.wording import silent
from rondo_bench.baselines.autoplait import AutoPlait, AutoPlaitConfig, estimated_seconds, regimes_of, standardised
from rondo_bench.baselines.baseline import label_recording
from tests import naive_autoplait as naive

LENGTHS, TWIN_FRAMES = ((1_000, 4), (10_000, 4), (10_000, 9), (100_000, 4), (100_000, 9)), 300
N_REGIMES, N_SEGMENTS = 8, 24
PUBLISHED = {"mof": 90.27, "recall": 90.28, "f1_50": 91.18, "edit": 92.05, "seg_ratio": 0.97}
FIGURES = (*PUBLISHED, "ari", "ami", "one_to_one")
RECORDING_BAR_S, LONG_BAR_S = 60.0, 600.0


def stream(n_frames: int, n_channels: int) -> Recording:
    """Oscillations of one pace, size and level at a time."""
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(N_REGIMES) for _ in range(N_SEGMENTS // N_REGIMES)])
    regime = order[np.arange(n_frames) * N_SEGMENTS // n_frames]
    pace, size = rng.uniform(0.02, 0.3, N_REGIMES), rng.uniform(0.3, 2, (N_REGIMES, n_channels))
    level = rng.normal(size=(N_REGIMES, n_channels))
    wave = np.sin(np.cumsum(pace[regime])[:, None] + np.arange(n_channels)) * size[regime]
    values = wave + level[regime] + 0.3 * rng.normal(size=wave.shape)
    return Recording(values.astype(np.float32), id=f"{n_frames:,} x {n_channels}")


def lengths() -> None:
    print("frames x channels    CPU s   estimated   regimes")
    for n_frames, n_channels in LENGTHS:
        seconds, labels = timed(stream(n_frames, n_channels), seed=0)
        estimate = estimated_seconds(n_frames, n_channels, AutoPlaitConfig())
        print(f"{n_frames:>11,} x {n_channels} {seconds:>12.1f} {estimate:>11.1f} {labels.max() + 1:>9}", flush=True)
    print(f"bar: {LONG_BAR_S:g} s for {n_frames:,} frames: {'met' if seconds <= LONG_BAR_S else 'MISSED'}")


def timed(recording: Recording, seed: int) -> tuple[float, Labels]:
    start = time.process_time()
    labels = label_recording(recording, AutoPlait(), np.random.default_rng(seed))
    return time.process_time() - start, labels


def twin() -> None:
    config = AutoPlaitConfig(float_bits=4)  # so that so short a stream has regimes
    recording = stream(TWIN_FRAMES, n_channels=2)
    signal = Preprocessor.fit([recording], config.preprocess).apply(recording)
    values, spans = standardised(signal), signal.spans
    start = time.process_time()
    ours = [regime.segments for regime in regimes_of(values, spans, config, np.random.default_rng(0), silent)]
    between = time.process_time()
    plain = naive.regimes(values, spans, config, np.random.default_rng(0))
    end = time.process_time()
    agree = "the same segments" if ours == plain else "OTHER SEGMENTS"
    print(
        f"twin, {TWIN_FRAMES} frames: {end - between:.1f} s, ours {between - start:.2f} s, "
        f"{(end - between) / (between - start):.0f} x; {len(plain)} regimes, {agree}"
    )


def mocap(folder: Path, n_seeds: int) -> None:
    rows: list[dict[str, float]] = []
    slowest = 0.0
    for seed in range(n_seeds):
        scored = {}
        for path in sorted(folder.glob("*.npz")):
            arrays = np.load(path)
            seconds, labels = timed(Recording(arrays["X"], id=path.stem), seed)
            slowest = max(slowest, seconds)
            scored[path.stem] = (arrays["y"], labels)
        average = evaluate(scored).average
        rows.append({name: getattr(average, name) for name in FIGURES})
        print(f"MoCap, seed {seed}: " + _figures(rows[-1]), flush=True)
    mean, spread = ({k: float(by([row[k] for row in rows])) for k in rows[0]} for by in (np.mean, np.std))
    print(f"mean          {_figures(mean)}\nspread        {_figures(spread)}")
    print(f"published     {' '.join(f'{name} {figure:.2f}' for name, figure in PUBLISHED.items())}")
    print(f"slowest {slowest:.1f} s; bar {RECORDING_BAR_S:g} s: {'met' if slowest <= RECORDING_BAR_S else 'MISSED'}")


def _figures(row: dict[str, float]) -> str:
    return " ".join(f"{name} {row[name]:.2f}" for name in FIGURES)


def main() -> None:
    twin()
    lengths()
    if len(sys.argv) > 1:
        mocap(Path(sys.argv[1]) / "MoCap", *(int(n) for n in sys.argv[2:3] or ["5"]))


if __name__ == "__main__":
    main()
