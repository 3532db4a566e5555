"""The timelines as people use them, in a real browser: zoom, brush, press, point, keys, print.

Needs playwright (the extra `test`) and a chromium on the PATH; nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.run.overview import FrameScores, overview_path, read_overview, scores_path, write_overview, write_scores
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
  const band = it.bands.find((band) => band.name === "u0"), found = {lane: [], signal: [], score: []}
  const lane = row(band.y + band.height / 2), low = row(0.91 * it.rowHeight), half = row(it.scoresTop + 30 / 2)
  const isBlue = (d, x) => d[4 * x + 2] > 150 && d[4 * x] < 60
  const isInk = (d, x) => d[4 * x] < 120, isLine = (d, x) => d[4 * x] < 200 // thin lines are paler
  for (let x = it.left + 2; x < it.left + it.plotWidth - 2; x++) {
    if (isBlue(lane, x) !== isBlue(lane, x - 1)) found.lane.push(it.frameAt(x))
    if (isLine(low, x) !== isLine(low, x - 1)) found.signal.push(it.frameAt(x))
    if (isInk(half, x) !== isInk(half, x - 1)) found.score.push(it.frameAt(x))
  }
  return {...found, perPixel: it.framesPerPixel}
}"""


def test_signal_lanes_and_scores_change_at_the_same_frame_at_every_zoom(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.page.locator("[data-toggle=fit]").click()
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


VIEW = "rondoPage.timelines[0].view"
ZOOMED = f"(width) => {VIEW}.end - {VIEW}.start < width"


def test_the_wheel_scrolls_the_page_until_a_timeline_is_pressed_or_ctrl_held(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri(), height=600)
    page.page.mouse.move(500, 160)
    page.page.mouse.wheel(0, 120)
    page.wait("window.scrollY > 0")
    assert page.evaluate(VIEW) == {"start": 0, "end": N_FRAMES}
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -120)
    page.wait(ZOOMED, N_FRAMES)
    page.page.keyboard.up("Control")
    zoomed = page.evaluate(VIEW)
    page.page.mouse.wheel(0, -60)  # it is not focused: back up
    page.wait("window.scrollY < 120")
    assert page.evaluate(VIEW) == zoomed
    page.page.locator(".plot canvas").focus()
    page.page.mouse.wheel(0, -120)
    page.wait(ZOOMED, zoomed["end"] - zoomed["start"])
    page.evaluate(f"rondoPage.timelines[0].show(0, {N_FRAMES})")
    before = page.evaluate("window.scrollY")
    page.page.mouse.wheel(0, 120)  # all is in view: nothing left to zoom out of
    page.wait("(before) => window.scrollY > before", before)


def test_the_wheel_zooms_around_the_pointer_and_dragging_moves(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    x, y = page.point(7000, 0)
    page.page.mouse.move(x, y)
    page.page.locator(".plot canvas").focus()
    for _ in range(8):
        width = page.evaluate(f"{VIEW}.end - {VIEW}.start")
        page.page.mouse.wheel(0, -120)
        page.wait(ZOOMED, width)  # the browser takes it when it comes to it
    view = page.evaluate(VIEW)
    assert view["end"] - view["start"] < 0.5 * N_FRAMES
    box = page.evaluate("rondoPage.timelines[0].canvas.getBoundingClientRect().left")
    assert page.evaluate("(x) => rondoPage.timelines[0].frameAt(x)", x - box) == pytest.approx(7000, abs=60)
    page.page.mouse.down()
    page.page.mouse.move(x - 100, y, steps=4)
    page.page.mouse.up()
    moved = page.evaluate(VIEW)
    per_pixel = page.evaluate("rondoPage.timelines[0].framesPerPixel")
    assert moved["start"] - view["start"] == pytest.approx(100 * per_pixel, rel=0.05)
    assert page.evaluate("rondoPage.chosen") is None  # a drag is no press
    page.page.mouse.dblclick(x, y)
    assert page.evaluate(VIEW) == {"start": 0, "end": N_FRAMES}


def test_rows_are_scaled_to_what_is_in_view_unless_they_are_fixed(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    ranges = "rondoPage.timelines[0].ranges"
    assert page.evaluate(ranges) == [[0, 254], [0, 254]]
    values = read_overview(overview_path(steps.parent, "day1")).codes[1000:1100, 1, 0] >> 8
    page.evaluate("rondoPage.timelines[0].show(1000, 1100)")
    page.settle()
    assert page.evaluate(ranges)[1] == [int(values.min()), int(values.max())]
    low, high = page.evaluate(ranges)[0]  # nothing but zeros: in the middle, and not magnified without end
    assert (low + high) / 2 == 0 and high - low == 12
    fixed = page.page.locator("[data-toggle='fix y']")
    fixed.click()
    page.settle()
    assert fixed.get_attribute("aria-pressed") == "true"
    assert page.evaluate(ranges) == [[0, 254], [0, 254]]


def test_the_strip_shows_and_sets_what_is_in_view(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    box = page.page.locator("canvas.strip").bounding_box()
    left, wide = page.evaluate("[rondoPage.timelines[0].left, rondoPage.timelines[0].plotWidth]")

    def drag(*shares: float) -> tuple[float, float]:
        """From one place of the recording to another; where the view is then, as shares of it."""
        first, last = (box["x"] + left + share * wide for share in shares)
        page.page.mouse.move(first, box["y"] + 15)
        page.page.mouse.down()
        page.page.mouse.move((first + last) / 2, box["y"] + 15)
        page.page.mouse.move(last, box["y"] + 15)
        page.page.mouse.up()
        view = page.evaluate(VIEW)
        return view["start"] / N_FRAMES, view["end"] / N_FRAMES

    assert drag(0.2, 0.4) == pytest.approx((0.2, 0.4), abs=0.005)  # a new window
    assert drag(0.3, 0.6) == pytest.approx((0.5, 0.7), abs=0.005)  # moved
    assert drag(0.7, 0.9) == pytest.approx((0.5, 0.9), abs=0.005)  # widened at its end
    assert drag(0.5, 0.8) == pytest.approx((0.8, 0.9), abs=0.005)  # narrowed at its start
    page.page.mouse.click(box["x"] + left + 0.25 * wide, box["y"] + 15)
    view = page.evaluate(VIEW)
    assert (view["start"] / N_FRAMES, view["end"] / N_FRAMES) == pytest.approx((0.2, 0.3), abs=0.005)
    page.page.mouse.dblclick(box["x"] + left + 0.25 * wide, box["y"] + 15)
    assert page.evaluate(VIEW) == {"start": 0, "end": N_FRAMES}


def test_pressing_a_segment_shows_its_entry_beside_the_timeline(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(0, 2000)")
    page.settle()
    page.page.mouse.click(*page.point(375, 1))  # the second motif: m1
    panel, plot = page.page.locator("#panel"), page.page.locator(".plot").bounding_box()
    assert panel.locator("h2").first.inner_text() == "m1"
    assert "40 occurrences" in panel.inner_text()
    assert panel.bounding_box()["x"] >= plot["x"] + plot["width"]  # covers nothing
    page.page.keyboard.press("Escape")
    assert page.evaluate("rondoPage.chosen") is None
    x, y = page.point(375, 0)
    page.page.mouse.click(page.page.locator(".plot canvas").bounding_box()["x"] + 60, y)  # the name of its row
    assert page.evaluate("rondoPage.chosen") == "unit|u1"
    page.page.mouse.click(x - 30, y - 60)  # nothing is there
    assert page.evaluate("rondoPage.chosen") is None


BRIGHTNESS = """([frame, place]) => {
  const it = rondoPage.timelines[0], lane = it.lanes[place], box = it.boxOf(lane, firstEndingAfter(lane, frame))
  const dot = it.canvas.getContext("2d").getImageData(it.xOf(frame), box.top + 5, 1, 1).data
  return (dot[0] + dot[1] + dot[2]) / 3
}"""


def test_the_occurrences_of_a_chosen_entry_stay_bright_in_all_lanes(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(0, 2000)")
    page.settle()
    places = [[350, 1], [100, 1], [350, 0], [100, 0]]  # m1, m0, u1 and u0; u1 lies in m1
    before = [page.evaluate(BRIGHTNESS, place) for place in places]
    page.evaluate("rondoPage.choose('motif|m1')")
    page.settle()
    after = [page.evaluate(BRIGHTNESS, place) for place in places]
    assert [now == pytest.approx(then, abs=3) for then, now in zip(before, after, strict=True)] == [
        True, False, True, False,
    ]  # fmt: skip
    assert after[1] > before[1] + 40 and after[3] > before[3] + 40


def test_what_was_jumped_to_is_marked(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    dot = """(frame) => {
      const it = rondoPage.timelines[0]
      return [...it.canvas.getContext("2d").getImageData(Math.round(it.xOf(frame) - 0.5), 3, 1, 1).data].slice(0, 3)
    }"""
    page.evaluate("rondoPage.goTo(0, 1000, 1750, {start: 1250, end: 1500})")
    page.settle()
    assert page.evaluate(VIEW) == {"start": 1000, "end": 1750}
    assert page.evaluate("(({start, end, place}) => [start, end, place])(rondoPage.timelines[0].marked)") == [
        1250,
        1500,
        5,
    ]
    for frame, marked in ((1250, True), (1500, True), (1375, False)):
        red, green, blue = page.evaluate(dot, frame)
        assert (red - blue > 60) == marked, (frame, red, green, blue)
    page.evaluate("rondoPage.choose('unit|u1')")
    page.evaluate("rondoPage.goTo(0, 2000, 2750)")  # the chosen entry's own occurrence there
    assert page.evaluate("rondoPage.timelines[0].marked.start") == 2250
    page.page.keyboard.press("Escape")
    assert page.evaluate("rondoPage.timelines[0].marked") is None


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
    top, tall = page.evaluate(
        "[rondoPage.timelines[0].canvas.getBoundingClientRect().top, rondoPage.timelines[0].rowHeight]"
    )
    words = page.page.locator("#tooltip")
    page.page.mouse.move(x, top + tall / 2)
    assert words.inner_text().splitlines()[:2] == ["step", "about 1.00"]
    assert words.inner_text().splitlines()[2] in ("frame 374", "frame 375")
    assert page.evaluate("document.querySelector('.hair').getBoundingClientRect().left") == pytest.approx(x, abs=1)
    page.page.mouse.move(page.point(250, 0)[0], top + tall / 2)  # here it steps
    assert words.inner_text().splitlines()[1] == "0.00 to 1.00"
    page.page.mouse.move(page.page.locator(".plot").bounding_box()["x"] + 60, top + 1.5 * tall)
    assert words.inner_text() == "noise"
    page.evaluate("rondoPage.timelines[0].show(2990, 3020)")
    page.settle()
    page.page.mouse.move(page.point(3005, 0)[0], top + 1.5 * tall)
    assert words.inner_text().splitlines()[1] == "no value"


def test_single_frames_are_seen_as_such(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(100, 110)")
    page.settle()
    tall = """(frame) => {
      const it = rondoPage.timelines[0], x = Math.round(it.xOf(frame)), tall = it.rowHeight
      const column = it.canvas.getContext("2d").getImageData(x, 0, 1, tall).data
      return [...Array(tall).keys()].filter((y) => column[4 * y] < 220).length
    }"""
    assert page.evaluate(tall, 104.5) >= 4 > page.evaluate(tall, 105) > 0  # a dot, and the line between two


def test_scores_are_folded_and_tell_how_near_a_window_is_to_its_unit(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.evaluate("rondoPage.timelines[0].show(0, 2000)")
    before = page.evaluate("rondoPage.timelines[0].height")
    page.page.locator("[data-toggle=fit]").click()
    page.settle()
    assert page.evaluate("rondoPage.timelines[0].height") == before + 60
    x, _ = page.point(375, 1)
    y = page.evaluate("rondoPage.timelines[0].canvas.getBoundingClientRect().top + rondoPage.timelines[0].scoresTop")
    page.page.mouse.move(x, y + 15)
    words = page.page.locator("#tooltip").inner_text().splitlines()
    assert words[0] == "unit score 0.75" and words[1] in ("frame 374", "frame 375")
    assert words[2] == "at 0.29 of the way from the middle of its unit to its edge"
    page.page.mouse.move(x, y + 15 + 30)
    assert page.page.locator("#tooltip").inner_text().splitlines()[0] == "motif score 0.25"
    page.page.mouse.move(x, y + 15 + 60)
    assert page.page.locator("#tooltip").is_hidden()  # the axis


def test_everything_can_be_done_with_keys(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.page.locator(".plot canvas").focus()
    for key in ("+", "+", "ArrowRight"):
        page.page.keyboard.press(key)
    view = page.evaluate(VIEW)
    length = N_FRAMES / 1.5**2
    assert view["end"] - view["start"] == pytest.approx(length)
    assert view["start"] == pytest.approx((N_FRAMES - length) / 2 + 0.2 * length)
    page.page.keyboard.press("Home")
    for key in ("ArrowDown", ".", "Enter"):  # the motif lane, its second segment
        page.page.keyboard.press(key)
    assert page.page.locator("#panel h2").first.inner_text() == "m1"
    page.page.keyboard.press(".")  # to its next occurrence
    assert page.evaluate("rondoPage.timelines[0].cursor.place") == 3
    page.page.keyboard.press("Escape")
    entry = page.page.locator(".entries button.entry").first
    for opener in (entry, page.page.locator(".plot canvas")):
        opener.focus()
        page.page.keyboard.press("Enter")
        assert page.page.locator("#panel h2").first.inner_text() == ("u0" if opener is entry else "m1")
        page.page.keyboard.press("Enter")  # into the panel
        assert page.evaluate("rondoPage.panel.contains(document.activeElement)")
        page.page.keyboard.press("Escape")
        assert page.evaluate("rondoPage.chosen") is None
        assert opener.evaluate("(it) => it === document.activeElement")  # and back to where one was


def test_keys_leave_a_mark_and_zoom_around_it(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.page.locator(".plot canvas").focus()
    for key in ("ArrowDown", ".", ".", "+", "+"):
        page.page.keyboard.press(key)
    page.settle()
    outline = """() => {
      const it = rondoPage.timelines[0], box = it.boxOf(it.lanes[1], 2), [red, green, blue] = [0x1b, 0x1f, 0x24]
      const row = it.canvas.getContext("2d").getImageData(0, box.top + 4, it.canvas.width, 1).data
      const away = (x, place, value) => Math.abs(row[4 * x + place] - value)
      const isInk = (x) => away(x, 0, red) + away(x, 1, green) + away(x, 2, blue) < 9
      const at = [...Array(it.canvas.width).keys()].filter(isInk)
      return [it.frameAt(at[0]), it.frameAt(at[at.length - 1]), it.framesPerPixel]
    }"""
    left, right, pixel = page.evaluate(outline)
    assert (left, right) == (pytest.approx(2 * STEP, abs=4 * pixel), pytest.approx(3 * STEP, abs=4 * pixel))
    assert page.page.locator("#tooltip").is_hidden()  # the segment is no longer where its words were
    page.page.keyboard.press(".")
    assert page.page.locator("#tooltip").is_visible()
    page.evaluate("window.scrollBy(0, 40)")
    page.wait("document.getElementById('tooltip').hidden")


def test_help_stands_behind_a_button_and_esc_ends_it(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    assert page.page.locator("#help").is_hidden()
    page.page.locator("#tools button", has_text="?").click()
    assert "OTHER" in page.page.locator("#help").inner_text()
    page.page.keyboard.press("Escape")
    assert page.page.locator("#help").is_hidden()


def test_scripts_can_add_to_the_page(opened: Any, steps: Path) -> None:
    """What editing and media are built on: told of the start, of each drawing, of presses and of what is chosen."""
    page = opened(steps.as_uri())
    page.evaluate(
        """() => {
          window.told = []
          addRondoPlugin({
            started: (page) => { told.push(["started", page === rondoPage]) },
            painted: (timeline, pen) => { told.painted = timeline === rondoPage.timelines[0] && pen.fillRect },
            pressed: (timeline, event, found) => { told.push(["pressed", found?.place]); return event.shiftKey },
            chosen: (page, key, origin) => { told.push(["chosen", key, origin && origin.frame]) },
          })
          rondoPage.tools("hello", "greets", () => told.push(["hello"]))
          rondoPage.timelines[0].show(0, 2000)
        }"""
    )
    page.settle()
    assert page.evaluate("Boolean(told.painted)")
    x, y = page.point(375, 1)
    page.page.mouse.click(x, y)
    page.page.keyboard.down("Shift")
    page.page.mouse.click(*page.point(125, 1))  # it says that it has dealt with this one
    page.page.keyboard.up("Shift")
    page.page.locator("#tools button", has_text="hello").click()
    assert page.evaluate("told") == [
        ["started", True], ["pressed", 1], ["chosen", "motif|m1", 250], ["pressed", 0], ["hello"],
    ]  # fmt: skip


def test_a_page_asks_nobody_for_anything_and_prints(opened: Any, steps: Path) -> None:
    page = opened(steps.as_uri())
    page.page.emulate_media(media="print")
    assert page.page.locator(".tools").first.is_hidden()
    assert page.page.locator(".plot canvas").is_visible()
    page.page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    sizes = "[...document.querySelectorAll('.entries td:not(:empty)')].map((it) => getComputedStyle(it).fontSize)"
    assert len(set(page.evaluate(sizes))) == 1
    assert page.page.pdf(format="A4").startswith(b"%PDF")
    assert page.requests == [steps.as_uri()]
