"""`rondo merge RUN`, `--to N` and `rondo discover --motifs N`: along the tree of motifs and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.synthetic import StreamPlan, plant
from tests.cli.running import Command, refused_alone

RECORDING = plant(StreamPlan(motifs="contexts"), n_frames=12_000, seed=20).recording
QUICK = ("--set", "evidence.surrogates=0")


@pytest.fixture(scope="module")
def found() -> Result:
    return Rondo(seed=0, settings={"evidence.surrogates": 0}).fit_predict(RECORDING)


@pytest.fixture
def run(found: Result, here: Path) -> Path:
    return Path(found.save(here / "run"))


def test_merges_are_listed_with_their_reason(rondo: Command, run: Path, found: Result) -> None:
    n, table = len(found.summary.shown_motifs), found.suggest_merges()
    lines = rondo("merge", "run").out.splitlines()
    assert lines[0] == f"{n} motifs shown, of {n} found" and len(lines) == 1 + len(table)
    first = table.iloc[0]
    assert lines[1].startswith(
        f"to {n - 1}: m{first.kept} and m{first.absorbed} are confused in {100 * first.confused:.0f} %"
    )
    printed = json.loads(rondo("merge", "run", "--json").out)
    assert (printed["n_motifs"], printed["found"]) == (n, n) and printed["merges"] == table.to_dict("records")


def test_a_run_moves_along_its_tree_and_back(rondo: Command, run: Path, found: Result) -> None:
    before, n = found.motifs.copy(), len(found.summary.shown_motifs)
    printed = json.loads(rondo("merge", "run", "--to", 3, "--json").out)
    assert (printed["n_motifs"], printed["found"]) == (3, n)
    np.testing.assert_array_equal(Result.load(run).motifs, found.at(3).motifs)
    assert "coarsened" in rondo("name", "run", "--history").out
    assert rondo("merge", "run", "--to", n).out.splitlines()[0] == f"{n} motifs shown, of {n} found"
    np.testing.assert_array_equal(Result.load(run).motifs, before)
    assert rondo("undo", "run").code == 0
    np.testing.assert_array_equal(Result.load(run).motifs, found.at(3).motifs)
    assert rondo("undo", "run").code == 0
    np.testing.assert_array_equal(Result.load(run).motifs, before)


def test_discover_shows_so_many_motifs_or_says_that_there_are_fewer(rondo: Command, here: Path, found: Result) -> None:
    np.savez(here / "x.npz", X=RECORDING.values, rate=np.array(RECORDING.rate))
    assert rondo("discover", "x.npz", "--out", "three", "--motifs", 3, *QUICK).code == 0
    np.testing.assert_array_equal(Result.load("three").motifs, found.at(3).motifs)
    many = rondo("discover", "x.npz", "--out", "many", "--motifs", 99, *QUICK)
    assert many.code == 0 and "note: --motifs 99: only" in many.err
    np.testing.assert_array_equal(Result.load("many").motifs, found.motifs)


def test_what_makes_no_sense_is_refused(rondo: Command, run: Path, found: Result) -> None:
    n = len(found.summary.shown_motifs)
    refused_alone(rondo("merge", "run", "--to", 1), f"this run has {n} motifs, and can show 2 to {n}; got 1")
    refused_alone(rondo("merge", "run", "m0", "m1", "--to", 3), "give either entries to merge or --to N")
    refused_alone(
        rondo("discover", "x.npz", "--out", "r", "--method", "clock", "--motifs", 3), "--motifs needs the tree"
    )
    refused_alone(rondo("discover", "x.npz", "--out", "s3://a/b", "--motifs", 3), "write it here first")
