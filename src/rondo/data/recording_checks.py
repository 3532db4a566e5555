"""What a Recording may be made of: checks of values, names, times and rate; each refusal says what to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.errors import RecordingError

_LEAST_RATE, _HIGHEST_RATE = 1e-12, 1e12  # a row in 30,000 years, a row per picosecond: beyond is a mistake
_MOST_SHORT_STEPS = 0.01  # of all steps, before the clock is said to jitter


def checked_values(values: ArrayLike) -> NDArray[np.float32]:
    """Rows and columns of numbers, read-only; not copied where they are float32 and C-contiguous."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # numpy's word for ragged nesting
        raise RecordingError("rows of unequal length; expected (n_frames, n_channels)") from error
    if array.dtype.kind not in "fiub":
        raise RecordingError(f"expected numbers, got an array of {array.dtype}; convert it or leave the column out")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise RecordingError(f"expected 2 dimensions (n_frames, n_channels), got {array.ndim} {array.shape}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise RecordingError(f"it is empty, {array.shape[0]} frames x {array.shape[1]} channels")
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(array, dtype=np.float32)
    if single is array or np.shares_memory(single, array):
        single = single.view()  # the caller keeps the right to write into an own array; ours is read-only
    single.flags.writeable = False
    return single


def checked_names(channels: Sequence[str] | None, n_channels: int) -> tuple[str, ...]:
    """A name for each channel, and no name twice."""
    names = () if channels is None else tuple(str(name) for name in channels)
    if not names:
        return names_by_position(n_channels)
    if len(names) != n_channels:
        raise RecordingError(f"{len(names)} channel names for {n_channels} channels; give one name per column")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RecordingError(f"the channel name '{twice}' stands twice; names must differ")
    return names


def names_by_position(n_channels: int) -> tuple[str, ...]:
    """The names of channels that nobody has named: ch0, ch1, ..."""
    return tuple(f"ch{i}" for i in range(n_channels))


def refuse_values_nobody_can_use(values: NDArray[np.float32], names: Sequence[str], block: int = 1 << 16) -> None:
    """Infinities anywhere, or NaN everywhere; blocks keep the masks small beside a large recording."""
    any_number = False
    for start in range(0, values.shape[0], block):
        part = values[start : start + block]
        finite = np.isfinite(part)
        any_number |= bool(finite.any())
        if not finite.all() and np.isinf(part).any():
            frame, channel = (int(i) for i in np.argwhere(np.isinf(part))[0])
            raise RecordingError(
                f"infinite (or beyond float32) value in frame {start + frame}, channel '{names[channel]}'; "
                "replace it by NaN if the sensor was silent there"
            )
    if not any_number:
        raise RecordingError(f"all {values.size} values are NaN or missing; expected at least one number")


def checked_times(timestamps_s: ArrayLike, n_frames: int) -> NDArray[np.float64]:
    """Seconds that increase from frame to frame."""
    given = np.asarray(timestamps_s)
    if given.dtype.kind == "M":
        silent = np.isnat(given)
        given = np.where(silent, np.nan, given.astype("datetime64[us]").astype(np.int64) / 1e6)
    if given.dtype.kind not in "fiu":
        raise RecordingError(f"timestamps must be seconds or datetime64, got an array of {given.dtype}; convert them")
    times = np.array(given, dtype=np.float64)
    if times.shape != (n_frames,):
        raise RecordingError(f"timestamps of shape {times.shape} for {n_frames} frames; give one per frame")
    if not np.isfinite(times).all():
        row = int(np.flatnonzero(~np.isfinite(times))[0])
        raise RecordingError(f"the timestamp of frame {row} is missing or not finite; fill it in or drop the row")
    steps = np.diff(times)
    if (steps <= 0).any():
        row = int(np.flatnonzero(steps <= 0)[0]) + 1
        kind = "repeats" if steps[row - 1] == 0 else "is earlier than"
        raise RecordingError(
            f"timestamps must increase, but frame {row} ({times[row]:.6f} s) {kind} "
            f"the one before ({times[row - 1]:.6f} s); sort the rows and drop duplicates" + _set_back(steps, row)
        )
    times.flags.writeable = False
    return times


def _set_back(steps: NDArray[np.float64], row: int) -> str:
    """What else may have happened where it is one row at which time goes back by many."""
    usual = float(np.median(np.abs(steps)))
    if (steps <= 0).sum() > 1 or -steps[row - 1] < 10 * usual:
        return ""
    if abs(-steps[row - 1] - 3600.0) < 10 * usual:
        return ", or write the zone (+02:00), if it is the end of summer time"
    return ", or cut the file there, if two recordings stand one after the other"


def checked_rate(rate: float | None) -> float | None:
    """The rate as a positive float, or None."""
    try:
        hertz = None if rate is None else float(rate)
    except (TypeError, ValueError):
        hertz = float("nan")
    if hertz is not None and not (np.isfinite(hertz) and hertz > 0):
        raise RecordingError(f"the rate must be a positive number of Hz, got {rate!r}; give the frames per second")
    if hertz is not None and not _LEAST_RATE <= hertz <= _HIGHEST_RATE:
        bounds = f"between {_LEAST_RATE:g} and {_HIGHEST_RATE:g} Hz"
        raise RecordingError(f"the rate must lie {bounds}, got {hertz:g}; check the rate, or the unit of the clock")
    return hertz


def rate_of(times: NDArray[np.float64]) -> float:
    """Frames per second, from the mean of the steps that are near the median one.

    The median alone is coarse where a clock counts in milliseconds (30 Hz steps by 33, 33, 34 ms) or from
    1970 (float64 then resolves 0.2 us), the mean alone is spoilt by gaps. Digits beyond the ninth are noise. Lost rows
    make no step shorter, so where many are short it is the clock that jitters, and long steps make up for them.
    """
    return float(f"{1.0 / usual_steps(np.diff(times)).mean():.9g}")


def usual_steps(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those of the steps from row to row that tell the rate; the median where none does."""
    median = np.median(steps)
    jitters = (steps < median / 2).mean() > _MOST_SHORT_STEPS
    usual = steps[steps < median * 10] if jitters else steps[(steps > median / 2) & (steps < median * 1.5)]
    return usual if usual.size else np.array([median])
