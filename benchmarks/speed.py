"""Speed of a stream and of the engines that run many tasks.

    OMP_NUM_THREADS=1 python benchmarks/speed.py stream [--windows 1000000] [--encoders summary_stats ts2vec]
        [--page docs/results/streams.md]
    OMP_NUM_THREADS=1 python benchmarks/speed.py engines [--engines serial local joblib ray] [--tasks 2000]
    OMP_NUM_THREADS=1 python benchmarks/speed.py commands [--cases tiny small ...] [--page docs/results/streams.md]

`stream`: 9 channels at 100 Hz, windows of 2 s every second, chunks of 100 rows; then the update path alone, with points
that wander between known units and something new now and then. Wanted: 2,000 windows/s without encoding, p99 under
20 ms, memory flat over a million windows, 50 times real time with TS2Vec. `engines`: start, each task and end of an
engine with work that does nothing; `joblib` is joblib.Parallel with loky, one task at a time, for comparison.

`commands`: CPU time (user and system) and peak memory of whole commands on planted recordings, in processes of one
thread. Times are multiples of `reference`, which is measured in this process before and after each command, so that
they hold on any machine. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import Table, program, write_section

from rondo import Rondo, discover
from rondo.continual.updater import Updater
from rondo.many.driver import ENGINES, engine_of
from rondo.many.engine import attempt, peak_mb
from rondo.synthetic import StreamPlan, plant

SECTIONS = ("one-stream", "engines", "commands")


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


def reference() -> float:
    """CPU seconds of fixed work: products of matrices, sorting, sums, powers, and a loop of Python."""
    rng, began = np.random.default_rng(0), time.process_time()
    square, many = rng.normal(size=(1024, 1024)), rng.normal(size=1 << 22)
    for _ in range(10):
        square = np.tanh(square @ square / 1024)
    many = np.sort(many)
    for _ in range(12):
        many = np.sqrt(np.abs(np.cumsum(many) / many.size)) + 1.0
    sum(number * number for number in range(4_000_000))
    return time.process_time() - began


class Case(NamedTuple):
    """A command on files that are written first."""

    title: str
    wanted: float  # times the reference
    words: Callable[[Path], list[str]]  # writes what is read; the words of the command


@cache
def values_of(n_frames: int, n_channels: int) -> np.ndarray:
    """Planted, in parts of a million frames."""
    sizes = [min(1_000_000, n_frames - first) for first in range(0, n_frames, 1_000_000)]
    plan = StreamPlan(n_channels=n_channels)
    parts = [plant(plan, n_frames=size, seed=seed).recording.values for seed, size in enumerate(sizes)]
    return np.concatenate(parts)


def npz(folder: Path, values: np.ndarray) -> str:
    np.savez(folder / "x.npz", X=values, rate=50.0)
    return str(folder / "x.npz")


def csv(path: Path, values: np.ndarray) -> str:
    names = ",".join(f"ch{i}" for i in range(values.shape[1]))
    np.savetxt(path, values, "%.5g", ",", header=names, comments="")
    return str(path)


def discover_npz(n_frames: int, n_channels: int) -> Callable[[Path], list[str]]:
    return lambda folder: ["discover", npz(folder, values_of(n_frames, n_channels))]


def discover_csv(n_frames: int, n_channels: int) -> Callable[[Path], list[str]]:
    return lambda folder: ["discover", csv(folder / "x.csv", values_of(n_frames, n_channels)), "--rate", "50"]


def wide(folder: Path) -> list[str]:
    """2,000 channels that mix 50."""
    rng, few = np.random.default_rng(0), values_of(20_000, 50)
    mixed = few @ rng.normal(size=(50, 2_000)) / 7 + 0.3 * rng.normal(size=(20_000, 2_000))
    return ["discover", npz(folder, mixed.astype(np.float32))]


def many(folder: Path) -> list[str]:
    (folder / "files").mkdir()
    for number, part in enumerate(np.split(values_of(120_000, 3), 1_000)):
        csv(folder / "files" / f"r{number:04d}.csv", part)
    return ["discover", str(folder / "files"), "--rate", "50", "--engine", "serial"]


def with_model(verb: str, write: Callable[[Path, np.ndarray], str], *option: str) -> Callable[[Path], list[str]]:
    def words(folder: Path) -> list[str]:
        Rondo().fit(plant(StreamPlan(), n_frames=32_000, seed=9).recording).save(folder / "model")
        return [verb, str(folder / "model"), *option, write(folder, values_of(1_000_000, 6))]

    return words


CASES = {
    "tiny": Case("600 x 3 csv", 1.0, discover_csv(600, 3)),
    "small": Case("32,000 x 6", 1.8, discover_npz(32_000, 6)),
    "day": Case("360,000 x 9", 4, discover_npz(360_000, 9)),
    "long": Case("5,000,000 x 10 npz", 15, discover_npz(5_000_000, 10)),
    "text": Case("1,000,000 x 10 csv", 8, discover_csv(1_000_000, 10)),
    "wide": Case("20,000 x 2,000", 12, wide),
    "many": Case("1,000 files of 120 x 3", 15, many),
    "label": Case("label 1,000,000 x 6", 3, with_model("label", npz)),
    "stream": Case(
        "stream 1,000,000 x 6",
        8,
        with_model("stream", lambda folder, values: csv(folder / "x.csv", values), "--source"),
    ),
}


MEASURED = """
import atexit, sys
atexit.register(lambda: print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM")), flush=True))
from rondo.__main__ import run
run()
"""


def measured(words: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MB of one command; what it prints is only of interest where it fails."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-c", MEASURED, *words]
        process = subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | one_thread)
        _, status, used = os.wait4(process.pid, 0)
        said.seek(0)
        text = said.read().decode()
    if status:
        raise SystemExit(text)
    return used.ru_utime + used.ru_stime, int(text.rpartition("VmHWM:")[2].split()[0]) / 1024


def commands(options: argparse.Namespace) -> None:
    table = Table("command", "CPU, times the reference", "wanted", "with three scales", "CPU", "peak memory")
    for name in options.cases:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as place:
            words = case.words(Path(place))
            values_of.cache_clear()
            before = reference()
            seconds, megabytes = measured([*words, "--out", f"{place}/run"])
            unit = (before + reference()) / 2
        scales = f"{1.5 * case.wanted:g}" if words[0] == "discover" else ""
        table.add(
            case.title, f"{seconds / unit:.1f}", f"{case.wanted:g}", scales, f"{seconds:.1f} s", f"{megabytes:,.0f} MB"
        )
    write_section(options, "commands", table)


GROWTH: dict[str, tuple[int, int, Callable[[int], Any]]] = {  # a size, how many times that, and recordings of a size
    "frames": (40_000, 4, lambda n: plant(StreamPlan(n_channels=4), n_frames=n, seed=0).recording),
    "channels": (12, 8, lambda n: plant(StreamPlan(n_channels=n), n_frames=12_000, seed=0).recording),
    "recordings": (
        25,
        8,
        lambda n: np.split(plant(StreamPlan(n_channels=3), n_frames=120 * n, seed=0).recording.values, n),
    ),
}


def growth(what: str) -> float:
    """The power of a size with which the CPU time of `discover` grows; fixed costs make it less, never more."""
    size, times, recordings_of = GROWTH[what]
    discover(recordings_of(size))  # imports
    seconds = []
    for n in (size, times * size):
        recordings, began = recordings_of(n), time.process_time()
        discover(recordings)
        seconds.append(time.process_time() - began)
    return float(np.log(seconds[1] / seconds[0]) / np.log(times))


ARGUMENTS = (
    ("--windows", {"type": int, "default": 1_000_000, "help": "stream: of the update path"}),
    ("--encoders", {"nargs": "+", "default": ["summary_stats"]}),
    ("--engines", {"nargs": "+", "choices": [*ENGINES, "joblib"], "default": ["serial", "local"]}),
    ("--tasks", {"type": int, "default": 2000}),
    ("--workers", {"type": int, "nargs": "+", "default": [1, 2]}),
    ("--cases", {"nargs": "+", "choices": CASES, "default": list(CASES)}),
)
parsed, main = program(__file__, __doc__, {"stream": stream, "engines": engines, "commands": commands}, ARGUMENTS)

if __name__ == "__main__":
    main()
