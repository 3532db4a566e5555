"""A clock that jumps by 30,000 years, in every command that reads the recording or its run: no traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.running import Command, call, waves, write_csv

N_ROWS = 1_200
COMMANDS = [
    ("label", "run", "far.csv", "--out", "labelled"),
    ("stream", "run", "--source", "far.csv", "--out", "live"),
    ("suggest", "far.csv"),
    ("report", "run"),
    ("export", "run", "--format", "csv", "--out", "exported.csv"),
    ("usage", "run"),
    ("compare", "run", "truth.npy"),
    ("evaluate", "truth.npy", "run/labels/far.npy"),
    ("name", "run", "unit:0", "first"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with such a jump, its run and a truth."""
    folder = tmp_path_factory.mktemp("far")
    times = np.arange(N_ROWS) / 50
    times[N_ROWS // 2 :] += 1e12
    write_csv(folder / "far.csv", waves(N_ROWS), times)
    np.save(folder / "truth.npy", np.arange(N_ROWS) // 150 % 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call("discover", "far.csv", "--out", "run").code == 0
    return folder


def test_a_run_has_a_label_for_every_row(folder: Path) -> None:
    assert np.load(folder / "run" / "labels" / "far.npy").shape == (N_ROWS,)
    segments = pl.read_csv(folder / "run" / "segments.csv")
    assert segments["end_s"].max() > 1e12  # type: ignore[operator]


def test_every_command_takes_it(folder: Path, rondo: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for arguments in COMMANDS:
        outcome = rondo(*arguments)
        assert outcome.code == 0, (arguments, outcome.err)
