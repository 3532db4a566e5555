"""Data frames and Parquet files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rondo.files.reading import Reading
from tests.formats.reading import from_frame, read_one, refusal

COLUMNS: dict[str, list[Any]] = {
    "time": [0.0, 0.5, 1.0],
    "x": [1.5, None, 3.0],
    "n": [1, 2, 3],
    "on": [True, False, True],
}
TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_library(kind: str) -> None:
    recording = from_frame(TABLES[kind](COLUMNS), id="t")
    npt.assert_array_equal(recording.values, np.array([[1.5, 1, 1], [np.nan, 2, 0], [3, 3, 1]], dtype=np.float32))
    assert (recording.channels, recording.rate, recording.id) == (("x", "n", "on"), 2.0, "t")
    rated = from_frame(TABLES[kind](COLUMNS), Reading(rate=5, leave_out=["n"]))
    assert (rated.channels, rated.timestamps_s) == (("x", "on"), None)
    assert ["column 'time' left out" in note for note in rated.notes] == [True]


@pytest.mark.parametrize("kind", TABLES)
def test_clocks_in_tables(kind: str) -> None:
    moments = pd.date_range("2024-05-01 12:00", periods=4, freq="250ms").to_pydatetime().tolist()
    first = 1714564800.0
    for name, cells in {
        "time": moments,
        "when": moments,
        "timestamp": [moment.isoformat() for moment in moments],
        "t": [int(first * 1e9) + 250_000_000 * i for i in range(4)],
    }.items():
        recording = from_frame(TABLES[kind]({"x": [1.0, 2.0, 3.0, 4.0], name: cells}))
        npt.assert_allclose(recording.timestamps_s, first + np.arange(4) / 4, rtol=1e-15)
        npt.assert_allclose(recording.rate, 4.0, rtol=1e-5)
        assert len(recording.notes) == (name in ("when", "t"))


def test_the_index_of_a_pandas_frame_may_be_the_clock() -> None:
    moments = pd.date_range("2024-05-01", periods=3, freq="20ms", tz="Europe/Berlin")
    recording = from_frame(pd.DataFrame({"x": [1, 2, 3]}, index=moments))
    npt.assert_allclose(recording.rate, 50, rtol=1e-4)
    assert ["column 'index'" in note for note in recording.notes] == [True]
    named = pd.DataFrame({"x": [1, 2, 3]}, index=pd.Index([0.0, 0.1, 0.2], name="time"))
    npt.assert_allclose(from_frame(named).rate, 10)
    elapsed = pd.DataFrame({"x": [1, 2, 3], "time": pd.to_timedelta([0, 5, 10], unit="s")})
    npt.assert_allclose(from_frame(elapsed).rate, 0.2)
    assert from_frame(pd.DataFrame({0: [1, 2], 1: [3, 4]}, index=[5, 6])).channels == ("0", "1")


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame({"place": ["walk"]}), "no column holds numbers among the columns place"),
        (pl.DataFrame({"x": [[1.0]]}), "column 'x' holds List"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "'x'"),
        (
            pl.DataFrame({"time": ["noon", "two"], "x": [1, 2]}),
            "frame 0, clock 'time': 'noon' is not a date like",
        ),
        (pl.DataFrame({"time": [True], "x": [1]}), "the clock 'time' holds Boolean"),
        (pl.DataFrame({"time": [1, None], "x": [1, 2]}), "the timestamp of frame 1 is missing"),
        (pl.DataFrame({"x": []}, schema={"x": pl.Float64}), "it is empty"),
        (pl.DataFrame(), "no channel is left"),
        (pl.DataFrame({"x": [1.0, float("inf")]}), "frame 1, channel 'x'"),
        (pl.LazyFrame({"x": [1.0]}), "expected a pandas, polars or pyarrow table, got LazyFrame"),
        ([[1.0]], "got list"),
    ],
)
def test_tables_that_are_no_recording(frame: Any, says: str) -> None:
    assert says in refusal(lambda: from_frame(frame, id="t"), naming="recording 't': ")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "run[1]=*.parquet"  # a name that must not be taken for a pattern
    pl.DataFrame(COLUMNS | {"place": ["a", "b", "c"]}).write_parquet(path)
    recording = read_one(path, leave_out=["place"])
    npt.assert_array_equal(recording.values, np.array([[1.5, 1, 1], [np.nan, 2, 0], [3, 3, 1]], dtype=np.float32))
    assert (recording.rate, recording.id, recording.channels) == (2.0, "run[1]=*", ("x", "n", "on"))
    assert ["column 'place' left out" in note for note in read_one(path).notes] == [True]
    odd = tmp_path / "odd.parquet"
    pl.DataFrame({"^a.*$": [1.0], "*": [2.0]}).write_parquet(odd)  # nor must these column names
    npt.assert_array_equal(read_one(odd).values, [[1, 2]])
