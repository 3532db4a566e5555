"""What each baseline costs: wall time, CPU time and peak memory at 10,000, 100,000 and 360,000 frames of 9 channels.

    OMP_NUM_THREADS=1 python benchmarks/bench_baselines.py [--methods ticc …] [--frames 10000 …] [--limit 300]

Recordings are planted at 50 Hz (360,000 frames: two hours). Every run has a process of its own, from prepared data to
labels, libraries loaded before; memory is the most that the process, or one that it started, ever held, beside what it
held when it began. A run whose estimate (`estimated_seconds` of the method) is above --limit seconds is not made: the
estimate stands in its place, with the length that the method gets through in an hour. A run that takes three times the
limit is stopped.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import InputError, RondoWarning
from rondo.synthetic import StreamPlan, plant
from rondo.times import estimate_in_words
from rondo_bench.baselines import baseline_names, build_baseline, label_recording
from rondo_bench.baselines.cost import estimated_seconds, practical_frames, rounded

N_CHANNELS = 9
FRAMES = (10_000, 100_000, 360_000)
N_WARMING = 3_000  # frames of a first run, which loads libraries


def recording_of(n_frames: int) -> Recording:
    return plant(StreamPlan(n_channels=N_CHANNELS), n_frames=n_frames, seed=0).recording


def peak_mib() -> float:
    """The most memory that this process, or one of its children, has held."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def cpu_seconds() -> float:
    return sum(os.times()[:4])  # those of children, too


def measure(name: str, n_frames: int) -> None:
    """One run in this process; prints wall and CPU seconds, memory at the start and at most, and states found."""
    warnings.simplefilter("ignore", RondoWarning)
    baseline, recording = build_baseline(name), recording_of(n_frames)
    label_recording(recording_of(N_WARMING), baseline, np.random.default_rng(0))
    before, cpu, wall = peak_mib(), cpu_seconds(), time.perf_counter()
    labels = label_recording(recording, baseline, np.random.default_rng(0))
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f"{wall:.2f} {cpu:.2f} {before:.0f} {peak_mib():.0f} {labels.max() + 1}")


def line_of(name: str, n_frames: int, limit_s: float) -> str:
    """One line of the table."""
    start = f"| {name} | {n_frames:,} |"
    baseline = build_baseline(name)
    estimate = estimated_seconds(baseline, n_frames, N_CHANNELS)
    said = "–" if estimate is None else estimate_in_words(estimate)
    if estimate is not None and estimate > limit_s:
        limit = rounded(practical_frames(baseline, N_CHANNELS))
        return f"{start} not run | | {said} | | an hour holds about {limit:,} frames |"
    command = [sys.executable, __file__, "--measure", name, str(n_frames)]
    try:
        out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=3 * limit_s).stdout
    except subprocess.TimeoutExpired:
        return f"{start} stopped after {estimate_in_words(3 * limit_s)} | | {said} | | |"
    except subprocess.CalledProcessError as failed:
        return f"{start} {failed.stderr.strip().splitlines()[-1]} |"
    wall, cpu, before, peak, n_states = out.split()
    return f"{start} {wall} | {cpu} | {said} | {before} to {peak} | {n_states} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=list(baseline_names()), choices=list(baseline_names()))
    parser.add_argument("--frames", nargs="+", type=int, default=list(FRAMES))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds, by the estimate of the method")
    parser.add_argument("--measure", nargs=2, metavar=("METHOD", "FRAMES"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.measure:
        try:
            return measure(given.measure[0], int(given.measure[1]))
        except InputError as error:  # an extra that is not installed
            raise SystemExit(f"refused: {error}") from None
    print("| method | frames | wall s | CPU s | estimate | memory MiB | states |")
    print("|---|---|---|---|---|---|---|")
    for name in given.methods:
        for n_frames in given.frames:
            print(line_of(name, n_frames, given.limit), flush=True)
    return None


if __name__ == "__main__":
    main()
