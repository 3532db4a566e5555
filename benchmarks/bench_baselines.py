"""What each baseline costs: CPU seconds at 10,000, 100,000 and 360,000 frames of 9 channels.

    OMP_NUM_THREADS=1 python benchmarks/bench_baselines.py [--methods ticc …] [--frames 10000 …] [--limit 300]
        [--page docs/results/baselines.md]

Recordings are planted at 50 Hz (360,000 frames: two hours). Every run has a process of its own, from prepared data to
labels, libraries loaded before. A run whose estimate (`estimated_seconds` of the method) is above --limit seconds is
not made: the estimate stands in its place, in brackets. A run that takes three times the limit is stopped. The last
column is the length that the method gets through in an hour by its estimate, where it has one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded

import numpy as np
from results_page import Table, parse, write_section
from rondo_bench.baselines.cost import estimated_seconds, practical_frames, rounded

from rondo.data.recording import Recording
from rondo.errors import InputError, RondoWarning
from rondo.many.pool import Stopwatch
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from rondo.wording import estimate_in_words
from rondo_bench.baselines.baseline import baseline_names, build_baseline, label_recording

SECTIONS = ("cost",)
N_CHANNELS = 9
FRAMES = (10_000, 100_000, 360_000)
N_WARMING = 3_000  # frames of a first run, which loads libraries


def recording_of(n_frames: int) -> Recording:
    return plant(StreamPlan(n_channels=N_CHANNELS), n_frames=n_frames, seed=0).recording


def measure(name: str, n_frames: int) -> None:
    """One run in this process; prints its CPU seconds, those of its children too."""
    warnings.simplefilter("ignore", RondoWarning)
    baseline, recording = build_baseline(name), recording_of(n_frames)
    label_recording(recording_of(N_WARMING), baseline, np.random.default_rng(0))
    watch = Stopwatch()
    label_recording(recording, baseline, np.random.default_rng(0))
    print(f"{watch.cpu_seconds:.2f}")


def cell_of(name: str, n_frames: int, limit_s: float) -> str:
    """CPU seconds of one method at one length, or why there are none."""
    estimate = estimated_seconds(build_baseline(name), n_frames, N_CHANNELS)
    if estimate is not None and estimate > limit_s:
        return f"({estimate_in_words(estimate)})"
    command = [sys.executable, __file__, "--measure", name, str(n_frames)]
    try:
        out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=3 * limit_s).stdout
    except subprocess.TimeoutExpired:
        return f"stopped after {estimate_in_words(3 * limit_s)}"
    except subprocess.CalledProcessError as failed:
        return str(failed.stderr.strip().splitlines()[-1])
    return out.strip()


def hour_of(name: str) -> str:
    """The frames that the method gets through in an hour; nothing where it has no estimate."""
    baseline = build_baseline(name)
    if estimated_seconds(baseline, FRAMES[0], N_CHANNELS) is None:
        return ""
    return f"{rounded(practical_frames(baseline, N_CHANNELS)):,} frames"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=list(baseline_names()), choices=list(baseline_names()))
    parser.add_argument("--frames", nargs="+", type=int, default=list(FRAMES))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds, by the estimate of the method")
    parser.add_argument("--measure", nargs=2, metavar=("METHOD", "FRAMES"), help=argparse.SUPPRESS)
    given = parse(parser, __file__, arguments)
    if given.measure:
        try:
            return measure(given.measure[0], int(given.measure[1]))
        except InputError as error:  # an extra that is not installed
            raise SystemExit(f"refused: {error}") from None
    table = Table("method", *(f"{n_frames:,} frames" for n_frames in given.frames), "an hour holds about")
    for name in given.methods:
        table.add(name, *(cell_of(name, n_frames, given.limit) for n_frames in given.frames), hour_of(name))
    return write_section(given, "cost", table)


if __name__ == "__main__":
    main()
