"""Clocks that run wrong, and rows that are not where their clock puts them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from rondo.data.recording import Recording
from tests.damage.case import NAMES, RATE, Clean, Given, Rows, Values, case

LATE = 5_000  # the row at which a clock changes
CLOCK = r"clock|time|\bHz|\bgap|\brows?\b.*(earlier|repeat|back)"


def _seconds(clean: Clean) -> Values:
    return np.arange(clean.n) / RATE


def _at(clean: Clean, path: Path, times: object, rows: Rows | None = None, name: str = "time") -> Given:
    """A csv in which these are the readings of the clock."""
    values = clean.values if rows is None else clean.values[rows]
    table = pd.DataFrame({name: times} | dict(zip(NAMES, values.T, strict=True)))
    return Given(clean.csv(path, table), rows, rate=None)


def _dates(clean: Clean, began: str, zone: str | None = None) -> pd.DatetimeIndex:
    return pd.date_range(began, periods=clean.n, freq="20ms", tz=zone)


@case("discover", "label", names=r"\bms\b|millisecond|rate|Hz")
def a_clock_in_milliseconds(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", (1_000 * _seconds(clean)).astype(int))


@case("discover", "label")
def a_clock_named_milliseconds(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", (1_000 * _seconds(clean)).astype(int), name="time_ms")


@case("discover", "label", names=r"minute|rate|Hz")
def a_clock_in_minutes(clean: Clean, folder: Path) -> Given:
    return Given(clean.csv(folder / "day.csv", clean.frame(time=_seconds(clean) / 60), float_format="%.9f"), rate=None)


@case("discover", "label", names=r"hour|Hz|270000 frames")
def a_clock_in_hours(clean: Clean, folder: Path) -> Given:
    made = clean.frame(time=_seconds(clean) / 3_600)
    return Given(clean.csv(folder / "day.csv", made, float_format="%.9f"), rate=None)


@case("discover", "label")
def a_clock_in_microseconds_since_1970(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", 1_794_774_665_000_000 + 20_000 * np.arange(clean.n))


@case("discover", "label")
def dates_with_the_day_first(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", _dates(clean, "2026-11-15 20:31").strftime("%d/%m/%Y %H:%M:%S.%f"))


@case("discover", "label", names=CLOCK)
def summer_time_begins(clean: Clean, folder: Path) -> Given:
    local = _dates(clean, "2026-03-29 00:59", "UTC").tz_convert("Europe/Berlin").tz_localize(None)
    return _at(clean, folder / "day.csv", local.strftime("%Y-%m-%d %H:%M:%S.%f"))


@case("discover", "label", names=CLOCK)
def summer_time_ends(clean: Clean, folder: Path) -> Given:
    local = _dates(clean, "2026-10-25 00:59", "UTC").tz_convert("Europe/Berlin").tz_localize(None)
    return _at(clean, folder / "day.csv", local.strftime("%Y-%m-%d %H:%M:%S.%f"))


@case("discover", "label")
def dates_with_their_zones(clean: Clean, folder: Path) -> Given:
    local = _dates(clean, "2026-10-25 00:59", "UTC").tz_convert("Europe/Berlin")
    return _at(clean, folder / "day.csv", local.map(lambda date: date.isoformat()))


@case("discover", "label", "stream", names=CLOCK)
def ten_seconds_without_rows(clean: Clean, folder: Path) -> Given:
    rows = np.delete(np.arange(clean.n), slice(LATE, LATE + 500))
    return _at(clean, folder / "day.csv", _seconds(clean)[rows], rows)


@case("discover", "label", "stream", names=CLOCK)
def an_hour_without_rows(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", _seconds(clean) + 3_600 * (np.arange(clean.n) >= LATE))


@case("discover", "label", "stream", names=CLOCK)
def five_percent_of_rows_lost(clean: Clean, folder: Path) -> Given:
    rows = np.flatnonzero(np.random.default_rng(0).random(clean.n) > 0.05)
    return _at(clean, folder / "day.csv", _seconds(clean)[rows], rows)


@case("discover", "label", "stream", names=CLOCK)
def five_percent_of_rows_twice(clean: Clean, folder: Path) -> Given:
    twice = np.random.default_rng(1).random(clean.n) < 0.05
    rows = np.repeat(np.arange(clean.n), 1 + twice)
    return _at(clean, folder / "day.csv", _seconds(clean)[rows], rows)


@case("discover", "label", "stream", names=CLOCK)
def jitter_of_a_third_of_a_step(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", _seconds(clean) + np.random.default_rng(2).uniform(-1, 1, clean.n) / 3 / RATE)


@case("discover", "label", "stream", names=CLOCK)
def a_clock_that_steps_back_a_minute(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", 100 + _seconds(clean) - 60 * (np.arange(clean.n) >= LATE))


@case("discover", "label", names=CLOCK)
def a_clock_that_starts_again(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", _seconds(clean) % 100)


@case("discover", "label", names=CLOCK)
def milliseconds_that_wrap_at_16_bits(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", (1_000 * _seconds(clean)).astype(int) % 65_536, name="time_ms")


@case("discover", "label", "stream", names=CLOCK)
def a_clock_set_from_1970_to_2026(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", _seconds(clean) + 1_794_774_665 * (np.arange(clean.n) >= 200))


@case("discover", "label", "stream", names=CLOCK)
def rows_in_any_order(clean: Clean, folder: Path) -> Given:
    rows = np.random.default_rng(3).permutation(clean.n)
    return _at(clean, folder / "day.csv", _seconds(clean)[rows], rows)


@case("discover", "label")
def the_newest_row_first(clean: Clean, folder: Path) -> Given:
    turned = clean.timed().iloc[::-1]
    return Given(clean.csv(folder / "day.csv", turned), np.arange(clean.n), rate=None)


@case("discover", "label", names=CLOCK)
def a_clock_that_stands_still(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", np.full(clean.n, 12.0))


@case("discover", "label", names=CLOCK)
def a_clock_of_whole_seconds(clean: Clean, folder: Path) -> Given:
    return _at(clean, folder / "day.csv", np.floor(_seconds(clean)).astype(int))


@case("discover", "label", names=r"rate|Hz|clock")
def half_the_rate_from_the_middle(clean: Clean, folder: Path) -> Given:
    rows = np.concatenate([np.arange(LATE), np.arange(LATE, clean.n, 2)])
    return _at(clean, folder / "day.csv", _seconds(clean)[rows], rows)


@case("discover", "label", "stream", names="ticks")
def a_clock_that_no_name_gives_away(clean: Clean, folder: Path) -> Given:
    made = clean.frame().assign(ticks=32_768 * _seconds(clean) + 7)
    return Given(clean.csv(folder / "day.csv", made))


@case("discover", "label", "stream", names=r"rate|Hz")
def twice_the_rate_given(clean: Clean, folder: Path) -> Given:
    return Given(clean.csv(folder / "day.csv", clean.frame()), rate=2 * RATE)


@case("label", names=r"rate|clock")
def no_rate_given(clean: Clean, folder: Path) -> Given:
    return Given(clean.csv(folder / "day.csv", clean.frame()), rate=None)


@case("discover", "label", "stream", names=r"rate|Hz")
def every_second_row_at_the_old_rate(clean: Clean, folder: Path) -> Given:
    rows = np.arange(0, clean.n, 2)
    return Given(Recording(clean.values[rows], RATE, channels=NAMES), rows)


@case("discover", "label", names=r"rate|Hz|repeat")
def every_row_twice_at_the_old_rate(clean: Clean, folder: Path) -> Given:
    rows = np.repeat(np.arange(clean.n), 2)
    return Given(Recording(clean.values[rows], RATE, channels=NAMES), rows)


@case("discover", "label", "stream", names=r"order|jump")
def rows_in_any_order_without_a_clock(clean: Clean, folder: Path) -> Given:
    rows = np.random.default_rng(4).permutation(clean.n)
    return Given(Recording(clean.values[rows], RATE, channels=NAMES), rows)


@case("discover", "label")
def the_last_row_first_without_a_clock(clean: Clean, folder: Path) -> Given:
    rows = np.arange(clean.n)[::-1]
    return Given(Recording(clean.values[rows], RATE, channels=NAMES), rows)


@case("discover", "label", "stream", names=NAMES[2])
def one_channel_a_second_late(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[:, 2] = np.roll(values[:, 2], round(RATE))
    return values
