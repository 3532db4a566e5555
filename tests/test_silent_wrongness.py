"""A recording damaged as users' are is labelled rightly, refused, or labelled with a word on the damage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.damage import clocks, columns, files, recordings, values
from tests.damage.case import CASES, Clean, verdict

FAMILIES = (clocks, columns, files, recordings, values)


def _cases(reasons: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """`damage: verb verb` as one case for each verb."""
    for damages, reason in reasons.items():
        damage, _, verbs = damages.partition(": ")
        yield from ((f"{damage}-{verb}", reason) for verb in verbs.split())


_GIVEN_RATE = "a file without a clock has the rate that the user gives"
_FROM_THE_MIDDLE = "a sensor that changes looks like behaviour that changes"
_CHANNEL = "a channel that measures something else looks like another behaviour"

KNOWN_SILENT = dict(
    _cases(
        {
            "twice_the_rate_given: discover": _GIVEN_RATE,
            "every_second_row_at_the_old_rate: discover label stream": _GIVEN_RATE,
            "rows_in_any_order_without_a_clock: discover": "it is noise, and the test of recurrence says so",
            "one_channel_a_second_late: discover label stream": "nothing relates the clocks of two channels",
            "one_channel_in_another_unit_from_the_middle: discover": _FROM_THE_MIDDLE,
            "all_channels_in_another_unit_from_the_middle: discover label": _FROM_THE_MIDDLE,
            "one_channel_moved_up_from_the_middle: label stream": _FROM_THE_MIDDLE,
            "signs_flipped_from_the_middle: discover label": _FROM_THE_MIDDLE,
            "one_sign_flipped: label stream": _CHANNEL,
            "all_signs_flipped: label": _CHANNEL,
            "noise_instead_of_a_channel: label": _CHANNEL,
            "one_channel_copied_over_another: label": _CHANNEL,
            "unnamed_columns_in_another_order: stream": _CHANNEL,
            "two_names_swapped: stream": _CHANNEL,
            "units_at_other_levels: stream": _CHANNEL,
            "a_random_walk: label": "it passes near wide units",
            "the_first_tenth: label": "too short for statistics that tell it from another recording",
            "rows_of_unit_4: stream": "too short for a stream to settle",
            "a_trend_of_six_deviations: discover": "trends are part of the signal",
            "exponents_of_the_values: discover label": "skewed values are scaled by mean and deviation",
            "one_file_of_noise: discover": "all files share the units",
            "lost_packets_as_zeros: label": "zero is a value that most sensors measure",
        }
    )
)
"""Cases that are wrong without a word, and why; docs/limits.md names them. This table only shrinks."""


@pytest.fixture(scope="module")
def clean() -> Clean:
    return Clean.planted()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * one.is_of_reading) for name, one in CASES.items()]
)
def test_it_is_right_or_says_so(name: str, clean: Clean, tmp_path: Path) -> None:
    found = verdict(CASES[name], clean, tmp_path)
    assert (found.judgement == "silent") == (name in KNOWN_SILENT), found


def test_every_exception_is_a_case() -> None:
    assert set(KNOWN_SILENT) <= set(CASES)
    assert len(CASES) >= 110 > 3 * len(KNOWN_SILENT)
