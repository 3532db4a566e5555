"""Which columns of a table are channels, which one is the clock, and what unit the clock counts in.

Every file format and every data frame asks the same questions, so they are answered once, here. The answers
that a user might not expect are returned as notes, which end up in `Recording.notes`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError

CLOCK_NAMES = frozenset({"time", "timestamp", "timestamps", "t", "time_s"})
LABEL_NAMES = frozenset({"activity", "annotation", "class", "ground_truth", "label", "labels", "target"})
"""Columns that are left out without being asked: ground truth must not reach a learner by accident."""

# Epoch counts are told apart by size: 1e11 s lies in the year 5138, 1e11 ms in 1973, and so on upwards.
_EPOCH_UNITS = ((1e17, 1e9, "nanoseconds"), (1e14, 1e6, "microseconds"), (1e11, 1e3, "milliseconds"))


@dataclass(frozen=True)
class Columns:
    """The columns to read: `positions` of the `channels` in the table, the position of the `clock`, notes."""

    channels: tuple[str, ...]
    positions: tuple[int, ...]
    clock: int | None = None
    notes: tuple[str, ...] = ()


def is_clock_name(name: str) -> bool:
    return name.strip().casefold() in CLOCK_NAMES


def choose_columns(
    names: Sequence[str],
    *,
    rate: float | None,
    label_columns: Sequence[str] = (),
    datetimes: Collection[str] = (),
) -> Columns:
    """Split the columns of a table into channels, clock, and those left out.

    `datetimes` names the columns that hold dates by type: without a column of a clock's name, a single one of
    them is the clock. A given rate wins over any clock.

    >>> choose_columns(["time", "x", "y", "activity"], rate=None, label_columns=["activity"])
    Columns(channels=('x', 'y'), positions=(1, 2), clock=0, notes=())
    """
    left_out = {label_columns} if isinstance(label_columns, str) else set(label_columns)
    unknown = sorted(left_out - set(names))
    if unknown:
        raise RecordingError(f"there is no column '{unknown[0]}' to leave out; the columns are: {listed(names)}")
    truths = [name for name in names if name.strip().casefold() in LABEL_NAMES and name not in left_out]
    kept = [position for position, name in enumerate(names) if name not in left_out and name not in truths]
    _refuse_bad_names([(position, names[position]) for position in kept])
    clocks = [position for position in kept if is_clock_name(names[position])]
    notes = [f"column '{name}' left out: by its name it holds labels; rename it if it is a channel" for name in truths]
    if not clocks:
        clocks = [position for position in kept if names[position] in datetimes]
        notes += [f"column '{names[clock]}' is the clock, because it holds dates" for clock in clocks]
    if rate is not None:
        notes = notes[: len(truths)] + [
            f"column '{names[clock]}' left out: the given rate of {rate:g} Hz is the clock" for clock in clocks
        ]
    elif len(clocks) > 1:
        raise RecordingError(
            f"columns '{names[clocks[0]]}' and '{names[clocks[1]]}' could both be the clock; "
            "leave one out with label_columns (--label-column), or give the rate"
        )
    positions = tuple(position for position in kept if position not in clocks)
    if not positions:
        raise RecordingError(f"no channel is left among the columns {listed(names)}; expected at least one")
    clock = clocks[0] if clocks and rate is None else None
    return Columns(tuple(names[position] for position in positions), positions, clock, tuple(notes))


def _refuse_bad_names(columns: Sequence[tuple[int, str]]) -> None:
    seen: dict[str, int] = {}
    for position, name in columns:
        if not name:
            raise RecordingError(
                f"column {position + 1} has no name (an index, or a separator too many?); "
                "name it, or leave it out with label_columns=[''] (--label-column '')"
            )
        if name in seen:
            raise RecordingError(
                f"columns {seen[name] + 1} and {position + 1} are both named '{name}'; rename one of them"
            )
        seen[name] = position


def listed(names: Sequence[str], most: int = 20) -> str:
    """A list of names that stays on one line however many there are."""
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more if names else "(none)"


def not_numeric(column: str, dtype: object) -> RecordingError:
    return RecordingError(
        f"column '{column}' holds {dtype}, not numbers; leave it out with label_columns=['{column}'] "
        f"(--label-column {column}), or convert it"
    )


def iso_seconds(cell: str) -> float:
    """Seconds since 1970 of an ISO date, in UTC where it names no zone; NaN where it is no date.

    >>> iso_seconds("1970-01-01 00:01:00.5"), iso_seconds("1970-01-01T01:00+01:00"), iso_seconds("noon")
    (60.5, 0.0, nan)
    """
    try:
        moment = datetime.fromisoformat(cell.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return float("nan")


def in_seconds(times: NDArray[np.float64], clock: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Clock readings in seconds: milli-, micro- and nanoseconds since 1970 are told by their size, and noted.

    >>> in_seconds(np.array([1.7e12, 1.7e12 + 500]), "time")
    (array([1.7e+09, 1.7e+09]), ("clock 'time' read as milliseconds since 1970, from its size",))
    """
    finite = times[np.isfinite(times)]
    size = abs(float(finite[0])) if finite.size else 0.0
    for least, per_second, unit in _EPOCH_UNITS:
        if size >= least:
            return times / per_second, (f"clock '{clock}' read as {unit} since 1970, from its size",)
    return times, ()
