"""How much is said, by which exit code, with what help: what makes the command line easy to live with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rondo.report.export import export_formats
from tests.cli.running import Command, tree, waves, write_csv


def test_help_flows_with_the_width_of_the_terminal(rondo: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of the source is no line of the help: none may end early where its paragraph goes on."""
    monkeypatch.setenv("COLUMNS", "80")
    paragraph = rondo("name", "--help").out.split("lists the entries")[1].split("╭")[0].rstrip()
    *full, _ = paragraph.splitlines()[1:]
    assert full and all(len(line.rstrip()) > 60 for line in full)


# ---------------------------------------------------------------- quiet and verbose


@pytest.mark.parametrize("place", [0, -1], ids=["before", "after"])
def test_quiet_says_only_the_result(rondo: Command, here: Path, place: int) -> None:
    write_csv(here / "x.csv", waves())
    arguments = ["discover", "x.csv", "--window", "50", "--out", "out", "--set", "evidence.surrogates=0"]
    arguments.insert(place if place == 0 else len(arguments), "--quiet")
    outcome = rondo(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("report: out/report.html\n")


def test_quiet_keeps_notes_and_errors(rondo: Command, here: Path) -> None:
    values = waves()
    values[700:710, 0] = float("nan")
    write_csv(here / "x.csv", values)
    outcome = rondo("discover", "x.csv", "--window", "50", "--out", "out", "--quiet", "--method", "kmeans")
    assert outcome.err.startswith("note: x: ")
    assert rondo("discover", "nope.csv", "--out", "o2", "--quiet").err.startswith("error: ")


def test_verbose_tells_files_windows_and_stages(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves())
    outcome = rondo("discover", "x.csv", "--window", "50", "--out", "out", "--verbose")
    details = [line for line in outcome.err.splitlines() if line.startswith("detail: ")]
    for piece in (
        "x.csv: Recording('x', 1500 frames",
        "window 50 frames, step 12",
        "units took ",
        "this will take about",
    ):
        assert any(piece in line for line in details), piece
    assert "detail: " not in outcome.out
    assert "detail: " not in rondo("discover", "x.csv", "--window", "50", "--out", "out2").err  # of one call only


def test_verbose_tells_where_an_error_began(rondo: Command) -> None:
    said = rondo("discover", "nope.csv", "--out", "out", "--verbose").err
    assert "Traceback" in said
    assert said.splitlines()[-1].startswith("error: nope.csv: ")
    assert "Traceback" not in rondo("discover", "nope.csv", "--out", "out").err


def test_a_rate_may_carry_its_unit_and_a_short_recording_is_told(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves(60))
    outcome = rondo("discover", "x.csv", "--rate", "50Hz", "--out", "out", "--set", "evidence.surrogates=0", "--quiet")
    assert outcome.code == 0
    assert outcome.err.startswith("note: x: with 60 frames a window is only 3 frames long")


# ---------------------------------------------------------------- completion


def completed(words: str) -> list[str]:
    """What bash gets for these words; the last one is being typed."""
    parts = words.split(" ")
    environment = os.environ | {
        "_RONDO_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(parts) - 1),
    }
    program = "import sys; from rondo.cli.main import run; sys.argv = ['rondo']; run()"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.slow
def test_the_shell_completes_commands_options_and_values() -> None:
    assert completed("rondo disc") == ["discover"]
    assert completed("rondo discover --method dens") == ["denstream"]
    assert completed("rondo export run --format ") == list(export_formats())
    assert completed("rondo export run --level m") == ["motif"]


def test_completion_is_installed_for_the_shell_that_is_named(
    rondo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    outcome = rondo("--install-completion", "fish")
    assert (outcome.code, outcome.err) == (0, "")
    assert "complete_fish" in (tmp_path / ".config/fish/completions/rondo.fish").read_text(encoding="utf-8")
    unknown = rondo("--install-completion", "klingon")
    assert (unknown.code, "bash, zsh, fish" in unknown.err) == (2, True)


def test_without_out_the_run_is_called_after_its_recording(rondo: Command, here: Path) -> None:
    write_csv(here / "walk.csv", waves(900))
    (here / "days").mkdir()
    write_csv(here / "days" / "one.csv", waves(900))
    quick = ("--rate", "50", "--window", "40", "--set", "evidence.surrogates=0")
    places = [json.loads(rondo("discover", "walk.csv", *quick, "--json").out)["out"] for _ in range(3)]
    assert places == ["walk-rondo", "walk-rondo-2", "walk-rondo-3"]
    before = tree(here / "walk-rondo")
    labelled = rondo("label", "walk-rondo", "days/*.csv", "--rate", "50", "--json")
    assert json.loads(labelled.out)["out"] == "days-rondo"
    assert tree(here / "walk-rondo") == before
