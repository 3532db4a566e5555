"""Every edit made by mouse in a real browser: kept when `rondo view` is killed, shown by the run, undone."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from rondo.edit import apply_edits, apply_file, edits_in, teach_run
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from tests.report.browsing import Opened

pytestmark = pytest.mark.browser


class Shown(NamedTuple):
    """What a run shows: labels of each frame, rows of segments.csv."""

    units: list[int]
    motifs: list[int]
    segments: list[tuple[str, int, str, int, int]]

    @classmethod
    def of(cls, run: Path) -> Shown:
        table = pl.read_csv(run / "segments.csv", schema_overrides={"name": pl.String}).fill_null("")
        rows = table.select("level", "id", "name", "start_frame", "end_frame").rows()
        return cls(*(np.load(run / folder / "day.npy").tolist() for folder in ("units", "labels")), rows)

    def of_units(self) -> list[tuple[int, int, int]]:
        return [(id, start, end) for level, id, _, start, end in self.segments if level == "unit"]


@contextmanager
def viewed(run: Path) -> Iterator[str]:
    """The address of a `rondo view` of its own, which ends by kill -9."""
    command = [sys.executable, "-m", "rondo", "view", "--no-browser", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="module")
def cycles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with both kinds of motif: labels show one, the page can show the other."""
    planted = plant(StreamPlan(motifs="cycles", n_units=12, n_motifs=3), n_frames=30_000, seed=3).recording
    run = tmp_path_factory.mktemp("cycles") / "run"
    Rondo().fit_predict(planted).save(run)
    return run


@pytest.mark.slow
def test_the_kind_that_labels_do_not_show_is_pressed_and_named(opened: Any, cycles: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(cycles, tmp_path / "run"))
    before = Result.load(run)
    other = before.summary.unshown_motifs[0]
    labels = before.motifs.copy()
    with viewed(run) as address:
        page = opened(address)
        switch = page.page.locator("#kinds button")
        assert {it.get_attribute("data-kind") for it in switch.all()} == {"phrase", "context", "unit"}
        kind_of_lane = "rondoPage.timelines[0].lanes.find((it) => it.kind === 'motif')?.of"
        for kind in ("unit", "phrase", "context", other.kind):
            page.page.locator(f"#kinds button[data-kind={kind}]").click()
            assert page.evaluate(kind_of_lane) == (None if kind == "unit" else kind)
            assert page.page.locator("#kinds button[aria-pressed=true]").get_attribute("data-kind") == kind
        in_edit_mode(page)
        lane = page.evaluate("rondoPage.timelines[0].lanes.findIndex((it) => it.kind === 'motif')")
        first = before.segments[(before.segments["level"] == other.kind) & (before.segments["id"] == other.id)].iloc[0]
        press(page, float(first["start_frame"] + first["end_frame"]) / 2, lane)
        assert page.evaluate("rondoPage.chosen") == f"motif|m{other.id}"
        assert page.page.get_by_label("entry to merge with").count() == 0  # no frame of the labels is its own
        page.page.get_by_label(f"name of m{other.id}").fill("rowing")
        page.page.get_by_role("button", name="rename", exact=True).click()
        until_made(page, 1)
        page.page.reload()
        page.wait("window.rondoUnpacked")
        assert page.evaluate(kind_of_lane) == other.kind  # the switch is kept
        drawn = "rondoPage.timelines[0].lanes.find((it) => it.kind === 'motif')"
        assert f"m{other.id} rowing" in page.evaluate(f"{drawn}.entries.map((it) => it.name)")
        shown = next(one for one in before.summary.shown_motifs if one.kind != "unit")
        page.page.locator("table.entries button.entry", has_text=f"m{shown.id}").first.click()
        assert page.evaluate(kind_of_lane) == shown.kind  # what is pressed in a table is drawn
        page.page.goto("about:blank")  # it would miss its server
    named = Result.load(run)
    assert {one.id: one.name for one in named.summary.motifs if one.name} == {other.id: "rowing"}
    assert (named.motifs == labels).all()
    (table,) = named.export("csv", tmp_path / "them.csv", level=other.kind)
    assert "rowing" in set(pl.read_csv(table)["label"]) and set(pl.read_csv(table)["level"]) == {other.kind}


def in_edit_mode(page: Opened) -> None:
    page.page.get_by_role("button", name="edit mode").click()
    page.wait("document.querySelector('#edit')")


def press(page: Opened, frame: float, lane: int = 0, **options: Any) -> None:
    """The occurrence at a frame of the lane of units."""
    page.page.mouse.move(*page.point(frame, lane))
    page.page.mouse.click(*page.point(frame, lane), **options)


def press_with_shift(page: Opened, frame: float) -> None:
    page.page.keyboard.down("Shift")
    press(page, frame)
    page.page.keyboard.up("Shift")


def until_made(page: Opened, n_edits: int) -> None:
    """The page knows that the server has written so many edits."""
    page.wait("(n) => rondoPlugins.find((it) => it.editor).editor.store.history.length === n", n_edits)


def unexpected(page: Opened) -> list[str]:
    """What a page has said, without what browsers log of a request that is refused or finds nobody."""
    return [line for line in page.trouble if "status of 400" not in line and "net::ERR_" not in line]


def rename(page: Opened, shown: Shown) -> None:
    press(page, shown.of_units()[0][1] + 20)
    page.page.get_by_label("name of u0").fill("reach <b>")
    page.page.get_by_role("button", name="rename", exact=True).click()


def merge(page: Opened, shown: Shown) -> None:
    press(page, shown.of_units()[0][1] + 20)
    page.page.get_by_label("entry to merge with").select_option("2")
    page.page.get_by_role("button", name="merge", exact=True).click()


def unmerge(page: Opened, shown: Shown) -> None:
    press(page, shown.of_units()[0][1] + 20)
    page.page.get_by_role("button", name="un-merge u2").click()


def divide(page: Opened, shown: Shown) -> None:
    own = [one for one in shown.of_units() if one[0] == 0]
    press_with_shift(page, own[0][1] + 20)
    press_with_shift(page, own[-1][1] + 20)
    page.page.get_by_label("name of the new entry").fill("limp")
    page.page.get_by_role("button", name="make these 2 a new entry").click()


def drag(page: Opened, start: float, end: float) -> None:
    """From a frame of the lane of units to another."""
    (x, y), (to, _) = page.point(start, 0), page.point(end, 0)
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move((x + to) / 2, y)
    page.page.mouse.move(to, y)
    page.page.mouse.up()


def move(page: Opened, shown: Shown) -> None:
    _, _, end = shown.of_units()[0]
    page.evaluate("rondoPage.timelines[0].show(0, 500)")
    page.settle()
    drag(page, end - 1e-6, end - 12)


def relabel(page: Opened, shown: Shown) -> None:
    press(page, shown.of_units()[1][1] + 20)
    page.page.get_by_label("relabel this occurrence as").select_option("0")
    page.page.get_by_role("button", name="relabel", exact=True).click()


def painted(labels: list[int], start: int, end: int, label: int) -> list[int]:
    return [*labels[:start], *[label] * (end - start), *labels[end:]]


def expect_renamed(before: Shown, after: Shown) -> None:
    assert (after.units, after.motifs) == (before.units, before.motifs)
    assert {name for level, id, name, *_ in after.segments if (level, id) == ("unit", 0)} == {"reach <b>"}


def expect_merged(before: Shown, after: Shown) -> None:
    assert after.units == [0 if label == 2 else label for label in before.units]
    assert after.motifs == [0 if label == 2 else label for label in before.motifs]


def expect_unmerged(before: Shown, after: Shown) -> None:
    assert 2 not in before.units and 2 in after.units and 2 in after.motifs


def expect_divided(before: Shown, after: Shown) -> None:
    own = [one for one in before.of_units() if one[0] == 0]
    expected = before.units
    for _, start, end in (own[0], own[-1]):
        expected = painted(expected, start, end, 1000)
    assert after.units == expected and after.motifs == expected
    limps = {(start, end) for level, _, name, start, end in after.segments if (level, name) == ("unit", "limp")}
    assert limps == {(start, end) for _, start, end in (own[0], own[-1])}


def expect_moved(before: Shown, after: Shown) -> None:
    (_, _, old), (right, *_) = before.of_units()[:2]
    new = after.of_units()[0][2]
    assert abs(new - (old - 12)) <= 1  # half a pixel is a frame
    assert after.units == painted(before.units, new, old, right) and after.motifs == after.units


def expect_relabelled(before: Shown, after: Shown) -> None:
    _, start, end = before.of_units()[1]
    assert after.units == painted(before.units, start, end, 0) and after.motifs == after.units
    assert after.of_units()[0] == (0, before.of_units()[0][1], end)  # one occurrence with the one before


CASES: dict[str, tuple[Callable[[Opened, Shown], None], Callable[[Shown, Shown], None]]] = {
    "rename": (rename, expect_renamed),
    "merge": (merge, expect_merged),
    "un-merge": (unmerge, expect_unmerged),
    "divide": (divide, expect_divided),
    "boundary": (move, expect_moved),
    "relabel": (relabel, expect_relabelled),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_each_edit_by_mouse_outlives_a_kill_and_is_undone(browser: Any, run: Path, case: str) -> None:
    make, expect = CASES[case]
    if case == "un-merge":
        apply_edits(run, [{"kind": "merge", "level": "unit", "ids": [0, 2]}])
    before, n_before = Shown.of(run), len(edits_in(run))
    with viewed(run) as address:
        page = Opened(browser, address)
        in_edit_mode(page)
        make(page, before)
        until_made(page, n_before + 1)
    page.page.close()
    expect(before, Shown.of(run))
    with viewed(run) as address:
        page = Opened(browser, address)
        in_edit_mode(page)
        if case == "un-merge":  # is an undo, and its way back the merge again
            page.page.locator(".edit-list button", has_text="redo").click()
        else:
            page.page.keyboard.press("Control+z")
        until_made(page, n_before + 2)
        page.wait("(n) => document.querySelectorAll('.edit-list .undone').length === n", 1)
    page.page.close()
    assert not unexpected(page)
    assert Shown.of(run) == before


@pytest.mark.slow
@pytest.mark.parametrize("way", ["merge", "name"])
def test_several_entries_are_ticked_and_merged_or_named_at_once(opened: Any, run: Path, way: str) -> None:
    before = Shown.of(run)
    with viewed(run) as address:
        page = opened(address)
        in_edit_mode(page)
        assert page.page.get_by_label("name of u0, u2").count() == 0
        for name in ("u0", "u2"):
            page.page.get_by_label(f"choose {name}", exact=True).check()
        page.page.get_by_label("name of u0, u2").fill("reach")
        page.page.get_by_role("button", name="merge these 2" if way == "merge" else "name each").click()
        until_made(page, 2)
        page.wait("document.querySelectorAll('.legend input:checked').length === 0")
        page.page.goto("about:blank")  # it would miss its server
    after = Shown.of(run)
    named = {(id, name) for level, id, name, *_ in after.segments if level == "unit" and name}
    assert named == ({(0, "reach")} if way == "merge" else {(0, "reach 1"), (2, "reach 2")})
    merged = [0 if id == 2 else id for id in before.units]
    assert after.units == (merged if way == "merge" else before.units)


@pytest.mark.slow
def test_the_page_follows_an_edit_and_says_what_the_server_refuses(opened: Any, run: Path) -> None:
    with viewed(run) as address:
        page = opened(address)
        in_edit_mode(page)
        shown = Shown.of(run)
        rename(page, shown)
        page.wait("document.querySelector('#panel h2')?.textContent === 'u0 reach <b>'")  # text, never markup
        assert page.evaluate("rondoPage.timelines[0].lanes[0].entries.map((it) => it.name)")[0] == "u0 reach <b>"
        page.page.get_by_label("name of u0").fill("u7")
        page.page.get_by_role("button", name="rename", exact=True).click()
        page.wait("document.querySelector('#edit .failed')?.textContent.includes('would be taken for an id')")
        page.page.locator(".edit-list button", has_text="undo").click()
        page.wait("document.querySelector('#panel h2')?.textContent === 'u0'")
        page.page.locator(".edit-list button", has_text="redo").click()
        page.wait("document.querySelector('#panel h2')?.textContent === 'u0 reach <b>'")
        assert [edit["undone"] for edit in edits_in(run)] == [True, False, False]  # the name, its undo, the name again
        page.page.goto("about:blank")  # it would miss its server
    page.trouble[:] = unexpected(page)


def test_the_slider_shows_coarser_motifs_at_once_and_makes_an_edit(
    opened: Any, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    planted = plant(StreamPlan(motifs="own", n_units=16, n_motifs=4), n_frames=20_000, seed=20).recording
    result = Rondo(settings={"evidence.surrogates": 0}).fit_predict(planted)
    run, id = Path(result.save(tmp_path / "run")), result[0].recording_id
    fine, coarse = len(result.summary.shown_motifs), result.at(3)

    def lane(page: Opened) -> list[tuple[int, int, int]]:
        rows = page.evaluate("""() => {
          const it = rondoPage.timelines[0].lanes.find((it) => it.kind === "motif")
          return Array.from(it.starts, (start, i) => [start, it.ends[i], idOf(it.entries[it.entry[i]].name)])
        }""")
        return [tuple(row) for row in rows if row[2] >= 0]

    def expected(result: Result) -> list[tuple[int, int, int]]:
        own = result.segments.query("level == 'motif'")
        return [*zip(own["start_frame"].tolist(), own["end_frame"].tolist(), own["id"].tolist(), strict=True)]

    page = opened((run / "report.html").as_uri())
    slider = page.page.get_by_label("number of motifs")
    pending = "rondoPlugins.find((it) => it.editor).editor.store.pending"
    assert lane(page) == expected(result)
    slider.fill("2")
    assert lane(page) == expected(result.at(2))
    slider.fill("3")
    assert lane(page) == expected(coarse)
    assert page.evaluate(f"{pending}.map((it) => it.kind)") == ["coarsen"]  # the last place alone
    legend = page.page.locator("table.legend").first.inner_text()
    rows = {one.id: one for one in coarse.summary.shown_motifs}
    for own, one in rows.items():
        share = f"{100 * one.share:.{int(one.share < 0.0995)}f} %"  # small ones with a decimal
        assert re.search(rf"^m{own}\s+{re.escape(share)}\s+{one.n_occurrences}\s", legend, re.MULTILINE), legend
    merged = next(one for one in rows.values() if one.absorbed)
    page.page.locator("table.legend button", has_text=f"m{merged.id}").click()
    assert f"{merged.n_occurrences} occurrences" in page.page.locator("#panel .facts").inner_text()
    assert page.page.locator("#panel .facts .what").count() == 0  # the words were those of one of its parts
    page.page.reload()
    page.wait("window.rondoUnpacked")
    assert lane(page) == expected(coarse)
    apply_edits(run, page.evaluate(pending))
    assert (Result.load(run)[id].motifs == coarse[id].motifs).all()
    with viewed(run) as address:
        page = opened(address)
        assert lane(page) == expected(coarse)
        page.page.get_by_label("number of motifs").fill(str(fine))  # finer than the page: the server draws it
        drawn = "(n) => rondoPage.timelines[0].lanes.find((it) => it.kind === 'motif').starts.length === n"
        page.wait(drawn, len(expected(result)))
        assert lane(page) == expected(result)
        page.page.goto("about:blank")  # it would miss its server
    assert (Result.load(run)[id].motifs == result[id].motifs).all()


def test_edit_mode_is_off_until_it_is_wanted(opened: Any, fitted: Path) -> None:
    page = opened((fitted / "report.html").as_uri())
    press(page, 20)
    assert page.page.locator("#edit").count() == 0 and page.page.locator("#edit-menu").is_hidden()
    page.page.get_by_role("button", name="edit mode").click()
    assert page.page.locator("#edit").count() == 1
    page.page.get_by_role("button", name="edit mode").click()
    assert page.page.locator("#edit").count() == 0


def test_a_page_without_a_server_saves_a_file_that_can_be_applied_twice(opened: Any, run: Path, tmp_path: Path) -> None:
    before = Shown.of(run)
    page = opened((run / "report.html").as_uri())
    in_edit_mode(page)
    rename(page, before)
    relabel(page, before)
    merge(page, before)
    page.page.locator(".edit-list .pending button").first.click()  # the merge, which is no longer wanted
    merge(page, before)
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Control+z")
    assert page.evaluate("rondoPlugins.find((it) => it.editor).editor.store.pending.map((it) => it.kind)") == [
        "name",
        "relabel",
    ]
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name="Save edits").click()
    waiting.value.save_as(tmp_path / "edits.json")
    assert waiting.value.suggested_filename == "edits.json"
    page.page.reload()  # what is not applied yet is still there
    page.wait("document.querySelector('#tools').textContent.includes('edit (2)')")
    assert Shown.of(run) == before
    once = apply_file(run, tmp_path / "edits.json")
    after = Shown.of(run)
    _, start, end = before.of_units()[1]
    assert after.units == painted(before.units, start, end, 0)
    assert after.segments[0][2:] == ("reach <b>", 0, end)
    assert apply_file(run, tmp_path / "edits.json") == once and Shown.of(run) == after
    page.page.reload()
    page.wait("document.querySelector('#tools').textContent.includes('edit')")
    assert page.evaluate("rondoPlugins.find((it) => it.editor).editor.store.pending") == []  # the run knows them


def mark(page: Opened, shown: Shown) -> None:
    """The second occurrence of two units, each under a name."""
    for id, name in ((0, 'a "squat", deep'), (1, "lunge")):
        _, start, end = [one for one in shown.of_units() if one[0] == id][1]
        page.page.keyboard.down("Shift")
        drag(page, start + 20, end - 20)
        page.page.keyboard.up("Shift")
        page.page.get_by_label("name of the span").fill(name)
        page.page.get_by_role("button", name="mark", exact=True).click()


def test_spans_are_marked_taught_and_undone(opened: Any, run: Path, tmp_path: Path) -> None:
    before = Shown.of(run)
    page = opened((run / "report.html").as_uri())
    in_edit_mode(page)
    mark(page, before)
    page.page.reload()  # marks are kept with the tab
    page.wait("window.rondoUnpacked")
    in_edit_mode(page)
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name="Save spans").click()
    waiting.value.save_as(tmp_path / "spans.csv")
    saved = Path(shutil.copytree(run, tmp_path / "saved"))
    teach_run(saved, tmp_path / "spans.csv")
    with viewed(run) as address:
        page = opened(address)
        in_edit_mode(page)
        mark(page, before)
        row = page.page.locator("#teaching .edit-row", has_text="Marks:")
        assert row.inner_text().splitlines() == ["Marks:", 'a "squat", deep 1 ✕', "lunge 1 ✕", "Teach"]
        page.page.get_by_role("button", name="Teach", exact=True).dblclick()
        until_made(page, 1)
        page.wait("document.querySelector('table.legend').textContent.includes('lunge')")
        assert Shown.of(run) == Shown.of(saved) and row.count() == 0
        page.page.locator("#teaching .edit-list button").first.click()  # what to look at next
        _, start, end = Result.load(run).suggest_spans(1).iloc[0].tolist()[:3]
        assert page.evaluate("rondoPage.timelines[0].view.start") <= start
        assert page.evaluate("rondoPlugins.find((it) => it.editor).editor.teaching.span") == ["day", start, end]
        page.page.keyboard.press("Control+z")
        until_made(page, 2)
        page.wait("!document.querySelector('table.legend').textContent.includes('lunge')")
        assert Shown.of(run) == before
        page.page.get_by_role("button", name="mark again").click()
        assert "lunge 1" in row.inner_text()
        page.page.goto("about:blank")  # it would miss its server


def test_what_is_like_a_span_is_listed_jumped_to_and_named(opened: Any, run: Path) -> None:
    _, start, end = next(one for one in Shown.of(run).of_units() if one[0] == 0)
    with viewed(run) as address:
        page = opened(address)
        in_edit_mode(page)
        press(page, start + 20)
        page.page.get_by_role("button", name="find more like this").click()
        places = page.page.locator("#teaching .edit-list").first.locator("li")
        page.page.locator("#teaching .cut").wait_for()
        found = Result.load(run).find("day", start, end, most=20)
        n_own = int(found["suggested"].sum())
        assert places.count() == len(found) + 1 and places.nth(n_own).inner_text() == f"cut: {n_own - 1} suggested"
        assert places.nth(1).locator("span").inner_text().startswith(f"{found['score'][1]:.2f} m0")
        places.nth(1).locator("button").click()
        there = found.iloc[1][["recording", "start_frame", "end_frame"]].tolist()
        assert page.evaluate("rondoPlugins.find((it) => it.editor).editor.teaching.span") == there
        teach = page.page.get_by_role("button", name=f"teach these {n_own}")
        teach.click()
        page.wait("document.querySelector('#edit .failed')?.textContent === 'Type a name first.'")
        page.page.get_by_label("name of what was found").fill("squat")
        teach.click()
        until_made(page, 1)
        assert "squat" in {name for _, _, name, *_ in Shown.of(run).segments}
        page.page.goto("about:blank")
