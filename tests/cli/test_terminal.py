"""Names of files, channels, recordings and entries never steer the terminal; what machines read stays exact."""

from __future__ import annotations

import ast
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import rondo as package
from rondo.cli.terminal import plain_lines, print_data, print_over
from rondo.cli.terminal import print as careful_print
from rondo.wording import printable
from tests.cli.running import Command, waves
from tests.systems import needs_posix

SRC = Path(package.__file__).parents[1]
EVIL = "a\x1b]0;owned\x07\x1b[2Jb\x9b31m\u202e"  # a title, a cleared screen, a colour, text from right to left
QUICK = ("--window", 40, "--step", 20, "--set", "evidence.surrogates=0")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def steers(text: str) -> bool:
    return printable(text) != text


@pytest.mark.slow
@needs_posix
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_no_command_hands_an_escape_sequence_to_the_terminal(rondo: Command, here: Path) -> None:
    np.savez(here / f"{EVIL}.npz", X=waves(900), rate=np.array(50.0), channels=np.array([EVIL, f"label {EVIL}"]))
    said = [
        rondo("discover", f"{EVIL}.npz", "--out", f"run {EVIL}", *QUICK),
        rondo("discover", f"{EVIL}.npz", "--out", f"run {EVIL}"),
        rondo("--verbose", "discover", f"no {EVIL}.npz", "--out", "other"),
        rondo("suggest", f"{EVIL}.npz"),
        rondo("name", f"run {EVIL}", "unit:0", "walk"),
    ]
    assert [outcome.code for outcome in said] == [0, 2, 2, 0, 0], said
    run = here / f"run {EVIL}"
    edits = run / "model" / "edits.json"  # as someone else may have written it
    edits.write_text(json.dumps(json.loads(edits.read_text())).replace('"walk"', json.dumps(EVIL)))
    said += [
        rondo("name", run), rondo("name", run, "--history"), rondo("report", run), rondo("usage", run),
        rondo("usage", run, "--transitions"), rondo("compare", run, run), rondo("merge", run, "unit:0", "unit:1"),
        rondo("export", run, "--format", "eaf", "--out", f"out {EVIL}"),
        rondo("label", run / "model", f"{EVIL}.npz", "--out", f"labels {EVIL}"),
        rondo("stream", run / "model", "--source", f"{EVIL}.npz", "--out", f"live {EVIL}"),
        rondo(f"no {EVIL}"), rondo("export", run, "--format", EVIL, "--out", "x"),
    ]  # fmt: skip
    for outcome in said:
        assert not steers(outcome.out) and not steers(outcome.err), outcome
    assert any("\\x1b]0;owned" in outcome.out + outcome.err for outcome in said)
    assert (
        json.loads(rondo("discover", f"{EVIL}.npz", "--out", "j", "--json", *QUICK).out)["recordings"][0]["id"] == EVIL
    )


def test_progress_and_status(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    plain_lines(lambda: 0.0)(f"reading {EVIL}\nerror: forged", 1, 2)
    print_over(f"note: {EVIL}\nx", stays=False)
    first, second = terminal.getvalue().split("\n")
    assert not steers(first)
    assert second.startswith("\r\x1b[Knote: ") and not steers(second.removeprefix("\r\x1b[K"))


def test_data_is_exact_but_for_eyes(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, expected in ((io.StringIO(), EVIL), (Terminal(), printable(EVIL))):
        monkeypatch.setattr(sys, "stdout", stream)
        print_data(EVIL)
        assert stream.getvalue() == expected


def test_a_terminal_without_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    careful_print("größer", file=stream)
    stream.seek(0)
    assert stream.read() == "gr\\xf6\\xdfer\n"


def test_every_command_prints_with_care() -> None:
    for file in sorted(SRC.glob("rondo*/cli/*.py")):
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "rondo.cli.terminal"]
        imported = {alias.name for node in imports for alias in node.names}
        assert file.name == "terminal.py" or called & {"print", "print_over", "print_data"} <= imported, file


def test_lines_say_what_how_far_and_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    tell = plain_lines(lambda: now)
    for step in range(100):  # half a second each
        tell("encoder: training", step + 1, 100)
        now += 0.5
    tell("units", 2, 4)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[1/100] encoder: training"
    assert lines[1].startswith("[5/100] encoder") and "48 s" in lines[1]
    assert len(lines) == 26
    assert lines[-1] == "[2/4] units"
