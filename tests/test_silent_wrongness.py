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
            "a_trend_of_six_deviations: discover": "trends are part of the signal",
            "exponents_of_the_values: discover label": "skewed values are scaled by mean and deviation",
            "one_file_of_noise: discover": "all files share the units",
        }
    )
)
"""Cases that are wrong without a word, and why; docs/limits.md names them. This table only shrinks."""

PENDING = {
    "sound": """one_row_of_65535: discover label
        one_row_of_the_least_int16: discover label
        one_row_of_noise_at_1e9: discover label
        one_row_in_a_file: discover label
        one_cell_of_each_channel_at_1e6: discover label
        three_percent_of_junk_rows: discover label
        a_burst_of_noise: discover label
        a_code_for_lost_packets: discover stream
        lost_packets_as_zeros: label
        an_offset_of_1e5: stream
        an_offset_of_1e7: stream
        a_channel_stuck_for_40_percent: discover stream
        a_channel_that_never_changes: stream
        two_channels_stuck_together: discover label stream
        one_bad_packet: command-discover command-label
        a_stuck_channel_in_a_file: command-discover
        a_masked_array: discover label stream""",
    "switch": """rows_of_unit_4: stream
        whole_numbers: stream
        noise_instead_of_a_channel: stream""",
    "files": """a_clock_in_minutes: discover
        a_clock_in_hours: discover
        labels_as_fractions: discover
        labels_smoothed: discover
        a_data_frame_with_time_since_start_as_its_index: discover
        stray_text_and_the_header_again: discover
        stray_text_among_lines_of_json: discover label
        dots_between_thousands: discover label""",
    "silent": """a_data_frame_with_persons_in_its_index: discover
        numbers_that_wrap_at_8_bits: discover label
        negative_numbers_read_as_uint16: discover""",
}
_PENDING = {
    case
    for part, damages in PENDING.items()
    for case, _ in _cases(dict.fromkeys(map(str.strip, damages.splitlines()), part))
}


@pytest.fixture(scope="module")
def clean() -> Clean:
    return Clean.planted()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * one.is_of_reading) for name, one in CASES.items()]
)
def test_it_is_right_or_says_so(name: str, clean: Clean, tmp_path: Path) -> None:
    found = verdict(CASES[name], clean, tmp_path)
    if name not in _PENDING:
        assert (found.judgement == "silent") == (name in KNOWN_SILENT), found


def test_every_exception_is_a_case() -> None:
    assert set(KNOWN_SILENT) | _PENDING <= set(CASES)
    assert len(CASES) >= 110 > 10 * len(set(KNOWN_SILENT)) / 3
