"""`rondo export`, and `rondo evaluate` against what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import Command
from tests.report.export.made_runs import Made, write_made_run

DAY = Made([0, 0, 1, 1, 2, 2, 0, 0, 1, 1], [5, 5, 5, 5, -1, -1, 6, 6, 6, 6], 20.0)
OUT = {"csv": "x.csv", "parquet": "x.parquet", "eaf": "x.eaf", "audacity": "x.txt", "label-studio": "x.json"}


@pytest.mark.parametrize("format", OUT)
def test_an_export_scores_100_against_the_labels_it_came_from(rondo: Command, here: Path, format: str) -> None:
    run = write_made_run(here / "run", {"day1": DAY})
    outcome = rondo("export", run, "--format", format, "--out", OUT[format], "--level", "motif", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)["files"][0] == OUT[format]
    for labels in (run / "labels" / "day1.npy", run / "labels"):
        scored = rondo("evaluate", OUT[format], labels, "--json")
        assert (scored.code, scored.err) == (0, "")
        scores = json.loads(scored.out)
        assert (scores["ari"], scores["mof"], scores["edit"]) == (100.0, 100.0, 100.0)


def test_a_tier_is_named_and_a_rate_given(rondo: Command, here: Path) -> None:
    run = write_made_run(here / "run", {"day1": DAY})
    told = rondo("export", run, "--format", "eaf", "--out", "both.eaf")
    assert told.out == "eaf: both.eaf\n"
    np.save(here / "labels.npy", DAY.units)
    for arguments, said in (
        ((), "which of its tracks is the truth? It has 'unit', 'motif'; name one with --key"),
        (("--key", "unit"), "give --rate HZ"),
        (("--key", "unit", "--rate", "-3"), "positive number of Hz"),
    ):
        outcome = rondo("evaluate", "both.eaf", "labels.npy", *arguments)
        assert outcome.code == 2 and outcome.out == ""
        assert outcome.err.startswith("error: ") and outcome.err.count("\n") == 1 and said in outcome.err
    scored = rondo("evaluate", "both.eaf", "labels.npy", "--key", "unit", "--rate", "20", "--json")
    assert json.loads(scored.out)["ari"] == 100.0
    whole = rondo("evaluate", "both.eaf", "run", "--key", "unit", "--level", "unit", "--json")
    assert json.loads(whole.out)["ari"] == 100.0
    slow = rondo("evaluate", "both.eaf", "labels.npy", "--key", "unit", "--rate", "10", "--json")
    assert json.loads(slow.out)["ari"] < 100.0
