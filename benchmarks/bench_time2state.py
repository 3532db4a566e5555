"""The race against Time2State on one recording: CPU time from values to labels, and agreement with the truth.

    OMP_NUM_THREADS=1 python benchmarks/bench_time2state.py [DATA] [n_rounds]

DATA holds MoCap/amc_86_02.npz (10,617 frames, `X`, and `y` for scoring); without it a planted stream of that size is
used, scored by its units. Both start from the recording and end with one label per frame; libraries are loaded before.
Each round has a seed of its own and runs all rows in turn; times are medians over rounds, scores means. Time2State is
our own version, several times quicker than the released code, at its original size. Bar: Rondo's default preset takes
at most a third of its CPU time, the surrogate test of what was found included; a row without it shows what labels
alone cost.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded

import numpy as np
import torch
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.errors import RondoWarning
from rondo.metrics.scores import evaluate
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from rondo_bench.baselines.base import build_baseline, label_recording

N_FRAMES, N_CHANNELS, WINDOW, STEP = 10_617, 4, 256, 50
BAR = 3.0
Method = Callable[[Recording, int], dict[str, Labels]]


def rondo(recording: Recording, seed: int) -> dict[str, Labels]:
    return _levels(Rondo(seed=seed), recording)


def rondo_untested(recording: Recording, seed: int) -> dict[str, Labels]:
    return _levels(Rondo(settings={"evidence.surrogates": 0}, seed=seed), recording)


def rondo_same_windows(recording: Recording, seed: int) -> dict[str, Labels]:
    return _levels(Rondo(window=WINDOW, step=STEP, seed=seed), recording)


def time2state(recording: Recording, seed: int) -> dict[str, Labels]:
    baseline = build_baseline("time2state", {"windows.length": WINDOW, "windows.step": STEP})
    return {"states": label_recording(recording, baseline, np.random.default_rng(seed))}


def _levels(model: Rondo, recording: Recording) -> dict[str, Labels]:
    labelling = label_one(model.fit(recording), recording)
    return {"units": labelling.units, "motifs": labelling.motifs}


METHODS: dict[str, Method] = {
    "Rondo, default preset": rondo,
    "Rondo, no surrogate test": rondo_untested,
    f"Rondo, windows {WINDOW}/{STEP}": rondo_same_windows,
    f"Time2State, windows {WINDOW}/{STEP}": time2state,
}


def race(data: Path | None) -> tuple[Recording, NDArray[np.generic]]:
    """The recording, and the truth to score against."""
    if data is None:
        stream = plant(StreamPlan(n_channels=N_CHANNELS), n_frames=N_FRAMES, seed=0)
        return stream.recording, stream.unit_truth
    arrays = np.load(data / "MoCap" / "amc_86_02.npz")
    return Recording(arrays["X"], id="amc_86_02"), arrays["y"]


def main(data: Path | None = None, n_rounds: int = 3) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", RondoWarning)
    recording, truth = race(data)
    small = plant(StreamPlan(n_channels=N_CHANNELS), n_frames=2_000, seed=1).recording
    for method in METHODS.values():
        method(small, 0)  # imports
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    scores: dict[tuple[str, str], list[list[float]]] = {}
    for seed in range(n_rounds):
        for name, method in METHODS.items():
            start = time.process_time()
            levels = method(recording, seed)
            seconds[name].append(time.process_time() - start)
            for level, labels in levels.items():
                row = evaluate({recording.id: (truth, labels)}).average
                figures = [row.ari, row.ami, row.one_to_one, row.n_clusters]
                scores.setdefault((name, level), []).append(figures)
    peer_s = float(np.median(seconds[list(METHODS)[-1]]))
    print(f"{recording!r}, {n_rounds} rounds")
    print("method                         level     CPU s   Time2State / it    ARI    AMI   one-to-one   K")
    for (name, level), rows in scores.items():
        own_s = float(np.median(seconds[name]))
        ari, ami, one_to_one, n_clusters = np.mean(rows, axis=0)
        print(
            f"{name:<30} {level:<7} {own_s:>7.2f} {peer_s / own_s:>15.1f} x {ari:>7.1f} {ami:>6.1f} {one_to_one:>9.1f} "
            f"{n_clusters:>7.1f}"
        )
    ratio = peer_s / float(np.median(seconds["Rondo, default preset"]))
    print(f"bar: {BAR:g} x less CPU time; measured {ratio:.1f} x: {'met' if ratio >= BAR else 'MISSED'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None, *(int(n) for n in sys.argv[2:3]))
