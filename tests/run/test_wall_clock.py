"""The clock of the data on the page: true through gaps and uneven rows, as a time of day where the file has dates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.run.clock import clock_knots
from tests.report.on_folders import summarize, write_report
from tests.report.run_folders import edit_summary, write_run_folder

NOVEMBER = 1794774665.25


def read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


@given(st.lists(st.sampled_from([0.02, 0.02, 0.02, 0.021, 0.05, 3.0]), min_size=2, max_size=300))
def test_lines_between_knots_are_near_every_timestamp(steps: list[float]) -> None:
    times = 100 + np.cumsum(steps)
    knots = clock_knots(times, 50.0)
    assert knots is not None
    drawn = np.interp(np.arange(times.size), knots["frames"], knots["seconds"])
    npt.assert_allclose(drawn, times, atol=0.05 + 1e-9)
    assert (knots["frames"][0], knots["frames"][-1]) == (0, times.size - 1)


def test_a_regular_clock_needs_two_knots_and_a_wild_one_not_too_many() -> None:
    regular = clock_knots(np.arange(100_000) / 50, 50.0)
    assert regular is not None
    assert regular["frames"] == [0, 99_999]
    rng = np.random.default_rng(0)
    wild = clock_knots(np.cumsum(rng.exponential(1.0, 20_000)), 50.0)
    assert wild is not None
    assert len(wild["frames"]) <= 1000
    assert clock_knots(None, 50.0) is None


def test_the_page_tells_the_day_and_no_longer_that_its_axis_is_wrong(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, n_frames=6000, with_truth=False)
    one = read(folder)["recordings"][0]
    jumping = one | {"duration_s": 300.0}
    edit_summary(folder, recordings=[jumping])
    said = " ".join(note["what"] for note in summarize(folder)["notes"])
    assert "counts frames" in said
    clock = {"frames": [0, 2999, 3000, 5999], "seconds": [NOVEMBER, NOVEMBER + 60, NOVEMBER + 240, NOVEMBER + 300]}
    edit_summary(folder, recordings=[jumping | {"clock": clock}])
    told = summarize(folder)
    assert not any("counts frames" in note["what"] for note in told["notes"])
    assert "from 2026-11-15 20:31:05 on" in told["recordings"][0]["about"]
    assert told["recordings"][0]["clock"]["date"] == "2026-11-15"


@pytest.mark.slow
def test_the_browser_shows_the_time_of_day_through_a_gap_and_midnight(tmp_path: Path, opened: Any) -> None:
    folder = write_run_folder(tmp_path, n_frames=6000, with_truth=False)
    one = read(folder)["recordings"][0]
    late = NOVEMBER - 73_865.25 + 86_370.25  # half a minute before midnight
    clock = {"frames": [0, 2999, 3000, 5999], "seconds": [late, late + 60, late + 240, late + 300]}
    edit_summary(folder, recordings=[one | {"clock": clock}])
    page = opened(write_report(folder).as_uri())
    times = page.evaluate("() => [0, 2999, 3000, 5999].map((frame) => rondoPage.timelines[0].timeOf(frame))")
    assert times == ["23:59:30.25", "00:00:30.25", "00:03:30.25", "00:04:30.25"]
    back = page.evaluate("() => { const it = rondoPage.timelines[0]; return it.frameOf(it.secondsAt(4321)) }")
    assert back == pytest.approx(4321)
    assert page.evaluate("rondoPage.timelines[0].jumps") == [3000]
    assert page.evaluate("rondoPage.timelines[0].endOf(3000)") == "00:00:30.27"  # before the jump, not after it
    assert "1 gap" in page.page.locator("main").inner_text()
    times = page.evaluate(
        """() => {
          const it = rondoPage.timelines[0], pen = it.canvas.getContext("2d"), told = []
          it.show(2900, 3100)
          const write = pen.fillText.bind(pen)
          pen.fillText = (text, ...place) => { told.push(text); write(text, ...place) }
          drawAxis(it, pen)
          delete pen.fillText
          return told.slice(0, -1)
        }"""
    )
    assert times[1:] == ["00:00:29", "00:00:30", "00:03:31"]
