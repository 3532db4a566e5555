"""The report in a real browser: its size, how soon it is drawn, how long a zoom step takes.

    python benchmarks/bench_report.py [--frames N] [--channels N] [--recordings N] [--repeats N]

Needs playwright (the extra `test`) and a chromium on the PATH; nothing is downloaded. Two pages:

- one recording of a million frames of 12 channels, made of sines and noise, with some 20,000 segments in each of two
  lanes and a score for every frame and level;
- a thousand recordings of 1,200 frames and 6 channels.

A zoom step is timed from the wheel to the end of the frame in which it is drawn. Bars: at most 12 MB, drawn within 1 s,
steps of 50 ms (p95); a thousand recordings open within 2 s. Figures depend on what else the machine does: the load is
printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))  # the run folders live with the tests

from rondo import Result
from tests.report.browsing import wait_in
from tests.report.run_folders import write_run_folder

BAR_MB, BAR_OPEN_S, BAR_STEP_MS, BAR_MANY_S = 12.0, 1.0, 50.0, 2.0
N_STEPS = 60

FINEST = "Math.min(...rondoPage.timelines[0].signal.levels.map((level) => level.bucket))"

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

DRAW = """(nSteps) => Array.from({length: nSteps}, (_, i) => {
  const timeline = rondoPage.timelines[0], begun = performance.now()
  timeline.view = {start: timeline.nFrames / 3, end: timeline.nFrames / 3 + timeline.nFrames / 3 * 0.9 ** i}
  timeline.draw()
  return performance.now() - begun
})"""


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


def written(folder: Path, what: str) -> Path:
    begun = time.perf_counter()
    report = Result.load(folder).report(folder / "report.html")
    print(f"{what}; written in {time.perf_counter() - begun:.1f} s")
    told("size", report.stat().st_size / 1e6, BAR_MB, "MB")
    return report


def opened(browser: Any, report: Path, bar_s: float) -> Any:
    """The page once everything in it is drawn and unpacked; how long that took is printed."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    begun = time.perf_counter()
    page.goto(report.as_uri(), wait_until="commit")
    wait_in(page, "window.rondoDrawn")
    told("opened and drawn", time.perf_counter() - begun, bar_s, "s")
    wait_in(page, "window.rondoUnpacked")
    print(f"everything unpacked {' ' * 14} {time.perf_counter() - begun:>8.2f} s   (meanwhile the page answers)")
    return page


def told(what: str, value: float, bar: float, unit: str) -> None:
    load = os.getloadavg()[0]
    print(
        f"{what:<34} {value:>8.2f} {unit:<3} bar {bar:g}: {'met' if value <= bar else 'MISSED'} (load {load:.1f})",
        flush=True,
    )


def zoomed(page: Any) -> None:
    steps = sorted(page.evaluate(ZOOM, N_STEPS))
    print(f"zoom steps: median {steps[N_STEPS // 2]:.1f} ms, longest {steps[-1]:.1f} ms")
    told("zoom step, p95", steps[round(0.95 * N_STEPS) - 1], BAR_STEP_MS, "ms")
    draws = sorted(page.evaluate(DRAW, N_STEPS))
    print(f"of which drawing: median {draws[N_STEPS // 2]:.1f} ms, longest {draws[-1]:.1f} ms")


def main(options: argparse.Namespace) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        one = long_run(Path(place) / "one", options.frames, options.channels)
        report = written(one, f"{options.frames:,} frames x {options.channels} channels")
        for _ in range(options.repeats):
            page = opened(browser, report, BAR_OPEN_S)
            print(f"frames to a point at the closest zoom: {page.evaluate(FINEST)}")
            zoomed(page)
            page.close()
        many = wide_run(Path(place) / "many", options.recordings)
        report = written(many, f"{options.recordings:,} recordings")
        for _ in range(options.repeats):
            opened(browser, report, BAR_MANY_S).close()
        browser.close()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("frames", 1_000_000), ("channels", 12), ("recordings", 1000), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


if __name__ == "__main__":
    main(options())
