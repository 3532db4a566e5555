"""`rondo name`, `merge` and `split`: what they write, what follows them, and what they refuse."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.continual.journal import Event
from tests.cli.running import Command, Outcome, refused_alone, waves, write_csv


@pytest.fixture
def run(flat_run: Path, here: Path) -> Path:
    return Path(shutil.copytree(flat_run, here / "run"))


def counts_in(line: str) -> list[str]:
    return re.findall(r"\d+ [a-z]+", line)


def edits_in(folder: Path) -> list[tuple[str, list[int], str]]:
    found = json.loads((folder / "edits.json").read_text())
    return [(edit["kind"], edit["ids"], edit["name"]) for edit in found["edits"]]


# ------------------------------------------------------------ a model


def test_a_name_is_kept_listed_and_shown(rondo: Command, run: Path) -> None:
    manifest = (run / "model" / "manifest.json").read_bytes()
    assert rondo("name", "run", "unit:1", "reach") == Outcome(0, "unit:1: reach\n", "")
    assert rondo("name", "run/model", "u1").out == "unit:1  reach\n"
    assert rondo("name", "run").out.splitlines() == [
        "unit:0   -", "unit:1   reach", "unit:2   -", "motif:0  -", "motif:1  -", "motif:2  -",
    ]  # fmt: skip
    (row,) = json.loads(rondo("name", "run", "unit:1", "--json").out)["entries"]
    assert row == {"entry": "unit:1", "name": "reach", "kept": "unit:1", "absorbed": []}
    assert set(pl.read_csv(run / "segments.csv").filter(pl.col("name") == "reach")["id"]) == {1}
    assert [unit["name"] for unit in json.loads((run / "summary.json").read_text())["units"]] == ["", "reach", ""]
    assert "u1 reach" in (run / "report.html").read_text()
    assert (run / "model" / "manifest.json").read_bytes() == manifest
    assert rondo("name", "run", "unit:1", "--remove").out == "unit:1: no name\n"
    history = rondo("name", "run", "--history").out.splitlines()
    assert [line[33:] for line in history] == ["unit:1 named 'reach'", "unit:1 lost its name"]
    assert rondo("name", "run", "unit:2", "--history", "--json").out == '{"history": []}\n'


@pytest.mark.filterwarnings("default::rondo.errors.RondoWarning")
def test_naming_keeps_the_annotations_of_the_report(rondo: Command, here: Path, run: Path) -> None:
    np.save(here / "day.npy", np.repeat(["turning the crank", "rest"], 450))
    assert rondo("report", "run", "--truth", "day.npy").code == 0
    assert rondo("name", "run", "unit:1", "reach").err == ""
    page = (run / "report.html").read_text()
    assert "turning the crank" in page and "u1 reach" in page
    (here / "day.npy").unlink()
    gone = rondo("name", "run", "unit:2", "rest")
    assert gone.code == 0
    assert "drawn without its annotations" in gone.err and "day.npy" in gone.err
    page = (run / "report.html").read_text()
    assert "turning the crank" not in page and "u2 rest" in page


@pytest.mark.slow
def test_labels_written_afterwards_use_the_kept_id_and_carry_the_names(rondo: Command, here: Path, run: Path) -> None:
    before = {name: np.load(run / name / "day.npy") for name in ("units", "labels")}
    assert rondo("name", "run", "unit:2", "reach").code == 0
    merged = rondo("merge", "run", "unit:2", "unit:0", "--json")
    assert json.loads(merged.out) == {
        "entry": "unit:0", "name": "reach", "absorbed": ["unit:2"], "edits": "run/model/edits.json",
        "motif": {"entry": "motif:0", "name": "", "absorbed": ["motif:2"]},
    }  # fmt: skip
    npt.assert_array_equal(np.load(run / "units" / "day.npy"), np.where(before["units"] == 2, 0, before["units"]))
    write_csv(here / "day.csv", waves(900))
    labelled = rondo("label", "run", "day.csv", "--rate", 50, "--out", "again")
    assert "u2 as u0." in labelled.out
    npt.assert_array_equal(np.load(here / "again/units/day.npy"), np.where(before["units"] == 2, 0, before["units"]))
    npt.assert_array_equal(np.load(here / "again/labels/day.npy"), np.where(before["labels"] == 2, 0, before["labels"]))
    assert counts_in(labelled.out.splitlines()[0]) == ["2 units", "18 s", "2 channels"]
    summary = json.loads((here / "again/summary.json").read_text())
    about = [(unit["id"], unit["name"], unit["absorbed"], unit["evidence"]["verdict"]) for unit in summary["units"]]
    assert about == [(0, "reach", [2], "not tested"), (1, "", [], "not tested")]
    assert summary["recordings"][0]["fit"]["n_units_of_model"] == 2
    assert edits_in(here / "again/model") == [("name", [2], "reach"), ("merge", [0, 2], "")]
    assert rondo("split", "again", "unit:2").out.splitlines()[:2] == [
        "unit:2 on its own: reach", "motif:2 on its own: no name",
    ]  # fmt: skip
    assert rondo("name", "again", "unit:0").out == "unit:0  -\n"


@pytest.mark.parametrize(
    ("merged", "counts"),
    [
        (("motif:0", "motif:2"), ["1 motif", "3 units"]),  # groups of units, made by hand
        (("unit:0", "unit:2"), ["2 units"]),
    ],
)
def test_no_sentence_contradicts_a_merge(
    rondo: Command, here: Path, run: Path, merged: list[str], counts: list[str]
) -> None:
    assert rondo("merge", "run", *merged).code == 0
    write_csv(here / "day.csv", waves(900))
    lines = rondo("label", "run", "day.csv", "--rate", 50, "--out", "again").out.splitlines()
    own = "." if "1 motif" in counts else ": every unit is its own motif."
    assert counts_in(lines[0]) == [*counts, "18 s", "2 channels"] and lines[0].endswith("fits")
    assert f"looked for (motifs.method = 'none'){own}" in "\n".join(lines)
    assert [line for line in lines if line.startswith("Merged by hand")] == [
        f"Merged by hand, and not tested as one: {merged[1][0]}2 as {merged[0][0]}0."
    ]
    assert lines[0] in (here / "again/report.html").read_text()


def test_edits_that_someone_has_spoilt(rondo: Command, run: Path) -> None:
    (run / "model" / "edits.json").write_text('{"format": "rondo-edits"')
    refused_alone(rondo("name", "run"), "edits.json: not JSON")


# ------------------------------------------------------------ a stream


@pytest.mark.slow
def test_a_stream_goes_on_with_names_and_merges(rondo: Command, here: Path, halfway: Path) -> None:
    assert rondo("stream", "run", "--source", "x.csv", "--out", "plain").code == 0
    issued = (halfway / "labels.csv").read_text()
    assert rondo("name", "run", "unit:1", "reach").code == 0  # beside the model
    assert rondo("merge", "run", "unit:0", "unit:2", "--stream", "live").code == 0  # beside the stream
    assert edits_in(halfway / "checkpoint") == [("merge", [0, 2], "")]
    done = rondo("stream", "run", "--source", "x.csv", "--out", "live", "--sink", "-")
    assert done.code == 0 and "after 900 rows" in done.err
    expected = pl.read_csv(here / "plain" / "labels.csv")
    found = pl.read_csv(halfway / "labels.csv")
    assert (halfway / "labels.csv").read_text().startswith(issued)  # what was issued stays issued
    n_issued = issued.count("\n") - 1
    before, after = expected[:n_issued], expected[n_issued:]
    assert 2 in before["unit"] and 2 in after["unit"]
    for level in ("unit", "motif"):  # the model is flat
        assert found[level].to_list() == [*before[level], *(0 if id == 2 else id for id in after[level])]
    assert found.drop("unit", "motif").equals(expected.drop("unit", "motif"))
    assert (halfway / "events.jsonl").read_bytes() == (here / "plain" / "events.jsonl").read_bytes()
    printed = [json.loads(line) for line in done.out.splitlines()]
    assert {line.get("unit_name") for line in printed if line.get("unit") == 1} == {"reach"}
    summary = json.loads((halfway / "summary.json").read_text())
    about = [(unit["id"], unit["name"], unit["absorbed"]) for unit in summary["units"]]
    assert about == [(0, "", [2]), (1, "reach", [])]  # what was issued as u2 counts as u0 too
    assert 2 not in np.load(halfway / "units/x.npy") and 2 in found["unit"]
    again = rondo("label", "live", "x.csv", "--rate", 50, "--out", "again")
    assert "u2 as u0." in again.out
    assert 2 not in np.load(here / "again/units/x.npy")


def test_the_history_of_a_stream_can_be_read(rondo: Command, halfway: Path) -> None:
    promoted = Event("promote", "unit", 420, 8.4, (2,), {"support": 9.0})
    (halfway / "events.jsonl").write_text(promoted.to_json() + "\n")
    rondo("name", "run", "unit:2", "limp", "--stream", "live")
    rondo("merge", "run", "unit:0", "unit:2", "--stream", "live")
    lines = rondo("name", "run", "unit:2", "--history", "--stream", "live").out.splitlines()
    assert [line[33:] for line in lines] == ["unit:2 promoted", "unit:2 named 'limp'", "unit:0, unit:2 merged"]
    assert lines[0].lstrip().startswith("8.4 s ")  # what the stream did has no number: it cannot be undone
    assert rondo("name", "run", "--history").out == "no edits yet\n"  # the model itself has none
