"""The rate of rows by their clock: another one is refused, one that changes is a boundary, jitter is neither."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rondo.errors import RecordingError
from rondo.live.clock import BLOCK_ROWS, RateCheck, refuse_clock_of_another_rate

RATE = 50.0


def causes(times: np.ndarray, n_rows: int, expected: float | None = RATE) -> list[tuple[int, str]]:
    """Where the rows to come do not follow on those so far, of chunks of so many rows; written down in between."""
    found, check = [], RateCheck(expected)
    for first in range(0, len(times), n_rows):
        chunk = times[first : first + n_rows]
        parts = list(check.stretches(chunk, len(chunk)))
        assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
        assert parts[-1].stop == len(chunk)
        found += [(first + part.stop, part.cause) for part in parts if part.cause]
        state, check = json.loads(json.dumps(check.state(), allow_nan=False)), RateCheck(expected)
        check.load(state)
    return found


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["regular", "milliseconds", "jitter", "uneven", "lost rows", "gaps", "wrong times"])
def test_the_rate_of_the_model_is_not_refused(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.arange(1_000) / RATE
    if kind == "milliseconds":
        times = np.round(times * 30 / 31, 3) * 31 / 30
    elif kind == "jitter":
        times = times + rng.uniform(-0.49, 0.49, 1_000) / RATE
    elif kind == "uneven":
        times = np.cumsum(rng.uniform(0.2, 1.8, 1_000)) / RATE
    elif kind == "lost rows":
        times = np.delete(times, rng.choice(1_000, 200, replace=False))
    elif kind == "gaps":
        times[rng.integers(1_000) :] += 3_600
    elif kind == "wrong times":
        times[rng.choice(1_000, 30)] = rng.choice([9e18, -1e12, np.nan], 30)
    assert causes(times, 1_000) == []


@pytest.mark.parametrize("rate", [25.0, 49.0, 51.0, 100.0])
@pytest.mark.parametrize("n_rows", [1, 300])
def test_another_rate_is_refused(rate: float, n_rows: int) -> None:
    with pytest.raises(RecordingError, match=rf"its rows come at {rate:g} Hz by their clock, the model has 50 Hz"):
        causes(np.arange(BLOCK_ROWS) / rate, n_rows)


def test_too_few_rows_and_an_unknown_rate_tell_nothing() -> None:
    refuse_clock_of_another_rate(np.arange(20) / 25, RATE)
    assert causes(np.arange(1_000) / 25, 100, expected=None) == []
    assert list(RateCheck(RATE).stretches(None, 10)) == [(0, 10, "")]


@pytest.mark.parametrize(("factor", "hint"), [(1e3, "time_ms"), (1e6, "time_us"), (1e9, "time_ns"), (1e-3, "time_s")])
def test_a_clock_in_another_unit_gets_a_hint(factor: float, hint: str) -> None:
    with pytest.raises(RecordingError, match=f"then name the column '{hint}'"):
        refuse_clock_of_another_rate(np.arange(100) / RATE * factor, RATE)


@pytest.mark.parametrize("n_rows", [1, 7, 256, 1_000, 5_000])
def test_a_change_is_found_at_the_same_row_in_any_chunks(n_rows: int) -> None:
    steps = np.concatenate([np.full(1_000, 1 / 50), np.full(1_000, 1 / 25), np.full(1_000, 1 / 50)])
    assert causes(np.cumsum(steps), n_rows) == [
        (5 * BLOCK_ROWS, "rows now come at 25 Hz, the model has 50 Hz"),
        (9 * BLOCK_ROWS, "rows come at the 50 Hz of the model again"),
    ]
