"""The report as people use it, in a real browser: zoom, press, point, keys, print.

Needs playwright (the extra `test`) and a chromium on the PATH; nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.report import overview_path, read_overview, write_overview
from rondo.report.frame_scores import FrameScores, scores_path, write_scores
from tests.report.on_folders import write_report
from tests.report.run_folders import edit_summary, write_run_folder

pytestmark = pytest.mark.browser

N_FRAMES, STEP = 20_000, 250


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signal that steps where units change, every 250 frames: what is drawn above must step where lanes do."""
    folder = write_run_folder(
        tmp_path_factory.mktemp("steps"), n_frames=N_FRAMES, channels=("step", "noise"), rate=None, with_truth=False
    )
    starts = np.arange(0, N_FRAMES, STEP)
    ids = np.arange(starts.size) % 2
    rows = {"recording": "day1", "start_frame": starts, "end_frame": starts + STEP, "id": ids, "score": 0.5}
    unit = pl.DataFrame({**rows, "level": "unit", "units": ""})
    motif = pl.DataFrame({**rows, "level": "motif", "units": "u0 u1"})
    pl.concat([unit, motif]).write_parquet(folder / "segments.parquet")
    values = np.stack([np.repeat(ids, STEP), np.random.default_rng(0).normal(size=N_FRAMES)], axis=1)
    values[3000:3010, 1] = np.nan
    write_overview(overview_path(folder, "day1"), values, ("step", "noise"))
    track = np.repeat(0.25 + 0.5 * ids, STEP).astype(np.float32)
    write_scores(scores_path(folder, "day1"), FrameScores(track, 1 - track))
    entries = {
        "n_occurrences": 40, "share": 0.5, "mean_duration_frames": 250.0, "mean_duration_s": None,
        "p10_duration_frames": 250.0, "p10_duration_s": None, "median_duration_frames": 250.0,
        "median_duration_s": None, "p90_duration_frames": 250.0, "p90_duration_s": None, "exemplars": [],
    }  # fmt: skip
    levels = {level: [{**entries, "id": id} for id in (0, 1)] for level in ("units", "motifs")}
    edit_summary(folder, **levels)
    return write_report(folder)


def test_the_page_builds_every_level_that_the_run_folder_could_have_told(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    levels = page.evaluate(
        "rondoPage.timelines[0].signal.levels.map((it) => [it.bucket, it.n, it.width, Array.from(it.codes)])"
    )
    overview = read_overview(overview_path(steps.parent, "day1"))
    assert [bucket for bucket, *_ in levels] == [1, 4, 8]
    for bucket, n_buckets, width, codes in levels:
        found = np.array(codes).reshape(2, width, n_buckets).transpose(2, 0, 1)
        npt.assert_array_equal(found, overview.coarsened(bucket).codes >> 8)


CHANGES = """() => {
  const it = rondoPage.timelines[0], pen = it.canvas.getContext("2d"), width = it.canvas.width
  const row = (y) => pen.getImageData(0, Math.round(y), width, 1).data
  const lane = row(it.lanesTop + 34 * 0.5 - 9), low = row(37 - 1), found = {lane: [], signal: [], score: []}
  const half = row(it.scoresTop + 30 / 2)
  const isBlue = (d, x) => d[4 * x + 2] > 150 && d[4 * x] < 60
  const isInk = (d, x) => d[4 * x] < 120, isLine = (d, x) => d[4 * x] < 200 // thin lines are paler
  for (let x = 130; x < width - 110; x++) {
    if (isBlue(lane, x) !== isBlue(lane, x - 1)) found.lane.push(it.frameAt(x))
    if (isLine(low, x) !== isLine(low, x - 1)) found.signal.push(it.frameAt(x))
    if (isInk(half, x) !== isInk(half, x - 1)) found.score.push(it.frameAt(x))
  }
  return {...found, perPixel: it.framesPerPixel}
}"""


def test_signal_lanes_and_scores_change_at_the_same_frame_at_every_zoom(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    for view in ((0, N_FRAMES), (5000, 8000), (6100, 6600), (9990, 10_040)):
        page.evaluate("([from, to]) => rondoPage.timelines[0].show(from, to)", list(view))
        page.settle()
        found = page.evaluate(CHANGES)
        expected = np.arange(STEP, N_FRAMES, STEP)
        margin = 4 * found["perPixel"]
        expected = expected[(expected > view[0] + margin) & (expected < view[1] - margin)]
        room = 2 * found["perPixel"] + 1  # the edge between two segments is a pixel wide; a line crosses within a frame
        assert expected.size
        for kind in ("lane", "signal", "score"):
            places = np.array(found[kind])
            for frame in expected:
                assert np.abs(places - frame).min() <= room, (view, kind, frame)
            assert all(np.abs(np.arange(0, N_FRAMES + 1, STEP) - place).min() <= room for place in places), (view, kind)


def test_the_wheel_zooms_around_the_pointer_and_dragging_moves(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    x, y = page.point(7000, 0)
    page.page.mouse.move(x, y)
    for _ in range(8):
        width = page.evaluate("rondoPage.timelines[0].view.end - rondoPage.timelines[0].view.start")
        page.page.mouse.wheel(0, -120)
        zoomed = "(width) => rondoPage.timelines[0].view.end - rondoPage.timelines[0].view.start < width"
        page.page.wait_for_function(zoomed, arg=width)  # the browser takes it when it comes to it
    view = page.evaluate("rondoPage.timelines[0].view")
    assert view["end"] - view["start"] < 0.5 * N_FRAMES
    box = page.evaluate("rondoPage.timelines[0].canvas.getBoundingClientRect().left")
    assert page.evaluate("(x) => rondoPage.timelines[0].frameAt(x)", x - box) == pytest.approx(7000, abs=60)
    page.page.mouse.down()
    page.page.mouse.move(x - 100, y, steps=4)
    page.page.mouse.up()
    moved = page.evaluate("rondoPage.timelines[0].view")
    per_pixel = page.evaluate("rondoPage.timelines[0].framesPerPixel")
    assert moved["start"] - view["start"] == pytest.approx(100 * per_pixel, rel=0.05)
    assert page.page.locator("#drawer").is_hidden()  # a drag is no press


def test_pressing_a_segment_shows_the_occurrences_of_its_entry(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(0, 2000)")
    page.settle()
    page.page.mouse.click(*page.point(375, 1))  # the second motif: m1
    drawer = page.page.locator("#drawer")
    assert drawer.is_visible()
    assert drawer.locator("h2").inner_text() == "m1"
    assert "40 occurrences (24 of them here" in drawer.inner_text()
    cells = page.evaluate(
        "[...document.querySelectorAll('.occurrences button')].map((it) => [it.dataset.start, it.dataset.end])"
    )
    assert len(cells) == 24
    assert all(int(start) % 500 == 250 and int(end) - int(start) == STEP for start, end in cells)
    assert "step: higher" in drawer.inner_text()
    assert page.page.locator("#drawer .key div").first.inner_text() == "step"
    page.page.locator(".occurrences button").nth(3).click()
    view = page.evaluate("rondoPage.timelines[0].view")
    assert (view["start"], view["end"]) == (int(cells[3][0]) - STEP, int(cells[3][1]) + STEP)
    page.page.keyboard.press("Escape")
    assert drawer.is_hidden()


def test_pointing_tells_ids_times_and_scores(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(0, 2000)")
    page.settle()
    page.page.mouse.move(*page.point(375, 1))
    assert page.page.locator("#tooltip").is_visible()
    words = page.page.locator("#tooltip").inner_text()
    assert [part in words for part in ("m1", "frame 250 to frame 500", "score 0.500", "u0 u1")] == [True] * 4


def test_pointing_at_the_signal_tells_channel_value_and_time(opened: Any, steps: Path) -> None:
    """The values under a pixel, as fine as the page holds them; through all rows goes a line."""
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(0, 2000)")
    page.settle()
    x, _ = page.point(375, 0)
    top = page.evaluate("rondoPage.timelines[0].canvas.getBoundingClientRect().top")
    words = page.page.locator("#tooltip")
    page.page.mouse.move(x, top + 20)
    assert words.inner_text().splitlines()[:2] == ["step", "about 1.00"]
    assert words.inner_text().splitlines()[2] in ("frame 374", "frame 375")
    assert page.evaluate("document.querySelector('.hair').getBoundingClientRect().left") == pytest.approx(x, abs=1)
    page.page.mouse.move(page.point(250, 0)[0], top + 20)  # here it steps
    assert words.inner_text().splitlines()[1] == "0.00 to 1.00"
    page.page.mouse.move(x - 300, top + 20 + 40)
    assert words.inner_text() == "noise"
    page.evaluate("rondoPage.timelines[0].show(2990, 3020)")
    page.settle()
    page.page.mouse.move(page.point(3005, 0)[0], top + 20 + 40)
    assert words.inner_text().splitlines()[1] == "no value"


def test_single_frames_are_seen_as_such(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(100, 110)")
    page.settle()
    tall = """(frame) => {
      const it = rondoPage.timelines[0], x = Math.round(it.xOf(frame))
      const column = it.canvas.getContext("2d").getImageData(x, 0, 1, 40).data
      return [...Array(40).keys()].filter((y) => column[4 * y] < 220).length
    }"""
    assert page.evaluate(tall, 104.5) >= 4 > page.evaluate(tall, 105) > 0  # a dot, and the line between two


def test_pointing_at_a_score_tells_how_near_the_window_is_to_its_unit(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(0, 2000)")
    page.settle()
    x, y = page.point(375, 1)
    page.page.mouse.move(x, y + 32)  # the row below the lanes
    words = page.page.locator("#tooltip").inner_text().splitlines()
    assert words[0] == "unit score 0.75" and words[1] in ("frame 374", "frame 375")
    assert words[2] == "at 0.29 of the way from the middle of its unit to its edge"
    page.page.mouse.move(x, y + 32 + 30)
    assert page.page.locator("#tooltip").inner_text().splitlines()[0] == "motif score 0.25"
    page.page.mouse.move(x, y + 32 + 60)
    assert page.page.locator("#tooltip").is_hidden()  # the axis


def test_everything_can_be_done_with_keys(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.page.locator(".timeline canvas").focus()
    for key in ("+", "+", "ArrowRight"):
        page.page.keyboard.press(key)
    view = page.evaluate("rondoPage.timelines[0].view")
    length = N_FRAMES / 1.5**2
    assert view["end"] - view["start"] == pytest.approx(length)
    assert view["start"] == pytest.approx((N_FRAMES - length) / 2 + 0.2 * length)
    page.page.keyboard.press("Home")
    for key in ("ArrowDown", "ArrowDown", ".", "Enter"):  # the motif lane, its second segment
        page.page.keyboard.press(key)
    assert page.page.locator("#drawer h2").inner_text() == "m1"
    page.page.keyboard.press(".")  # to its next occurrence
    assert page.evaluate("rondoPage.timelines[0].cursor.place") == 3
    page.page.keyboard.press("Escape")
    entry = page.page.locator("td button.entry").first
    for opener in (entry, page.page.locator(".timeline canvas")):
        opener.focus()
        page.page.keyboard.press("Enter")
        assert page.page.locator("#drawer h2").inner_text() == ("u0" if opener is entry else "m1")
        page.page.keyboard.press("Enter")  # into the drawer, to the first occurrence there
        assert page.evaluate("document.activeElement.parentNode.className") == "occurrences"
        page.page.keyboard.press("Escape")
        assert page.page.locator("#drawer").is_hidden()
        assert opener.evaluate("(it) => it === document.activeElement")  # and back to where one was


def test_keys_leave_a_mark_and_zoom_around_it(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.page.locator(".timeline canvas").focus()
    for key in ("ArrowDown", ".", ".", "+", "+"):
        page.page.keyboard.press(key)
    page.settle()
    black = """() => {
      const it = rondoPage.timelines[0], y = Math.round(it.lanesTop + 17)
      const row = it.canvas.getContext("2d").getImageData(0, y, it.canvas.width, 1).data
      const at = [...Array(it.canvas.width).keys()].filter((x) => !row[4 * x] && !row[4 * x + 1] && !row[4 * x + 2])
      return [it.frameAt(at[0]), it.frameAt(at[at.length - 1]), it.framesPerPixel]
    }"""
    left, right, pixel = page.evaluate(black)
    assert (left, right) == (pytest.approx(2 * STEP, abs=4 * pixel), pytest.approx(3 * STEP, abs=4 * pixel))
    assert page.page.locator("#tooltip").is_hidden()  # the segment is no longer where its words were
    page.page.keyboard.press(".")
    assert page.page.locator("#tooltip").is_visible()
    page.evaluate("window.scrollBy(0, 40)")
    page.page.wait_for_function("document.getElementById('tooltip').hidden")


def test_a_page_asks_nobody_for_anything_and_prints(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.page.emulate_media(media="print")
    assert page.page.locator(".tools").first.is_hidden()
    assert page.page.locator(".keys").is_hidden()
    assert page.page.locator(".timeline canvas").is_visible()
    page.page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    sizes = "[...document.querySelectorAll('tbody td:not(:empty)')].map((it) => getComputedStyle(it).fontSize)"
    assert len(set(page.evaluate(sizes))) == 1
    assert page.page.pdf(format="A4").startswith(b"%PDF")
    assert page.requests == [steps.as_uri()]
