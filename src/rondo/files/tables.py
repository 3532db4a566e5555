"""Typed tables: Parquet files, and the data frames of pandas, polars and pyarrow, taken column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException, PolarsError

from rondo.data.precision import NumberTable
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.clock_repair import rising
from rondo.files.column_values import (
    has_no_name,
    kind_of_numbers,
    moves_as_a_signal,
    names_no_signal,
    rises_or_repeats,
)
from rondo.files.columns import Column, Columns, choose_columns, not_numeric, without_empty
from rondo.files.crash_guard import refuse_fatal_parquet
from rondo.files.long_form import Reports, is_quality, no_clock_to_pivot, pivoted
from rondo.files.on_change import held_on_change
from rondo.files.reading import Reading, RecordingFormat
from rondo.files.text.clock import in_seconds, is_clock_name, mentions_time_stamps, spread
from rondo.files.text.formats import plain_value, read_each, refuse_no_column, refuse_too_many
from rondo.files.text.layout import Layout
from rondo.files.text.order import long_form, refuse_taking_turns
from rondo.files.text.spelling import cell_text, date_seconds, day_order, zone_notes
from rondo.memory import ExpectedSize

Series = nw.Series[Any]
Schema = dict[str, nw.dtypes.DType]
_ROWS_LOOKED_AT = 64
_TEXTS = (nw.String, nw.Categorical, nw.Enum)


def read_parquet(path: Path, reading: Reading) -> Recording:
    """The recording in a Parquet file, tried in a child first; one column is held beside the result at a time."""
    table = _scanned(path)
    schema = nw.from_native(pl.DataFrame(schema=table.collect_schema()), eager_only=True).schema
    positions = {name: position for position, name in enumerate(schema)}

    def load(name: str) -> Series:
        # by position: polars takes names such as "*" and "^x.*$" for patterns
        column = table.select(pl.nth(positions[name])).collect().to_series()
        return _typed(nw.from_native(column, series_only=True))

    return _from_columns(dict(schema), load, path.stem, reading)


def _scanned(path: Path) -> pl.LazyFrame:
    refuse_fatal_parquet(path)
    # an absolute path taken literally: no file name may be read as a pattern, a home folder or an address
    return pl.scan_parquet(path.resolve(), glob=False, hive_partitioning=False)


def read_parquet_parts(path: Path, reading: Reading) -> list[Recording]:
    """The recordings in a Parquet file that a column separates; the table is held in memory."""
    return table_parts(_scanned(path).collect(), path.stem, reading)


def _expected_size(path: Path, reading: Reading) -> ExpectedSize:
    try:
        table = pl.scan_parquet(path.resolve(), glob=False, hive_partitioning=False)
        n_columns = len(table.collect_schema())
        return ExpectedSize.of_table(int(table.select(pl.len()).collect().item()), n_columns)
    except (PolarsError, PanicException) as error:
        raise RecordingError(str(error)) from None


def table_parts(frame: Any, id: str, reading: Reading) -> list[Recording]:
    """The recordings in a data frame that a column separates, as `rondo.files.text.formats` says.

    >>> import polars
    >>> frame = polars.DataFrame({"who": ["b", "a", "b"], "x": [1, 2, 3]})
    >>> [(part.id, part.values.ravel().tolist()) for part in table_parts(frame, "day", Reading(rate=1, split_by="who"))]
    [('day_b', [1.0, 3.0]), ('day_a', [2.0])]
    """
    table = _as_table(frame)
    names, split_by = {str(name): name for name in table.columns}, reading.split_by or ""
    refuse_no_column(split_by, list(names))
    column = table.get_column(names[split_by])
    columns = _columns_of(table)
    described = [_described(name, each.dtype, columns.__getitem__) for name, each in columns.items()]
    any_clock = [replace(each, moves=False, rises=True) for each in described]  # a coarse one splits too
    chosen = choose_columns(any_clock, replace(reading, rate=None))
    is_clock = chosen.clock is not None and list(columns)[chosen.clock] == split_by
    values = _restarts(column, split_by) if is_clock else column.to_list()
    rows: dict[str, list[int]] = {}
    for row, value in enumerate(_texts(values)):
        rows.setdefault(value, []).append(row)
    refuse_too_many(len(rows), split_by)

    def read(places: list[int], part_id: str, of_part: Reading) -> Recording:
        return table_recording(table[places].to_native(), part_id, of_part)

    return read_each(rows, id, reading, is_clock=is_clock, read=read)


def frames_of_index(frame: Any) -> dict[str, Any]:
    """The frames of a pandas table that the outer levels of its index tell apart, by their values; "" where it has one.

    A table that is indexed by its times first is stacked: its levels become columns.

    >>> import pandas
    >>> index = pandas.MultiIndex.from_product([["ada", "bob"], [0.0, 0.1]], names=["person", "time"])
    >>> list(frames_of_index(pandas.DataFrame({"x": [1, 2, 3, 4]}, index=index)))
    ['ada', 'bob']
    """
    index: Any = getattr(frame, "index", None)
    n_levels: int = getattr(index, "nlevels", 1)
    if n_levels < 2:
        return {"": frame}
    outer = index.get_level_values(0)
    if is_clock_name(str(index.names[0])) or outer.dtype.kind == "M":
        return {"": frame.reset_index()}
    levels = list(range(n_levels - 1))
    groups = frame.groupby(level=levels if levels[1:] else 0, sort=False)
    return {
        "_".join(map(plain_value, map(str, value if isinstance(value, tuple) else (value,)))): own.droplevel(levels)
        for value, own in groups
    }


def _texts(cells: Sequence[Any]) -> Iterator[str]:
    """Cells as text, each value turned into it once."""
    known: dict[Any, str] = {}
    for cell in cells:
        if cell not in known:
            known[cell] = plain_value(cell_text(None if cell != cell else cell))  # NaN is what pandas has for nothing
        yield known[cell]


def _restarts(clock: Series, name: str) -> list[str]:
    """Which recording each row belongs to: "1" until the clock goes back, then "2", …"""
    times, _ = _clock_seconds(clock, name)
    known = np.flatnonzero(~np.isnan(times))
    goes_back = np.zeros(len(times), np.int64)
    goes_back[known[1:]] = np.diff(times[known]) < 0
    return [str(number) for number in 1 + np.cumsum(goes_back)]


def table_recording(frame: Any, id: str, reading: Reading) -> Recording:
    """The recording in a data frame; a pandas index that holds dates, or is named like a clock, is the clock.

    >>> import polars
    >>> table_recording(polars.DataFrame({"time": [0.0, 0.5], "x": [1, 2]}), "demo", Reading())
    Recording('demo', 2 frames x 1 channel, 2 Hz)
    """
    table = _as_table(frame)
    columns = _columns_of(table)
    index: Any = nw.maybe_get_index(table)
    if hasattr(index, "to_timestamp"):  # of periods
        index = index.to_timestamp()
    if index is not None and not any(is_clock_name(name) for name in columns if not reading.names(name)):
        column = nw.from_native(index.to_series(), series_only=True)
        name = "index" if index.name is None else str(index.name)
        if column.dtype == nw.Duration and not is_clock_name(name):
            name = "time"
        if _holds_dates(column.dtype) or is_clock_name(name):
            columns = {name: column} | columns
    schema = {name: column.dtype for name, column in columns.items()}
    return _from_columns(schema, columns.__getitem__, id, reading)


def _as_table(frame: Any) -> nw.DataFrame[Any]:
    columns = [str(name) for name in (getattr(frame, "columns", ()) if hasattr(frame, "iloc") else ())]
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise RecordingError(f"two columns are named '{twice}'; rename one of them")
    try:
        found = nw.from_native(frame, eager_only=True, allow_series=True)
    except TypeError as error:
        raise RecordingError(f"expected a pandas, polars or pyarrow table, got {type(frame).__name__}") from error
    if not isinstance(found, nw.Series):
        return cast("nw.DataFrame[Any]", found)
    return (found if found.name else found.alias("ch0")).to_frame()


def _columns_of(table: nw.DataFrame[Any]) -> dict[str, Series]:
    """By their names as text, which differ."""
    names = [str(name) for name in table.columns]
    return {name: _typed(table.get_column(native)) for name, native in zip(names, table.columns, strict=True)}


def _from_columns(schema: Schema, load: Callable[[str], Series], id: str, reading: Reading) -> Recording:
    names = list(schema)
    dtypes = {name: load(name).dtype if dtype == nw.Unknown else dtype for name, dtype in schema.items()}
    described = [_described(name, dtype, load) for name, dtype in dtypes.items()]
    columns = choose_columns(described, reading)
    if reading.pivot is not None or any(dtype in _TEXTS for dtype in dtypes.values()):
        heads = ([cell_text(cell) for cell in load(name).head(_ROWS_LOOKED_AT).to_list()] for name in names)
        layout = Layout("\t", tuple(names), tuple(zip(*heads, strict=True)), 0, 1)
        by_clock = replace(reading, rate=None)
        if (pivot := long_form(layout, choose_columns(described, by_clock), reading)) is not None:
            tag, aside = pivot
            columns = choose_columns(described, replace(by_clock, leave_out=(*by_clock.leave_out, *aside)))
            return _pivoted(columns, load, names, tag, id, reading)
        refuse_taking_turns(layout, columns, reading)
    for name in columns.channels:
        if not (dtypes[name].is_numeric() or dtypes[name] == nw.Boolean):
            raise not_numeric(name, dtypes[name])
    notes, times = columns.notes, None
    if columns.clock is not None:
        times, unit = _clock_seconds(load(names[columns.clock]), names[columns.clock])
        times, repaired = rising(times, names[columns.clock])
        times, apart = spread(times, names[columns.clock])
        notes += unit + repaired + apart
    table = NumberTable(0, 0)
    for channel, name in enumerate(columns.channels):
        numbers = _numbers(load(name))
        if channel == 0:
            table = NumberTable(len(numbers), len(columns.channels))
        table.write(slice(None), np.array([channel]), numbers[:, None])
    values, channels, empty = without_empty(table.values, columns.channels)
    return held_on_change(Recording(values, reading.rate, channels, id, times, notes + empty))


def _pivoted(
    columns: Columns, load: Callable[[str], Series], names: Sequence[str], tag: str, id: str, reading: Reading
) -> Recording:
    """The recording in a table of one reading per row."""
    if columns.clock is None:
        raise no_clock_to_pivot(tag)
    times, unit = _clock_seconds(load(names[columns.clock]), names[columns.clock])
    values = np.stack([_numbers(load(name)).astype(np.float64) for name in columns.channels], axis=1)
    quality = next((name for name in names if is_quality(name)), None)
    qualities = None if quality is None else [cell_text(cell) for cell in load(quality).to_list()]
    reports = Reports(
        times, list(_texts(load(tag).to_list())), values, np.zeros(values.shape, np.bool_), columns.channels, qualities,
        notes=[*columns.notes, *unit],
    )  # fmt: skip
    wide = pivoted(reports, tag, reading)
    return Recording(wide.values, reading.rate, wide.channels, id, wide.times, wide.notes)


def _typed(column: Series) -> Series:
    """A column that holds no value has no type; as numbers it is left out, as those of a text table are."""
    is_empty = column.dtype == nw.Unknown and bool(column.is_null().all())
    return column.cast(nw.Float64) if is_empty else column


def _described(name: str, dtype: nw.dtypes.DType, load: Callable[[str], Series]) -> Column:
    """What the type of a column shows; those that may count rows, tell the time or hold labels are loaded."""
    if _holds_dates(dtype):
        return Column(name, "dates", rises=rises_or_repeats(_clock_seconds(load(name), name)[0]))
    if dtype in _TEXTS and not is_clock_name(name):
        return Column(name, "text", rises=None)
    kind, moves, rises = None, False, None
    if dtype.is_integer():
        first = np.asarray(_numbers(load(name).head(_ROWS_LOOKED_AT)), dtype=np.float64)
        kind = kind_of_numbers(first, is_unnamed=has_no_name(name))
    if dtype.is_numeric() and names_no_signal(name):
        moves = moves_as_a_signal(name, _numbers(load(name)).astype(np.float64))
    if dtype.is_numeric() and (is_clock_name(name) or mentions_time_stamps(name)):
        rises = rises_or_repeats(np.asarray(_numbers(load(name)), np.float64))
    return Column(name, kind, moves, rises)


def _holds_dates(dtype: nw.dtypes.DType) -> bool:
    return dtype == nw.Datetime or dtype == nw.Date


def _clock_seconds(column: Series, name: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
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


def _numbers(column: Series) -> NDArray[Any]:
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
    read_parts=read_parquet_parts,
    expected_size=_expected_size,
    help="one column per channel; a `time` column is the clock",
    order=1,
)
