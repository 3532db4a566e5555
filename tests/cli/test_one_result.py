"""One file, one result: `rondo label` and a frozen `rondo stream` give the same labels, whatever is missing in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.running import Command, Outcome, call, waves

N_ROWS, RATE = 1_500, 50
FAST = ("--window", "40", "--step", "20", "--set", "preprocess.statistics=dataset", "--set", "evidence.surrogates=0")


def table(n_rows: int, seed: int) -> pl.DataFrame:
    """A pose and two gases: -200 in `gas` now and then, the nose doubtful for 15 rows, and columns of labels."""
    values, rng = waves(n_rows, 4, seed), np.random.default_rng(seed)
    values[rng.random(n_rows) < 0.01, 2] = -200
    sure = np.where(np.arange(n_rows) // 15 % 40 == 3, 0.1, 0.95)
    values[sure < 0.5, :2] += 300  # where the tracker took something else for the nose
    columns = {
        "time": np.arange(n_rows) / RATE,
        "nose.x": values[:, 0],
        "nose.y": values[:, 1],
        "nose.likelihood": sure,
    }
    columns |= {"gas": values[:, 2], "other": values[:, 3], "anomaly": np.arange(n_rows) // 150 % 2}
    return pl.DataFrame({name: np.round(np.asarray(column, np.float64), 4) for name, column in columns.items()})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    table(3_000, 0).write_csv(folder / "fitted.csv")
    done = call("discover", folder / "fitted.csv", *FAST, "--out", folder / "run")
    assert done.code == 0, done.err
    assert "of -200 in 'gas'" in done.err
    return folder / "run"


@pytest.fixture
def day(here: Path) -> Path:
    """Another day: codes that the model has seen, -999 and 9999, which it has not, one of them in the first row."""
    rows = table(N_ROWS, 5)
    other = rows["other"].to_numpy().copy()
    other[0], other[700:703], other[1_100] = -999, 9999, -200
    rows = rows.with_columns(other=other)
    rows.write_csv(here / "day.csv")
    rows.write_parquet(here / "day.parquet")
    (here / "day.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows.iter_rows(named=True)))
    return here / "day.csv"


def tracks(out: Path) -> tuple[np.ndarray, np.ndarray]:
    units, motifs = (np.load(out / name / "day.npy") for name in ("units", "labels"))
    return units, motifs


def streamed(rondo: Command, run: Path, source: Path, out: str, *more: str) -> Outcome:
    done = rondo("stream", run, "--source", source, "--frozen", "--out", out, *more)
    assert done.code == 0, done.err
    return done


@pytest.mark.promise
def test_label_and_stream_agree_on_text_parquet_and_json(rondo: Command, here: Path, run: Path, day: Path) -> None:
    done = rondo("label", run, day, "--out", "labelled")
    assert done.code == 0, done.err
    expected = tracks(here / "labelled")
    assert len(set(expected[0].tolist())) > 1
    for suffix in (".csv", ".parquet", ".jsonl"):
        said = streamed(rondo, run, day.with_suffix(suffix), f"live{suffix}").err
        units, motifs = tracks(here / f"live{suffix}")
        np.testing.assert_array_equal(units, expected[0])
        np.testing.assert_array_equal(motifs, expected[1])
        assert "5 in 'other'" in said
        assert "45 in 'nose.x'" in said
        assert "1,500 rows read: 1,500 labelled" in said
        summary = json.loads((here / f"live{suffix}" / "summary.json").read_text())
        n_gas = int((pl.read_csv(day)["gas"] == -200).sum())
        assert summary["stream"]["missing_cells"] == {"nose.x": 45, "nose.y": 45, "gas": n_gas, "other": 5}
