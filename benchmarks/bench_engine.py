"""What an engine costs: start, each task after the first, end, and memory of a worker, with work that does nothing.

    python benchmarks/bench_engine.py [--tasks 2000] [--workers 1 2] [--engines serial local joblib ray]
        [--page docs/results/scale.md]

`joblib` is no engine of Rondo: it is joblib.Parallel with loky, one task at a time, for comparison.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from results_page import Table, parse, write_section

from rondo.many.driver import ENGINES, engine_of
from rondo.many.pool import Done, Engine, attempt
from rondo.wording import Progress, counted, silent

SECTIONS = ("engines",)


def nothing(task: int) -> int:
    """The work: what is left is what the engine costs."""
    return task


@dataclass(frozen=True)
class PlainJoblib:
    """What a death of a worker costs is not seen here: it ends the whole run."""

    n_workers: int

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any], progress: Progress = silent) -> Iterator[Done[Any]]:
        from joblib import Parallel, delayed
        from joblib.externals.loky import get_reusable_executor

        run = Parallel(self.n_workers, backend="loky", batch_size=1, return_as="generator_unordered")
        yield from run(delayed(attempt)(work, index, task) for index, task in enumerate(tasks))
        get_reusable_executor().shutdown(wait=True)


@dataclass(frozen=True)
class Cost:
    to_first_s: float
    per_task_ms: float
    to_end_s: float
    peak_mb: float


def cost_of(engine: Engine, n_tasks: int) -> Cost:
    from bench_engine import nothing  # by the name under which a worker can import it

    began = time.perf_counter()
    results = engine.run(nothing, range(n_tasks))
    peaks = [next(results).peak_mb]
    first = last = time.perf_counter()
    for done in results:
        last = time.perf_counter()
        peaks.append(done.peak_mb)
    ended = time.perf_counter()
    return Cost(first - began, (last - first) / (n_tasks - 1) * 1e3, ended - last, max(filter(None, peaks), default=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--engines", nargs="+", choices=[*ENGINES, "joblib"], default=["serial", "local"])
    given = parse(parser, __file__)
    load = f"{given.tasks:,} tasks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}."
    print(load, end="\n\n")
    table = Table("engine", "to the first result", "each task after that", "to the end", "memory of a worker")
    for name in given.engines:
        for n_workers in given.workers if name != "serial" else [1]:
            cost = cost_of(PlainJoblib(n_workers) if name == "joblib" else engine_of(name, n_workers), given.tasks)
            times = f"{cost.to_first_s:.1f} s", f"{cost.per_task_ms:.2f} ms", f"{cost.to_end_s:.1f} s"
            table.add(f"{name}, {counted(n_workers, 'worker')}", *times, f"{cost.peak_mb:.0f} MB")
    write_section(given, "engines", load, table)


if __name__ == "__main__":
    main()
