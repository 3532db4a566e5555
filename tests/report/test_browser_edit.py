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

from rondo.edit import apply_edits, apply_file, edits_in
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from tests.cli.running import call, waves, write_csv
from tests.report.browsing import Opened

pytestmark = pytest.mark.browser

RATE = 50


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine occurrences of three units, each its own motif."""
    folder = tmp_path_factory.mktemp("edited")
    write_csv(folder / "day.csv", waves(1350))
    quick = ("--set", "evidence.surrogates=0", "--set", "encoder.shape_channels=0", "--set", "motifs.method=none")
    window = ("--rate", RATE, "--window", 40, "--step", 20)
    done = call("discover", folder / "day.csv", *window, "--out", folder / "run", *quick)
    assert done.code == 0, done.err
    return folder / "run"


@pytest.fixture
def run(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "run"))


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
    command = [sys.executable, "-m", "rondo", "view", str(run)]
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


def move(page: Opened, shown: Shown) -> None:
    _, _, end = shown.of_units()[0]
    page.evaluate("rondoPage.timelines[0].show(0, 500)")
    page.settle()
    (x, y), (to, _) = page.point(end - 1e-6, 0), page.point(end - 12, 0)
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move((x + to) / 2, y)
    page.page.mouse.move(to, y)
    page.page.mouse.up()


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
    page.trouble[:] = unexpected(page)


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
