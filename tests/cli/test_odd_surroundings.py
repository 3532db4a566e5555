"""Names that are no text, formulas in names, closed streams, deep configurations: one line, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rondo.config.overrides import parse_override
from tests.cli.running import Command, waves, write_csv
from tests.systems import needs_posix

ROWS = "x\n" + "".join(f"{i % 7}.5\n" for i in range(40))


def test_a_configuration_nested_too_deeply(rondo: Command, tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    (tmp_path / "x.csv").write_text(ROWS)
    found = rondo("discover", tmp_path / "x.csv", "--config", tmp_path / "deep.toml", "--out", tmp_path / "run")
    assert found.code == 2
    assert "nested too deeply" in found.err
    assert parse_override("a.b=" + "[" * 100_000)[0] == "a.b"


@needs_posix
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m rondo --version {closed}', sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@needs_posix
@pytest.mark.slow  # a whole run in a process of its own
def test_a_reader_of_stderr_that_has_gone_costs_no_run(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(ROWS * 2)
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rondo",
            "discover",
            str(tmp_path / "x.csv"),
            "--rate",
            "1",
            "--out",
            str(tmp_path / "run"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=writer,
    ) as process:
        os.close(writer)
    assert process.returncode == 0
    assert (tmp_path / "run" / "segments.csv").is_file()


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize(
    "command", [["--version"], ["stream", "model", "--source", "x.csv", "--out", "live", "--sink", "-"]]
)
def test_a_reader_of_stdout_that_has_gone_ends_a_command_as_it_ends_others(
    command: list[str], rondo: Command, here: Path
) -> None:
    write_csv(here / "x.csv", waves(600))
    if command[0] == "stream":
        fast = ("--rate", 50, "--window", 40, "--step", 20, "--set", "evidence.surrogates=0")
        assert rondo("discover", "x.csv", "--out", "model", *fast).code == 0
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "rondo", *command],
        cwd=here,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr and "error" not in done.stderr
