"""Marks on an axis of time: few, in order, inside it, and told apart by their words, whatever the scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.plot.recording import Counts, ticks

NOVEMBER = 1794774665.25


@given(
    counts=st.sampled_from(["frames", "seconds", "dates"]),
    power=st.floats(-3, 9),
    start=st.floats(0, 1),
    most=st.integers(2, 12),
)
def test_marks_are_few_in_order_and_differ(counts: Counts, power: float, start: float, most: int) -> None:
    span = 10.0**power
    first = start * span if counts != "dates" else NOVEMBER + start
    found = ticks(first, first + span, counts, most)
    assert len(found.at) <= most + 1
    assert found.at == sorted(set(found.at))
    assert all(first - 1e-6 * span <= place <= first + span * (1 + 1e-6) for place in found.at)
    if counts != "dates" or 1 < span < 86_400:  # a time of day comes back the next day
        assert len(set(found.words)) == len(found.words)


@pytest.mark.parametrize(
    ("last", "unit", "words"),
    [
        (0.02, "ms", ["0", "5", "10", "15", "20"]),
        (8, "s", ["0", "2", "4", "6", "8"]),
        (1200, "min:s", ["0:00", "5:00", "10:00", "15:00", "20:00"]),
        (36_000, "h:min", ["0:00", "3:00", "6:00", "9:00"]),
        (86_400 * 400, "days", ["0", "100", "200", "300", "400"]),
    ],
)
def test_units_are_those_that_people_say(last: float, unit: str, words: list[str]) -> None:
    found = ticks(0, last, "seconds", 4)
    assert (found.unit, found.words) == (unit, words)


def test_dates_of_a_year_are_months_with_their_year() -> None:
    found = ticks(NOVEMBER, NOVEMBER + 390 * 86_400, "dates", 6)
    assert found.words == ["Jan 2027", "Apr 2027", "Jul 2027", "Oct 2027"]
    assert found.unit == "15 Nov 2026 to 10 Dec 2027"
