"""ActiGraph's .agd: a database of SQLite with one row per epoch, read with Python's own library.

The table `data` has `dataTimestamp`, in ticks of 100 ns since the year 1 by the clock of the place, and a column for
each count (`axis1`, `axis2`, `axis3`, `steps`, `lux`, `inclineOff`, …), as the ActiLife 6 User's Manual describes it
and actigraph.sleepr, PhysicalActivity and pyActigraphy read it. `settings` holds `epochlength` in seconds, which the
time stamps tell too. Nothing but `data` is asked, and only if it is a table: a view could compute anything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.clock_column import spread
from rondo.formats.io_extra import kept_channels, refuse_another_format
from rondo.formats.recording_format import RecordingFormat

_TICKS_PER_SECOND = 10_000_000
_SECONDS_BEFORE_1970 = 62_135_596_800
_CLOCK = "dataTimestamp"
_ROWS_AT_ONCE = 1 << 14


def read_agd(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The counts of every epoch."""
    with path.open("rb") as file:
        head = file.read(16)
    refuse_another_format(head, head.startswith(b"SQLite format 3"), "ActiGraph database (.agd)")
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as database:
        database.execute("PRAGMA trusted_schema = OFF")
        kind = database.execute("SELECT type FROM sqlite_master WHERE name = 'data'").fetchone()
        if kind != ("table",):
            raise RecordingError(
                "it holds no table 'data'; expected the epochs of an ActiGraph, as ActiLife writes them"
            )
        asked = database.execute("SELECT * FROM data")
        names = [about[0] for about in asked.description]
        if _CLOCK not in names:
            raise RecordingError(f"its table 'data' has no column '{_CLOCK}'; expected the epochs of an ActiGraph")
        table = _numbers(asked)
    if not len(table):
        raise RecordingError("its table 'data' is empty")
    clock = names.index(_CLOCK)
    counts = [name for name in names if name != _CLOCK]
    kept, notes = kept_channels(counts, label_columns)
    places = [names.index(counts[place]) for place in kept]
    channels = [names[place] for place in places]
    if rate is not None:
        return Recording(table[:, places], rate, channels, path.stem, notes=notes)
    table = table[np.argsort(table[:, clock], kind="stable")]
    seconds = table[:, clock] / _TICKS_PER_SECOND - _SECONDS_BEFORE_1970
    times, apart = spread(seconds, _CLOCK)
    return Recording(table[:, places], None, channels, path.stem, times, notes + apart)


def _numbers(asked: sqlite3.Cursor) -> NDArray[np.float64]:
    """All rows, NaN where a cell is empty; part by part, as rows of Python take ten times as much memory."""
    parts = [np.empty((0, len(asked.description)))]
    while rows := asked.fetchmany(_ROWS_AT_ONCE):
        parts.append(np.array(rows, dtype=np.float64))
    return np.concatenate(parts)


FORMAT = RecordingFormat(
    name="agd", suffixes=(".agd",), read=read_agd, help="ActiGraph: the counts of every epoch", order=3
)
