"""Names in a run folder that is there already: shown everywhere, while labels and ids stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rondo.report.entries import Words, entry_rows
from rondo.report.names import lags_behind, run_around, show_names

from rondo.errors import OutputError
from rondo.report.summarize import summarize
from rondo.vocabulary.edit_file import write_edits
from rondo.vocabulary.edits import Edits
from tests.report.run_folders import write_run_folder
from tests.report.test_entries import EVIDENCE, segments_of

SHOWN = ("segments.parquet", "segments.csv", "summary.json", "report.html")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = write_run_folder(tmp_path / "run", n_frames=1_000)
    (folder / "model").mkdir()
    (folder / "model" / "manifest.json").write_text("{}")
    return folder


def summary_of(run: Path) -> dict:  # type: ignore[type-arg]
    return json.loads((run / "summary.json").read_text())  # type: ignore[no-any-return]


def test_names_stand_in_the_table_the_summary_and_the_report(run: Path) -> None:
    before, entries = pl.read_parquet(run / "segments.parquet"), summary_of(run)
    write_edits(run / "model", Edits().named("u1", "reach, far").named("m0", "pick <up>").merged(["u1", "u4"]))
    show_names(run)
    after = pl.read_parquet(run / "segments.parquet")
    assert_frame_equal(after.drop("name"), before)
    assert set(after.filter((pl.col("level") == "unit") & pl.col("id").is_in([1, 4]))["name"]) == {"reach, far"}
    assert set(after.filter((pl.col("level") == "unit") & ~pl.col("id").is_in([1, 4]))["name"]) == {""}
    assert pl.read_csv(run / "segments.csv")["name"].to_list() == after["name"].to_list()
    named = summary_of(run)
    assert [entry["name"] for entry in named["units"]] == ["", "reach, far", "", "", "reach, far"]
    assert [{k: v for k, v in entry.items() if k != "name"} for entry in named["motifs"]] == [
        {k: v for k, v in entry.items() if k != "name"} for entry in entries["motifs"]
    ]
    shown = summarize(run)
    assert [row["name"] for row in shown["entries"]["unit"]] == ["u0", "u1 reach, far", "u2", "u3", "u4 reach, far"]
    lanes = {lane["kind"]: set(lane["names"]) for lane in shown["recordings"][0]["lanes"]}
    assert "u1 reach, far" in lanes["unit"] and "u1" in lanes["true unit"]
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "u1 reach, far" in page and "pick <up>" not in page and "pick &lt;up&gt;" in page
    assert not list(run.glob(".*"))


def test_a_name_that_was_taken_away_is_gone(run: Path) -> None:
    write_edits(run / "model", Edits().named("u1", "reach"))
    show_names(run)
    write_edits(run / "model", Edits().named("u1", "reach").unnamed("u1"))
    show_names(run)
    assert set(pl.read_parquet(run / "segments.parquet")["name"]) == {""}
    assert {entry["name"] for entry in summary_of(run)["units"]} == {""}


@pytest.mark.parametrize("lost", ["segments.parquet", "segments.csv", "summary.json", "report.html"])
def test_a_run_that_lags_behind_its_names_is_noticed(run: Path, lost: str) -> None:
    """Each file is written on its own: whichever of them is as it was before a name was given."""
    show_names(run)
    assert not lags_behind(run)
    before = {name: (run / name).read_bytes() for name in SHOWN}
    write_edits(run / "model", Edits().named("u1", "reach"))
    assert lags_behind(run)
    show_names(run)
    assert not lags_behind(run)
    after = {name: (run / name).read_bytes() for name in SHOWN}
    assert all(before[name] != after[name] for name in SHOWN)
    (run / lost).write_bytes(before[lost])
    if lost == "report.html":  # which was drawn before the summary was written
        os.utime(run / lost, ns=(0, (run / "summary.json").stat().st_mtime_ns - 1))
    assert lags_behind(run)
    show_names(run)
    assert not lags_behind(run)
    assert {name: (run / name).read_bytes() for name in SHOWN} == after


def test_a_run_without_names_does_not_lag(run: Path) -> None:
    """Its tables may have no column for them."""
    pl.read_parquet(run / "segments.parquet").write_csv(run / "segments.csv")
    for entry in (summary := summary_of(run))["units"] + summary["motifs"]:
        entry["name"] = ""
    (run / "summary.json").write_text(json.dumps(summary))
    assert not lags_behind(run)
    (run / "segments.csv").unlink()
    assert lags_behind(run)


def test_compositions_tell_what_their_units_are_called(run: Path) -> None:
    write_edits(run / "model", Edits().named("u1", "reach"))
    show_names(run)
    summary = summarize(run)
    rows = [row for row in summary["entries"]["motif"] if "u1" in row["composition"].split()]
    assert rows
    for row in rows:
        for parts in (row["parts"], summary["details"][row["key"]]["composition"]):
            assert {part["text"]: part["name"] for part in parts}["u1"] == "u1 reach"
            assert {part["name"] for part in parts if part["text"] != "u1"} <= {""}


def test_each_recording_has_the_names_of_its_own_vocabulary(tmp_path: Path) -> None:
    run = write_run_folder(tmp_path / "run", n_frames=1_000, recording_ids=("a", "b"))
    summary = summary_of(run)
    summary["units"] = [entry | {"recording": id} for id in ("a", "b") for entry in summary["units"]]
    summary["motifs"] = [entry | {"recording": id} for id in ("a", "b") for entry in summary["motifs"]]
    (run / "summary.json").write_text(json.dumps(summary))
    for id in ("a", "b"):
        (run / "model" / id).mkdir(parents=True)
    write_edits(run / "model" / "b", Edits().named("u1", "reach"))
    show_names(run)
    table = pl.read_parquet(run / "segments.parquet").filter(pl.col("name") != "")
    assert set(table.select("recording", "level", "id").iter_rows()) == {("b", "unit", 1)}
    assert [(e["recording"], e["id"]) for e in summary_of(run)["units"] if e["name"]] == [("b", 1)]


def test_the_run_around_a_model(run: Path) -> None:
    (run / "model" / "day1").mkdir()
    assert run_around(run / "model") == run_around(run / "model" / "day1") == run
    assert run_around(run.parent / "elsewhere") is None


def test_a_damaged_run_is_told(run: Path) -> None:
    (run / "segments.parquet").write_bytes(b"no table")
    with pytest.raises(OutputError, match="the names are kept"):
        show_names(run)


def test_what_was_merged_was_not_tested_as_one() -> None:
    segments = segments_of([0, 0, 1, 1], [1.0] * 4)
    words = Words(evidence=EVIDENCE, edits=Edits().named("u0", "reach").merged(["u0", "u5"]))
    rows = entry_rows("unit", segments, 4, words)
    told = [(row["name"], row["absorbed"], row["evidence"]["verdict"]) for row in rows]
    assert told == [("reach", [5], "not tested"), ("", [], "occurs once")]
