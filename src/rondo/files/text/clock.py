"""What a clock column says: which names are clocks, what numbers count, coarse clocks.

Everything that is guessed here is returned as a note, with what to do where the guess is wrong.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.wording import counted, noun

Times = NDArray[np.float64]

CLOCK_NAMES = frozenset({
    "time", "times", "timestamp", "timestamps", "ts", "t", "datetime", "date", "dateandtime", "timeofday",
    "localtime", "unixtime", "unixtimestamp", "epoch", "epochtime", "utc", "utctime", "utctimestamp", "gpstime",
    "systemtime", "sampletime", "sampletimefine", "trialtime", "recordingtime", "testtime", "runtime",
    "elapsed", "elapsedtime", "timeelapsed", "secondselapsed",
    "relativetime", "seconds", "millis", "milliseconds", "zeit", "zeitstempel", "datum", "datumuhrzeit", "datumzeit",
    "secondes", "sekunden", "uhrzeit", "tijd", "tijdstip", "horodatage", "heure", "tiempo", "fecha", "fechahora",
})  # fmt: skip
"""As `plain_name` writes them: lower case, letters and digits only, without a unit."""

_PER_SECOND = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), 1e3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "micros", "microsecond", "microseconds"), 1e6),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), 1e9),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 1 / 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 1 / 3600),
    **dict.fromkeys(("d", "day", "days"), 1 / 86_400),
}
_COARSE_UNITS = frozenset(unit for unit, per_second in _PER_SECOND.items() if per_second < 1)
_TICKS_PER_SECOND = 1e7  # of Windows and .NET: 100 ns each
_UNIT_WORDS = {
    1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds", 1 / 60: "minutes", 1 / 3600: "hours",
    1 / 86_400: "days",
}  # fmt: skip

# Size distinguishes epoch counts: 1e11 s lies in the year 5138, 1e11 ms in 1973, and so on upwards.
_EPOCH_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
# Ticks of 100 ns of the years 2000 to 2100, from 1601 (Windows) and from year 1 (.NET): read as ns, 1974 and 1990.
_TICK_EPOCHS = (
    (1.259e17, 1.575e17, 11_644_473_600.0, "ticks of Windows (FILETIME, 100 ns since 1601)"),
    (6.308e17, 6.624e17, 62_135_596_800.0, "ticks of .NET (100 ns since the year 1)"),
)
# Seconds of the years 1996 to 2040 from 1904 on, as LabVIEW counts; read as seconds since 1970, 2062 to 2106.
_LABVIEW = (2.9e9, 4.3e9, 2_082_844_800.0)
_DAY_COUNTS = ((2e4, 8e4, 25_569.0, "a spreadsheet"), (7e5, 8e5, 719_529.0, "MATLAB"))  # the third is 1 January 1970
_EARLIEST_EPOCH_S = 6e8  # 1989: before it nobody stored such counts, so they are finer ones since a device was started
_DAY_S = 86_400.0
_ROWS_TO_JUDGE = 32
_MANY_PER_SECOND, _HIGHEST_IN_MINUTES = 500.0, 256.0  # Hz: of few sensors; of nearly all that are worn


def plain_name(name: str) -> tuple[str, str]:
    """A column's name in lower case, letters and digits only, and the unit that it ends in, or "".

    >>> plain_name("Time (ms)"), plain_name("time_s"), plain_name("Datum / Uhrzeit"), plain_name("T [°C]")
    (('time', 'ms'), ('time', 's'), ('datumuhrzeit', ''), ('t', '°c'))
    >>> plain_name("time_min"), plain_name("t_min")
    (('time', 'min'), ('tmin', ''))
    """
    name = name.strip().casefold()
    bracketed = re.fullmatch(r"(.+?)\s*[(\[{]\s*([^()\[\]{}]*?)\s*[)\]}]", name)
    if bracketed:
        return re.sub(r"[\W_]+", "", bracketed[1]), bracketed[2]
    words = [word for word in re.split(r"[\W_]+", name) if word]
    is_least = words[:1] == ["t"] and words[-1] in _COARSE_UNITS  # t_min is the lowest temperature
    if len(words) > 1 and words[-1] in _PER_SECOND and "".join(words[:-1]) in CLOCK_NAMES and not is_least:
        return "".join(words[:-1]), words[-1]
    return "".join(words), ""


def mentions_time_stamps(name: str) -> bool:
    """Whether a column tells the time by a longer name; it measures nothing, but a better clock may stand beside it."""
    return "timestamp" in plain_name(name)[0]


def is_clock_name(name: str) -> bool:
    """Whether a column of this name is the clock; `T [°C]` is not.

    >>> [is_clock_name(name) for name in ("Timestamp [ms]", "Date/Time", "unixtime", "T [°C]", "x")]
    [True, True, True, False, False]
    """
    plain, unit = plain_name(name)
    return plain in CLOCK_NAMES and (plain != "t" or unit in ("", *_PER_SECOND))


class ClockUnit(NamedTuple):
    """What a clock counts: `per_second` ticks, or days, of which the first of January 1970 is `day_of_1970`.

    `zero_s`: how long before 1970 it counts from, where that is known.
    """

    per_second: float = 1.0
    day_of_1970: float | None = None
    zero_s: float = 0.0

    def seconds(self, readings: Times) -> Times:
        if self.day_of_1970 is not None:
            return (readings - self.day_of_1970) * _DAY_S
        return readings / self.per_second - self.zero_s


def in_seconds(times: Times, clock: str, unit: str = "") -> tuple[Times, tuple[str, ...]]:
    """Clock readings in seconds, from the unit in the clock's name, or else from their size; and what was guessed.

    >>> in_seconds(np.array([0.0, 20.0, 40.0]), "time (ms)")
    (array([0.  , 0.02, 0.04]), ("clock 'time (ms)' read as milliseconds, from its name",))
    """
    found, notes = unit_of_clock(times, clock, unit)
    return found.seconds(times), notes


def unit_of_clock(times: Times, clock: str, unit: str = "") -> tuple[ClockUnit, tuple[str, ...]]:
    """What a clock counts, from its readings or the first of them, and a note where it is no seconds.

    A unit in its name decides; else the size of its first reading; else whole numbers that rise by many in each row.

    >>> unit_of_clock(np.array([1.7e12]), "time")[0], unit_of_clock(np.array([12.5]), "time")[0].per_second
    (ClockUnit(per_second=1000.0, day_of_1970=None, zero_s=0.0), 1.0)
    """
    finite = times[np.isfinite(times)]
    first = float(finite[0]) if finite.size else 0.0
    plain, unit_in_name = plain_name(clock)
    # Days of spreadsheets (from 1900 on) or MATLAB (from year 0 on): read as seconds, their steps would be those of a
    # sensor of more than 10,000 Hz, or their name speaks of a date.
    if finite.size > 1 and unit_in_name not in _PER_SECOND:
        longest = 1.0 if plain.startswith(("date", "datum", "fecha")) else 1e-4
        for least, most, day_of_1970, who in _DAY_COUNTS:
            if least <= first < most and 0 < float(np.median(np.diff(finite))) < longest:
                note = f"clock '{clock}' read as the days that {who} counts, from its size"
                return ClockUnit(day_of_1970=day_of_1970), (note,)
    for least, most, zero_s, what in _TICK_EPOCHS:
        if not unit and least <= first < most:
            return ClockUnit(_TICKS_PER_SECOND, zero_s=zero_s), (f"clock '{clock}' read as {what}, from its size",)
    named = _PER_SECOND.get(unit.strip(" ()[]").casefold() or unit_in_name, 1.0)
    if named != 1:
        return ClockUnit(named), (f"clock '{clock}' read as {_UNIT_WORDS[named]}, from its name",)
    for least, per_second in _EPOCH_UNITS:
        if abs(first) >= least:
            since = "since 1970"
            if abs(first) / per_second < _EARLIEST_EPOCH_S and per_second < 1e9:
                per_second, since = per_second * 1e3, "since the device was started"
            note = f"clock '{clock}' read as {_UNIT_WORDS[per_second]} {since}, from its size"
            return ClockUnit(per_second), (note,)
    per_second, notes = _whole_steps(finite, clock)
    least, most, zero_s = _LABVIEW
    if per_second == 1 and least <= first < most and not plain.startswith(("unix", "epoch")):
        return ClockUnit(zero_s=zero_s), (f"clock '{clock}' read as seconds since 1904 (LabVIEW), from its size",)
    if unit_in_name in _PER_SECOND or unit:
        return ClockUnit(), ()
    return ClockUnit(per_second), notes or _perhaps_minutes(finite, clock)


def _perhaps_minutes(finite: Times, clock: str) -> tuple[str, ...]:
    """A note where many rows a second would be a usual rate if the clock counted minutes."""
    steps = np.diff(finite)
    if finite.size < _ROWS_TO_JUDGE or not (steps > 0).all():
        return ()
    hertz = 1 / float(np.mean(steps))
    in_minutes = hertz / 60
    is_usual = abs(in_minutes - round(in_minutes)) < 0.005 * in_minutes and in_minutes <= _HIGHEST_IN_MINUTES
    if hertz < _MANY_PER_SECOND or not is_usual:
        return ()
    return (f"clock '{clock}' read as seconds, {hertz:,.0f} Hz; if it counts minutes, name it 'time_min'",)


def _whole_steps(finite: Times, clock: str) -> tuple[float, tuple[str, ...]]:
    """Whole numbers that rise by many in each row are ticks of a sensor's own clock, if their steps vary as such do."""
    if finite.size < _ROWS_TO_JUDGE or (finite != np.rint(finite)).any():
        return 1.0, ()
    steps = np.diff(finite)
    usual = float(np.median(steps))
    if usual >= 2 and plain_name(clock)[0] == "sampletimefine":  # of Xsens: 0.1 ms, of the Xsens DOT microseconds
        per_second = 1e4 if usual < 2e3 else 1e6
        return per_second, (f"clock '{clock}' read as {per_second:,.0f} ticks of an Xsens sensor per second",)
    if usual < 2 or size_of_epoch(float(finite[0])):
        return 1.0, ()
    per_second = 1e3 if usual < 2e3 else 1e6 if usual < 2e6 else 1e9
    words = _UNIT_WORDS[per_second]
    if np.ptp(steps) == 0:
        note = f"clock '{clock}' rises by {usual:g} in each row, read as seconds; if these are {words}"
        return 1.0, (f"{note}, give --rate {per_second / usual:.4g}",)
    note = f"clock '{clock}' read as {words}: whole numbers that rise by about {usual:g} in each row"
    return per_second, (f"{note}; if they are seconds, name it 'time_s'",)


def size_of_epoch(reading: float) -> bool:
    """Whether a number is as large as counts since 1970 are, in seconds or finer (the years 2001 to 2096), or ticks."""
    if any(least <= reading < most for least, most, *_ in _TICK_EPOCHS):
        return True
    return any(1e9 * per_second <= reading < 4e9 * per_second for per_second in (1.0, 1e3, 1e6, 1e9))


def rounded_to(cell: str) -> str:
    """What a large reading in powers of ten is rounded to, in words; "" for any other.

    >>> rounded_to("1.79477e+09"), rounded_to("1794774665.25"), rounded_to("2.0e-02")
    ('rounded to 10,000', '', '')
    """
    found = re.fullmatch(r"\d[.,]?(\d*)e\+?(\d+)", cell.strip(), re.IGNORECASE | re.ASCII)
    lost = int(found[2]) - len(found[1]) if found and len(found[2]) < 3 else -1
    return f"rounded to {10**lost:,}" if lost >= 0 else ""


def midnights(times: Times, last: float | None = None) -> NDArray[np.int64]:
    """How often times of day have passed midnight, at each; `last` is the one before them, if there was one."""
    steps = np.diff(times, prepend=times[:1] if last is None else last)
    return np.cumsum(steps < -_DAY_S / 2)


def over_midnight(times: Times, n_midnights: NDArray[np.int64] | None = None) -> Times:
    """Times of day made to rise through midnight."""
    return times + _DAY_S * (midnights(times) if n_midnights is None else n_midnights)


def spread(times: Times, clock: str) -> tuple[Times, tuple[str, ...]]:
    """Rows that repeat a reading of a coarse clock, spread over the time until its next reading.

    Readings u_0 < u_1 < ... with n_k rows each: row j of reading k is at u_k + j min(d, (u_{k+1} - u_k) / n_k), d the
    median of those quotients, so that rows are not drawn out over gaps; rows of the first reading end at u_1 instead,
    because a recording may begin in the middle of it.

    >>> spread(np.array([7.0, 8.0, 8.0, 8.0, 8.0, 9.0, 9.0]), "t")[0]
    array([7.75, 8.  , 8.25, 8.5 , 8.75, 9.  , 9.25])
    """
    steps = np.diff(times)
    if not (steps == 0).any() or not (steps >= 0).all() or times[0] == times[-1]:
        return times, ()
    first = np.flatnonzero(np.append(True, steps > 0))
    rows_each = np.diff(first, append=times.size)
    readings = times[first]
    row_steps = np.diff(readings) / rows_each[:-1]
    inner = row_steps[1:] if row_steps.size > 1 else row_steps
    usual = float(np.median(inner))
    step = np.append(np.minimum(row_steps, usual), usual)
    place = np.arange(times.size) - np.repeat(first, rows_each)
    apart = np.repeat(readings, rows_each) + place * np.repeat(step, rows_each)
    apart[: rows_each[0]] = readings[1] - step[0] * np.arange(rows_each[0], 0, -1)
    repeated = times.size - readings.size
    rows = f"{counted(repeated, 'row')} {noun(repeated, 'repeats', 'repeat')}"
    note = f"{rows} the time of the row before in '{clock}': spread evenly until its next reading"
    return apart, (note,)
