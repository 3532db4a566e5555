"""What stands where, on a laptop, a tablet and a phone, light and dark: the data first, and nothing off the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.on_folders import write_report
from tests.report.run_folders import MOTIFS, write_run_folder

pytestmark = pytest.mark.browser

LAPTOP, TABLET, PHONE = (1400, 900), (820, 1180), (390, 844)
LEFT_PART = "rondoPage.timelines[0].left"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    channels = ("acc_x", "a channel with a very long name indeed", "acc_z", "gyr_x", "gyr_y", "gyr_z")
    return write_report(write_run_folder(tmp_path_factory.mktemp("run"), channels=channels)).as_uri()


@pytest.mark.parametrize(("size", "most"), [(LAPTOP, 160), (TABLET, 160), (PHONE, 260)])
def test_the_first_signal_is_on_the_first_screen_and_nothing_is_off_it(
    opened: Any, report: str, size: tuple[int, int], most: int
) -> None:
    page = opened(report, width=size[0], height=size[1])
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


def test_on_a_phone_the_plot_takes_the_whole_width(opened: Any, report: str) -> None:
    page = opened(report, width=PHONE[0], height=PHONE[1])
    assert page.evaluate(f"[{LEFT_PART}, rondoPage.timelines[0].right]") == [0, 0]
    assert page.evaluate("rondoPage.timelines[0].plotWidth") >= PHONE[0] - 20
    page.page.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
    page.wait(f"{LEFT_PART} > 100")  # turned, or made wider


def touches(page: Any, kind: str, *places: tuple[float, float]) -> None:
    points = [{"x": x, "y": y, "id": place} for place, (x, y) in enumerate(places)]
    page.fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_two_fingers_zoom_and_one_that_goes_up_scrolls_the_page(opened: Any, report: str) -> None:
    page = opened(report, width=PHONE[0], height=PHONE[1], has_touch=True)
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


def test_dark_as_the_system_has_it_until_someone_chooses_and_light_on_paper(opened: Any, report: str) -> None:
    page = opened(report, color_scheme="dark")
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
    opened: Any, report: str
) -> None:
    page = opened(report)
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


def test_the_edges_of_a_block_go_through_the_rows_of_its_units(opened: Any, report: str) -> None:
    page = opened(report)
    found = page.evaluate(
        """() => {
          const it = rondoPage.timelines[0], lane = it.lanes.find((lane) => lane.kind === "motif")
          const place = [...lane.entry].findIndex((entry, i) => lane.entries[entry].name !== "OTHER" && i > 2)
          const rows = it.bands.filter((band) => band.kind === "row" && band.name !== "OTHER")
          const pen = it.canvas.getContext("2d"), x = Math.floor(it.xOf(lane.ends[place]) - 0.5)
          const saturation = (x, y) => { const [r, g, b] = pen.getImageData(x, y, 1, 1).data
            return Math.max(r, g, b) - Math.min(r, g, b) }
          return rows.map((band) => Math.max(...[-1, 0, 1].map((by) => saturation(x + by, band.y + 1))))
        }"""
    )
    assert len(found) == 5 and min(found) > 30


def test_a_true_class_has_the_colour_of_the_found_entry_that_it_shares_most_time_with(opened: Any, report: str) -> None:
    """The truth of this folder is what was found, a little later, under the same numbers."""
    page = opened(report)
    looks = page.evaluate(
        """() => Object.fromEntries(rondoPage.timelines[0].lanes.map((lane) =>
          [lane.kind, Object.fromEntries(lane.entries.map((it) => [it.name.replace(/^[um]/, ""), it.colour]))]))"""
    )
    assert looks["true unit"] == looks["unit"] and looks["true motif"] == looks["motif"]
    assert len(set(looks["unit"].values()) | set(looks["motif"].values())) == 5 + 3 + 1  # and OTHER: no two alike


def test_of_very_many_units_those_with_most_time_have_rows_and_the_rest_opens(opened: Any, tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path / "run", n_frames=6000, with_truth=False)
    starts = [100 * i for i in range(60)]
    rows = {
        "recording": "day1",
        "start_frame": starts,
        "end_frame": [it + 100 for it in starts],
        "score": 0.5,
        "units": "",
    }
    units = pl.DataFrame({**rows, "level": "unit", "id": [i % 20 for i in range(60)]})
    units.write_parquet(folder / "segments.parquet")
    page = opened(write_report(folder).as_uri())
    names = "rondoPage.timelines[0].bands.filter((it) => it.lane.kind === 'unit').map((it) => it.name)"
    assert page.evaluate(names) == [*(f"u{i}" for i in range(15)), "5 more ▾"]
    y = page.evaluate(
        "(({y, height}) => y + height / 2)(rondoPage.timelines[0].bands.find((it) => it.kind === 'more'))"
    )
    page.page.mouse.click(*page.point(1750, 0))  # u17, in the row of the others
    assert page.evaluate("rondoPage.chosen") == "unit|u17"
    box = page.page.locator(".plot").bounding_box()
    page.page.mouse.click(box["x"] + 80, box["y"] + y)
    assert page.evaluate(names) == [*(f"u{i}" for i in range(20)), "fewer ▴"]
    page.page.locator(".plot canvas").focus()
    page.page.keyboard.press("m")
    assert len(page.evaluate(names)) == 16
