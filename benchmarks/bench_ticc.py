"""The race against fast-ticc on one recording: CPU and wall time, and agreement with the truth.

    python3.11 -m venv peer && peer/bin/pip install fast-ticc==1.1.0
    OMP_NUM_THREADS=1 python benchmarks/bench_ticc.py peer/bin/python [DATA] [n_rounds]

fast-ticc (BSD-3-Clause) wants numba and is no dependency of Rondo: it runs in an environment of its own, whose
interpreter is the first argument. DATA holds MoCap/amc_86_02.npz (10,617 frames, `X`, and `y` for scoring); without it
a planted stream of that size is used, scored by its units.

Both start from the same values, z-scored, and the same draws for the mixture, and end with one label per frame. The
settings are the RONDO paper's. fast-ticc charges a change against the log-likelihood itself, not twice of it, so its
cost of a change is half of ours. Each round has a seed of its own; times are medians over rounds, scores means. Before
it is timed fast-ticc labels the recording once in one iteration, so that compiling (said apart) does not count; the
CPU time of the process in which it solves its graphical lassos does. Bar: a fifth of its CPU time and of its wall time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread for both, set before numpy is loaded
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from rondo_bench.baselines.ticc_start import first_labels

from rondo.config.settings import PreprocessConfig
from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.metrics.scores import evaluate
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from rondo_bench.baselines.ticc import TICC, TICCConfig

N_FRAMES, N_CHANNELS = 10_617, 4
BAR = 5.0
PEER = """
import contextlib, json, os, random, sys, time
import numpy as np
from fast_ticc import ticc_labels

folder, seeds = sys.argv[1], [int(seed) for seed in sys.argv[2:]]
values = np.load(folder + "/values.npy")
settings = json.load(open(folder + "/settings.json"))

def timed(seed, **changes):
    np.random.seed(seed)
    random.seed(seed)
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    with contextlib.redirect_stdout(sys.stderr):
        labels = ticc_labels(values, **(settings | changes)).point_labels
    return sum(os.times()[:4]) - cpu, time.perf_counter() - wall, labels

if __name__ == "__main__":
    first = timed(0, iteration_limit=1)
    warm = timed(0, iteration_limit=1)
    print(json.dumps({"compiling": first[0] - warm[0], "rounds": [timed(seed) for seed in seeds]}, default=int))
"""

Round = tuple[float, float, Labels]  # CPU s, wall s, labels


def ours(signal: Signal, config: TICCConfig, seed: int) -> Round:
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    labels = TICC(config).fit_predict(signal, np.random.default_rng(seed))
    return sum(os.times()[:4]) - cpu, time.perf_counter() - wall, labels


def peers(interpreter: str, signal: Signal, config: TICCConfig, n_rounds: int) -> tuple[list[Round], float]:
    """Its rounds, from the draws that ours make of their seeds, and the CPU seconds it spent on compiling."""
    settings = {
        "window_size": config.window,
        "num_clusters": config.n_states,
        "sparsity_weight": config.sparsity,
        "label_switching_cost": config.switch_cost / 2,
        "iteration_limit": config.n_iterations,
        "min_cluster_size": config.reassigned,
    }
    seeds = [str(int(np.random.default_rng(seed).integers(2**32))) for seed in range(n_rounds)]
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "values.npy"), signal.values.astype(np.float64))
        Path(folder, "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        done = subprocess.run([interpreter, "-c", PEER, folder, *seeds], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{interpreter} could not run fast-ticc 1.1.0: {done.stderr.strip().splitlines()[-1]}")
    told = json.loads(done.stdout)
    return [(cpu, wall, np.array(labels, dtype=np.int32)) for cpu, wall, labels in told["rounds"]], told["compiling"]


def race(data: Path | None) -> tuple[Recording, NDArray[np.generic]]:
    """The recording, and the truth to score against."""
    if data is None:
        stream = plant(StreamPlan(n_channels=N_CHANNELS), n_frames=N_FRAMES, seed=0)
        return stream.recording, stream.unit_truth
    arrays = np.load(data / "MoCap" / "amc_86_02.npz")
    return Recording(arrays["X"], id="amc_86_02"), arrays["y"]


def main(interpreter: str, data: Path | None = None, n_rounds: int = 3) -> None:
    recording, truth = race(data)
    signal = Preprocessor.fit([recording], PreprocessConfig()).apply(recording)
    config = TICCConfig()
    first_labels(signal.values[:100].astype(np.float64), 2, np.random.RandomState(0))  # imports
    of_peer, compiling_s = peers(interpreter, signal, config, n_rounds)
    rows = {"rondo": [ours(signal, config, seed) for seed in range(n_rounds)], "fast-ticc 1.1.0": of_peer}
    print(f"{recording!r}, {n_rounds} rounds; compiling took fast-ticc another {compiling_s:.1f} s of CPU time")
    print("method             CPU s   wall s     ARI     AMI   one-to-one")
    medians = {}
    for name, rounds in rows.items():
        cpu, wall = medians[name] = [float(np.median([one[i] for one in rounds])) for i in (0, 1)]
        scores = [evaluate({recording.id: (truth, labels)}).average for _, _, labels in rounds]
        ari, ami, matched = (float(np.mean([getattr(s, n) for s in scores])) for n in ("ari", "ami", "one_to_one"))
        print(f"{name:<16} {cpu:>7.2f} {wall:>8.2f} {ari:>7.1f} {ami:>7.1f} {matched:>9.1f}")
    alike = [
        evaluate({recording.id: (a, b)}).average.ari
        for (_, _, a), (_, _, b) in zip(rows["rondo"], of_peer, strict=True)
    ]
    print(f"agreement of the two, ARI: {', '.join(f'{ari:.1f}' for ari in alike)}")
    in_cpu, in_wall = (of_peer / own for own, of_peer in zip(*medians.values(), strict=True))
    met = "met" if min(in_cpu, in_wall) >= BAR else "MISSED"
    print(f"bar: {BAR:g} x less CPU and wall time; measured {in_cpu:.1f} x and {in_wall:.1f} x: {met}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None, *(int(n) for n in sys.argv[3:4]))
