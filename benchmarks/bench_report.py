"""The report of a million frames in a real browser: how large it is, how soon it is drawn, how long a zoom step takes.

    python benchmarks/bench_report.py [n_frames] [n_channels]

Needs playwright (the extra `test`) and a chromium on the PATH; nothing is downloaded. The run folder is made of sines
and noise, with some 20,000 segments in each of two lanes and a score for every frame and level. A zoom step is timed
from the wheel to the end of the frame in which it is drawn. Bars: under 15 MB, drawn in 3 s, steps of 50 ms (p95): 20
frames a second.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))  # the run folders live with the tests

from rondo import Result
from tests.report.run_folders import write_run_folder

BAR_MB, BAR_OPEN_S, BAR_STEP_MS = 15.0, 3.0, 50.0
N_STEPS = 60

ZOOM = """async (nSteps) => {
  const timeline = rondoPage.timelines[0], canvas = timeline.canvas, box = canvas.getBoundingClientRect(), steps = []
  for (let i = 0; i < nSteps; i++) {
    const begun = performance.now()
    canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: i < nSteps / 2 ? -120 : 120, clientX: box.left + 400,
      clientY: box.top + 50, cancelable: true}))
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


def run_folder(folder: Path, n_frames: int, n_channels: int) -> Path:
    """A run with as many motif segments as unit segments, which is more than runs have."""
    channels = tuple(f"channel_{i}" for i in range(n_channels))
    write_run_folder(folder, n_frames=n_frames, channels=channels, unit_length=35, with_truth=False)
    units = pl.read_parquet(folder / "segments.parquet").filter(pl.col("level") == "unit")
    pl.concat([units, units.with_columns(level=pl.lit("motif"))]).write_parquet(folder / "segments.parquet")
    return folder


def told(what: str, value: float, bar: float, unit: str) -> None:
    print(f"{what:<34} {value:>8.2f} {unit:<3} bar {bar:g}: {'met' if value <= bar else 'MISSED'}", flush=True)


def main(n_frames: int, n_channels: int) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = run_folder(Path(place) / "run", n_frames, n_channels)
        begun = time.perf_counter()
        report = Result.load(folder).report(folder / "report.html")
        print(f"{n_frames:,} frames x {n_channels} channels; written in {time.perf_counter() - begun:.1f} s")
        told("size", report.stat().st_size / 1e6, BAR_MB, "MB")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        begun = time.perf_counter()
        page.goto(report.as_uri(), wait_until="commit")
        page.wait_for_function("window.rondoDrawn")
        told("opened and drawn", time.perf_counter() - begun, BAR_OPEN_S, "s")
        page.wait_for_function("window.rondoUnpacked")
        print(f"every frame unpacked {' ' * 13} {time.perf_counter() - begun:>8.2f} s   (meanwhile the page answers)")
        steps = sorted(page.evaluate(ZOOM, N_STEPS))
        print(f"zoom steps: median {steps[N_STEPS // 2]:.1f} ms, longest {steps[-1]:.1f} ms")
        told("zoom step, p95", steps[round(0.95 * N_STEPS) - 1], BAR_STEP_MS, "ms")
        draws = sorted(page.evaluate(DRAW, N_STEPS))
        print(f"of which drawing: median {draws[N_STEPS // 2]:.1f} ms, longest {draws[-1]:.1f} ms")
        browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 12)
