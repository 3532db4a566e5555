"""Whole fit and predict of long recordings: seconds of each stage, peak memory, growth with the stream.

    OMP_NUM_THREADS=1 python benchmarks/bench_scale.py [--preset default paper] [--device cpu] [--frames 90000]
        [--times 1 2 4] [--set evidence.surrogates=0 …] [--profile] [--page docs/results/motifs.md]

Planted streams of 9 channels, windows of 200 frames every 100, as a long wearable recording has them (bench_units.py).
Each size runs in a process of its own, so that peak memory is its own; a short fit before it pays for imports and, on a
GPU, for its start. Stages are CPU seconds, on a GPU wall seconds. Wanted: time that grows with the stream, 360,000
frames in less than 2 GB and, with the default preset, in 90 s on two cores and 15 s on a GPU, with the paper's in 6
minutes and 30 s; predict 20 times faster than fit. `--profile` adds the functions in which predict spends most time.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import pstats
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from results_page import Table, parse, write_section

from rondo.config.overrides import parse_override
from rondo.data.recording import Recording
from rondo.many.pool import forget_peak, peak_mb
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("whole-fit", "whole-fit-on-a-gpu")
STAGES = ("preparing", "encoder", "units", "motifs", "evidence")
LENGTH, STEP, N_CHANNELS = 200, 100, 9
SHORT = {
    "default": {},
    "paper": {"encoder.iterations": 2, "units.max_rounds": 1, "motifs.epochs": 6},
}  # all is used once
PROFILED = 15


class Cost(NamedTuple):
    """Seconds of some piece of work."""

    wall_s: float
    cpu_s: float

    def shown(self, device: str) -> str:
        return f"{self.wall_s if device == 'cuda' else self.cpu_s:.2f}"


class StageClock:
    """A progress callback that adds up what each stage costs; "units: rounds" belongs to the stage "units"."""

    def __init__(self, device: str) -> None:
        self.costs: dict[str, Cost] = {}
        self._now = clock_of(device)
        self._stage, self._since = "", self._now()

    def __call__(self, what: str, done: int, total: int) -> None:
        stage = what.partition(":")[0]
        if stage == self._stage:
            return
        now = self._now()
        if self._stage:
            spent, before = _between(self._since, now), self.costs.get(self._stage, Cost(0.0, 0.0))
            self.costs[self._stage] = Cost(before.wall_s + spent.wall_s, before.cpu_s + spent.cpu_s)
        self._stage, self._since = stage, now


def clock_of(device: str) -> Callable[[], Cost]:
    """Wall and CPU seconds so far, when the GPU has done what it was asked to."""

    def now() -> Cost:
        if device == "cuda":
            import torch

            torch.cuda.synchronize()
        return Cost(time.perf_counter(), time.process_time())

    return now


def _between(start: Cost, stop: Cost) -> Cost:
    return Cost(stop.wall_s - start.wall_s, stop.cpu_s - start.cpu_s)


def timed(work: Callable[[], Any], device: str) -> tuple[Any, Cost]:
    now = clock_of(device)
    start = now()
    result = work()
    return result, _between(start, now())


def measure(
    preset: str, device: str, n_frames: int, settings: dict[str, Any], profile: bool
) -> tuple[list[str], list[str]]:
    """The row of one size, and the functions in which predict spends most time where those are wanted."""
    warnings.simplefilter("ignore")
    short = Rondo(LENGTH, STEP, preset=preset, settings=SHORT[preset] | settings, device=device)
    short.fit(planted(6_000)).predict(planted(6_000))
    recording = planted(n_frames)
    forget_peak()
    clock = StageClock(device)
    model = Rondo(LENGTH, STEP, preset=preset, settings=settings, device=device)
    _, fit = timed(lambda: model.fit(recording, progress=clock), device)
    memory = f"{peak_mb() or 0:,.0f} MB{gpu_peak(device)}"
    _, predict = timed(lambda: model.predict(recording), device)  # once, like fit: the best of several would flatter it
    costs = [*(clock.costs.get(stage, Cost(0.0, 0.0)) for stage in STAGES), fit, predict]
    row = [f"{preset}, {device}", f"{n_frames:,}", *(cost.shown(device) for cost in costs), memory]
    return row, hot_spots(model, recording) if profile else []


def planted(n_frames: int) -> Recording:
    return plant(StreamPlan(n_channels=N_CHANNELS), n_frames=n_frames, seed=0).recording


def gpu_peak(device: str) -> str:
    if device != "cuda":
        return ""
    import torch

    return f", {torch.cuda.max_memory_allocated() / 2**20:.0f} MB on the GPU"


def hot_spots(model: Rondo, recording: Recording) -> list[str]:
    """The functions in which predict spends most time of their own: seconds, calls, place."""
    profile = cProfile.Profile()
    profile.runcall(model.predict, recording)
    rows = sorted(pstats.Stats(profile).stats.items(), key=lambda row: -row[1][2])[:PROFILED]  # type: ignore[attr-defined]
    places = ((own[2], own[1], f"{'/'.join(file.split('/')[-2:])}:{line} {name}") for (file, line, name), own in rows)
    return [f"    {own_s:7.3f} s {calls:>8} x  {place}" for own_s, calls, place in places]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", nargs="+", default=list(SHORT), choices=SHORT)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--frames", type=int, default=90_000)
    parser.add_argument("--times", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of both presets")
    parser.add_argument("--profile", action="store_true")
    given = parse(parser, __file__)
    settings = dict(parse_override(text) for text in given.set)
    table, notes = Table("preset", "frames", *STAGES, "fit", "predict", "peak memory"), list[str]()
    for preset in given.preset:
        for times in given.times:
            asked = (preset, given.device, times * given.frames, settings, given.profile)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                row, own = pool.apply(measure, asked)
            table.add(*row)
            notes += own
    print(*notes, sep="\n")
    write_section(given, "whole-fit-on-a-gpu" if given.device == "cuda" else "whole-fit", table)


if __name__ == "__main__":
    main()
