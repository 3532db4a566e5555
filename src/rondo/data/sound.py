"""Sound values: what a sensor cannot have measured counts as missing, with a note that names rows and channels.

Outside (`sound_bounds`): from the core of a channel, its 5th to 95th percentile, its range grows by every value within
three ranges of it. What is left lies behind an empty stretch three times as wide as all the rest. No multiple of a
deviation tells junk from signals: of sensors that rest most of the time up to half of the values lie beyond 20 median
deviations. So junk is also rare and short, or lies in most channels of a row; a pulse that keeps coming is kept.

Stuck (`stuck_runs`): a run of equal values, far longer than the channel repeats a value otherwise.

On 88 real and 18 planted recordings the constants below touch one real recording; one row of 65535, a channel frozen
for 40 % of a recording and 3 % of spoilt rows then cost 1 to 2 AMI instead of 14 to 93.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rondo.arrays import Flags, Floats
from rondo.config.settings import PreprocessConfig
from rondo.data.doubtful import doubtful_notes
from rondo.data.known_channels import GAP, MOST_JUNK, MOST_ROWS
from rondo.data.labels import runs_of
from rondo.data.preparation import max_gap_frames
from rondo.data.recording import Recording, Values
from rondo.wording import counted, duration_in_words, quoted

_CORE, _WIDE = (0.05, 0.95), (0.01, 0.99)  # quantiles; all constants here were chosen on the sets named above
_FARTHEST = 12.0  # ranges from the 1st to the 99th percentile; real values lie at most 6.2 outside
_SAMPLED = 20_000  # rows, evenly spaced, that show the core
_FEWEST = 100  # values, before any of them can lie outside
_FEWEST_JUNK = 3  # values, which are junk even in a short recording
_FEWEST_OFTEN, _OFTEN = 5, 2_000  # runs of junk, or one in so many rows, that may be longer than two rows
_STILL_S, _STILL_FRAMES, _FEWEST_FRAMES = 10.0, 500, 20  # what the longest rests of coarse sensors stay below
_USUAL_RUN, _LONGER = 0.99, 5.0  # quantile of runs of equal values; times it and the log of their number
_FEWEST_RUNS = 20  # of equal values, before a channel is known to move
_MOST_NAMED = 3  # runs of rows in a note


def sound_bounds(column: Floats) -> tuple[float, float]:
    """The least and the greatest of the finite values that hang together."""
    sample = column[:: max(1, -(-column.size // _SAMPLED))]
    low, high, first, last = np.quantile(sample, (*_CORE, *_WIDE), method="nearest").tolist()
    if low == high:  # it rests at one value: what is far from it cannot be told
        return float(column.min()), float(column.max())
    if last - first < _FARTHEST * (high - low):  # else a hundredth of the values or more may be junk
        reach = _FARTHEST * (last - first)
        column = column[(column >= first - reach) & (column <= last + reach)]
    above, below = np.sort(column[column > high]), np.sort(column[column < low])
    while True:
        reach = GAP * (high - low)
        up = above[: np.searchsorted(above, high + reach, "right")]
        down = below[np.searchsorted(below, low - reach, "left") :]
        grown = float(down[0]) if down.size else low, float(up[-1]) if up.size else high
        if grown == (low, high):
            return low, high
        low, high = grown


def outside(column: Values) -> Flags:
    """Which values lie outside the bounds of their channel."""
    known = np.isfinite(column)
    if known.sum() < _FEWEST:
        return np.zeros(column.size, np.bool_)
    low, high = sound_bounds(column[known].astype(np.float64))
    return np.asarray(known & ((column < low) | (column > high)))


def is_junk(is_outside: Flags, max_gap: int) -> bool:
    """Whether what lies outside is rare and short, so no signal."""
    n_rows = is_outside.size
    if int(is_outside.sum()) > max(_FEWEST_JUNK, MOST_JUNK * n_rows):
        return False
    runs = runs_of(is_outside)
    lengths = (runs.stops - runs.starts)[runs.ids == 1]
    is_rare = lengths.size <= max(_FEWEST_OFTEN, n_rows / _OFTEN)
    return bool(lengths.max() <= max_gap and (is_rare or np.median(lengths) <= 2))


class Stillness(NamedTuple):
    """Runs [start, stop) of equal values in a channel that are no rest, and the rows from which on a run is none."""

    runs: tuple[tuple[int, int], ...] = ()
    least_rows: float = np.inf


def stillness(column: Values, rate: float | None) -> Stillness:
    """Of a channel; one that hardly ever changes cannot be told from one that is stuck."""
    places = np.flatnonzero(np.isfinite(column))
    known = column[places]
    edges = np.flatnonzero(np.concatenate([[True], known[1:] != known[:-1], [True]])) if known.size else places
    lengths = np.diff(edges)
    if lengths.size < _FEWEST_RUNS:
        return Stillness()
    least = _STILL_FRAMES if rate is None else max(_STILL_S * rate, _FEWEST_FRAMES)
    least = float(max(least, _LONGER * np.quantile(lengths, _USUAL_RUN) * np.log(lengths.size)))
    runs = [(int(places[edges[i]]), int(places[edges[i + 1] - 1]) + 1) for i in np.flatnonzero(lengths >= least)]
    return Stillness(tuple(runs), least)


class _Found(NamedTuple):
    """What lies outside in one channel: which rows, which of them are missing from now on, and how far it lies."""

    name: str
    is_outside: Flags
    is_gone: Flags
    far: float  # deviations of the other values from their mean, at most


class Mended(NamedTuple):
    """A recording with NaN for what is no measurement, and the rows after which each channel counts as stuck."""

    recording: Recording
    still_rows: tuple[float, ...]  # infinite where a channel cannot be told from one that is stuck


def mended(recording: Recording, channels: Sequence[str], config: PreprocessConfig) -> Mended:
    """The recording with NaN for what its sensors cannot have measured in these channels, and notes on it."""
    places = [recording.channels.index(name) for name in channels]
    gone = np.zeros(recording.values.shape, np.bool_)
    found = _found_outside(recording, channels, places, max_gap_frames(recording.rate, config))
    for one, place in zip(found, places, strict=True):
        gone[:, place] = one.is_gone
    notes = list(_outside_notes(recording, found))
    every = [stillness(recording.values[:, place], recording.rate) for place in places]
    still = [(place, run) for place, one in zip(places, every, strict=True) for run in one.runs]
    for place, (start, stop) in still:
        together = len({other for other, (first, past) in still if first < stop and start < past})
        name, span = recording.channels[place], _rows_in_words(recording, [(start, stop)])
        if 2 * together > len(channels):  # the device rests
            continue
        gone[start:stop, place] = True
        notes.append(f"channel '{name}' is stuck at {recording.values[start, place]:g} in {span}: taken as missing")
    if gone.any():
        recording = recording.with_values(np.where(gone, np.float32(np.nan), recording.values))
    notes += doubtful_notes(recording, channels)
    return Mended(recording.noted(*notes) if notes else recording, tuple(one.least_rows for one in every))


def _found_outside(recording: Recording, channels: Sequence[str], places: Sequence[int], max_gap: int) -> list[_Found]:
    every = [outside(recording.values[:, place]) for place in places]
    n_outside = sum((one.astype(np.int32) for one in every), np.zeros(recording.n_frames, np.int32))
    in_most = 2 * n_outside > max(len(places), 2)
    in_most &= bool(in_most.mean() <= MOST_ROWS)
    found = []
    for name, place, is_outside in zip(channels, places, every, strict=True):
        column, rest = recording.values[:, place], is_outside & ~in_most
        is_gone, far = is_outside & in_most, 0.0
        if rest.any() and is_junk(rest, max_gap):
            is_gone = is_outside
        if is_outside.any():
            others = column[np.isfinite(column) & ~is_outside].astype(np.float64)
            far = float(np.abs(column[is_outside] - others.mean()).max() / max(others.std(), np.finfo(float).tiny))
        found.append(_Found(name, is_outside, is_gone, far))
    return found


def _outside_notes(recording: Recording, found: Sequence[_Found]) -> list[str]:
    """One note on what is missing now in all channels, and one on each channel with pulses that were kept."""
    notes = []
    gone = [one for one in found if one.is_gone.any()]
    if gone:
        rows = np.any([one.is_gone for one in gone], axis=0)
        runs = runs_of(rows)
        spans = list(zip(runs.starts[runs.ids == 1].tolist(), runs.stops[runs.ids == 1].tolist(), strict=True))
        lie = f"{counted(int(rows.sum()), 'row')} {'lies' if rows.sum() == 1 else 'lie'}"
        far = f"up to {max(one.far for one in gone):,.0f} sd outside all others"
        names = quoted([one.name for one in gone], most=6)
        notes.append(f"{lie} {far} in {names}: taken as missing ({_rows_in_words(recording, spans)})")
    for one in found:
        kept = one.is_outside & ~one.is_gone
        if kept.any():
            share = f"{kept.mean():.2%} of the values of '{one.name}' lie up to {one.far:,.0f} sd outside the others"
            notes.append(f"{share}, too often or too long for a fault: kept")
    return notes[:7]


def _rows_in_words(recording: Recording, spans: Sequence[tuple[int, int]]) -> str:
    """Rows, counted from 1, and when the first of them comes after the beginning."""
    shown = [f"{start + 1:,}" if stop - start == 1 else f"{start + 1:,} to {stop:,}" for start, stop in spans]
    more = f" and {len(spans) - _MOST_NAMED} more" if len(spans) > _MOST_NAMED else ""
    rows = f"{'row' if len(spans) == 1 and ' ' not in shown[0] else 'rows'} {', '.join(shown[:_MOST_NAMED])}{more}"
    times = recording.times_s
    if times is None:
        return rows
    start, stop = spans[0]
    lasting = (
        f" for {duration_in_words((stop - start) / recording.rate)}" if recording.rate and stop - start > 1 else ""
    )
    return f"{rows}, {duration_in_words(max(0.0, float(times[start] - times[0])))} after the beginning{lasting}"
