"""RateCheck: rows that do not come at the rate of the model, by their own clock, are refused; a change is a boundary.

Rows with times are laid on the grid of the model, so any rate could be read; but windows of half as many rows hold
other values than those that the units were learned from. So rates are compared as `rondo label` compares them, block by
block of `BLOCK_ROWS` rows. A stream that begins at another rate is refused. One that goes over to another rate is cut
there: the journal and the console say so, and again when it comes back.

A few hundred rows tell a rate only so well: where steps vary, rates may differ by 3 standard errors more. Gaps and lost
rows are left out, as for a recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from rondo.arrays import Floats
from rondo.data.recording import usual_steps
from rondo.errors import RecordingError
from rondo.files.inputs import RATE_TOLERANCE, in_hertz

BLOCK_ROWS = 256
_FEWEST_STEPS = 32
_CHANGES = 0.1  # a rate that changes on the way by less is drift
_FAR = 1_000.0  # times the median: such a step is a gap, or a wrong time
_CONFUSIONS = {
    1e3: "are its readings milliseconds? then name the column 'time_ms'",
    1e6: "are its readings microseconds? then name the column 'time_us'",
    1e9: "are its readings nanoseconds? then name the column 'time_ns'",
    1e-3: "are its readings seconds? then name the column 'time_s'",
}
_ADVICE = "stream it to a model of its rate, or read the file with `rondo label --resample`"


class _ClockRate(NamedTuple):
    """Rows per second by the clock, and how much of that is uncertain."""

    rate: float
    uncertainty: float

    def differs(self, expected: float, tolerance: float) -> bool:
        return abs(self.rate / expected - 1) > tolerance + 3 * self.uncertainty


def _rate_by(times: Floats) -> _ClockRate | None:
    """None where too few rows follow on each other."""
    steps = np.diff(times[np.isfinite(times)])
    steps = steps[steps > 0]
    if steps.size < _FEWEST_STEPS:
        return None
    usual = usual_steps(steps[steps < _FAR * np.median(steps)])
    mean = float(usual.mean())
    return _ClockRate(1.0 / mean, float(usual.std()) / mean / float(np.sqrt(usual.size)))


def refuse_clock_of_another_rate(times: Floats, expected: float | None) -> None:
    """Refuse rows whose times are those of another rate; where they are too few to tell, nothing happens."""
    found = None if expected is None else _rate_by(times)
    if expected is None or found is None or not found.differs(expected, RATE_TOLERANCE):
        return
    hint = next((words for ratio, words in _CONFUSIONS.items() if abs(expected / found.rate / ratio - 1) < 0.1), "")
    raise RecordingError(
        f"its rows come at {in_hertz(_rounded(found.rate))} by their clock, the model has {in_hertz(expected)}; "
        f"{hint or _ADVICE}"
    )


def _rounded(rate: float) -> float:
    return float(f"{rate:.4g}")


class SteadyRows(NamedTuple):
    """Rows [start, stop) of a chunk, and why the rows after them do not follow on them, if they do not."""

    start: int
    stop: int
    cause: str = ""


class RateCheck:
    """The times of the block that is not whole yet, and what the blocks before have shown."""

    def __init__(self, expected: float | None) -> None:
        self._expected = expected
        self._times: list[float] = []
        self._is_judged = False  # whether the first block has come
        self._is_off = False  # whether the last block had another rate

    def stretches(self, times: Floats | None, n_rows: int) -> Iterator[SteadyRows]:
        """A chunk in parts that end where blocks do; the first block of another rate is refused."""
        start = 0
        while times is not None and self._expected is not None and n_rows - start >= BLOCK_ROWS - len(self._times):
            stop = start + BLOCK_ROWS - len(self._times)
            block = np.array([*self._times, *times[start:stop].tolist()])
            self._times = []
            yield SteadyRows(start, stop, self._judged(block, self._expected))
            start = stop
        if times is not None and self._expected is not None:
            self._times += times[start:].tolist()
        if start < n_rows:
            yield SteadyRows(start, n_rows)

    def _judged(self, block: Floats, expected: float) -> str:
        if not self._is_judged:
            refuse_clock_of_another_rate(block, expected)
            self._is_judged = True
        found = _rate_by(block)
        is_off = self._is_off if found is None else found.differs(expected, _CHANGES)
        if found is None or is_off == self._is_off:
            return ""
        self._is_off = is_off
        if is_off:
            return f"rows now come at {in_hertz(_rounded(found.rate))}, the model has {in_hertz(expected)}"
        return f"rows come at the {in_hertz(expected)} of the model again"

    def state(self) -> dict[str, Any]:
        """Everything; times as text, because JSON has no NaN."""
        return {"times": [repr(time) for time in self._times], "is_judged": self._is_judged, "is_off": self._is_off}

    def load(self, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        self._times = [float(time) for time in plain["times"]]
        self._is_judged, self._is_off = plain["is_judged"], plain["is_off"]
