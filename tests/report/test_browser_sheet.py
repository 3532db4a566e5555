"""Very many recordings: one thin lane each, opened one at a time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.report.on_folders import write_report
from tests.report.run_folders import write_run_folder

pytestmark = pytest.mark.browser

N = 60


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    ids = ("<b>&", *(f"day{i:02}" for i in range(1, N)))
    folder = write_run_folder(
        tmp_path_factory.mktemp("run"), recording_ids=ids, channels=("x", "y"), n_frames=1000, with_truth=False
    )
    return write_report(folder).as_uri()


def test_each_recording_is_a_thin_lane_and_a_press_opens_it_above(opened: Any, report: str) -> None:
    page = opened(report, width=1400, height=900)
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


DOT = """([place, frame]) => {
  const {sheet} = rondoPage, chunk = sheet.chunks[0], data = rondoPage.dataOf(place)
  const x = sheet.widthOf(chunk) * sheet.lengths[place] / sheet.longest * frame / data.n_frames
  return [...chunk.canvas.getContext("2d").getImageData(x, 13 * place + 6, 1, 1).data].slice(0, 3)
}"""


def test_lanes_hold_motifs_or_units_and_what_is_chosen_stays_bright(opened: Any, report: str) -> None:
    page = opened(report)
    found = page.evaluate(
        """() => ["motif", "unit"].map((kind) => { const lane = laneOf(rondoPage.sheet.rawLane(1, kind))
          const place = [...lane.entry].findIndex((it) => lane.entries[it].name !== "OTHER")
          const {name, colour} = lane.entries[lane.entry[place]]
          return {kind, name, frame: (lane.starts[place] + lane.ends[place]) / 2,
            colour: [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))} })"""
    )
    motif, unit = found
    assert page.evaluate(DOT, [1, motif["frame"]]) == motif["colour"]
    others = {"m0", "m1", "m2"} - {motif["name"]}
    page.evaluate("(name) => rondoPage.choose(`motif||${name}`)", others.pop())
    page.settle()
    assert sum(page.evaluate(DOT, [1, motif["frame"]])) > sum(motif["colour"]) + 90  # pale
    page.evaluate("rondoPage.choose(null)")
    page.page.locator("#sheet .tools button", has_text="units").click()
    page.settle()
    assert page.evaluate(DOT, [1, unit["frame"]]) == unit["colour"]


def test_a_part_of_a_name_finds_recordings_and_keys_open_them(opened: Any, report: str) -> None:
    page = opened(report)
    page.page.locator("#sheet input").fill("DAY4")
    assert page.page.locator(".chunk button:visible").all_inner_texts() == [f"day4{i}" for i in range(10)]
    page.page.locator(".chunk button:visible").nth(2).focus()
    page.page.keyboard.press("Enter")
    assert page.page.locator("section.recording:visible h2").all_inner_texts() == ["day42"]
    assert page.evaluate("document.activeElement === rondoPage.timelines[42].canvas")


@pytest.mark.slow
def test_a_thousand_recordings_open_quickly(opened: Any, tmp_path: Path) -> None:
    ids = tuple(f"r{i:04}" for i in range(1_000))
    report = write_report(write_run_folder(tmp_path, recording_ids=ids, n_frames=2_000, with_truth=False))
    begun = time.monotonic()
    page = opened(report.as_uri())
    assert time.monotonic() - begun < 20  # half a second when measured; a canvas for each would take minutes
    assert page.page.locator(".chunk button").count() == 1_000
