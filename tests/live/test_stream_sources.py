"""What `rondo stream --source` takes: files of every kind, and a source that another package adds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.running import Command, tree, waves, write_csv
from tests.formats.reading import save_h5
from tests.live.rondo_process import rondo_command
from tests.live.test_source import TICKS, installed


def written(out: Path) -> dict[str, bytes | None]:
    kept = (".csv", "events.jsonl", ".npy")  # alarms have the time of the wall clock
    return {name: content for name, content in tree(out).items() if name.endswith(kept)}


@pytest.mark.parametrize("suffix", [".npz", ".h5", ".parquet", ".jsonl", ".txt"])
def test_a_recording_of_any_format_gives_the_labels_of_its_csv(
    rondo: Command, here: Path, model: Path, suffix: str
) -> None:
    values, times = waves(600, seed=5), np.arange(600) / 50
    table = write_csv(here / "walk.csv", values, times)
    path = here / f"walk{suffix}"
    if suffix == ".npz":
        np.savez(path, X=values, time=times, channels=np.array(["a", "b"]))
    elif suffix == ".h5":
        save_h5(path, X=values, time=times, channels=np.array(["a", "b"], "S"))
    elif suffix == ".txt":
        path.write_bytes(table.read_text().encode("utf-16"))
    else:
        frame = pl.read_csv(table)
        frame.write_parquet(path) if suffix == ".parquet" else frame.write_ndjson(path)
    assert rondo("stream", model, "--source", table, "--out", "csv").code == 0
    done = rondo("stream", model, "--source", path, "--out", "other")
    assert done.code == 0, done.err
    assert "labels:  other/labels/walk.npy (600 rows," in done.out
    assert written(here / "other") == written(here / "csv")


@pytest.mark.usefixtures("fake")
@pytest.mark.filterwarnings("default::rondo.errors.RondoWarning")
@pytest.mark.parametrize(
    ("text", "note"), [("", "it is empty: no rows"), ("a,b\n", "a header (2 columns) but no rows")]
)
def test_a_file_without_rows_says_so(rondo: Command, here: Path, model: Path, text: str, note: str) -> None:
    (here / "x.csv").write_text(text)
    done = rondo("stream", model, "--source", "x.csv", "--out", "out")
    assert (done.code, done.out) == (0, "")
    assert "nothing came from x.csv" in done.err
    assert [line for line in done.err.splitlines() if line.startswith("note: x.csv: ")] == [
        f"note: x.csv: {note}" if text == "" else f"note: x.csv: it has {note}"
    ]


@pytest.mark.slow
def test_a_source_of_another_package_from_end_to_end_killed_and_resumed(here: Path, model: Path) -> None:
    (here / "packages").mkdir()
    packages = installed(here / "packages", "ticks", TICKS)
    path = os.pathsep.join([str(packages), *filter(None, sys.path)])

    def stream(out: str, die_at: int) -> subprocess.CompletedProcess[str]:
        command = rondo_command(3, "stream", model, "--source", "ticks://6000", "--out", out)
        variables = os.environ | {"PYTHONPATH": path, "DIE_AT": str(die_at)}
        return subprocess.run(command, cwd=here, env=variables, capture_output=True, text=True, check=False)

    assert stream("whole", 9999).returncode == 0
    assert stream("out", 4000).returncode == -signal.SIGKILL
    done = stream("out", 9999)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "resuming after 3,000 rows"
    assert written(here / "out") == written(here / "whole")
    assert np.load(here / "out" / "units" / "ticks6000.npy").shape == (6000,)
