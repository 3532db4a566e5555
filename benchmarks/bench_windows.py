"""Speed of bringing window labels to frames, beside the plain ways of doing it.

    python benchmarks/bench_windows.py

The plain ways are one column of votes per label, summed up over all frames (memory: frames x labels), and a
Python loop over frames, which is timed on a part and scaled up.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import WindowGrid

LOOP_FRAMES = 50_000


def plain_counts(grid: WindowGrid, labels: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """Votes of every label on every frame; ties go to the smallest label."""
    votes = np.zeros((grid.n_frames + 1, n_labels), dtype=np.int32)
    np.add.at(votes, (grid.starts, labels), 1)
    np.add.at(votes, (grid.starts + grid.length_frames, labels), -1)
    return np.cumsum(votes, axis=0, out=votes)[:-1].argmax(axis=1)


def plain_loop(grid: WindowGrid, labels: NDArray[np.int64]) -> list[int]:
    """The windows of each frame, counted one frame at a time."""
    track, last = [], grid.n_windows - 1
    for frame in range(grid.n_frames):
        first = max(0, -((grid.length_frames - 1 - frame) // grid.step_frames))
        stop = min(frame // grid.step_frames, last) + 1
        track.append(Counter(labels[min(first, last) : stop].tolist()).most_common(1)[0][0])
    return track


def measured(action: Callable[[], object]) -> tuple[float, float]:
    """Best of three in seconds, then the peak of memory in MB in a run of its own: tracing costs time."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(seconds), peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=5_000_000)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--step", type=int, default=50)
    parser.add_argument("--labels", type=int, default=30)
    size = parser.parse_args()
    grid = WindowGrid(size.length, size.step, size.frames, ((0, size.frames),))
    labels = np.random.default_rng(0).integers(0, size.labels, grid.n_windows)
    print(f"{size.frames:,} frames, windows {size.length}/{size.step}, {size.labels} labels")
    ours, our_peak = measured(lambda: grid.project(labels, "vote"))
    print(f"  vote             {ours:8.3f} s {our_peak:8.0f} MB")
    for rule in ("centre", "start"):
        seconds, peak = measured(lambda rule=rule: grid.project(labels, rule))
        print(f"  {rule:<16} {seconds:8.3f} s {peak:8.0f} MB")
    counts, peak = measured(lambda: plain_counts(grid, labels, size.labels))
    print(f"  votes per frame  {counts:8.3f} s {peak:8.0f} MB   {counts / ours:6.1f} times the vote's time")
    part = WindowGrid(size.length, size.step, LOOP_FRAMES, ((0, LOOP_FRAMES),))
    start = time.perf_counter()
    plain_loop(part, labels[: part.n_windows])
    loop = (time.perf_counter() - start) * size.frames / LOOP_FRAMES
    print(f"  loop, scaled up  {loop:8.3f} s               {loop / ours:6.1f} times the vote's time")


if __name__ == "__main__":
    main()
