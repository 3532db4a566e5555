"""Durations, moments and dates as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.wording import day_and_time, duration_in_words, estimate_in_words, is_date, moment_in_words

NOVEMBER = 1794774665.25
SECONDS_IN = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "days": 86_400.0, "years": 365.25 * 86_400}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (0.0999, "99.9 ms"),
        (0.1, "0.1 s"),
        (119.9, "120 s"),
        (120.0, "2 min"),
        (7199.0, "120 min"),
        (7200.0, "2 h"),
        (9357.0 * 3600, "390 days"),
        (1_875_927.27, "21.7 days"),
        (1e12, "31,688 years"),
        (-90.0, "-90 s"),
    ],
)
def test_a_duration_has_a_unit_that_fits_it(seconds: float, words: str) -> None:
    assert duration_in_words(seconds) == words


@given(st.floats(1e-4, 1e11))
def test_a_duration_in_words_is_the_duration_in_three_digits(seconds: float) -> None:
    number, unit, *rest = duration_in_words(seconds).split(" ")
    told = float(number.replace(",", "")) * SECONDS_IN[unit]
    if rest:  # 2 min 32 s
        smaller, of = rest
        assert 0 < int(smaller) < 60
        told += int(smaller) * SECONDS_IN[of]
    assert told == pytest.approx(seconds, rel=0.006)
    assert len(number.replace(".", "").lstrip("0")) <= 3 or unit == "years"
    assert "e" not in number


@given(st.floats(0.0, 1e9))
def test_an_estimate_has_no_decimals(seconds: float) -> None:
    number, unit = estimate_in_words(seconds).split(" ")
    assert int(number.replace(",", "")) * SECONDS_IN[unit] == pytest.approx(seconds, rel=0.34, abs=1.0)


def test_readings_since_1970_are_times_of_day_and_dates_where_a_day_is_not_enough() -> None:
    assert is_date(NOVEMBER) and not is_date(5e8) and not is_date(None)
    assert moment_in_words(NOVEMBER) == moment_in_words(NOVEMBER, 86_400.0) == "20:31:05.2"
    assert moment_in_words(NOVEMBER, 86_401.0) == "2026-11-15 20:31"
    assert day_and_time(NOVEMBER) == "2026-11-15 20:31:05"
