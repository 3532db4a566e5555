"""Speed of the continual mode, in CPU time: windows per second, latency, and memory over an endless stream.

    OMP_NUM_THREADS=1 python benchmarks/bench_stream.py [n_windows] [--encoders summary_stats ts2vec]
        [--page docs/results/scale.md]

The update path by itself: points that wander between known units, with something new now and then. Then whole streams
of 9 channels at 100 Hz, windows of 2 s every second, fed in chunks of 100 rows. Wanted: 2,000 windows/s without
encoding, p99 under 20 ms, memory flat over a million windows, 50 times real time with TS2Vec.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
from results_page import Table, parse, write_section

from rondo.continual.updater import Updater
from rondo.many.pool import peak_mb
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("one-stream",)
N_CHANNELS, RATE, LENGTH, STEP, CHUNK = 9, 100.0, 200, 100, 100
N_FIRST = 60_000  # frames that the model is fitted on
NEW_EVERY = 1_000  # windows


def fitted(encoder: str) -> Rondo:
    settings = {"evidence.surrogates": 0} | ({"encoder.iterations": 5} if encoder == "ts2vec" else {})
    stream = plant(StreamPlan(rate=RATE, n_channels=N_CHANNELS), n_frames=N_FIRST, seed=0)
    return Rondo(LENGTH, STEP, encoder, settings=settings).fit(stream.recording)


def update_path(model: Rondo, n_windows: int) -> list[str]:
    """Points drawn at exemplars of the units, one unit after another, and every so often at a place that is new."""
    exemplars = model.unit_model_.exemplars
    grid = (LENGTH, STEP)
    updater = Updater.begin(model.unit_model_, model.motif_model_, model.config_.continual, grid, aligned=True)
    blocks = updater.cuts.blocks(np.zeros((N_CHANNELS, LENGTH), np.float32))
    rng = np.random.default_rng(0)
    spread = 0.1 * exemplars.radius / np.sqrt(exemplars.points.shape[1])
    new = rng.normal(size=(3, exemplars.points.shape[1])) * 3 * exemplars.radius
    lasting, each, memory = 0, np.zeros(n_windows), []
    for number in range(n_windows):
        if not lasting:
            lasting = int(rng.integers(4, 20))
            is_new = number % NEW_EVERY < 20
            place = new[rng.integers(3)] if is_new else exemplars.points[rng.integers(len(exemplars.points))]
        point = place + rng.normal(scale=spread, size=place.size)
        lasting -= 1
        start = time.process_time()
        updater.push_point(point, number * STEP, blocks)
        each[number] = time.process_time() - start
        if number and number % (n_windows // 4) == 0:
            memory.append(peak_mb() or 0.0)
    state, plain = updater.state()
    size = sum(tensor.nbytes for tensor in state.values()) + len(json.dumps(plain))
    times = f"median {1e3 * np.median(each):.2f} ms, p99 {1e3 * np.quantile(each, 0.99):.1f} ms of a window"
    grown = f"state {size / 1e6:.1f} MB; process +{memory[-1] - memory[0]:.0f} MB from the first to the last quarter"
    return [f"update path alone, {n_windows:,} windows", f"{1 / each.mean():,.0f} windows/s", times, grown]


def whole(model: Rondo, name: str, n_frames: int, *, frozen: bool) -> list[str]:
    values = plant(StreamPlan(rate=RATE, n_channels=N_CHANNELS), n_frames=n_frames, seed=1).recording.values
    stream, seconds = model.stream(frozen=frozen), []
    for start in range(0, n_frames, CHUNK):
        begun = time.process_time()
        stream.feed(values[start : start + CHUNK])
        seconds.append(time.process_time() - begun)
    each = np.array(seconds)
    times, slow_ms = n_frames / RATE / each.sum(), 1e3 * np.quantile(each, 0.99)
    mode = "frozen" if frozen else "learning"
    return [f"whole stream, {name}, {mode}", f"{times:,.0f} times real time", f"p99 {slow_ms:.1f} ms of a chunk"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n_windows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--encoders", nargs="+", default=["summary_stats"])
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    table = Table("what", "speed", "per step", "memory")
    for encoder in given.encoders:
        model = fitted(encoder)
        for frozen in (False, True):
            table.add(*whole(model, encoder, 60_000 if encoder == "ts2vec" else 360_000, frozen=frozen))
        if encoder == given.encoders[0]:  # the path is the same for all
            table.add(*update_path(model, given.n_windows))
    write_section(given, "one-stream", table)


if __name__ == "__main__":
    main()
