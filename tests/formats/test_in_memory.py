"""Arrays, lists, Series and tables of pandas and polars: what holds the values, and what tells the time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.errors import RecordingError, RondoWarning
from tests.cli.running import waves

VALUES = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
ROWS = VALUES.tolist()
TABLE = pd.DataFrame(VALUES, columns=["a", "b"])
BY_DATE = pd.date_range("2024-01-01", periods=300, freq="20ms")

GIVEN: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "list of lists": (lambda: ROWS, ("ch0", "ch1")),
    "tuple of tuples": (lambda: tuple(map(tuple, ROWS)), ("ch0", "ch1")),
    "list of numbers": (lambda: VALUES[:, 0].tolist(), ("ch0",)),
    "Series of pandas": (lambda: TABLE["a"], ("a",)),
    "Series without a name": (lambda: pd.Series(VALUES[:, 0]), ("ch0",)),
    "Series of polars": (lambda: pl.Series("a", VALUES[:, 0]), ("a",)),
    "table": (lambda: TABLE, ("a", "b")),
    "list of mappings": (lambda: TABLE.to_dict("records"), ("a", "b")),
    "generator of mappings": (lambda: iter(TABLE.to_dict("records")), ("a", "b")),
    "generator of rows": (lambda: iter(ROWS), ("ch0", "ch1")),
}


@pytest.mark.parametrize("what", GIVEN)
def test_values_however_they_are_held(what: str) -> None:
    make, channels = GIVEN[what]
    recording = rondo.read(make(), rate=50)
    npt.assert_array_equal(recording.values, VALUES[:, : len(channels)])
    assert recording.channels == channels


def test_none_in_a_list_is_missing() -> None:
    npt.assert_array_equal(rondo.read([[1, None], [3, 4.5]], rate=50).values, [[1, np.nan], [3, 4.5]])


def test_a_list_of_arrays_is_several_recordings() -> None:
    assert [one.n_frames for one in rondo.read([VALUES, VALUES[:100]], rate=50)] == [300, 100]


SEVERAL: dict[str, Callable[[], object]] = {
    "mapping of tables": lambda: {"day1": TABLE, "day2": TABLE[:100]},
    "mapping of arrays": lambda: {"day1": VALUES, "day2": VALUES[:100]},
    "mapping of recordings": lambda: {"day1": Recording(VALUES, 50), "day2": Recording(VALUES[:100], 50, id="other")},
    "mapping of polars": lambda: {"day1": pl.DataFrame(VALUES), "day2": pl.DataFrame(VALUES[:100])},
}


@pytest.mark.parametrize("what", SEVERAL)
def test_a_mapping_gives_recordings_by_their_ids(what: str) -> None:
    found = rondo.read(SEVERAL[what](), rate=50)
    assert [(one.id, one.n_frames) for one in found] == [("day1", 300), ("day2", 100)]
    npt.assert_array_equal(found[1].values, VALUES[:100])


def test_a_generator_of_tables_is_several_recordings() -> None:
    result = rondo.discover((table for table in (TABLE, TABLE[:200])), rate=50, settings={"evidence.surrogates": 0})
    assert [one.n_frames for one in result.recordings] == [300, 200]


@pytest.mark.parametrize("given", [{}, {"a": VALUES[:, 0], "b": VALUES[:, 1]}, {"a": TABLE["a"]}, {"a": 1.0}])
def test_a_mapping_that_may_mean_columns_is_refused(given: object) -> None:
    with pytest.raises(RecordingError, match=r"by their ids.*DataFrame"):
        rondo.read(given, rate=50)


@pytest.mark.parametrize("rows", [[{"a": 1}, {"a": "x"}, {"b": object()}], [{"a": [1]}, {"a": 2}]])
def test_mappings_that_are_no_table_are_refused(rows: object) -> None:
    with pytest.raises(RecordingError):
        rondo.read(rows, rate=50)


INDICES = {
    "dates": BY_DATE,
    "named dates": BY_DATE.rename("when"),
    "periods": pd.period_range("2024-01-01", periods=300, freq="20ms"),
    "durations": pd.to_timedelta(np.arange(300) * 20, unit="ms"),
    "named durations": pd.Index(pd.to_timedelta(np.arange(300) * 20, unit="ms"), name="elapsed"),
    "named seconds": pd.Index(np.arange(300) * 0.02, name="time"),
}


@pytest.mark.parametrize("what", INDICES)
def test_the_index_of_pandas_is_the_clock(what: str) -> None:
    for table in (TABLE.set_index(INDICES[what]), pd.Series(VALUES[:, 0], INDICES[what], name="a")):
        recording = rondo.read(table)
        assert recording.rate == pytest.approx(50)
        assert "a" in recording.channels and len(recording.channels) == np.ndim(table)


@pytest.mark.parametrize("index", [pd.RangeIndex(300), pd.Index(np.arange(300) * 0.5)])
def test_other_indices_tell_no_time(index: pd.Index) -> None:
    assert rondo.read(TABLE.set_index(index)).rate is None


def test_names_that_stand_twice_are_refused_in_one_line() -> None:
    with pytest.raises(RecordingError, match=r"two columns .* 'a'"):
        rondo.read(pd.DataFrame(VALUES, columns=["a", "a"]), rate=50)


@pytest.mark.filterwarnings("error")
def test_an_array_without_a_rate_is_told() -> None:
    with pytest.warns(RondoWarning, match="no rate was given"):
        rondo.discover(waves(900), "clock", settings={"n_states": 3})
    rondo.discover(waves(900), "clock", rate=50, settings={"n_states": 3})
