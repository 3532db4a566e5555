"""Many recordings: what `rondo discover` takes for 10, 100 and 1,000 files, in time and in memory of all its processes.

    python benchmarks/bench_many.py SCRATCH --files 10 100 1000 [--page docs/results/scale.md]
    python benchmarks/bench_many.py SCRATCH --files 20000 --frames 120 --channels 3 [--page docs/results/scale.md]

Recordings are planted streams of ten people who share their units. Of each person one stretch is made; a recording
begins somewhere in it and goes round, with its own level and size of every channel, so that writing costs little. They
are written in parts and removed afterwards, as is the run, unless --keep is given. Memory is the sum over all processes
of their proportional share (Pss), looked at five times a second; Linux only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
from results_page import Table, parse, write_section

from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant_subjects

SECTIONS = ("many-files", "many-small-files")
SMALL_FRAMES = 1_000  # fewer are a small file
RATE, N_SUBJECTS, BLOCK_FRAMES = 50.0, 10, 30_000
ROOT = Path(__file__).resolve().parents[1]


def blocks_of(n_frames: int, n_channels: int) -> list[np.ndarray]:
    """A stretch of each person."""
    plan = StreamPlan(n_channels=n_channels)
    streams = plant_subjects(plan, N_SUBJECTS, n_frames=max(BLOCK_FRAMES, n_frames // 12), seed=0)
    return [stream.recording.values for stream in streams]


def write_recordings(folder: Path, first: int, past: int, n_frames: int, blocks: list[np.ndarray], suffix: str) -> None:
    """Files [first, past) of the set."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, past):
        rng, block = np.random.default_rng(number), blocks[number % len(blocks)]
        n_channels = block.shape[1]
        frames = (int(rng.integers(len(block))) + np.arange(n_frames)) % len(block)
        gain, offset = rng.uniform(0.8, 1.25, n_channels), rng.normal(0, 1, n_channels)
        values = (block[frames] * gain + offset).astype(np.float32)
        path = folder / f"subject{number % len(blocks)}_{number:05d}.{suffix}"
        if suffix == "npy":
            np.save(path, values)
        else:
            pl.DataFrame(values, schema=[f"x{c}" for c in range(n_channels)]).write_parquet(path)


class MemoryWatch:
    """The most memory that a process and all below it held at once, in MB."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak, self.is_over = pid, 0.0, False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self.is_over:
            self.peak = max(self.peak, sum(map(share_of, tree_of(self.pid))))
            time.sleep(0.2)

    def end(self) -> float:
        self.is_over = True
        self._thread.join()
        return self.peak


def tree_of(pid: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(above, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found


def share_of(pid: int) -> float:
    """MB of a process; memory that several share is divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("Pss:")), 0.0)


def measured(folder: Path, out: Path, extra: list[str]) -> tuple[float, float, float]:
    """Seconds, those of CPU, and peak MB of one run over a folder."""
    command = [sys.executable, "-m", "rondo", "discover", str(folder), "--out", str(out), "--rate", f"{RATE:g}"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    began, cpu_before = time.monotonic(), cpu_seconds()
    process = subprocess.Popen([*command, *extra], env=environment)
    watch = MemoryWatch(process.pid)
    code = process.wait()
    peak = watch.end()
    if code:
        raise SystemExit(f"rondo ended with {code}")
    return time.monotonic() - began, cpu_seconds() - cpu_before, peak


def cpu_seconds() -> float:
    """Of all processes below this one that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=Path, help="a folder for recordings and runs")
    parser.add_argument("--files", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--frames", type=int, default=360_000)
    parser.add_argument("--channels", type=int, default=9)
    parser.add_argument("--suffix", choices=("npy", "parquet"), default="npy")
    parser.add_argument("--keep", action="store_true", help="leave recordings and runs where they are")
    parser.add_argument("--engine", default="local")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    asked = parse(parser, __file__)
    blocks = blocks_of(asked.frames, asked.channels)
    recordings, n_written = asked.scratch / "recordings", 0
    extra = ["--engine", asked.engine, "--workers", str(asked.workers), *(["--verbose"] if asked.verbose else [])]
    table = Table("files", "frames x channels", "values", "seconds", "CPU seconds", "a file", "peak memory")
    try:
        for n_files in sorted(asked.files):
            write_recordings(recordings, n_written, n_files, asked.frames, blocks, asked.suffix)
            n_written, out = n_files, asked.scratch / f"run{n_files}"
            seconds, cpu, peak = measured(recordings, out, extra)
            gigabytes = 4e-9 * n_files * asked.frames * asked.channels
            sizes = f"{asked.frames:,} x {asked.channels}", f"{gigabytes:.2f} GB"
            costs = f"{seconds:,.0f}", f"{cpu:,.0f}", f"{cpu / n_files:.3g}", f"{peak / 1000:.2f} GB"
            table.add(f"{n_files:,}", *sizes, *costs)
            if not asked.keep:
                shutil.rmtree(out)
        write_section(asked, "many-small-files" if asked.frames < SMALL_FRAMES else "many-files", table)
    finally:
        if not asked.keep:
            shutil.rmtree(asked.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
