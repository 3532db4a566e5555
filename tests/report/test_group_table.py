"""The table of groups: in the dict, on the page, and in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rondo.analysis.usage import MOST_COMPARED, Difference
from rondo.report.render import render
from tests.report.on_folders import compare, summarize, write_report
from tests.report.run_folders import edit_summary, write_run_folder

IDS = ("s1_a", "s1_b", "s2_a")


def run_with_groups(folder: Path, ids: tuple[str, ...] = IDS, groups: tuple[str, ...] = ("s<1>", "s<1>", "s2")) -> Path:
    write_run_folder(folder, recording_ids=ids, n_frames=3000, with_truth=False)
    about = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(folder, recordings=[one | {"group": group} for one, group in zip(about, groups, strict=True)])
    return folder


def test_a_row_for_every_entry_and_a_cell_for_every_group(tmp_path: Path) -> None:
    found = summarize(run_with_groups(tmp_path / "run"))["groups"]
    assert found["names"] == [{"name": "s2", "n_recordings": 1}, {"name": "s<1>", "n_recordings": 2}]
    assert [row["name"] for row in found["rows"]] == ["u0", "u1", "u2", "u3", "u4", "m0", "m1", "m2"]
    assert all(row["cells"][0]["interval"] == "" and "–" in row["cells"][1]["interval"] for row in found["rows"])
    assert all(row["differences"] == [] for row in found["rows"])
    assert found["notes"][1] == "No interval for 's2': one recording has no spread."
    assert found["notes"][-1].startswith("No difference between groups stands out")
    json.dumps(found, allow_nan=False)


def test_runs_without_two_groups_have_no_table(tmp_path: Path) -> None:
    plain = write_run_folder(tmp_path / "plain", recording_ids=IDS, n_frames=3000, with_truth=False)
    assert summarize(plain)["groups"] is None
    one = run_with_groups(tmp_path / "one", groups=("s1", "s1", "s1"))
    assert summarize(one)["groups"] is None
    assert "Groups compared" not in render(summarize(one))
    both = compare(run_with_groups(tmp_path / "a"), run_with_groups(tmp_path / "b"))
    assert "Groups compared" not in render(both)  # two runs side by side are another comparison


def test_motifs_that_are_units_are_not_repeated(tmp_path: Path) -> None:
    folder = run_with_groups(tmp_path / "run")
    edit_summary(folder, motifs_are_units=True)
    assert [row["name"] for row in summarize(folder)["groups"]["rows"]] == ["u0", "u1", "u2", "u3", "u4"]


def test_of_many_groups_the_largest_are_shown_and_none_compared(tmp_path: Path) -> None:
    ids = tuple(f"r{i:02}" for i in range(MOST_COMPARED + 3))
    folder = run_with_groups(tmp_path / "run", ids, ("g00", *ids[1:-1], "g00"))
    found = summarize(folder)["groups"]
    assert len(found["names"]) == MOST_COMPARED and found["names"][0] == {"name": "g00", "n_recordings": 2}
    assert found["n_left_out"] == 2
    assert (
        found["notes"][-1] == f"Differences are tested for up to {MOST_COMPARED} groups; here are {MOST_COMPARED + 2}."
    )
    assert "2 groups with fewer recordings are left out" in " ".join(render(summarize(folder)).split())


def test_differences_are_marked_with_their_p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Difference("unit", 3, ("s2", "s<1>"), -0.2, 0.012), Difference("unit", 1, ("s2", "s<1>"), 0.3, 0.2)]
    monkeypatch.setattr("rondo.report.tables.differences", lambda rows: found)
    folder = run_with_groups(tmp_path / "run")
    table = summarize(folder)["groups"]
    assert {row["name"]: row["differences"] for row in table["rows"] if row["differences"]} == {
        "u3": ["more in s<1> than in s2 (p = 0.012)"]
    }
    assert table["notes"][-1].startswith("p is from dealing the recordings")
    assert "more in s&lt;1&gt; than in s2 (p = 0.012)" in render(summarize(folder))


@pytest.mark.slow
@pytest.mark.browser
def test_the_table_on_the_page(opened: Any, tmp_path: Path) -> None:
    folder = run_with_groups(tmp_path / "run")
    page = opened(write_report(folder).as_uri())
    table = page.page.locator("table.groups")
    assert table.locator("th").all_inner_texts() == ["Id", "s2\n1 recording", "s<1>\n2 recordings", "Differences"]
    rows = summarize(folder)["groups"]["rows"]
    assert table.locator("tbody tr").count() == len(rows)
    first = table.locator("tbody tr").first.locator("td")
    cell = rows[0]["cells"][1]
    assert first.nth(2).inner_text().strip() == f"{cell['share']} {cell['interval']}"
    bar = first.nth(2).locator("svg rect").nth(1)
    assert bar.get_attribute("width") == str(cell["width"])
    assert page.trouble == []
