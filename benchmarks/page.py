"""The report in a real browser: its size, how soon it is drawn, how long a zoom step takes.

    python benchmarks/page.py [--frames N] [--channels N] [--recordings N] [--repeats N]
        [--page docs/results/streams.md]

Needs playwright (the extra `test`) and a chromium on the PATH. Two pages: one recording of a million frames of 12
channels with some 20,000 segments in each of two lanes and a score for every frame and level; and a thousand recordings
of 1,200 frames and 6 channels. A zoom step is timed from the wheel to the end of the frame in which it is drawn. Bars:
at most 12 MB, drawn within 1 s, steps of 50 ms (p95); a thousand recordings open within 2 s. A bar that is missed is
named on stderr. Cells are the least and the most of the repeats; the load of the machine is printed.
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
from pages import Table, parse, write_section

sys.path.insert(0, str(Path(__file__).parents[1]))  # the run folders live with the tests

from rondo import Result

SECTIONS = ("size-and-speed",)
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
    from tests.report.run_folders import write_run_folder

    channels = tuple(f"channel_{i}" for i in range(n_channels))
    write_run_folder(folder, n_frames=n_frames, channels=channels, unit_length=35, with_truth=False)
    units = pl.read_parquet(folder / "segments.parquet").filter(pl.col("level") == "unit")
    pl.concat([units, units.with_columns(level=pl.lit("motif"))]).write_parquet(folder / "segments.parquet")
    return folder


def wide_run(folder: Path, n_recordings: int) -> Path:
    from tests.report.run_folders import write_run_folder

    ids = tuple(f"recording_{i:04}" for i in range(n_recordings))
    return write_run_folder(folder, recording_ids=ids, n_frames=1200, with_truth=False)


def opened(browser: Any, report: Path, zooms: bool) -> list[float]:
    """Seconds until the page is drawn; then the median and the 95th percentile of zoom steps in ms."""
    from tests.report.browsing import wait_in

    page = browser.new_page(viewport={"width": 1400, "height": 900})
    begun = time.perf_counter()
    page.goto(report.as_uri(), wait_until="commit")
    wait_in(page, "window.rondoDrawn")
    seconds = time.perf_counter() - begun
    wait_in(page, "window.rondoUnpacked")
    steps = sorted(page.evaluate(ZOOM, N_STEPS)) if zooms else []
    page.close()
    return [seconds, *((steps[N_STEPS // 2], steps[round(0.95 * N_STEPS) - 1]) if zooms else ())]


def shown(values: Sequence[float], bar: float, unit: str, digits: int) -> str:
    """The least and the most; a bar that is missed is named."""
    if max(values) > bar:
        print(f"{max(values):.{digits}f} {unit} is above the bar of {bar:g} {unit}", file=sys.stderr)
    ends = dict.fromkeys(f"{value:.{digits}f}" for value in (min(values), max(values)))
    return f"{' to '.join(ends)} {unit}"


def cells_of(browser: Any, folder: Path, bar_s: float, n_repeats: int, *, zooms: bool) -> list[str]:
    """Size, opening and zooming of the page of one run."""
    report = Result.load(folder).report(folder / "report.html")
    bars = ((bar_s, "s", 2), (50.0, "ms", 0), (50.0, "ms", 0))
    figures = list(zip(*(opened(browser, report, zooms) for _ in range(n_repeats)), strict=True))
    cells = [shown(values, *bar) for values, bar in zip(figures, bars, strict=False)]
    return [shown([report.stat().st_size / 1e6], 12.0, "MB", 1), *cells]


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("frames", 1_000_000), ("channels", 12), ("recordings", 1000), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parse(parser, __file__, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    from playwright.sync_api import sync_playwright

    options = parsed(arguments)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    load = f"{options.repeats} repeats, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}."
    print(load, end="\n\n")
    table = Table("page", "size", "opened and drawn", "zoom step, median", "zoom step, p95")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        title = f"{options.frames:,} frames of {options.channels} channels"
        run = long_run(Path(scratch) / "one", options.frames, options.channels)
        table.add(title, *cells_of(browser, run, 1.0, options.repeats, zooms=True))
        run = wide_run(Path(scratch) / "many", options.recordings)
        table.add(f"{options.recordings:,} recordings", *cells_of(browser, run, 2.0, options.repeats, zooms=False))
        browser.close()
    write_section(options, "size-and-speed", load, table)


if __name__ == "__main__":
    main()
