"""The page as people use it, in a real browser: zoom, brush, press, point, keys, panel, sheet, axis, print.

Needs playwright (the extra `test`) and a chromium on the PATH; nothing is downloaded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.run.overview import FrameScores, overview_path, read_overview, scores_path
from rondo.wording import duration_in_words
from tests.report.browsing import PATIENCE_MS, wait_in
from tests.report.on_folders import write_report
from tests.report.run_folders import MOTIFS, edit_summary, write_run_folder
from tests.report.stream_folders import write_stream_folder
from tests.run.stored import write_overview, write_scores

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


LAPTOP, TABLET, PHONE = (1400, 900), (820, 1180), (390, 844)


@pytest.fixture(scope="module")
def plain_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    channels = ("acc_x", "a channel with a very long name indeed", "acc_z", "gyr_x", "gyr_y", "gyr_z")
    return write_report(write_run_folder(tmp_path_factory.mktemp("run"), channels=channels)).as_uri()


@pytest.mark.parametrize(("size", "most"), [(LAPTOP, 160), (TABLET, 175), (PHONE, 260)])
def test_the_first_signal_is_on_the_first_screen_and_nothing_is_off_it(
    opened: Any, plain_report: str, size: tuple[int, int], most: int
) -> None:
    page = opened(plain_report, width=size[0], height=size[1])
    plot = page.page.locator(".plot").bounding_box()
    assert plot["y"] <= most
    assert page.evaluate("rondoPage.timelines[0].top") > 0  # it begins with the signal
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert plot["x"] >= 0 and plot["x"] + plot["width"] <= size[0]
    lanes = page.evaluate("rondoPage.timelines[0].scoresTop")
    assert plot["y"] + lanes <= size[1]  # and ends on it, with everything that was found
    panel = page.page.locator("#panel").bounding_box()
    is_beside = panel["x"] >= plot["x"] + plot["width"]
    assert is_beside == (size == LAPTOP)
    assert is_beside or panel["y"] >= plot["y"] + plot["height"]  # never over it


def touches(page: Any, kind: str, *places: tuple[float, float]) -> None:
    points = [{"x": x, "y": y, "id": place} for place, (x, y) in enumerate(places)]
    page.fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_two_fingers_zoom_and_one_that_goes_up_scrolls_the_page(opened: Any, plain_report: str) -> None:
    page = opened(plain_report, width=PHONE[0], height=PHONE[1], has_touch=True)
    page.fingers = page.page.context.new_cdp_session(page.page)
    y = page.page.locator(".plot").bounding_box()["y"] + 100
    n_frames = page.evaluate("rondoPage.timelines[0].nFrames")
    left, right = page.evaluate("[150, 250].map((x) => rondoPage.timelines[0].frameAt(x - 8))")
    touches(page, "touchStart", (150, y), (250, y))
    for away in (20, 40, 60):
        touches(page, "touchMove", (150 - away, y), (250 + away, y))
    touches(page, "touchEnd")
    page.wait("(n) => rondoPage.timelines[0].view.end - rondoPage.timelines[0].view.start < 0.6 * n", n_frames)
    found = page.evaluate("[90, 310].map((x) => rondoPage.timelines[0].frameAt(x - 8))")
    assert found == pytest.approx([left, right], abs=0.02 * n_frames)  # what was under the fingers stays there
    view = page.evaluate("rondoPage.timelines[0].view")
    touches(page, "touchStart", (200, y + 150))
    for away in (20, 60, 100, 140):
        touches(page, "touchMove", (200, y + 150 - away))
    touches(page, "touchEnd")
    page.wait("window.scrollY > 50")
    assert page.evaluate("rondoPage.timelines[0].view") == view


PAPER = """() => {
  const it = rondoPage.timelines[0], dot = it.canvas.getContext("2d").getImageData(1, 1, 1, 1).data
  const strip = it.strip.canvas.getContext("2d").getImageData(1, 1, 1, 1).data
  return [dot[0], strip[0], parseInt(getComputedStyle(document.documentElement).backgroundColor.slice(4))]
}"""


def test_dark_as_the_system_has_it_until_someone_chooses_and_light_on_paper(opened: Any, plain_report: str) -> None:
    page = opened(plain_report, color_scheme="dark")
    dark = page.evaluate(PAPER)
    assert max(dark) < 40
    button = page.page.locator("#theme")
    button.click()
    page.settle()
    assert page.evaluate(PAPER) == [255, 255, 255] and "light" in button.get_attribute("aria-label")
    button.click()
    page.page.emulate_media(color_scheme="light")
    page.settle()
    assert page.evaluate(PAPER) == dark  # chosen, whatever the system does
    button.click()
    page.settle()
    assert page.evaluate(PAPER) == [255, 255, 255]  # as the system has it
    page.page.emulate_media(color_scheme="dark")
    page.wait(f"Math.max(...({PAPER})()) < 40")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(PAPER)[:2] == [255, 255]
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.wait(f"Math.max(...({PAPER})()) < 40")


def test_units_have_rows_in_the_order_of_their_first_occurrences_under_the_blocks_that_hold_them(
    opened: Any, plain_report: str
) -> None:
    page = opened(plain_report)
    found = page.evaluate(
        """() => {
          const it = rondoPage.timelines[0], of = (kind) => it.lanes.find((lane) => lane.kind === kind)
          const boxes = (lane) => [...lane.starts].map((start, i) => ({...it.boxOf(lane, i), start, end: lane.ends[i],
            name: lane.entries[lane.entry[i]].name}))
          const bands = it.bands.map(({kind, name}) => [kind, name])
          return {bands, units: boxes(of("unit")), motifs: boxes(of("motif"))}
        }"""
    )
    first = list(dict.fromkeys(unit["name"] for unit in found["units"] if unit["name"] != "OTHER"))
    assert found["bands"] == [
        ["block", "motifs"], *(["row", name] for name in first), ["row", "OTHER"],
        ["block", "true motifs"], ["block", "true units"],
    ]  # fmt: skip
    tops = {name: {unit["top"] for unit in found["units"] if unit["name"] == name} for name in first}
    assert all(len(top) == 1 for top in tops.values())  # a row each
    assert sorted(tops, key=lambda name: min(tops[name])) == first
    for motif in (it for it in found["motifs"] if it["name"] != "OTHER"):
        inside = [it for it in found["units"] if motif["start"] <= it["start"] and it["end"] <= motif["end"]]
        assert {it["name"] for it in inside} <= {f"u{unit}" for unit in MOTIFS[int(motif["name"][1:])]}
        assert all(motif["left"] <= it["left"] and it["right"] <= motif["right"] for it in inside)
        assert all(it["top"] >= motif["bottom"] for it in inside)


HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def panel_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings; u0 has a name that is markup."""
    folder = write_run_folder(tmp_path_factory.mktemp("panel"), recording_ids=("day1", "day2"), with_truth=False)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    units = [one | ({"name": HOSTILE} if one["id"] == 0 else {}) for one in summary["units"]]
    edit_summary(folder, units=units)
    return write_report(folder)


def test_with_nothing_chosen_the_panel_lists_both_levels(opened: Any, panel_report: Path) -> None:
    page = opened(panel_report.as_uri())
    rows = page.page.locator("#panel .legend tbody tr:not(.what)")
    assert rows.count() == 8
    assert page.page.locator("#panel .legend thead th:first-child").all_inner_texts() == ["Motifs", "Units"]
    shares = page.evaluate(
        """[...document.querySelectorAll(".legend")].map((table) =>
          [...table.tBodies[0].rows].map((row) => parseFloat(row.cells[1].textContent)))"""
    )
    assert all(own == sorted(own, reverse=True) for own in shares)
    pale = page.page.locator("#panel .legend tr.unproven")
    assert pale.count() == 4 and all("Comes back:" in row.get_attribute("title") for row in pale.all())
    page.page.locator("#panel .legend button.entry", has_text="m1").click()
    assert page.evaluate("rondoPage.chosen") == "motif|m1"
    assert page.page.locator("#panel h2").inner_text() == "m1"
    page.page.locator("#panel .close").click()
    assert page.evaluate("rondoPage.chosen") is None and rows.count() == 8


def test_an_entry_has_its_curves_both_ways_durations_and_place(opened: Any, panel_report: Path) -> None:
    page = opened(panel_report.as_uri())
    page.evaluate("rondoPage.choose('unit|u2')")
    panel = page.page.locator("#panel")
    assert "of the time, lasts" in panel.inner_text()
    assert panel.locator(".curve").count() == 4
    assert panel.locator(".durations rect.bar").count() >= 2 and panel.locator(".when rect.bar").count() == 48
    mean = "document.querySelector('#panel .curve .mean').getAttribute('d')"
    from_start = page.evaluate(mean)
    panel.get_by_role("button", name="stretched").click()
    assert page.evaluate(mean) != from_start
    assert "end (median" in panel.locator(".aligned .ends").inner_text()
    page.evaluate("rondoPage.choose('unit|u3')")  # what was chosen stays chosen
    assert panel.get_by_role("button", name="stretched").get_attribute("aria-pressed") == "true"


def test_an_occurrence_that_is_pressed_is_shown_and_marked(opened: Any, panel_report: Path) -> None:
    page = opened(panel_report.as_uri())
    page.evaluate("rondoPage.choose('motif|m1')")
    cell = page.page.locator("#panel .occurrences button[data-timeline='1']").first
    start, end = (int(cell.get_attribute(f"data-{name}")) for name in ("start", "end"))
    cell.click()
    view, mark = page.evaluate("[rondoPage.timelines[1].view, rondoPage.timelines[1].marked]")
    assert view["start"] <= start and end <= view["end"] and view["end"] - view["start"] <= 3 * (end - start) + 1
    assert (mark["start"], mark["end"]) == (start, end)
    assert page.page.locator("#panel .occurrences button.pressed").count() == 1
    assert "★" in page.page.locator("#panel .occurrences").inner_text()


def test_next_and_previous_go_through_all_occurrences_and_round(opened: Any, panel_report: Path) -> None:
    page = opened(panel_report.as_uri())
    page.evaluate("rondoPage.choose('unit|u4')")
    spans = page.evaluate("[0, 1].map((place) => spansIn(rondoPage, 'unit|u4', place).map((it) => [place, it[0]]))")
    expected = [*spans[0], *spans[1]]
    at = "[rondoPage.atOccurrence.place, rondoPage.atOccurrence.start]"
    forth, back = (page.page.locator(".stepping button").nth(i) for i in (1, 0))
    seen = []
    for _ in expected:
        forth.click()
        seen.append(page.evaluate(at))
    assert seen == expected
    assert f"{len(spans[1])} of {len(spans[1])} in day2" in page.page.locator(".stepping").inner_text()
    forth.click()
    assert page.evaluate(at) == expected[0]
    back.click()
    assert page.evaluate(at) == expected[-1]


def test_motifs_are_drawn_in_their_units_and_blocks_choose_them(opened: Any, panel_report: Path) -> None:
    page = opened(panel_report.as_uri())
    pictures = page.page.locator("#compose .motif-picture")
    assert pictures.count() == 3
    blocks = pictures.nth(1).locator("button.block")
    assert [it.strip() for it in blocks.all_inner_texts()] == ["u2", "u3", "u2"]
    widths = [blocks.nth(i).bounding_box()["width"] for i in range(3)]
    parts = page.evaluate("compositionData().made_of['motif|m1'].parts.map((it) => it.units[0].share)")
    assert [w / sum(widths) for w in widths] == pytest.approx([p / sum(parts) for p in parts], abs=0.02)
    blocks.nth(1).click()
    assert page.evaluate("rondoPage.chosen") == "unit|u3"
    page.evaluate("rondoPage.choose('motif|m1')")
    assert page.page.locator("#panel .composition button.block").count() == 3


def test_the_ring_and_its_table_tell_the_same_and_choose(opened: Any, panel_report: Path) -> None:
    page = opened(panel_report.as_uri())
    follows = page.page.locator("#follows")
    follows.get_by_role("button", name="units").click()
    graph = page.evaluate("compositionData().graphs[1]")
    assert graph["level"] == "unit"
    assert follows.locator("g.node").count() == len(graph["nodes"]) == 5
    assert follows.locator("g.arrow").count() == len(graph["arrows"]) > 0
    table = follows.locator(".follows:visible table")
    assert table.count() == 1 and table.locator("tbody tr").count() == 5
    for arrow in graph["arrows"]:
        a, b = graph["nodes"][arrow["from"]], graph["nodes"][arrow["to"]]
        row = table.locator("tbody tr", has=page.page.locator(f"button[data-key={json.dumps(a['key'])}]"))
        assert f"{b['name']} " in row.locator("td").inner_text()
    follows.locator("g.node").nth(2).click()
    assert page.evaluate("rondoPage.chosen") == graph["nodes"][2]["key"]
    assert follows.locator("g.node.chosen").count() == 1


def test_nothing_of_the_panel_or_the_composition_is_off_a_phone_or_without_contrast(
    browser: Any, panel_report: Path
) -> None:
    """On a phone, light and dark: no scrolling sideways, and lines that stand out from what is behind them."""
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
        page = context.new_page()
        page.goto(panel_report.as_uri())
        page.evaluate("rondoPage.choose('motif|m1')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate(
            """[...document.querySelectorAll("#panel *, #compose *")].filter((it) => !it.closest(".scroll"))
              .map((it) => it.getBoundingClientRect())
              .every(({width, left, right}) => width === 0 || (left >= -1 && right <= 391))"""
        )
        ink, paper = page.evaluate(
            """[getComputedStyle(document.querySelector("#panel .mean")).stroke,
              getComputedStyle(document.documentElement).backgroundColor]"""
        )
        assert abs(brightness(ink) - brightness(paper)) > 120, (scheme, ink, paper)
        context.close()


def brightness(colour: str) -> float:
    numbers = [float(it) for it in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(numbers) / 3


INKED = """() => rondoPage.timelines.map(({canvas}) => new Set(new Uint32Array(
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size > 10)"""


@pytest.mark.parametrize(
    ("recording_ids", "channels"),
    [(("day1", "day2"), ("x", "y", "z")), (('<b>&"',), ("</script><b>", "$$\\frac{1}{2}$$"))],
)
def test_every_timeline_is_drawn_and_an_exemplar_leads_to_its_place(
    opened: Any, tmp_path: Path, recording_ids: tuple[str, ...], channels: tuple[str, ...]
) -> None:
    report = write_report(write_run_folder(tmp_path / "run", recording_ids=recording_ids, channels=channels))
    page = opened(report.as_uri())
    assert page.evaluate(INKED) == [True] * len(recording_ids)
    assert page.page.locator("section.recording h2").all_inner_texts() == [*recording_ids]
    exemplar = page.page.locator("button.exemplar").first
    place, start, end = (int(exemplar.get_attribute(f"data-{name}")) for name in ("timeline", "from", "to"))
    exemplar.click()
    assert page.evaluate("(place) => rondoPage.timelines[place].view", place) == {"start": start, "end": end}
    marked = page.evaluate("(place) => (({start, end}) => [start, end])(rondoPage.timelines[place].marked)", place)
    kept = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))["units"][0]["exemplars"][0]
    assert marked == [kept["start_frame"], kept["end_frame"]]
    assert page.requests == [report.as_uri()]


def test_recordings_and_channels_are_drawn_when_they_are_chosen(opened: Any, tmp_path: Path) -> None:
    ids = tuple(f"day{i:02}" for i in range(5))
    channels = tuple(f"c{i:02}" for i in range(14))
    page = opened(write_report(write_run_folder(tmp_path, recording_ids=ids, channels=channels, n_frames=600)).as_uri())
    chooser, sections = page.page.locator("#choose-recordings"), page.page.locator("section.recording")
    assert chooser.locator(".count").inner_text() == "5 of 5 drawn"
    chooser.locator("summary").click()
    chooser.locator("button.none").click()
    assert [sections.nth(i).is_visible() for i in range(5)] == [False] * 5
    chooser.locator("input[type=search]").fill("DAY03")
    assert chooser.locator("label:visible").all_inner_texts() == [" day03"]
    chooser.locator("label", has_text="day03").click()
    assert [sections.nth(i).is_visible() for i in (0, 3)] == [False, True]
    page.evaluate("rondoPage.goTo(2, 100, 150)")  # an exemplar that is not drawn now
    assert sections.nth(2).is_visible()
    assert page.evaluate("rondoPage.timelines[2].view") == {"start": 100, "end": 150}
    before, tall = page.evaluate("[rondoPage.timelines[2].height, rondoPage.timelines[2].rowHeight]")
    page.page.locator("#choose-channels summary").click()
    hidden = page.page.locator("#choose-channels label:has(input:not(:checked))")  # which two, the data say
    assert hidden.count() == 2
    hidden.last.click()
    now, less = page.evaluate("[rondoPage.timelines[2].height, rondoPage.timelines[2].rowHeight]")
    assert now - before == 13 * less - 12 * tall and less <= tall
    assert page.evaluate("rondoPage.timelines[2].rows") == [*range(12), 13]
    page.settle()
    assert page.evaluate("rondoPage.timelines[2].canvas.clientHeight") == now


def test_two_runs_stand_under_one_signal_and_a_press_chooses_in_its_own_run(opened: Any, tmp_path: Path) -> None:
    first, second = (write_run_folder(tmp_path / name, with_truth=False) for name in ("first", "second"))
    path = second / "segments.parquet"
    table = pl.read_parquet(path)
    table.with_columns(pl.when(pl.col("id") >= 0).then(pl.col("id") + 10).otherwise(-1).alias("id")).write_parquet(path)
    page = opened(write_report(first, second).as_uri())
    titles = page.evaluate("rondoPage.timelines[0].lanes.map((it) => it.title)")
    assert titles == ["units first", "units second", "motifs first", "motifs second"]
    starts = page.evaluate("rondoPage.timelines[0].lanes.map((it) => Array.from(it.starts))")
    assert starts[0] == starts[1] and starts[2] == starts[3]  # the same run under other ids
    bands = page.evaluate("rondoPage.timelines[0].bands.map((it) => it.name)")
    assert bands[:7] == ["motifs first", "u4", "u1", "u0", "u2", "u3", "OTHER"]
    assert bands[7:] == ["motifs second", "u14", "u11", "u10", "u12", "u13", "OTHER"]
    assert "ARI of units 100, motifs 100" in page.page.locator("h1").inner_text()
    assert "100.00" in page.page.locator("h2:has-text('agree') + * table, h2:has-text('agree') + table").inner_text()
    known = table.filter((pl.col("level") == "unit") & (pl.col("id") >= 0)).row(0, named=True)
    middle = (known["start_frame"] + known["end_frame"]) / 2
    page.page.mouse.click(*page.point(middle, 1))
    assert page.evaluate("rondoPage.chosen") == f"second: unit|u{known['id'] + 10}"
    page.page.mouse.click(*page.point(middle, 0))  # this page knows the details of the first run only
    assert page.page.locator("#panel h2").first.inner_text() == f"u{known['id']}"


def test_the_page_of_a_stream_tells_its_journal_on_the_axis_and_in_words(opened: Any, tmp_path: Path) -> None:
    page = opened(write_report(write_stream_folder(tmp_path / "live")).as_uri())
    x, y = page.evaluate(
        """() => { const it = rondoPage.timelines[0], box = it.canvas.getBoundingClientRect()
          return [box.left + it.xOf(400), box.top + it.top + 17] }"""
    )
    page.page.mouse.move(x, y)
    assert page.page.locator("#tooltip").inner_text().startswith("8.0 s: promoted u7")
    assert "promoted u7" in page.page.locator("td.id", has_text="promoted").inner_text()
    page.page.mouse.move(*page.point(25, 0))
    assert "u0" in page.page.locator("#tooltip").inner_text()
    assert page.page.locator("#live").count() == 0  # a page from a disk follows nobody
    assert len(page.requests) == 1


@pytest.mark.slow  # a busy machine may give the frame no time for minutes
def test_a_page_that_may_keep_nothing_is_drawn_all_the_same(browser: Any, tmp_path: Path) -> None:
    """In a sandbox, as previews and notebooks have it, or where storage is blocked, asking for it throws."""
    report = write_report(write_run_folder(tmp_path / "run", n_frames=1_000))
    outer = tmp_path / "outer.html"
    outer.write_text(f'<iframe sandbox="allow-scripts" width="1200" height="900" src="{report.as_uri()}"></iframe>')
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(outer.as_uri())
    inside = page.frames[1]
    inside.wait_for_url(report.as_uri())
    wait_in(inside, "window.rondoUnpacked")
    inside.evaluate("rondoPage.timelines[0].show(100, 300)")
    inside.locator("#panel button.entry").first.click()
    assert inside.evaluate("rondoPage.chosen") is not None
    assert inside.evaluate("rondoPage.timelines[0].view") == {"start": 100, "end": 300}
    assert not trouble
    page.close()


N = 60


@pytest.fixture(scope="module")
def sheet_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    ids = ("<b>&", *(f"day{i:02}" for i in range(1, N)))
    folder = write_run_folder(
        tmp_path_factory.mktemp("run"), recording_ids=ids, channels=("x", "y"), n_frames=1000, with_truth=False
    )
    return write_report(folder).as_uri()


def test_each_recording_is_a_thin_lane_and_a_press_opens_it_above(opened: Any, sheet_report: str) -> None:
    page = opened(sheet_report, width=1400, height=900)
    names = page.page.locator(".chunk button")
    assert names.count() == N and names.first.inner_text() == "<b>&"
    assert page.page.locator("#sheet").bounding_box()["height"] < 13 * N + 100
    assert page.page.locator("#sheet").bounding_box()["y"] < 160
    assert page.evaluate("rondoPage.drawn.length") == 0
    x, y, _, _ = page.page.locator(".chunk canvas").first.bounding_box().values()
    page.page.mouse.move(x + 50, y + 13 * 7 + 6)
    assert page.page.locator("#tooltip").inner_text().splitlines()[:2] == ["day07", "20 s"]
    page.page.mouse.click(x + 50, y + 13 * 7 + 6)
    section = page.page.locator("section.recording:visible")
    assert section.locator("h2").inner_text() == "day07"
    assert section.bounding_box()["y"] < page.page.locator("#sheet").bounding_box()["y"]
    names.nth(9).click()
    assert page.page.locator("section.recording:visible h2").all_inner_texts() == ["day09"]  # in place of the other
    assert names.nth(9).get_attribute("aria-pressed") == "true"
    page.evaluate("rondoPage.goTo(30, 100, 150)")  # an exemplar elsewhere
    assert page.page.locator("section.recording:visible h2").all_inner_texts() == ["day30"]
    assert page.evaluate("rondoPage.timelines[30].view") == {"start": 100, "end": 150}


def test_a_part_of_a_name_finds_recordings_and_keys_open_them(opened: Any, sheet_report: str) -> None:
    page = opened(sheet_report)
    page.page.locator("#sheet input").fill("DAY4")
    assert page.page.locator(".chunk button:visible").all_inner_texts() == [f"day4{i}" for i in range(10)]
    page.page.locator(".chunk button:visible").nth(2).focus()
    page.page.keyboard.press("Enter")
    assert page.page.locator("section.recording:visible h2").all_inner_texts() == ["day42"]
    assert page.evaluate("document.activeElement === rondoPage.timelines[42].canvas")


DAY = 86_400.0


NOON = 1_794_744_000.0  # 15 November 2026, 12:00


TICKS = """() => { const it = rondoPage.timelines[0], scale = scaleOf(it)
  return scale.ticks(64).map((tick) => [tick.words, scale.contextOf(tick.at), Math.round(it.xOf(tick.frame))]) }"""


def page_of(folder: Path, rate: float | None, start: float | None = None, jump_s: float = 0.0) -> str:
    """6,000 frames; a clock that starts somewhere, and jumps in the middle."""
    run = write_run_folder(folder, n_frames=6_000, rate=rate, channels=("x",), with_truth=False)
    if start is not None and rate is not None:
        recording = json.loads((run / "summary.json").read_text(encoding="utf-8"))["recordings"][0]
        seconds = [start + frame / rate for frame in (0, 2_999, 3_000, 5_999)]
        clock = {"frames": [0, 2_999, 3_000, 5_999], "seconds": [*seconds[:2], *(it + jump_s for it in seconds[2:])]}
        edit_summary(run, recordings=[recording | {"clock": clock}])
    return write_report(run).as_uri()


@pytest.mark.parametrize(
    ("rate", "words", "unit"),
    [
        (20_000.0, ["0 ms", "50 ms", "100 ms"], ""),
        (5.0, ["0:00", "5:00", "10:00"], "min:s"),
        (1 / 120, ["0 d", "2 d", "4 d"], ""),
        (None, ["0", "1,000", "2,000"], "frame"),
    ],
)
def test_elapsed_time(opened: Any, tmp_path: Path, rate: float | None, words: list[str], unit: str) -> None:
    page = opened(page_of(tmp_path, rate))
    assert [tick[0] for tick in page.evaluate(TICKS)][:3] == words
    assert page.evaluate("scaleOf(rondoPage.timelines[0]).unit") == unit


@pytest.mark.parametrize(
    ("seconds_per_frame", "words", "context"),
    [
        (0.02, ["12:00:00", "12:00:30"], "Sun 15 Nov 2026"),
        (100.0, ["16 Nov", "17 Nov"], "2026"),
        (3600.0, ["Jan", "Mar"], "2027"),
        (3 * DAY, ["2030", "2040"], ""),
    ],
)
def test_dates(opened: Any, tmp_path: Path, seconds_per_frame: float, words: list[str], context: str) -> None:
    page = opened(page_of(tmp_path, 1 / seconds_per_frame, NOON))
    ticks = page.evaluate(TICKS)
    assert [tick[0] for tick in ticks][:2] == words
    assert ticks[0][1] == context
    places = [tick[2] for tick in ticks]
    assert min(np.diff(places)) >= 64  # room for words


def test_in_a_jump_of_the_clock_ticks_do_not_pile_up(opened: Any, tmp_path: Path) -> None:
    page = opened(page_of(tmp_path, 1.0, NOON, jump_s=3 * DAY))
    ticks = page.evaluate(TICKS)
    assert {tick[1] for tick in ticks} == {"Sun 15 Nov 2026", "Wed 18 Nov 2026"}
    assert min(np.diff([tick[2] for tick in ticks])) >= 64 and len(ticks) < 20
    assert page.evaluate("rondoPage.timelines[0].timeOf(2999)") == "12:49:59"
    assert page.evaluate("rondoPage.timelines[0].timeOf(3000)") == "12:50:00"


def test_moments_and_durations_in_tooltips(opened: Any, tmp_path: Path) -> None:
    page = opened(page_of(tmp_path, 50.0))
    assert page.evaluate("[0, 4001].map((frame) => rondoPage.timelines[0].timeOf(frame))") == ["0:00.00", "1:20.02"]
    seconds = [0.0042, 0.27, 1.5, 90, 119.9, 152.4, 599.7, 2100, 7190, 32_400, 33_000, 90_000, 1.9e6, 3.4e7, 8e7]
    assert page.evaluate("(all) => all.map(durationWords)", seconds) == [duration_in_words(it) for it in seconds]
