"""`rondo teach`: what it prints and writes, from tables and files of other programs, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rondo.result import Result
from tests.cli.running import Command, refused_alone, tree, waves, write_csv

TABLE = "name,start_s,end_s\nslow,0,2.9\nquick,3.1,5.9\n"


@pytest.fixture
def run(small_run: Path, here: Path) -> Path:
    write_csv(here / "x.csv", waves())
    return Path(shutil.copytree(small_run, here / "run"))


def recordings_of(run: Path) -> tuple[str, int]:
    (about,) = Result.load(run).recordings
    return about.id, about.n_frames


def test_a_table_teaches_a_run_and_undo_takes_it_back(rondo: Command, run: Path, here: Path) -> None:
    (here / "spans.csv").write_text(TABLE)
    before = Result.load(run).motifs.copy()
    outcome = rondo("teach", "run", "spans.csv", "x.csv")
    assert outcome.code == 0, outcome
    assert [line.split()[:4] for line in outcome.out.splitlines()[:2]] == [
        ["slow", "motif:1000", "1", "marked,"], ["quick", "motif:1001", "1", "marked,"],
    ]  # fmt: skip
    taught = Result.load(run)
    assert set(taught.motifs[:145].tolist()) == {1000} and {"slow", "quick"} <= set(taught.segments["name"])
    assert "m1000 slow" in (run / "report.html").read_text()
    shown = json.loads(rondo("teach", "run", "spans.csv", "x.csv", "--json").out)
    assert [row["name"] for row in shown["taught"]] == ["slow", "quick"] and isinstance(shown["next"], list)
    assert len(json.loads((run / "model" / "edits.json").read_text())["edits"]) == 1  # twice is once
    assert rondo("undo", "run").code == 0
    np.testing.assert_array_equal(Result.load(run).motifs, before)


def test_files_of_other_programs_teach_too(rondo: Command, run: Path, here: Path) -> None:
    (here / "labels.txt").write_text("0.0\t2.9\tslow\n3.1\t5.9\tquick\n")
    (here / "spans.csv").write_text(TABLE)
    assert rondo("teach", "run", "labels.txt", "x.csv").code == 0
    by_audacity = Result.load(run).motifs.copy()
    assert rondo("undo", "run").code == 0
    assert rondo("teach", "run", "spans.csv", "x.csv").code == 0
    np.testing.assert_array_equal(Result.load(run).motifs % 2, by_audacity % 2)  # ids are never used again


def test_a_taught_model_labels_and_is_scored_without_marks(rondo: Command, run: Path, here: Path) -> None:
    (here / "spans.csv").write_text(TABLE)
    write_csv(here / "y.csv", waves(seed=3))
    assert rondo("teach", "run", "spans.csv", "x.csv").code == 0
    assert rondo("label", "run", "y.csv", "--out", "run2").code == 0
    assert {"slow", "quick"} <= set(Result.load(here / "run2").segments["name"])
    refused_alone(rondo("label", "run", "y.csv", "--out", "run3", "--engine", "serial"), "taught")


BAD = {
    "name,start_s,end_s\nslow,2,1\n": "begins at 2",
    "name,start_s,end_s\n,1,2\n": "row 1: the name is empty",
    "name,start_s,end_s\nslow,1,200\n": "outside",
    "name,start_s\nslow,1\n": "no start and end",
    "start_s,end_s\n1,2\n": "no column 'name'",
    "recording,name,start_s,end_s\nday9,slow,1,2\n": "day9",
    "name,start_s,end_s\nslow,1,2\nquick,1.5,3\n": "inside 'slow'",
    "name,start_s,end_s\nslow,1,soon\n": "'soon'",
}


@pytest.mark.parametrize("table", BAD)
def test_spans_that_cannot_be_are_one_line_and_change_nothing(
    rondo: Command, run: Path, here: Path, table: str
) -> None:
    (here / "spans.csv").write_text(table)
    before = {name: content for name, content in tree(run).items() if "lock" not in name}
    refused_alone(rondo("teach", "run", "spans.csv", "x.csv"), BAD[table])
    assert {name: content for name, content in tree(run).items() if "lock" not in name} == before
