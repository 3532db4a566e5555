"""Speed of the metrics on one long recording, beside the plain way of scoring it frame by frame.

    python benchmarks/bench_metrics.py

Rondo computes every score for the prediction and for its clock; the plain way computes ARI and AMI alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from rondo.metrics.scores import clock_labels, evaluate

Track = NDArray[np.int64]


def random_track(n_frames: int, n_runs: int, n_ids: int, rng: np.random.Generator) -> Track:
    """A track of exactly `n_runs` runs at random places, no two neighbours alike."""
    starts = np.concatenate([[0], np.sort(rng.choice(n_frames - 1, n_runs - 1, replace=False)) + 1])
    ids = np.cumsum(rng.integers(1, n_ids, size=n_runs)) % n_ids
    return np.repeat(ids, np.diff(starts, append=n_frames))


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def plain_scores(truth: Track, labels: Track) -> tuple[float, float]:
    return adjusted_rand_score(truth, labels), adjusted_mutual_info_score(truth, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=3_000_000)
    parser.add_argument("--true-segments", type=int, default=5_000)
    parser.add_argument("--predicted-segments", type=int, default=20_000)
    size = parser.parse_args()
    rng = np.random.default_rng(0)
    clock = clock_labels(size.frames, size.predicted_segments)
    print(f"{size.frames:,} frames; {size.true_segments:,} true, {size.predicted_segments:,} found segments")
    print(" classes  clusters   all scores + clock   plain ARI + AMI   ... of the clock   plain / ours")
    for n_classes, n_clusters in ((12, 30), (20, 300), (60, 3_000)):
        truth = random_track(size.frames, size.true_segments, n_classes, rng)
        labels = random_track(size.frames, size.predicted_segments, n_clusters, rng)
        ours = min(seconds(lambda t=truth, p=labels: evaluate({"long": (t, p)})) for _ in range(3))
        plain = seconds(lambda t=truth, p=labels: plain_scores(t, p))
        plain_clock = seconds(lambda t=truth: plain_scores(t, clock))
        ratio = (plain + plain_clock) / ours
        print(
            f"{n_classes:>8} {n_clusters:>9} {ours:>18.2f} s {plain:>15.2f} s {plain_clock:>16.2f} s {ratio:>14.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
