"""The panel and the composition as people use them, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.report.on_folders import write_report
from tests.report.run_folders import edit_summary, write_run_folder

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings; u0 has a name that is markup."""
    folder = write_run_folder(tmp_path_factory.mktemp("panel"), recording_ids=("day1", "day2"), with_truth=False)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    units = [one | ({"name": HOSTILE} if one["id"] == 0 else {}) for one in summary["units"]]
    edit_summary(folder, units=units)
    return write_report(folder)


def keys_of(page: Any) -> list[str]:
    found: list[str] = page.evaluate("Object.keys(rondoPage.entries)")
    return found


def test_with_nothing_chosen_the_panel_lists_both_levels(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
    rows = page.page.locator("#panel .legend tbody tr")
    assert rows.count() == 8
    assert page.page.locator("#panel .legend thead th:first-child").all_inner_texts() == ["Motifs", "Units"]
    shares = page.evaluate(
        """[...document.querySelectorAll(".legend")].map((table) =>
          [...table.tBodies[0].rows].map((row) => parseFloat(row.cells[1].textContent)))"""
    )
    assert all(own == sorted(own, reverse=True) for own in shares)
    pale = page.page.locator("#panel .legend tr.unproven")
    assert pale.count() == 4 and all("Recurrence:" in row.get_attribute("title") for row in pale.all())
    page.page.locator("#panel .legend button.entry", has_text="m1").click()
    assert page.evaluate("rondoPage.chosen") == "motif|m1"
    assert page.page.locator("#panel h2").inner_text() == "m1"
    page.page.locator("#panel .close").click()
    assert page.evaluate("rondoPage.chosen") is None and rows.count() == 8


def test_an_entry_has_its_curves_both_ways_durations_and_place(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
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


def test_the_mean_curve_is_drawn_where_the_data_says(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
    page.evaluate("rondoPage.choose('unit|u1')")
    found = page.evaluate(
        """() => {
          const entry = rondoPage.entries["unit|u1"], {columns, data} = entry.aligned[0], codes = bytesOf(data)
          const d = document.querySelector("#panel .curve .mean").getAttribute("d")
          const points = d.split(/[ML]/).filter((it) => it).map((it) => it.split(",").map(Number))
          return {points, mean: [...codes.slice(columns, 2 * columns)], columns}
        }"""
    )
    known = [(i, code) for i, code in enumerate(found["mean"]) if code != 255]
    assert len(known) == len(found["points"]) > 10
    for (i, code), (x, y) in zip(known, found["points"], strict=True):
        assert x == pytest.approx(300 * (i + 0.5) / found["columns"], abs=0.06)
        assert y == pytest.approx(2 + 36 * (1 - code / 254), abs=0.06)


def test_an_occurrence_that_is_pressed_is_shown_and_marked(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
    page.evaluate("rondoPage.choose('motif|m1')")
    cell = page.page.locator("#panel .occurrences button[data-timeline='1']").first
    start, end = (int(cell.get_attribute(f"data-{name}")) for name in ("start", "end"))
    cell.click()
    view, mark = page.evaluate("[rondoPage.timelines[1].view, rondoPage.timelines[1].marked]")
    assert view["start"] <= start and end <= view["end"] and view["end"] - view["start"] <= 3 * (end - start) + 1
    assert (mark["start"], mark["end"]) == (start, end)
    assert page.page.locator("#panel .occurrences button.pressed").count() == 1
    assert "★" in page.page.locator("#panel .occurrences").inner_text()


def test_next_and_previous_go_through_all_occurrences_and_round(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
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


def test_motifs_are_drawn_in_their_units_and_blocks_choose_them(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
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


def test_the_ring_and_its_table_tell_the_same_and_choose(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
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


def test_names_that_are_markup_stay_text(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
    (key,) = [it for it in keys_of(page) if HOSTILE in it]
    assert HOSTILE in page.page.locator("#panel").inner_text()
    page.evaluate("(key) => rondoPage.choose(key)", key)
    assert page.page.locator("#panel h2").inner_text() == f"u0 {HOSTILE}"
    page.page.locator("#follows").get_by_role("button", name="units").click()
    assert HOSTILE in page.page.locator("#compose").inner_text()
    assert page.page.locator("img").count() == 0


def test_nothing_of_the_panel_or_the_composition_is_off_a_phone_or_without_contrast(browser: Any, report: Path) -> None:
    """On a phone, light and dark: no scrolling sideways, and lines that stand out from what is behind them."""
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
        page = context.new_page()
        page.goto(report.as_uri())
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


def test_on_a_narrow_screen_the_panel_stands_under_the_timeline_that_was_pressed(opened: Any, report: Path) -> None:
    page = opened(report.as_uri())
    above = "document.getElementById('panel').previousElementSibling.querySelector('h2')?.textContent"
    assert page.evaluate("document.getElementById('panel').parentNode.id") == "stage"
    page.page.set_viewport_size({"width": 820, "height": 1180})
    page.wait(f"{above} === 'day1'")
    page.evaluate("rondoPage.choose('unit|u2', {timeline: rondoPage.timelines[1], frame: 0})")
    assert page.evaluate(above) == "day2"
    page.evaluate("rondoPage.choose('unit|u3')")
    assert page.evaluate(above) == "day2"  # it does not jump away
    page.page.set_viewport_size({"width": 1300, "height": 900})
    page.wait("document.getElementById('panel').parentNode.id === 'stage'")


def brightness(colour: str) -> float:
    numbers = [float(it) for it in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(numbers) / 3
