"""Speed of a stream and of the engines that run many tasks.

    OMP_NUM_THREADS=1 python benchmarks/speed.py stream [--windows 1000000] [--encoders summary_stats ts2vec]
        [--page docs/results/streams.md]
    OMP_NUM_THREADS=1 python benchmarks/speed.py engines [--engines serial local joblib ray] [--tasks 2000]

`stream`: 9 channels at 100 Hz, windows of 2 s every second, chunks of 100 rows; then the update path alone, with points
that wander between known units and something new now and then. Wanted: 2,000 windows/s without encoding, p99 under
20 ms, memory flat over a million windows, 50 times real time with TS2Vec. `engines`: start, each task and end of an
engine with work that does nothing; `joblib` is joblib.Parallel with loky, one task at a time, for comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from pages import Table, program, write_section

from rondo import Rondo
from rondo.continual.updater import Updater
from rondo.many.driver import ENGINES, engine_of
from rondo.many.engine import attempt, peak_mb
from rondo.synthetic import StreamPlan, plant

SECTIONS = ("one-stream", "engines")


def update_path(model: Rondo, n_windows: int) -> list[str]:
    """Points at exemplars of the units, one unit after another, and every so often at a place that is new."""
    exemplars, rng = model.unit_model_.exemplars, np.random.default_rng(0)
    updater = Updater(model.unit_model_, model.motif_model_, model.config_.continual, (200, 100), aligned=True)
    blocks = updater.issue.blocks(np.zeros((9, 200), np.float32))
    spread = 0.1 * exemplars.radius / np.sqrt(exemplars.points.shape[1])
    new = rng.normal(size=(3, exemplars.points.shape[1])) * 3 * exemplars.radius
    lasting, each, memory = 0, np.zeros(n_windows), []
    for number in range(n_windows):
        if not lasting:
            lasting, places = int(rng.integers(4, 20)), new if number % 1_000 < 20 else exemplars.points
            place = places[rng.integers(len(places))]
        point = place + rng.normal(scale=spread, size=place.size)
        lasting -= 1
        began = time.process_time()
        updater.push_point(point, number * 100, blocks)
        each[number] = time.process_time() - began
        if number and number % (n_windows // 4) == 0:
            memory.append(peak_mb() or 0.0)
    state, plain = updater.state()
    size = sum(tensor.nbytes for tensor in state.values()) + len(json.dumps(plain))
    times = f"median {1e3 * np.median(each):.2f} ms, p99 {1e3 * np.quantile(each, 0.99):.1f} ms of a window"
    grown = f"state {size / 1e6:.1f} MB; process +{memory[-1] - memory[0]:.0f} MB from the first to the last quarter"
    return [f"update path alone, {n_windows:,} windows", f"{1 / each.mean():,.0f} windows/s", times, grown]


def stream(options: argparse.Namespace) -> None:
    plan, table = StreamPlan(rate=100.0, n_channels=9), Table("what", "speed", "per step", "memory")
    for encoder in options.encoders:
        trained = encoder == "ts2vec"
        settings = {"evidence.surrogates": 0} | ({"encoder.iterations": 5} if trained else {})
        model = Rondo(200, 100, encoder, settings=settings).fit(plant(plan, n_frames=60_000, seed=0).recording)
        values = plant(plan, n_frames=60_000 if trained else 360_000, seed=1).recording.values
        for frozen in (False, True):
            live, seconds = model.stream(frozen=frozen), []
            for start in range(0, len(values), 100):
                began = time.process_time()
                live.feed(values[start : start + 100])
                seconds.append(time.process_time() - began)
            speed = f"{len(values) / 100 / sum(seconds):,.0f} times real time"
            title = f"whole stream, {encoder}, {'frozen' if frozen else 'learning'}"
            table.add(title, speed, f"p99 {1e3 * np.quantile(seconds, 0.99):.1f} ms of a chunk")
        if encoder == options.encoders[0]:  # the path is the same for all
            table.add(*update_path(model, options.windows))
    write_section(options, "one-stream", table)


def nothing(task: int) -> int:
    """The work: what is left is the cost of the engine."""
    return task


def results_of(name: str, n_workers: int, n_tasks: int) -> Iterator[Any]:
    from speed import nothing  # by the name under which a worker can import it

    if name != "joblib":
        yield from engine_of(name, n_workers).run(nothing, range(n_tasks))
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    run = Parallel(n_workers, backend="loky", batch_size=1, return_as="generator_unordered")
    yield from run(delayed(attempt)(nothing, index, index) for index in range(n_tasks))
    get_reusable_executor().shutdown(wait=True)


def engines(options: argparse.Namespace) -> None:
    load = f"{options.tasks:,} tasks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}."
    print(load, end="\n\n")
    table = Table("engine", "to the first result", "each task after that", "to the end", "memory of a worker")
    for name in options.engines:
        for n_workers in options.workers if name != "serial" else [1]:
            began, moments, peaks = time.perf_counter(), [], [0.0]
            for done in results_of(name, n_workers, options.tasks):
                moments.append(time.perf_counter())
                peaks.append(done.peak_mb or 0.0)
            first, last, end = moments[0], moments[-1], time.perf_counter()
            each = 1e3 * (last - first) / (options.tasks - 1)
            times = f"{first - began:.1f} s", f"{each:.2f} ms", f"{end - last:.1f} s", f"{max(peaks):.0f} MB"
            table.add(f"{name}, {n_workers} worker{'s' * (n_workers > 1)}", *times)
    write_section(options, "engines", load, table)


ARGUMENTS = (
    ("--windows", {"type": int, "default": 1_000_000, "help": "stream: of the update path"}),
    ("--encoders", {"nargs": "+", "default": ["summary_stats"]}),
    ("--engines", {"nargs": "+", "choices": [*ENGINES, "joblib"], "default": ["serial", "local"]}),
    ("--tasks", {"type": int, "default": 2000}),
    ("--workers", {"type": int, "nargs": "+", "default": [1, 2]}),
)
parsed, main = program(__file__, __doc__, {"stream": stream, "engines": engines}, ARGUMENTS)

if __name__ == "__main__":
    main()
