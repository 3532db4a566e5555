"""What an engine costs: from the start to the first result, and for each task after that, with work that does nothing.

python benchmarks/bench_engine.py [--tasks 2000] [--workers 1 2] [--engines serial local ray]
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass

from rondo.engine.base import Engine
from rondo.engine.choose import ENGINES, engine_of


def nothing(task: int) -> int:
    """The work: what is left is what the engine costs."""
    return task


@dataclass(frozen=True)
class Cost:
    to_first_s: float
    per_task_ms: float


def cost_of(engine: Engine, n_tasks: int) -> Cost:
    """Seconds until the first result is there, and milliseconds for each of the others."""
    from bench_engine import nothing  # by the name under which a worker can import it

    began = time.perf_counter()
    results = engine.run(nothing, range(n_tasks))
    next(results)
    first = time.perf_counter()
    n_others = sum(1 for _ in results)
    return Cost(first - began, (time.perf_counter() - first) / n_others * 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["serial", "local"])
    given = parser.parse_args()
    print(f"{given.tasks} tasks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in given.engines:
        for n_workers in given.workers if name != "serial" else [1]:
            cost = cost_of(engine_of(name, n_workers), given.tasks)
            times = f"first after {cost.to_first_s:.2f} s, then {cost.per_task_ms:.3f} ms a task"
            print(f"{name:<7} {n_workers} worker(s): {times}")


if __name__ == "__main__":
    main()
