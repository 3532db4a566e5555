"""`rondo apply` and `rondo undo`: what they print, what they refuse; streams that have ended, and that have not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rondo.result import Result
from tests.cli.running import Command, Outcome, refused_alone


@pytest.fixture
def run(flat_run: Path, here: Path) -> Path:
    return Path(shutil.copytree(flat_run, here / "run"))


def write_edits_of(run: Path, *edits: dict[str, object]) -> None:
    content = {"format": "rondo-edits", "schema": 1, "run": Result.load(run).summary.identity, "edits": list(edits)}
    Path("edits.json").write_text(json.dumps(content))


@pytest.mark.slow
def test_a_file_is_applied_and_taken_back(rondo: Command, run: Path) -> None:
    write_edits_of(
        run, {"kind": "relabel", "ids": [2], "spans": [["day", 5, 25]]}, {"kind": "name", "ids": [1], "name": "reach"}
    )
    before = np.load("run/units/day.npy")
    assert rondo("apply", "run", "edits.json") == Outcome(
        0, "1: frames 5 to 25 of day relabelled unit:2\n2: unit:1 named 'reach'\n", ""
    )
    assert rondo("apply", "run", "edits.json").out == "nothing to do: all of it is made already\n"
    assert all((np.load(f"run/{folder}/day.npy")[5:25] == 2).all() for folder in ("units", "labels"))
    lines = rondo("name", "run", "--history").out.splitlines()
    assert [(line[:6].strip(), line[33:]) for line in lines] == [
        ("1", "frames 5 to 25 of day relabelled unit:2"), ("2", "unit:1 named 'reach'"),
    ]  # fmt: skip
    assert rondo("undo", "run").out == "3: edit 2 undone: unit:1 named 'reach'\n"
    assert rondo("undo", "run", "1").code == 0
    assert np.array_equal(np.load("run/units/day.npy"), before)
    assert rondo("undo", "run", "1").out == "nothing to do: all of it is made already\n"
    refused_alone(rondo("undo", "run", "3"), "edit 3 is an undo")
    done = json.loads(rondo("apply", "run", "edits.json", "--json").out)  # made, and taken back
    assert done["added"] == 0 and [edit["undone"] for edit in done["edits"]] == [True, True, False, False]
    assert rondo("name", "run", "--history").out.count("(undone)") == 2


@pytest.mark.slow
def test_a_stream_that_has_ended_is_edited_like_any_run(rondo: Command, here: Path, halfway: Path) -> None:
    shutil.copytree(halfway, here / "running")
    assert rondo("stream", "run", "--source", "x.csv", "--out", "live").code == 0
    issued, before = (halfway / "labels.csv").read_bytes(), np.load(halfway / "units/x.npy")
    spans = (
        Result.load(halfway).run.tables["segments"].filter(level="unit").select("start_frame", "end_frame", "id").rows()
    )
    start, stop, id = spans[0]
    other = next(each for *_, each in spans if each != id)
    write_edits_of(
        halfway,
        {"kind": "relabel", "ids": [other], "spans": [["x", start, start + 10]]},
        {"kind": "relabel", "ids": ["new"], "spans": [["x", start + 10, stop]], "name": "limp"},
        {"kind": "name", "ids": [other], "name": "reach"},
    )
    assert rondo("apply", "live", "edits.json").code == 0
    expected = before.copy()
    expected[start : start + 10], expected[start + 10 : stop] = other, 1000
    assert np.array_equal(np.load(halfway / "units/x.npy"), expected)
    assert (halfway / "labels.csv").read_bytes() == issued  # what was issued stays issued
    written = json.loads((halfway / "checkpoint/edits.json").read_text())["edits"]
    assert [edit["kind"] for edit in written] == ["relabel", "relabel", "name"]
    units = {one["id"]: one["name"] for one in json.loads((halfway / "summary.json").read_text())["units"]}
    assert units[1000] == "limp" and units[other] == "reach"
    for _ in range(3):
        assert rondo("undo", "live").code == 0
    assert np.array_equal(np.load(halfway / "units/x.npy"), before)
    assert rondo("label", "live", "x.csv", "--rate", 50, "--out", "again").code == 0
    assert 1000 not in np.load(here / "again/units/x.npy")


def test_the_frames_of_a_stream_that_goes_on_are_not_edited(rondo: Command, halfway: Path) -> None:
    write_edits_of(halfway, {"kind": "relabel", "ids": [1], "spans": [["x", 0, 10]]})
    refused_alone(rondo("apply", "live", "edits.json"), "a stream that has not ended can be named and merged")
    write_edits_of(halfway, {"kind": "name", "ids": [1], "name": "reach"})
    assert rondo("apply", "live", "edits.json").code == 0
    assert not (halfway / "edits.json").exists()
