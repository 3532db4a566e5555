"""The report in a real browser: its size, how soon it is drawn, how long a zoom step takes.

    python benchmarks/bench_report.py [--frames N] [--channels N] [--recordings N] [--repeats N]
        [--page docs/results/report.md]

Needs playwright (the extra `test`) and a chromium on the PATH; nothing is downloaded. Two pages:

- one recording of a million frames of 12 channels, made of sines and noise, with some 20,000 segments in each of two
  lanes and a score for every frame and level;
- a thousand recordings of 1,200 frames and 6 channels.

A zoom step is timed from the wheel to the end of the frame in which it is drawn. Bars: at most 12 MB, drawn within 1 s,
steps of 50 ms (p95); a thousand recordings open within 2 s. A bar that is missed is named on stderr. Figures depend on
what else the machine does: the load is printed. Cells are the least and the most of the repeats.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from playwright.sync_api import sync_playwright
from results_page import Table, parse, write_section

sys.path.insert(0, str(Path(__file__).parents[1]))  # the run folders live with the tests

from rondo.result import Result
from tests.report.browsing import wait_in
from tests.report.run_folders import write_run_folder

SECTIONS = ("size-and-speed",)
BAR_MB, BAR_OPEN_S, BAR_STEP_MS, BAR_MANY_S = 12.0, 1.0, 50.0, 2.0
N_STEPS = 60

ZOOM = """async (nSteps) => {
  const {canvas} = rondoPage.timelines[0], box = canvas.getBoundingClientRect(), steps = []
  for (let i = 0; i < nSteps; i++) {
    const begun = performance.now()
    canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: i < nSteps / 2 ? -120 : 120, ctrlKey: true,
      clientX: box.left + 400, clientY: box.top + 50, cancelable: true}))
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))
    steps.push(performance.now() - begun)
  }
  return steps
}"""


def long_run(folder: Path, n_frames: int, n_channels: int) -> Path:
    """A run with as many motif segments as unit segments, which is more than runs have."""
    channels = tuple(f"channel_{i}" for i in range(n_channels))
    write_run_folder(folder, n_frames=n_frames, channels=channels, unit_length=35, with_truth=False)
    units = pl.read_parquet(folder / "segments.parquet").filter(pl.col("level") == "unit")
    pl.concat([units, units.with_columns(level=pl.lit("motif"))]).write_parquet(folder / "segments.parquet")
    return folder


def wide_run(folder: Path, n_recordings: int) -> Path:
    """A run over many recordings."""
    ids = tuple(f"recording_{i:04}" for i in range(n_recordings))
    return write_run_folder(folder, recording_ids=ids, n_frames=1200, with_truth=False)


def written(folder: Path) -> tuple[Path, str]:
    """The page, and its size."""
    report = Result.load(folder).report(folder / "report.html")
    return report, shown([report.stat().st_size / 1e6], BAR_MB, "MB", 1)


def opened(browser: Any, report: Path) -> tuple[Any, float]:
    """The page once everything in it is drawn and unpacked; seconds until it was drawn."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    begun = time.perf_counter()
    page.goto(report.as_uri(), wait_until="commit")
    wait_in(page, "window.rondoDrawn")
    seconds = time.perf_counter() - begun
    wait_in(page, "window.rondoUnpacked")
    return page, seconds


def shown(values: Sequence[float], bar: float, unit: str, digits: int) -> str:
    """The least and the most; a bar that is missed is named."""
    if max(values) > bar:
        print(f"{max(values):.{digits}f} {unit} is above the bar of {bar:g} {unit}", file=sys.stderr)
    ends = dict.fromkeys(f"{value:.{digits}f}" for value in (min(values), max(values)))
    return f"{' to '.join(ends)} {unit}"


def long_cells(browser: Any, folder: Path, given: argparse.Namespace) -> list[str]:
    """The page of one long recording, opened and zoomed."""
    report, size = written(long_run(folder, given.frames, given.channels))
    seconds, medians, slow = [], [], []
    for _ in range(given.repeats):
        page, took = opened(browser, report)
        steps = sorted(page.evaluate(ZOOM, N_STEPS))
        seconds.append(took)
        medians.append(steps[N_STEPS // 2])
        slow.append(steps[round(0.95 * N_STEPS) - 1])
        page.close()
    zoom = shown(medians, BAR_STEP_MS, "ms", 0), shown(slow, BAR_STEP_MS, "ms", 0)
    name = f"{given.frames:,} frames of {given.channels} channels"
    return [name, size, shown(seconds, BAR_OPEN_S, "s", 2), *zoom]


def wide_cells(browser: Any, folder: Path, given: argparse.Namespace) -> list[str]:
    """The page of many recordings, opened."""
    report, size = written(wide_run(folder, given.recordings))
    seconds = []
    for _ in range(given.repeats):
        page, took = opened(browser, report)
        seconds.append(took)
        page.close()
    return [f"{given.recordings:,} recordings", size, shown(seconds, BAR_MANY_S, "s", 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("frames", 1_000_000), ("channels", 12), ("recordings", 1000), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parse(parser, __file__)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    load = f"{given.repeats} repeats, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}."
    print(load, end="\n\n")
    table = Table("page", "size", "opened and drawn", "zoom step, median", "zoom step, p95")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        table.add(*long_cells(browser, Path(place) / "one", given))
        table.add(*wide_cells(browser, Path(place) / "many", given))
        browser.close()
    write_section(given, "size-and-speed", load, table)


if __name__ == "__main__":
    main()
