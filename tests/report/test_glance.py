"""What stands first: entries by their share of the time, how often, how long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rondo.report.glance import MOST_NAMED, glance, leaves_room
from rondo.report.render import render
from tests.report.on_folders import summarize, write_report
from tests.report.run_folders import write_run_folder


def test_the_largest_share_comes_first_and_other_is_what_is_left(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path / "run", n_frames=2_000))
    units, motifs = glance(summary)
    assert (units["heading"], motifs["heading"]) == ("Units", "Motifs")
    for part, level in ((units, "unit"), (motifs, "motif")):
        shares = [row["part"] for row in part["entries"]]
        assert shares == sorted(shares, reverse=True)
        assert {row["name"] for row in part["entries"]} == {row["name"] for row in summary["entries"][level]}
    other = 1 - sum(row["part"] for row in motifs["entries"])
    assert 0 <= other < 1 and leaves_room([motifs]) == (other > 0.0005)


@pytest.mark.parametrize("changes", [{"agreement": {"levels": []}}, {"entries": {"unit": [], "motif": []}}])
def test_nothing_is_said_where_there_is_nothing_to_say(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert glance(summarize(write_run_folder(tmp_path / "run", n_frames=2_000)) | changes) == []


def test_motifs_that_repeat_the_units_are_not_told_twice(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path / "run", n_frames=2_000)) | {"motifs_are_units": True}
    assert [part["heading"] for part in glance(summary)] == ["Units"]


def test_entries_of_single_recordings_do_not_share_a_bar(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path / "run", n_frames=2_000))
    own = {level: [row | {"recording": "day1"} for row in rows] for level, rows in summary["entries"].items()}
    assert glance(summary | {"entries": own}) == []


def test_of_very_many_the_first_have_words_and_all_a_part_of_the_bar(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path / "run", n_frames=2_000))
    row = summary["entries"]["unit"][0]
    many = [row | {"name": f"u{id}", "key": f"unit||u{id}", "part": 0.01} for id in range(50)]
    page = render(summary | {"entries": {"unit": many, "motif": []}})
    bar, words = page.split('<ul class="glance">')[:2]
    assert bar.count("u49, ") == 1
    assert words.split("</ul>")[0].count("<button") == MOST_NAMED
    assert f"and {50 - MOST_NAMED} more below" in words


def test_what_does_not_recur_is_pale_and_said_to_be(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path / "run", n_frames=2_000))
    rows = [row | {"unproven": row["name"] == "u1"} for row in summary["entries"]["unit"]]
    page = render(summary | {"entries": {"unit": rows, "motif": []}})
    told = page[page.index("At a glance") : page.index("<h2>Timeline")]
    assert told.count("unproven") == 2  # its part of the bar, and its words
    assert "pale entries occur once or were not shown to recur" in " ".join(told.split())
    proven = render(summary | {"entries": {"unit": [row | {"unproven": False} for row in rows], "motif": []}})
    assert "pale is" not in proven


@pytest.mark.browser
def test_pressing_one_shows_its_occurrences(opened: Any, tmp_path: Path) -> None:
    page = opened(write_report(write_run_folder(tmp_path / "run", n_frames=2_000)).as_uri())
    first = page.page.locator(".glance button").first
    first.click()
    assert page.page.locator("#drawer h2").inner_text() == first.inner_text()
