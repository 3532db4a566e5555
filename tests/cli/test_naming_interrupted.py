"""`rondo name` killed at any step, and several at the same time: the same command repairs, and no name is lost."""

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

from tests.cli.killing import Killer
from tests.cli.running import tree


@pytest.fixture
def killer(here: Path) -> Iterator[Killer]:
    with Killer(here, "real") as killer:
        yield killer


def left_by(run: Path) -> dict[str, bytes | None]:
    """All of a run folder but the time at which the name was given."""
    found = tree(run)
    edits = found["model/edits.json"]
    assert edits is not None
    return found | {"model/edits.json": re.sub(rb'"at": "[^"]*"', b"", edits)}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["name", "split"])
def test_killed_at_every_step_the_same_command_repairs(killer: Killer, here: Path, fitted: Path, command: str) -> None:
    before, rest = fitted, ("unit:1", "reach") if command == "name" else ("unit:1",)
    if command == "split":
        before = Path(shutil.copytree(fitted, here / "before"))
        assert killer.rondo("merge", before, "unit:0", "unit:1") == 0, killer.err.read_text()
    whole = Path(shutil.copytree(before, here / "whole"))
    assert killer.rondo(command, whole, *rest) == 0, killer.err.read_text()
    expected, n_kills = left_by(whole), 0
    for step in range(0, 200, 1 if command == "name" else 5):
        run = Path(shutil.copytree(before, here / f"run{step}"))
        code = killer.rondo(command, run, *rest, at_call=step)
        n_kills += code == -signal.SIGKILL
        assert code == 0 or killer.rondo(command, run, *rest) == 0, killer.err.read_text()
        assert left_by(run) == expected, f"killed at step {step}"
        if code == 0:
            break
        shutil.rmtree(run)
    assert n_kills >= (14 if command == "name" else 4)


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
        run = Path(shutil.copytree(fitted, here / f"run{number}"))
        done = subprocess.run([sys.executable, "-c", _AT_ONCE, str(run)], capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1] == "0 0 0", done.stderr
        edits = json.loads((run / "model" / "edits.json").read_text())["edits"]
        assert sorted(edit["name"] for edit in edits) == ["name0", "name1", "name2"]
        units = json.loads((run / "summary.json").read_text())["units"]
        assert [unit["name"] for unit in units] == ["name0", "name1", "name2"]
        page = (run / "report.html").read_text()
        assert all(f"u{number} name{number}" in page for number in range(3))
        assert not [path for path in tree(run) if Path(path).name.startswith(".")]
