"""Edits killed at any step, and several at the same time: the same command completes them, and nothing is lost."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rondo.result import Result
from tests.cli.killing import Killer
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


@pytest.fixture
def killer(here: Path) -> Iterator[Killer]:
    with Killer(here, "real") as killer:
        yield killer


def left_by(run: Path) -> dict[str, bytes | None]:
    """All of a run folder but the times at which it was edited, and the lock of a process that was killed."""
    found = {name: content for name, content in tree(run).items() if not name.endswith(".lock")}
    return found | {"model/edits.json": re.sub(rb'"at": "[^"]*"', b"", found["model/edits.json"] or b"")}


def killed_everywhere(killer: Killer, here: Path, begun: Path, *command: object, every: int = 1) -> None:
    """The command killed at each of its steps and given again leaves what it leaves when nobody disturbs it."""
    name, *rest = command
    whole = Path(shutil.copytree(begun, here / "whole"))
    assert killer.rondo(name, whole, *rest) == 0, killer.err.read_text()
    expected, n_kills = left_by(whole), 0
    for step in range(0, 200, every):
        run = Path(shutil.copytree(begun, here / f"run{step}"))
        code = killer.rondo(name, run, *rest, at_call=step)
        n_kills += code == -signal.SIGKILL
        assert code == 0 or killer.rondo(name, run, *rest) == 0, killer.err.read_text()
        assert left_by(run) == expected, f"killed at step {step}"
        shutil.rmtree(run)
        if code == 0:
            break
    assert n_kills >= 14 // every
    shutil.rmtree(whole)


@pytest.mark.slow
def test_apply_killed_at_every_step_is_completed_by_the_same_command(killer: Killer, here: Path, fitted: Path) -> None:
    killed_everywhere(killer, here, fitted / "run", "apply", fitted / "edits.json")


@pytest.mark.slow
def test_undo_killed_at_every_step_is_completed_and_gives_back_what_was_found(
    killer: Killer, here: Path, fitted: Path
) -> None:
    begun = Path(shutil.copytree(fitted / "run", here / "begun"))
    for arguments in (
        ("apply", begun, fitted / "edits.json"),
        ("undo", begun, 4),
        ("undo", begun, 3),
        ("undo", begun, 2),
    ):
        assert killer.rondo(*arguments) == 0, killer.err.read_text()
    killed_everywhere(killer, here, begun, "undo", 1)
    killed_everywhere(killer, here, fitted_twice(killer, here, fitted), "undo")
    assert killer.rondo("undo", begun, 1) == 0
    assert {name: (begun / name).read_bytes() for name in FOUND} == {
        name: (fitted / "run" / name).read_bytes() for name in FOUND
    }


def fitted_twice(killer: Killer, here: Path, fitted: Path) -> Path:
    """A run with several edits in force, of which `undo` takes back the last one alone."""
    begun = Path(shutil.copytree(fitted / "run", here / "several"))
    assert killer.rondo("apply", begun, fitted / "edits.json") == 0, killer.err.read_text()
    return begun


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


@pytest.mark.slow
def test_name_and_split_killed_at_every_step_are_completed(killer: Killer, here: Path, fitted: Path) -> None:
    killed_everywhere(killer, here, fitted / "run", "name", "unit:1", "reach")
    merged = Path(shutil.copytree(fitted / "run", here / "merged"))
    assert killer.rondo("merge", merged, "unit:0", "unit:1") == 0, killer.err.read_text()
    killed_everywhere(killer, here, merged, "split", "unit:1", every=5)


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
