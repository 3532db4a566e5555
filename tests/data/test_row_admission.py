"""Which rows are taken by their timestamps: one wrong time costs one row, a gap costs none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rondo.data.admission import MOST_ROWS_BEHIND, ROWS_THAT_CONFIRM, RowAdmission, Rows

RATE, MAX_GAP = 50.0, 25


def admitted(times: list[float], n_rows: int = 7, *, ends: bool = True) -> tuple[list[int], int]:
    """The numbers of the rows that are taken, and how many were skipped."""
    admission, found = RowAdmission(1, RATE, MAX_GAP), list[Rows]()
    for start, stop in pairwise([*range(0, len(times), n_rows), len(times)]):
        values = np.arange(start, stop, dtype=np.float32)[:, None]
        found += admission.push(values, np.array(times[start:stop]), start)
    found += admission.flush() if ends else []
    for part in found:
        assert part.values[:, 0].tolist() == part.numbers.tolist()
        steps = np.diff([times[number] for number in part.numbers]) * RATE
        np.testing.assert_allclose(np.diff(part.clock), steps, rtol=1e-9, atol=0.02)
    return [int(number) for part in found for number in part.numbers], admission.n_skipped


def clock(n_rows: int) -> list[float]:
    return [1_000 + i / RATE for i in range(n_rows)]


@pytest.mark.parametrize("wrong", [9e18, 1e12, 1_100.0, -5.0, -9e18, float("nan"), float("inf")])
@pytest.mark.parametrize("row", [0, 1, 5, 300])
@pytest.mark.parametrize("n_rows", [1, 7, 1_000])
def test_one_wrong_time_costs_one_row(wrong: float, row: int, n_rows: int) -> None:
    times = clock(2_000)
    times[row] = wrong
    numbers, n_skipped = admitted(times, n_rows)
    if row == 0 and -1e9 < wrong < 0:  # the first row is early: nobody knows that it is wrong, but nothing else is lost
        assert (numbers, n_skipped) == (list(range(2_000)), 0)
    else:
        assert (numbers, n_skipped) == ([i for i in range(2_000) if i != row], 1)


@pytest.mark.parametrize("n_wrong", [2, ROWS_THAT_CONFIRM - 1])
def test_some_wrong_times_in_a_row_cost_as_many_rows(n_wrong: int) -> None:
    times = clock(500)
    times[100 : 100 + n_wrong] = [1e12 + i for i in range(n_wrong)]
    numbers, n_skipped = admitted(times)
    assert n_skipped == n_wrong
    assert numbers == [i for i in range(500) if not 100 <= i < 100 + n_wrong]


@pytest.mark.parametrize("seconds", [0.6, 3_600.0, 1e12])
@pytest.mark.parametrize("n_after", [1, 2, ROWS_THAT_CONFIRM, 200])
def test_a_gap_costs_nothing_even_if_the_stream_ends_right_after(seconds: float, n_after: int) -> None:
    times = clock(100) + [1_000 + 100 / RATE + seconds + i / RATE for i in range(n_after)]
    assert admitted(times) == (list(range(100 + n_after)), 0)


def test_a_row_that_comes_late_after_a_gap_is_skipped_alone() -> None:
    before, after = clock(100), [5_000 + i / RATE for i in range(100)]
    numbers, n_skipped = admitted([*before[:99], *after[:2], before[99], *after[2:]])
    assert (len(numbers), n_skipped) == (199, 1)
    assert 101 not in numbers


def test_suspects_are_held_until_the_rows_after_them_tell() -> None:
    times = [*clock(20), 1e12]
    assert admitted(times, ends=False)[0] == list(range(20))
    assert admitted([*times, 1_000 + 20 / RATE], ends=False)[0] == list(range(20))  # it may have come late
    assert admitted([*times, 1_000 + 20 / RATE, 1_000 + 21 / RATE], ends=False)[0] == [*range(20), 21, 22]


def test_a_clock_that_is_set_back_is_believed_after_a_thousand_rows() -> None:
    times = [*clock(100), *(i / RATE for i in range(MOST_ROWS_BEHIND + 50))]
    numbers, n_skipped = admitted(times, 1_000)
    assert n_skipped == MOST_ROWS_BEHIND
    assert numbers == [*range(100), *range(100 + MOST_ROWS_BEHIND, len(times))]
