"""One file, one result: `rondo label` and a frozen `rondo stream` give the same labels, whatever is missing in it."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rondo.live import session
from rondo.live.session import Session, SessionPaths
from rondo.model.rondo import Rondo
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


@pytest.mark.slow
def test_a_column_is_kept_in_both(rondo: Command, here: Path, run: Path, day: Path) -> None:
    keep = ("--keep-column", "other")
    assert rondo("label", run, day, *keep, "--out", "labelled").code == 0
    said = streamed(rondo, run, day, "live", *keep).err
    assert "'gas'" in said
    assert "in 'other'" not in said
    np.testing.assert_array_equal(tracks(here / "live")[0], tracks(here / "labelled")[0])
    done = rondo("stream", run, "--source", day, "--frozen", "--out", "live2", "--keep-column", "gaz")
    assert (done.code, done.out) == (2, "")
    assert "--keep-column 'gaz': the model" in done.err
    assert not (here / "live2" / "labels.csv").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*1 channel left out that the model does not know")
def test_a_stopped_stream_goes_on_with_the_same_bytes(
    rondo: Command, here: Path, run: Path, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streamed(rondo, run, day, "whole")
    monkeypatch.setattr(session, "CHUNK_ROWS", 90)
    place = SessionPaths(str(day), here / "cut")
    with closing(Session(Rondo.load(run / "model"), run / "model", place, frozen=True)) as stopped:
        for _ in range(8):
            stopped.step()
        stopped.save()
        for _ in range(3):  # of which no checkpoint knows
            stopped.step()
    other = rondo("stream", run, "--source", day, "--frozen", "--out", "cut", "--keep-column", "gas")
    assert (other.code, "checkpoint of another" in other.err) == (2, True)
    assert "after 720 rows" in streamed(rondo, run, day, "cut").err
    for name in ("labels.csv", "events.jsonl", "summary.json", "segments.csv"):
        whole, cut = ((here / out / name).read_bytes() for out in ("whole", "cut"))
        assert whole == cut, name


def test_a_model_of_an_earlier_version_reads_as_it_did(rondo: Command, here: Path, run: Path, day: Path) -> None:
    model = Rondo.load(run / "model")
    model.preprocessor_ = replace(model.preprocessor_, known=None)
    model.save(here / "older")
    assert Rondo.load(here / "older").preprocessor_.known is None
    done = rondo("label", "older", day, "--out", "labelled")
    assert "-200 in 'gas' read" in done.err  # by the whole file
    said = streamed(rondo, here / "older", day, "live").err
    assert "in 'nose.x'" in said  # their names alone say what likelihoods are
    assert "'gas'" not in said
