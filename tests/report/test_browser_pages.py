"""Every kind of page in a real browser: several recordings, odd names, two runs, a stream, a stream that goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.browsing import PATIENCE_MS, wait_in
from tests.report.on_folders import write_report
from tests.report.run_folders import edit_summary, write_run_folder
from tests.report.stream_folders import write_stream_folder

pytestmark = pytest.mark.browser

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
    page.page.locator("#choose-channels label", has_text="c13").click()
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


@pytest.mark.parametrize("width", [900, 600, 400])
def test_nothing_of_the_vocabulary_is_cut_off_in_a_narrow_window(opened: Any, tmp_path: Path, width: int) -> None:
    report = write_report(write_run_folder(tmp_path / "run", with_truth=False))
    page = opened(report.as_uri())
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.settle()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cells = page.page.locator(".columns td")
    assert cells.count() > 5 * 8
    assert page.evaluate(
        """() => [...document.querySelectorAll(".columns td, .columns td *")].filter((it) =>
             it.getBoundingClientRect().right > document.documentElement.clientWidth
             || it.scrollWidth > it.clientWidth + 1 && it.clientWidth).map((it) => it.outerHTML)"""
    ) == []  # fmt: skip
    tall = page.evaluate(
        "Math.max(...[...document.querySelectorAll('.exemplars .nowrap')].map((it) => it.offsetHeight))"
    )
    assert tall < 30  # one line each
    first = page.page.locator(".columns tr:has(td)").first
    assert {"Occurrences", "Share of time", "Recurs?"} <= set(first.evaluate(
        "(row) => [...row.cells].map((it) => getComputedStyle(it, '::before').content.slice(1, -1))"
    ))  # fmt: skip


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


def test_the_widest_table_fits_the_page(opened: Any, tmp_path: Path) -> None:
    """Motifs with compositions, and recurrence that was not shown."""
    ids = ("subject00_trial00", "subject00_trial01")
    folder = write_run_folder(tmp_path / "run", recording_ids=ids, n_frames=2_000)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    evidence = {"evidence": {"p": 0.35, "verdict": "not shown"}}
    edit_summary(folder, **{level: [row | evidence for row in summary[level]] for level in ("units", "motifs")})
    page = opened(write_report(folder).as_uri())
    sizes = "[...document.querySelectorAll('section.scroll')].map((it) => [it.scrollWidth, it.clientWidth])"
    assert all(whole <= shown for whole, shown in page.evaluate(sizes))
    assert page.page.locator("td.evidence").first.inner_text() == "not shown (p\xa0=\xa00.35)"


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
