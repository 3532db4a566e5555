"""Typed tables: Parquet files, and the data frames of pandas, polars and pyarrow, taken column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.clock_column import in_seconds, is_clock_name, mentions_time_stamps, spread
from rondo.formats.columns import (
    Kind,
    choose_columns,
    has_no_name,
    kind_of_numbers,
    moves_as_a_signal,
    names_no_signal,
    not_numeric,
    rises_or_repeats,
    without_empty,
)
from rondo.formats.crash_guard import refuse_fatal_parquet
from rondo.formats.dates import date_seconds, day_order, zone_notes
from rondo.formats.recording_format import RecordingFormat

Column = nw.Series[Any]
_ROWS_LOOKED_AT = 64
_TEXTS = (nw.String, nw.Categorical, nw.Enum)


def read_parquet(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The recording in a Parquet file, tried in a child first; one column is held beside the result at a time."""
    refuse_fatal_parquet(path)
    # an absolute path taken literally: no file name may be read as a pattern, a home folder or an address
    table = pl.scan_parquet(path.resolve(), glob=False, hive_partitioning=False)
    schema = nw.from_native(pl.DataFrame(schema=table.collect_schema()), eager_only=True).schema

    positions = {name: position for position, name in enumerate(schema)}

    def load(name: str) -> Column:
        # by position: polars takes names such as "*" and "^x.*$" for patterns
        return nw.from_native(table.select(pl.nth(positions[name])).collect().to_series(), series_only=True)

    return _from_columns(dict(schema), load, rate=rate, id=path.stem, label_columns=label_columns)


def table_recording(frame: Any, *, rate: float | None, id: str, label_columns: Sequence[str] = ()) -> Recording:
    """The recording in a data frame; a pandas index that holds dates, or is named like a clock, is the clock.

    >>> import polars
    >>> table_recording(polars.DataFrame({"time": [0.0, 0.5], "x": [1, 2]}), rate=None, id="demo")
    Recording('demo', 2 frames x 1 channel, 2 Hz)
    """
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise RecordingError(f"expected a pandas, polars or pyarrow table, got {type(frame).__name__}") from error
    names = [str(name) for name in table.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RecordingError(f"two columns are named '{twice}'; rename one of them")
    columns: dict[str, Column] = {
        name: table.get_column(native) for name, native in zip(names, table.columns, strict=True)
    }
    index = nw.maybe_get_index(table)
    if index is not None and not any(is_clock_name(name) for name in names if name not in label_columns):
        columns = _index_clock(index) | columns
    schema = {name: column.dtype for name, column in columns.items()}
    return _from_columns(schema, columns.__getitem__, rate=rate, id=id, label_columns=label_columns)


def _index_clock(index: Any) -> dict[str, Column]:
    """The index of a pandas frame as a column, if it holds dates or has a clock's name."""
    column = nw.from_native(index.to_series(), series_only=True)
    name = "index" if index.name is None else str(index.name)
    return {name: column} if _holds_dates(column.dtype) or is_clock_name(name) else {}


def _from_columns(
    schema: dict[str, nw.dtypes.DType],
    load: Callable[[str], Column],
    *,
    rate: float | None,
    id: str,
    label_columns: Sequence[str],
) -> Recording:
    schema, load = _with_empty_as_numbers(schema, load)
    names = list(schema)
    rises = _rises(schema, load)
    chosen: dict[str, Any] = {"rate": rate, "label_columns": label_columns, "signals": _signals(schema, load)}
    columns = choose_columns(names, kinds=_kinds(schema, load), rises=rises, **chosen)
    for name in columns.channels:
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
            raise not_numeric(name, schema[name])
    notes, times = columns.notes, None
    if columns.clock is not None:
        times, unit = _clock_seconds(load(names[columns.clock]), names[columns.clock])
        times, apart = spread(times, names[columns.clock])
        notes += unit + apart
    values = np.empty((0, 0), dtype=np.float32)
    for channel, name in enumerate(columns.channels):
        numbers = _numbers(load(name))
        if channel == 0:
            values = np.empty((len(numbers), len(columns.channels)), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float32 Recording refuses by name
            values[:, channel] = numbers
    values, channels, empty = without_empty(values, columns.channels)
    return Recording(values, rate, channels, id, times, notes + empty)


def _with_empty_as_numbers(
    schema: dict[str, nw.dtypes.DType], load: Callable[[str], Column]
) -> tuple[dict[str, nw.dtypes.DType], Callable[[str], Column]]:
    """Columns that hold no value have no type; as numbers they are left out, as those of a text table are."""
    empty = {name for name, dtype in schema.items() if dtype == nw.Unknown and bool(load(name).is_null().all())}
    if not empty:
        return schema, load
    typed = {name: nw.Float64() if name in empty else dtype for name, dtype in schema.items()}
    return typed, lambda name: load(name).cast(nw.Float64) if name in empty else load(name)


def _kinds(schema: dict[str, nw.dtypes.DType], load: Callable[[str], Column]) -> dict[int, Kind]:
    """What the types of the columns say; whole numbers are looked at, as they may count rows or time."""
    kinds: dict[int, Kind] = {}
    for position, (name, dtype) in enumerate(schema.items()):
        if _holds_dates(dtype):
            kinds[position] = "dates"
        elif dtype in _TEXTS and not is_clock_name(name):
            kinds[position] = "text"
        elif dtype.is_integer():
            numbers = np.asarray(_numbers(load(name).head(_ROWS_LOOKED_AT)), dtype=np.float64)
            kind = kind_of_numbers(numbers, is_unnamed=has_no_name(name))
            kinds |= {} if kind is None else {position: kind}
    return kinds


def _signals(schema: dict[str, nw.dtypes.DType], load: Callable[[str], Column]) -> frozenset[int]:
    """Columns with the name of labels or ids that move as a signal does."""
    suspects = [
        place for place, (name, dtype) in enumerate(schema.items()) if dtype.is_numeric() and names_no_signal(name)
    ]
    names = list(schema)
    moving = (
        place for place in suspects if moves_as_a_signal(names[place], _numbers(load(names[place])).astype(np.float64))
    )
    return frozenset(moving)


def _rises(schema: dict[str, nw.dtypes.DType], load: Callable[[str], Column]) -> dict[int, bool]:
    """Of each column that may be the clock, whether its readings rise in each row, or repeat."""
    found = {}
    for position, (name, dtype) in enumerate(schema.items()):
        if _holds_dates(dtype) or (dtype.is_numeric() and (is_clock_name(name) or mentions_time_stamps(name))):
            column = load(name)
            readings = _clock_seconds(column, name)[0] if _holds_dates(dtype) else _numbers(column)
            if (rises := rises_or_repeats(np.asarray(readings, np.float64))) is not None:
                found[position] = rises
    return found


def _holds_dates(dtype: nw.dtypes.DType) -> bool:
    return dtype == nw.Datetime or dtype == nw.Date


def _clock_seconds(column: Column, name: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The clock in seconds, NaN where it is silent (Recording says in which frame)."""
    if _holds_dates(column.dtype):
        microseconds = column.cast(nw.Datetime("us")) if column.dtype == nw.Date else column
        return _numbers(microseconds.dt.timestamp("us")) / 1e6, ()
    if column.dtype == nw.Duration:
        return _numbers(column.dt.total_microseconds()) / 1e6, ()
    if column.dtype == nw.String:
        return _dates_in_text(column.to_list(), name)
    if not column.dtype.is_numeric():
        raise RecordingError(f"the clock '{name}' holds {column.dtype}; expected seconds or dates")
    return in_seconds(_numbers(column).astype(np.float64), name)


def _numbers(column: Column) -> NDArray[Any]:
    """The column as a numpy array of numbers, NaN where it is null.

    Only what numpy has no number type for (decimals, some nullable columns) is cast: pyarrow refuses to cast
    integers that float64 cannot hold exactly, which a channel may well have.
    """
    numbers: NDArray[Any] = column.to_numpy()
    return numbers if numbers.dtype.kind in "fiub" else column.cast(nw.Float64).to_numpy()


def _dates_in_text(cells: list[str | None], name: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    given = [cell for cell in cells if cell]
    order = day_order(given)
    seconds = np.array([date_seconds(cell or "", day_first=order.day_first) for cell in cells])
    wrong = next((frame for frame in np.flatnonzero(np.isnan(seconds)) if cells[frame]), None)
    if wrong is not None:
        raise RecordingError(
            f"frame {wrong}, clock '{name}': {cells[wrong]!r:.60} is not a date like 2024-05-01 12:00:00.25; correct it"
        )
    return seconds, order.notes + zone_notes(given[:1], name)


FORMAT = RecordingFormat(
    name="parquet",
    suffixes=(".parquet",),
    read=read_parquet,
    help="one column per channel; a `time` column is the clock",
    order=1,
)
