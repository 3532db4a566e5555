"""How near the estimate before a run is: CPU seconds and peak memory of a fit, beside what `rondo suggest` prints.

    OMP_NUM_THREADS=1 python benchmarks/bench_cost.py [--page docs/results/judging.md]

Planted streams at 50 Hz. Each fit has a process of its own, whose imports count. The coefficients of the estimate
(`rondo/cost.py`) were fitted to earlier runs of such sizes, some of which tests/test_cost.py holds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from results_page import Table, parse, write_section

from rondo.config.settings import resolve
from rondo.cost import cost_of_fit
from rondo.many.pool import peak_mb
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("cost",)


@dataclass(frozen=True)
class Case:
    """One fit."""

    chain: str
    n_frames: int
    n_channels: int
    preset: str = "default"
    settings: dict[str, Any] = field(default_factory=dict)
    window: int = 75
    step: int = 18


TS2VEC, TIME_MAE = ({"encoder.name": name} for name in ("ts2vec", "time_mae"))
CASES = (
    Case("default", 30_000, 3),
    Case("default", 30_000, 24),
    Case("default", 120_000, 12),
    Case("default", 120_000, 24),
    Case("default", 360_000, 6),
    Case("ts2vec encoder", 15_000, 6, settings=TS2VEC),
    Case("time_mae encoder", 15_000, 6, settings=TIME_MAE),
    Case("time_mae encoder", 45_000, 6, settings=TIME_MAE, window=100, step=50),
    Case("paper preset", 15_000, 6, "paper"),
)


def measure(number: int) -> None:
    """One fit in this process; prints CPU seconds, imports included but not planting, and peak MB."""
    warnings.simplefilter("ignore")
    case, began = CASES[number], time.process_time()
    recording = plant(StreamPlan(n_channels=case.n_channels), n_frames=case.n_frames, seed=0).recording
    planting_s = time.process_time() - began
    Rondo(case.window, case.step, preset=case.preset, settings=case.settings, seed=0, device="cpu").fit(recording)
    print(time.process_time() - planting_s, peak_mb() or 0)


def cells_of(number: int) -> list[str]:
    """One row of the table."""
    case = CASES[number]
    config = resolve(case.preset, overrides=case.settings)
    estimate = cost_of_fit(config, [case.n_frames], case.n_channels, case.window, case.step)
    command = [sys.executable, __file__, "--measure", str(number)]
    seconds, megabytes = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    sizes = f"{case.n_frames:,} x {case.n_channels}", f"{case.window} every {case.step}"
    costs = f"{seconds:.1f} s", f"{estimate.seconds:.1f} s", f"{megabytes:.0f} MB", f"{estimate.megabytes:.0f} MB"
    return [case.chain, *sizes, *costs]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    given = parse(parser, __file__, arguments)
    if given.measure is not None:
        return measure(given.measure)
    table = Table("chain", "frames x channels", "windows", "CPU", "estimate", "peak memory", "estimate")
    for number in range(len(CASES)):
        table.add(*cells_of(number))
    return write_section(given, "cost", table)


if __name__ == "__main__":
    main()
