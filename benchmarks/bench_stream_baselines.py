"""DenStream and DBSTREAM: points per second, and how well they follow recordings that keep coming.

    OMP_NUM_THREADS=1 python benchmarks/bench_stream_baselines.py [DATA]

First the speed of the clustering alone, one point after the other, at about 100 micro-clusters in 63 dimensions (what
the training-free encoder gives for 9 channels). Bar: 5,000 points a second. Then planted streams with a novelty in the
middle and, where DATA is given, ActRecTut, OpenPack and one recording of USC-HAD: scores of frames, H and forgetting
by segment recall, and the AMI of the clock, which cuts each recording into as many equal pieces. `points/s` there
counts windows over the CPU time from recording to labels, encoding included.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy is loaded

import numpy as np
from numpy.typing import NDArray
from rondo.metrics.continual import evaluate_continual
from rondo_bench.baselines.stream_clusters import StreamClusters

from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.metrics.scores import evaluate
from rondo.synthetic.plan import Novelty, StreamPlan
from rondo.synthetic.streams import plant
from rondo_bench.baselines.baseline import Baseline, build_baseline, label_recording
from rondo_bench.baselines.dbstream import DBStreamClusters, DBStreamConfig
from rondo_bench.baselines.denstream import DenStreamClusters, DenStreamConfig

METHODS = ("denstream", "dbstream")
N_HEAPS, N_DIMS, N_INITIAL, N_POINTS = 100, 63, 4_000, 20_000
BAR = 5_000.0
STAGES = (40, 60, 80, 100)


class Race(NamedTuple):
    """Recordings of one set with their truth, and the settings they are run with."""

    name: str
    recordings: list[tuple[Recording, NDArray[np.generic]]]
    settings: Mapping[str, Any]


def race_speed() -> None:
    rng = np.random.default_rng(0)
    heaps = rng.normal(size=(N_HEAPS, N_DIMS))
    points = heaps[rng.integers(N_HEAPS, size=N_POINTS)] + 0.2 * rng.normal(size=(N_POINTS, N_DIMS))
    radius = 1.6 * 0.2 * np.sqrt(N_DIMS)  # holds a heap
    print("method      micro-clusters   points/s   bar")
    for name in METHODS:
        rates = []
        for _ in range(3):
            clusters = empty(name, N_DIMS, radius, N_INITIAL)
            clusters.initialise(points[:N_INITIAL])
            start = time.process_time()
            for point in points[N_INITIAL:]:
                clusters.learn_one(point)
            rates.append((N_POINTS - N_INITIAL) / (time.process_time() - start))
        rate = float(np.median(rates))
        print(f"{name:<11} {clusters.n_rows:>14} {rate:>10,.0f}   {'met' if rate >= BAR else 'MISSED'}")


def empty(name: str, n_dims: int, radius: float, half_life: int) -> StreamClusters:
    if name == "denstream":
        return DenStreamClusters(n_dims, radius, half_life, DenStreamConfig())
    return DBStreamClusters(n_dims, radius, half_life, DBStreamConfig())


def races(data: Path | None) -> Iterator[Race]:
    plan = StreamPlan(novelty=(Novelty(at=0.5),))
    streams = [plant(plan, n_frames=30_000, seed=seed) for seed in range(3)]
    yield Race("planted units", [(stream.recording, stream.unit_truth) for stream in streams], {})
    if data is None:
        return
    # About 32 Hz, which the files do not say: 1.5 s, and a quarter of it.
    yield Race("ActRecTut 48/12", read(data / "ActRecTut", "*"), {"windows.length": 48, "windows.step": 12})
    yield Race("OpenPack 90/30", read(data / "OpenPack", "*"), {"windows.length": 90, "windows.step": 30})
    yield Race("USC-HAD 150/37", read(data / "USC-HAD", "subject01"), {"windows.length": 150, "windows.step": 37})


def read(folder: Path, stem: str) -> list[tuple[Recording, NDArray[np.generic]]]:
    recordings = []
    for path in sorted(folder.glob(f"{stem}.npz")):
        with np.load(path) as arrays:
            recordings.append((Recording(arrays["X"], id=path.stem), arrays["y"]))
    return recordings


def labelled(recording: Recording, baseline: Baseline) -> tuple[Labels, int]:
    """The labels of the frames, and the number of windows."""
    n_windows = 0

    def count(_: str, __: int, total: int) -> None:
        nonlocal n_windows
        n_windows = total

    return label_recording(recording, baseline, np.random.default_rng(0), count), n_windows


def run(race: Race, name: str) -> str:
    """One line of the table."""
    baseline = build_baseline(name, race.settings)
    pairs: dict[str, tuple[NDArray[np.generic], Labels]] = {}
    n_windows = 0
    start = time.process_time()
    for recording, truth in race.recordings:
        labels, n_points = labelled(recording, baseline)
        pairs[recording.id] = (truth, labels)
        n_windows += n_points
    seconds = time.process_time() - start
    scores = evaluate(pairs)
    row, clock = scores.average, scores.clock
    stream = evaluate_continual(pairs).as_dict()["recall"]
    other = 100 * float(np.mean([np.mean(labels == OTHER) for _, labels in pairs.values()]))
    figures = "".join(
        f"{figure:>7.1f}"
        for figure in (row.ari, row.ami, row.one_to_one, row.mof, row.seg_ratio, row.n_clusters, other, clock.ami)
    )
    h = "/".join("-" if (value := stream[f"h_{stage}"]) is None else f"{value:.1f}" for stage in STAGES)
    return f"{race.name:<16} {name:<10}{figures}  {h:>20} {stream['forgetting']:>6.1f} {n_windows / seconds:>9,.0f}"


def main(data: Path | None = None) -> None:
    race_speed()
    print(
        "\nset              method        ARI    AMI    1-1    MoF SegRat      K  OTHER  clock"
        "       H@40/60/80/100     M_f  points/s"
    )
    for race in races(data):
        for name in METHODS:
            print(run(race, name), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
