"""Every edit taken back, and several made at the same time: nothing is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rondo.result import Result
from tests.cli.running import Command, call, tree, waves, write_csv

FOUND = ("labels/day.npy", "units/day.npy", "segments.csv", "segments.parquet", "summary.json")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted")
    write_csv(folder / "day.csv", waves(900))
    quick = ("--set", "evidence.surrogates=0", "--set", "motifs.method=none", "--set", "encoder.shape_channels=0")
    windows = ("--rate", 50, "--window", 40, "--step", 20)
    done = call("discover", folder / "day.csv", *windows, "--out", folder / "run", *quick)
    assert done.code == 0, done.err
    units = Result.load(folder / "run").run.tables["segments"].filter(level="unit")
    (first, second), ends = units["id"].to_list()[:2], units["end_frame"].to_list()
    edits = [
        {"kind": "relabel", "ids": [second], "spans": [["day", 0, 30]]},
        {"kind": "relabel", "ids": ["new"], "spans": [["day", 30, ends[0]]], "name": "limp"},
        {"kind": "name", "ids": [second], "name": "reach"},
        {"kind": "merge", "ids": [first, second]},
    ]
    content = {
        "format": "rondo-edits",
        "schema": 1,
        "run": Result.load(folder / "run").summary.identity,
        "edits": edits,
    }
    (folder / "edits.json").write_text(json.dumps(content))
    return folder


def test_undoing_every_edit_gives_back_what_was_found(here: Path, fitted: Path) -> None:
    run = Path(shutil.copytree(fitted / "run", here / "run"))
    assert call("apply", run, fitted / "edits.json").code == 0
    for number in (4, 3, 2, 1):
        assert call("undo", run, number).code == 0
    assert {name: (run / name).read_bytes() for name in FOUND} == {
        name: (fitted / "run" / name).read_bytes() for name in FOUND
    }


@pytest.mark.parametrize(
    ("left", "undone"), [("3", [3]), ("0", [4]), ("99", [4]), ("[3]", [4]), ('"3"', [4]), ("true", [4]), ("", [4])]
)
def test_an_undo_that_was_interrupted_is_completed_first_and_named(
    rondo: Command, here: Path, fitted: Path, left: str, undone: list[int]
) -> None:
    """What is left by a process that was killed; what a stranger has left there is nothing."""
    run = shutil.copytree(fitted / "run", here / "run")
    assert rondo("apply", run, fitted / "edits.json").code == 0
    (run / ".undo.json").write_text(left)
    done = rondo("undo", run)
    assert (done.code, "interrupted" in done.err) == (0, left == "3"), done.err
    edits = json.loads((run / "model" / "edits.json").read_text())["edits"]
    assert [edit["of"] + 1 for edit in edits if edit["kind"] == "undo"] == undone
    assert not (run / ".undo.json").exists()


_AT_ONCE = """
import os, sys
from rondo.cli.main import run
import rondo.model, rondo.cli.edit, rondo.editing, rondo.report.contents, rondo.report.render, polars
children = []
for number in range(3):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run(["name", sys.argv[1], f"unit:{number}", f"name{number}"])
        except SystemExit as ended:
            code = ended.code
        finally:
            os._exit(code)
    children.append(pid)
print(*[os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])
"""


@pytest.mark.slow
def test_names_given_at_the_same_time_are_all_kept(here: Path, fitted: Path) -> None:
    for number in range(2):
        run = Path(shutil.copytree(fitted / "run", here / f"run{number}"))
        done = subprocess.run([sys.executable, "-c", _AT_ONCE, str(run)], capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1] == "0 0 0", done.stderr
        edits = json.loads((run / "model" / "edits.json").read_text())["edits"]
        assert sorted(edit["name"] for edit in edits) == ["name0", "name1", "name2"]
        units = json.loads((run / "summary.json").read_text())["units"]
        assert [unit["name"] for unit in units] == ["name0", "name1", "name2"]
        page = (run / "report.html").read_text()
        assert all(f"u{number} name{number}" in page for number in range(3))
        assert not [path for path in tree(run) if Path(path).name.startswith(".")]
