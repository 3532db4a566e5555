"""The clock of rows that come in pieces, and whether they come at the rate of the model."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.files.columns import Columns
from rondo.files.text.clock import spread
from rondo.files.text.layout import Layout
from rondo.live import clock as clock_module
from rondo.live.clock import BLOCK_ROWS, ClockState, RateCheck, RowClock, clock_of, refuse_clock_of_another_rate

Times = NDArray[np.float64]
COLUMNS = Columns(("x",), (1,), clock=0)
LAYOUT = Layout(",", ("time", "x"), (("1", "2"),), 0, 1)


def seconds_of(written: Times, state: ClockState, pieces: int = 1, restart_each: bool = False) -> Times:
    """Push in pieces, take what is settled; perhaps with a new clock from the state after each row that was taken."""
    clock, given, begun = RowClock(LAYOUT, COLUMNS, state), [], 0
    done = 0
    while done < written.size:
        piece = written[done : done + pieces]
        clock.push(piece.size, piece)
        done += piece.size
        if done == written.size:
            clock.end()
        while clock.n_settled:
            times = clock.take(1)
            assert times is not None
            given.append(float(times[0]))
            if restart_each:
                begun += 1
                clock, done = RowClock(LAYOUT, COLUMNS, ClockState(**asdict(clock.state))), begun
                break
    return np.array(given)


def coarse(written: Times) -> ClockState:
    state, notes = clock_of(LAYOUT, COLUMNS, written[:64], None)
    assert state.is_coarse
    assert any("'time': held until" in note for note in notes)
    return state


def test_a_coarse_clock_is_spread_as_in_a_stored_file() -> None:
    written = np.repeat(np.arange(7.0), 25)[12:160]
    npt.assert_array_equal(seconds_of(written, coarse(written)), spread(written, "time")[0])
    jumping = np.where(written > 3, written + 40, written)
    npt.assert_array_equal(seconds_of(jumping, coarse(jumping)), spread(jumping, "time")[0])
    two = written[:30]
    npt.assert_array_equal(seconds_of(two, coarse(two)), spread(two, "time")[0])


@settings(max_examples=60, deadline=None)
@given(rows_each=st.lists(st.integers(1, 9), min_size=3, max_size=12), pieces=st.integers(1, 30), data=st.data())
def test_neither_pieces_nor_restarts_change_the_times(rows_each: list[int], pieces: int, data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.sampled_from([1.0, 1.0, 5.0, -3.0]), min_size=len(rows_each), max_size=len(rows_each)))
    written = np.repeat(np.cumsum(gaps), rows_each)
    state = ClockState(name="time", is_coarse=True)
    whole = seconds_of(written, state, written.size)
    assert whole.size == written.size
    npt.assert_array_equal(seconds_of(written, state, pieces), whole)
    npt.assert_array_equal(seconds_of(written, state, pieces, restart_each=True), whole)
    if min(gaps[1:]) > 0:
        assert (np.diff(whole) > 0).all()
        later = np.searchsorted(written, written, side="right")
        following = np.append(written, np.inf)[later]
        assert ((whole >= written - 1e-9) & (whole < following)).all()  # within the reading, as in a stored file


def test_a_clock_that_stands_holds_no_more_rows_than_a_few_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_module, "MOST_ROWS_OF_A_READING", 20)
    written = np.repeat([0.0, 1.0, 2.0, 3.0], [5, 5, 50, 5])
    state = coarse(written)
    clock = RowClock(LAYOUT, COLUMNS, state)
    clock.push(35, written[:35])
    assert clock.n_settled == 35
    times = seconds_of(written, state, 7)
    assert (times[10:60] == 2).all()
    npt.assert_array_equal(seconds_of(written, state, 65), times)
    npt.assert_array_equal(times[60:], 3 + np.arange(5) * 0.2)


def test_repeats_after_the_head_keep_their_times() -> None:
    written = np.append(np.arange(70.0), 69.0)
    state, notes = clock_of(LAYOUT, COLUMNS, written[:64], None)
    assert notes == () and not state.is_coarse
    npt.assert_array_equal(seconds_of(written, state), written)


def test_the_next_file_keeps_the_unit_and_begins_in_the_middle_of_a_reading() -> None:
    written = np.repeat([0.0, 1.0, 2.0], [5, 10, 4])
    clock = RowClock(LAYOUT, COLUMNS, coarse(written))
    clock.push(written.size, written)
    clock.end()
    clock.take(written.size)
    state, notes = clock_of(LAYOUT, COLUMNS, np.array([2.0, 3.0]), clock.state.carried())
    assert notes == ()
    npt.assert_allclose(seconds_of(np.repeat([2.0, 3.0], [6, 10]), state)[:7], [2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 3.0])
    in_ms, _ = clock_of(LAYOUT, COLUMNS, np.array([1.7e12, 1.7e12 + 20]), None)
    assert clock_of(LAYOUT, COLUMNS, np.array([5.0]), in_ms.carried())[0].per_second == 1000
    other = Layout(",", ("zeit", "x"), (("1", "2"),), 0, 1)
    assert clock_of(other, COLUMNS, np.array([5.0]), in_ms.carried())[0].per_second == 1


RATE = 50.0


def causes(times: np.ndarray, n_rows: int, expected: float | None = RATE) -> list[tuple[int, str]]:
    """Where the rows to come do not follow on those so far, of chunks of so many rows; written down in between."""
    found, check = [], RateCheck(expected)
    for first in range(0, len(times), n_rows):
        chunk = times[first : first + n_rows]
        parts = list(check.stretches(chunk, len(chunk)))
        assert [start for start, _, _ in parts] == [0, *(stop for _, stop, _ in parts[:-1])]
        assert parts[-1][1] == len(chunk)
        found += [(first + stop, cause) for _, stop, cause in parts if cause]
        state, check = json.loads(json.dumps(check.state(), allow_nan=False)), RateCheck(expected)
        check.load(state)
    return found


@pytest.mark.parametrize("seed", range(3))
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
    with pytest.raises(RecordingError, match=rf"{rate:g} Hz .*50 Hz"):
        causes(np.arange(BLOCK_ROWS) / rate, n_rows)


def test_too_few_rows_and_an_unknown_rate_tell_nothing() -> None:
    refuse_clock_of_another_rate(np.arange(20) / 25, RATE)
    assert causes(np.arange(1_000) / 25, 100, expected=None) == []
    assert list(RateCheck(RATE).stretches(None, 10)) == [(0, 10, "")]


@pytest.mark.parametrize(("factor", "hint"), [(1e3, "time_ms"), (1e6, "time_us"), (1e9, "time_ns"), (1e-3, "time_s")])
def test_a_clock_in_another_unit_gets_a_hint(factor: float, hint: str) -> None:
    with pytest.raises(RecordingError, match=f"then name the column '{hint}'"):
        refuse_clock_of_another_rate(np.arange(100) / RATE * factor, RATE)


@pytest.mark.parametrize("n_rows", [7, 1_000])
def test_a_change_is_found_at_the_same_row_in_any_chunks(n_rows: int) -> None:
    steps = np.concatenate([np.full(1_000, 1 / 50), np.full(1_000, 1 / 25), np.full(1_000, 1 / 50)])
    assert causes(np.cumsum(steps), n_rows) == [
        (5 * BLOCK_ROWS, "rows now come at 25 Hz, the model has 50 Hz"),
        (9 * BLOCK_ROWS, "rows come at the 50 Hz of the model again"),
    ]
