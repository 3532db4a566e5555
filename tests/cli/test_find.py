"""`rondo find`: what it prints, teaches and refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rondo.result import Result
from tests.cli.running import Command, refused_alone, tree, waves, write_csv


@pytest.fixture
def run(small_run: Path, here: Path) -> Path:
    write_csv(here / "x.csv", waves(900))  # as the run
    return Path(shutil.copytree(small_run, here / "run"))


def test_ranks_times_and_the_cut(rondo: Command, run: Path) -> None:
    id = Result.load(run).recordings[0].id
    outcome = rondo("find", "run", "x.csv", "--like", f"{id},1,2.5")
    assert outcome.code == 0, outcome
    lines = outcome.out.splitlines()
    assert lines[0].split()[:2] == ["like", "1.00"] and sum(line.startswith("---- cut:") for line in lines) == 1
    assert rondo("find", "run", "x.csv", "--like", "1,2.5").out == outcome.out  # the only recording
    shown = json.loads(rondo("find", "run", "x.csv", "--like", "1,2.5", "--json").out)
    assert shown["entry"] is None and shown["found"][0]["score"] == 1.0
    assert f"cut: {sum(row['suggested'] for row in shown['found']) - 1 or 'nothing'} suggested" in outcome.out


def test_a_name_makes_an_entry_and_undo_takes_it_back(rondo: Command, run: Path) -> None:
    before = Result.load(run).motifs.copy()
    outcome = rondo("find", "run", "x.csv", "--like", "1,2.5", "--name", "squat")
    assert outcome.code == 0 and "squat: motif:1000" in outcome.out, outcome
    assert "squat" in set(Result.load(run).segments["name"])
    assert rondo("undo", "run").code == 0
    assert (Result.load(run).motifs == before).all()


BAD = {"700,800": "outside", "2,1": "ends at 1", "1": "RECORDING,START,END", "day9,1,2": "day9", "1,1.01": "frames"}


@pytest.mark.parametrize("like", BAD)
def test_spans_that_cannot_be_are_one_line(rondo: Command, run: Path, like: str) -> None:
    before = tree(run)
    refused_alone(rondo("find", "run", "x.csv", "--like", like), BAD[like])
    assert tree(run) == before
