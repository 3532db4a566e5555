"""Names that are no text, formulas in names, closed streams, deep configurations: one line, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from rondo.config.overrides import parse_override
from rondo.run.folder import write_segments
from rondo.run.plain_cells import plain_cell
from tests.cli.running import Command
from tests.systems import needs_posix

ROWS = "x\n" + "".join(f"{i % 7}.5\n" for i in range(40))


@needs_posix
def test_a_name_that_is_not_utf8(rondo: Command, tmp_path: Path) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    name = os.fsdecode(b"bad\xff.csv")
    (folder / name).write_text(ROWS)
    for given in (folder / name, folder):
        found = rondo("discover", given, "--out", tmp_path / "run")
        assert found.code == 2
        assert found.err.splitlines()[-1].startswith("error: ")
        assert "is not UTF-8; rename" in found.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1"])
def test_names_are_no_formulas_in_a_spreadsheet(tmp_path: Path, name: str) -> None:
    write_segments(tmp_path, pl.DataFrame({"recording": ["a"], "name": [name], "score": [-0.5]}))
    stored = pl.read_csv(tmp_path / "segments.csv")
    assert stored["name"][0] == "'" + name == plain_cell(name)
    assert stored["score"][0] == -0.5
    assert pl.read_parquet(tmp_path / "segments.parquet")["name"][0] == name


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
