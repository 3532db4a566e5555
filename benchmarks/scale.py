"""Time and memory of long recordings and of many files, and how near the estimate of `rondo suggest` is.

    OMP_NUM_THREADS=1 python benchmarks/scale.py fit [--preset default paper] [--device cpu] [--frames 90000]
        [--times 1 2 4] [--set evidence.surrogates=0 …] [--page docs/results/motifs.md]
    python benchmarks/scale.py files SCRATCH --files 10 100 1000 [--page docs/results/streams.md]
    OMP_NUM_THREADS=1 python benchmarks/scale.py cost [--page docs/results/evidence.md]

`fit`: planted streams of 9 channels, windows of 200 frames every 100. Each size has its own process; a short fit before
it loads libraries. Stages are CPU seconds, on a GPU wall seconds. Wanted: time that grows linearly, 360,000 frames in
less than 2 GB, by default in 90 s on two cores; predict 20 times faster than fit.

`files`: `rondo discover` on many recordings of ten people who share their units. A recording begins somewhere in a
stretch of its person and goes round, with its own level and size of every channel. Files and runs are removed unless
--keep is given. Memory is the sum of the proportional shares (Pss) of all processes, five times a second; Linux only.

`cost`: CPU seconds and peak memory of a fit beside the estimate; imports count.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pages import Table, program, write_section

from rondo import Recording, Rondo
from rondo.config.overrides import parse_override
from rondo.config.settings import resolve
from rondo.cost import cost_of_fit
from rondo.many.engine import forget_peak, peak_mb
from rondo.synthetic import StreamPlan, plant, plant_subjects

SECTIONS = ("whole-fit", "many-files", "many-small-files", "cost")
STAGES = ("preparing", "encoder", "units", "motifs", "evidence")
SHORT = {"default": {}, "paper": {"encoder.iterations": 2, "units.max_rounds": 1, "motifs.epochs": 6}}
SMALL_FRAMES, N_SUBJECTS, BLOCK_FRAMES = 1_000, 10, 30_000
TS2VEC, TIME_MAE = ({"encoder.name": name} for name in ("ts2vec", "time_mae"))
COSTS: tuple[tuple[str, int, int, str, dict[str, Any], int, int], ...] = (  # title, frames, channels, …, window, step
    ("default", 30_000, 3, "default", {}, 75, 18),
    ("default", 30_000, 24, "default", {}, 75, 18),
    ("default", 120_000, 12, "default", {}, 75, 18),
    ("default", 120_000, 24, "default", {}, 75, 18),
    ("default", 360_000, 6, "default", {}, 75, 18),
    ("ts2vec encoder", 15_000, 6, "default", TS2VEC, 75, 18),
    ("time_mae encoder", 15_000, 6, "default", TIME_MAE, 75, 18),
    ("time_mae encoder", 45_000, 6, "default", TIME_MAE, 100, 50),
    ("paper preset", 15_000, 6, "paper", {}, 75, 18),
)


def planted(n_frames: int, n_channels: int = 9) -> Recording:
    return plant(StreamPlan(n_channels=n_channels), n_frames=n_frames, seed=0).recording


class StageClock:
    """Seconds of each stage: CPU, on a GPU wall. A progress callback; "units: rounds" belongs to the stage "units"."""

    def __init__(self, device: str) -> None:
        self.device, self.seconds, self._stage = device, Counter[str](), ""
        self._since = self.now()

    def now(self) -> float:
        if self.device != "cuda":
            return time.process_time()
        import torch

        torch.cuda.synchronize()
        return time.perf_counter()

    def __call__(self, what: str, done: int, total: int) -> None:
        if (stage := what.partition(":")[0]) != self._stage:
            now = self.now()
            self.seconds[self._stage] += now - self._since
            self._stage, self._since = stage, now


def fit_row(preset: str, device: str, n_frames: int, settings: dict[str, Any]) -> list[str]:
    """The row of one size."""
    warnings.simplefilter("ignore")
    short = Rondo(200, 100, preset=preset, settings=SHORT[preset] | settings, device=device)
    short.fit(planted(6_000)).predict(planted(6_000))
    recording = planted(n_frames)
    forget_peak()
    clock = StageClock(device)
    model, began = Rondo(200, 100, preset=preset, settings=settings, device=device), clock.now()
    model.fit(recording, progress=clock)
    fitted, memory = clock.now(), f"{peak_mb() or 0:,.0f} MB"
    model.predict(recording)
    seconds = [*(clock.seconds[stage] for stage in STAGES), fitted - began, clock.now() - fitted]
    if device == "cuda":
        import torch

        memory += f", {torch.cuda.max_memory_allocated() / 2**20:.0f} MB on the GPU"
    return [f"{preset}, {device}", f"{n_frames:,}", *(f"{value:.2f}" for value in seconds), memory]


def fit(options: argparse.Namespace) -> None:
    settings = dict(parse_override(text) for text in options.set)
    table = Table("preset", "frames", *STAGES, "fit", "predict", "peak memory")
    for preset in options.preset:
        for times in options.times:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                table.add(*pool.apply(fit_row, (preset, options.device, times * (options.frames or 90_000), settings)))
    write_section(options, "whole-fit", table)


def write_recordings(folder: Path, numbers: range, n_frames: int, blocks: Sequence[np.ndarray]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        rng, block = np.random.default_rng(number), blocks[number % len(blocks)]
        frames = (int(rng.integers(len(block))) + np.arange(n_frames)) % len(block)
        gain, offset = rng.uniform(0.8, 1.25, block.shape[1]), rng.normal(0, 1, block.shape[1])
        values = (block[frames] * gain + offset).astype(np.float32)
        np.save(folder / f"subject{number % len(blocks)}_{number:05d}.npy", values)


class MemoryWatch(threading.Thread):
    """The most memory that a process and all below it held at once, in MB."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.process, self.peak = process, 0.0
        self.start()

    def run(self) -> None:
        while self.process.poll() is None:
            self.peak = max(self.peak, sum(map(share_of, tree_of(self.process.pid))))
            time.sleep(0.2)


def tree_of(pid: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(above, []).append(int(entry.name))
    found = [pid]
    for above in found:
        found += children.get(above, [])
    return found


def share_of(pid: int) -> float:
    """MB of a process; memory that several share is divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("Pss:")), 0.0)


def files(options: argparse.Namespace) -> None:
    options.frames = options.frames or 360_000
    n_block = max(BLOCK_FRAMES, options.frames // 12)
    streams = plant_subjects(StreamPlan(n_channels=options.channels), N_SUBJECTS, n_frames=n_block, seed=0)
    blocks, folder, n_written = [stream.recording.values for stream in streams], options.scratch / "recordings", 0
    table = Table("files", "frames x channels", "values", "seconds", "CPU seconds", "a file", "peak memory")
    try:
        for n_files in sorted(options.files):
            write_recordings(folder, range(n_written, n_files), options.frames, blocks)
            n_written, out = n_files, options.scratch / f"run{n_files}"
            command = [sys.executable, "-m", "rondo", "discover", str(folder), "--out", str(out), "--rate", "50"]
            began, before = time.monotonic(), os.times()
            process = subprocess.Popen([*command, "--engine", options.engine, "--workers", str(options.workers)])
            watch = MemoryWatch(process)
            watch.join()
            if process.returncode:
                raise SystemExit(f"rondo ended with {process.returncode}")
            seconds, after = time.monotonic() - began, os.times()
            cpu = after.children_user - before.children_user + after.children_system - before.children_system
            gigabytes = 4e-9 * n_files * options.frames * options.channels
            costs = f"{seconds:,.0f}", f"{cpu:,.0f}", f"{cpu / n_files:.3g}", f"{watch.peak / 1000:.2f} GB"
            table.add(f"{n_files:,}", f"{options.frames:,} x {options.channels}", f"{gigabytes:.2f} GB", *costs)
    finally:
        if not options.keep:
            shutil.rmtree(options.scratch, ignore_errors=True)
    write_section(options, "many-small-files" if options.frames < SMALL_FRAMES else "many-files", table)


def cost_row(number: int) -> tuple[float, float]:
    """CPU seconds of one fit in this process, imports included but not planting, and peak MB."""
    warnings.simplefilter("ignore")
    _, n_frames, n_channels, preset, settings, window, step = COSTS[number]
    began = time.process_time()
    recording = planted(n_frames, n_channels)
    planting_s = time.process_time() - began
    Rondo(window, step, preset=preset, settings=settings, seed=0, device="cpu").fit(recording)
    return time.process_time() - planting_s, peak_mb() or 0.0


def cost(options: argparse.Namespace) -> None:
    table = Table("chain", "frames x channels", "windows", "CPU", "estimate", "peak memory", "estimate")
    for number, (title, n_frames, n_channels, preset, settings, window, step) in enumerate(COSTS):
        estimate = cost_of_fit(resolve(preset, overrides=settings), [n_frames], n_channels, window, step)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, megabytes = pool.apply(cost_row, (number,))
        costs = f"{seconds:.1f} s", f"{estimate.seconds:.1f} s", f"{megabytes:.0f} MB", f"{estimate.megabytes:.0f} MB"
        table.add(title, f"{n_frames:,} x {n_channels}", f"{window} every {step}", *costs)
    write_section(options, "cost", table)


ARGUMENTS = (
    ("scratch", {"type": Path, "nargs": "?", "help": "files: a folder for recordings and runs"}),
    ("--preset", {"nargs": "+", "default": list(SHORT), "choices": SHORT}),
    ("--device", {"default": "cpu", "choices": ("cpu", "cuda")}),
    ("--frames", {"type": int, "help": "90,000 in a fit, 360,000 in a file"}),
    ("--times", {"nargs": "+", "type": int, "default": [1, 2, 4]}),
    ("--set", {"nargs": "+", "default": [], "metavar": "NAME=VALUE", "help": "fit: settings of both presets"}),
    ("--files", {"type": int, "nargs": "+", "default": [10, 100, 1000]}),
    ("--channels", {"type": int, "default": 9}),
    ("--engine", {"default": "local"}),
    ("--workers", {"type": int, "default": 2}),
    ("--keep", {"action": "store_true", "help": "files: leave recordings and runs where they are"}),
)
parsed, main = program(__file__, __doc__, {"fit": fit, "files": files, "cost": cost}, ARGUMENTS)

if __name__ == "__main__":
    main()
