"""Sensors that ran at the same time, each with a clock and a rate of its own, on one clock.

The clock is that of the fastest sensor, row by row, or an even one where a rate is asked for. A slower sensor is
interpolated between its values, never across a gap of its own; a faster one is averaged over each row. A sensor that is
so much slower than the clock that nearly every row of it would be interpolated is for the caller to leave out
(`is_too_slow`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.recording import Recording, Values

MOST_TIMES_SLOWER = 20
"""Than the clock: beyond it nearly every row would be interpolated, as `rondo.data.resample` has it."""

FASTEST_CLOCK = 1000.0
"""Hz: what is faster, as sound is, does not set the clock of slower sensors."""

_MOST_STEPS_BRIDGED = 2.0  # as between two values of a slow sensor within one file
_AVERAGED_FROM = 1.5  # times faster than the clock; up to there interpolation loses little


def clock_rate(rates: Sequence[float]) -> float:
    """The rate of the sensor whose clock all others are laid on.

    >>> clock_rate([32.0, 64.0, 1.0]), clock_rate([100.0, 44100.0]), clock_rate([44100.0])
    (64.0, 100.0, 44100.0)
    """
    usual = [rate for rate in rates if rate <= FASTEST_CLOCK]
    return max(usual or rates)


def is_too_slow(rate: float, clock: float) -> bool:
    """Whether a sensor would be nearly all interpolation.

    >>> is_too_slow(1.0, 64.0), is_too_slow(4.0, 64.0)
    (True, False)
    """
    return clock > MOST_TIMES_SLOWER * rate


def even_times(sensors: Sequence[Recording], rate: float) -> Floats:
    """An even clock over the time of all sensors."""
    return np.asarray(_span(sensors)[0] + np.arange(n_even_times(sensors, rate)) / rate)


def n_even_times(sensors: Sequence[Recording], rate: float) -> int:
    """How many rows that clock has."""
    start, stop = _span(sensors)
    return int((stop - start) * rate + 1e-6) + 1


def _span(sensors: Sequence[Recording]) -> tuple[float, float]:
    every = [times for one in sensors if (times := one.timestamps_s) is not None]
    return float(min(times[0] for times in every)), float(max(times[-1] for times in every))


def laid_on(sensor: Recording, times: Floats, rate: float) -> Values:
    """The values of a sensor at these times (n_times, n_channels); NaN where it has none."""
    own = sensor.timestamps_s
    assert own is not None and sensor.rate is not None, sensor.id
    if own is times or np.array_equal(own, times):
        return sensor.values
    if sensor.rate > _AVERAGED_FROM * rate:
        return _averaged(sensor.values, own, times, 1 / rate)
    found = np.empty((len(times), sensor.n_channels), np.float32)
    for channel in range(sensor.n_channels):
        found[:, channel] = _interpolated(sensor.values[:, channel], own, times)
    return found


def _interpolated(column: NDArray[np.float32], own: Floats, times: Floats) -> Floats:
    """On straight lines between values that are not too far apart; at both ends a value stands for one step."""
    there = ~np.isnan(column)
    knots, values = own[there], column[there].astype(np.float64)
    if knots.size < 2:
        return np.full(len(times), np.nan)
    step = float(np.median(np.diff(knots)))
    after = np.clip(np.searchsorted(knots, times), 1, knots.size - 1)
    apart = knots[after] - knots[after - 1]
    is_bridged = (apart <= _MOST_STEPS_BRIDGED * step * (1 + 1e-9)) | np.isin(times, knots)
    is_within = (times >= knots[0] - step) & (times <= knots[-1] + step)
    return np.where(is_bridged & is_within, np.interp(times, knots, values), np.nan)


def _averaged(values: Values, own: Floats, times: Floats, step: float) -> Values:
    """The mean of all values that lie nearest to each row, and no further than half a step."""
    row = np.clip(np.searchsorted(times, own), 1, len(times) - 1) if len(times) > 1 else np.zeros(len(own), np.int64)
    if len(times) > 1:
        row = np.where(own - times[row - 1] < times[row] - own, row - 1, row)
    is_near = np.abs(own - times[row]) <= step / 2 * (1 + 1e-9)
    found = np.full((len(times), values.shape[1]), np.nan, np.float32)
    for channel in range(values.shape[1]):
        column = values[:, channel]
        used = is_near & ~np.isnan(column)
        n_values = np.bincount(row[used], minlength=len(times))
        sums = np.bincount(row[used], weights=column[used].astype(np.float64), minlength=len(times))
        found[n_values > 0, channel] = (sums[n_values > 0] / n_values[n_values > 0]).astype(np.float32)
    return found
