"""Values that no sensor measured, or that it measured otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.ma as ma

from rondo.data.recording import Recording
from tests.damage.case import NAMES, RATE, Clean, Given, Values, case

BAD = 4_000  # the row that is damaged
OUTSIDE = r"outside|no measurement|missing|4,?00\d|80(\.\d)? s"


def _row(clean: Clean, value: float | Values) -> Given:
    values = clean.values.copy()
    values[BAD] = value
    rows = np.arange(clean.n)
    rows[BAD] = -1
    return Given(Recording(values, RATE, channels=NAMES), rows)


@case("discover", "label", "stream", names=OUTSIDE)
def one_row_of_65535(clean: Clean, folder: Path) -> Given:
    return _row(clean, 65_535)


@case("discover", "label", names=OUTSIDE)
def one_row_of_the_least_int16(clean: Clean, folder: Path) -> Given:
    return _row(clean, -32_768)


@case("discover", "label", "stream", names=OUTSIDE)
def one_row_of_noise_at_1e9(clean: Clean, folder: Path) -> Given:
    return _row(clean, 1e9 * np.random.default_rng(0).normal(size=len(NAMES)))


@case("discover", "label", names=OUTSIDE)
def one_row_at_100_deviations(clean: Clean, folder: Path) -> Given:
    return _row(clean, 100 * clean.deviation)


@case("discover", "label", "stream", names=OUTSIDE)
def one_infinite_row(clean: Clean, folder: Path) -> Given:
    return _row(clean, np.inf)


@case("discover", "label", names=OUTSIDE)
def one_row_in_a_file(clean: Clean, folder: Path) -> Given:
    table = clean.timed()
    table.iloc[BAD, 1:] = 65_535
    return Given(clean.csv(folder / "day.csv", table), rate=None)


@case("discover", "label", names=OUTSIDE)
def one_cell_of_each_channel_at_1e6(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    for channel in range(len(NAMES)):
        values[1_000 + 1_500 * channel, channel] = 1e6
    return values


@case("discover", "label", names=OUTSIDE)
def three_percent_of_junk_rows(clean: Clean, folder: Path) -> Given:
    rng, values, rows = np.random.default_rng(1), clean.values.copy(), np.arange(clean.n)
    at = rng.choice(clean.n, clean.n * 3 // 100, replace=False)
    values[at] = 1e5 * rng.normal(size=(at.size, len(NAMES)))
    rows[at] = -1
    return Given(Recording(values, RATE, channels=NAMES), rows)


@case("discover", "label", "stream", names=OUTSIDE)
def a_burst_of_noise(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[BAD : BAD + 60] += 300 * clean.deviation * np.random.default_rng(2).normal(size=(60, len(NAMES)))
    return values


@case("discover", "label", "stream", names=OUTSIDE)
def a_spike_in_one_channel(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[BAD, 1] = 1e5
    return values


@case("discover", "label", "stream", names=r"-999")
def a_code_for_lost_packets(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[np.random.default_rng(3).random(clean.n) < 0.02] = -999
    return values


@case("discover", "label", names=r"-999")
def a_code_in_a_file(clean: Clean, folder: Path) -> Path:
    table = clean.timed()
    table.iloc[np.random.default_rng(3).random(clean.n) < 0.02, 1:] = -999
    return clean.csv(folder / "day.csv", table)


@case("discover", "label", "stream", names=r"\b0\b|zero")
def lost_packets_as_zeros(clean: Clean, folder: Path) -> Values:
    values = clean.values + 5 * clean.deviation
    values[np.random.default_rng(4).random(clean.n) < 0.02] = 0
    return values


@case("discover", "label", "stream", names=r"missing|without a value|interpolated|bridged")
def scattered_cells_missing(clean: Clean, folder: Path) -> Values:
    return np.where(np.random.default_rng(5).random(clean.values.shape) < 0.05, np.nan, clean.values)


@case("discover", "label", "stream", names=r"missing|gap")
def ten_seconds_missing(clean: Clean, folder: Path) -> Given:
    values, rows = clean.values.copy(), np.arange(clean.n)
    values[BAD : BAD + 500] = np.nan
    rows[BAD : BAD + 500] = -1
    return Given(Recording(values, RATE, channels=NAMES), rows)


@case("discover", "label", "stream", names=NAMES[2])
def a_channel_missing_for_half_the_time(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[: clean.n // 2, 2] = np.nan
    return values


@case("discover", "label", "stream", names=r"offset|digits|outside|^scaling")
def an_offset_of_1e5(clean: Clean, folder: Path) -> Values:
    return clean.values + 1e5


@case("discover", "label", "stream", names=r"offset|digits|outside|^scaling")
def an_offset_of_1e7(clean: Clean, folder: Path) -> Values:
    return clean.values + 1e7


@case("discover", names=r"offset|digits|outside|^scaling")
def degrees_of_a_position_in_a_file(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "gps.csv", clean.timed(48.1374 + 1e-5 * clean.values), float_format="%.9f")


@case("discover", "label")
def values_times_1e9(clean: Clean, folder: Path) -> Values:
    return clean.values * 1e9


@case("discover", "label")
def values_times_1e_9(clean: Clean, folder: Path) -> Values:
    return clean.values * 1e-9


@case("discover", "label", "stream", names=NAMES[1])
def a_channel_stuck_for_40_percent(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[BAD : BAD + 4_000, 1] = values[BAD, 1]
    return values


@case("label", "stream", names=NAMES[1])
def a_channel_that_never_changes(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[:, 1] = 0.5
    return values


@case("discover", "label", "stream", names=NAMES[1])
def two_channels_stuck_together(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[BAD : BAD + 2_000, 1:3] = values[BAD, 1:3]
    return values


@case("discover", "label", "stream", names=NAMES[0])
def one_channel_in_another_unit_from_the_middle(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[clean.n // 2 :, 0] *= 9.81
    return values


@case("discover", "label", "stream", names="|".join(NAMES))
def all_channels_in_another_unit_from_the_middle(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[clean.n // 2 :] *= 9.81
    return values


@case("discover", "label", "stream", names=NAMES[0])
def one_channel_moved_up_from_the_middle(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[clean.n // 2 :, 0] += 5 * clean.deviation[0]
    return values


@case("discover", "label")
def clipped_at_two_deviations(clean: Clean, folder: Path) -> Values:
    mean = clean.values.mean(axis=0)
    return np.clip(clean.values, mean - 2 * clean.deviation, mean + 2 * clean.deviation)


@case("discover", "label")
def quantised_to_a_quarter_deviation(clean: Clean, folder: Path) -> Values:
    return np.rint(clean.values / clean.deviation * 4) / 4


@case("discover", "label", names="|".join(NAMES))
def numbers_that_wrap_at_8_bits(clean: Clean, folder: Path) -> Values:
    return np.rint(clean.values / clean.deviation * 80).astype(np.int64).astype(np.int8)


@case("discover", "label", names="|".join(NAMES))
def negative_numbers_read_as_uint16(clean: Clean, folder: Path) -> Values:
    return np.rint(clean.values / clean.deviation * 1_000).astype(np.int64).astype(np.uint16)


@case("discover", "label", names=NAMES[0])
def an_angle_that_wraps_at_360_degrees(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[:, 0] = (90 * values[:, 0] / clean.deviation[0]) % 360
    return values


@case("discover", "label", "stream", names=NAMES[0])
def one_sign_flipped(clean: Clean, folder: Path) -> Values:
    return clean.values * np.array([-1, 1, 1, 1, 1])


@case("discover", "label")
def all_signs_flipped(clean: Clean, folder: Path) -> Values:
    return -clean.values


@case("discover", "label", names="|".join(NAMES))
def signs_flipped_from_the_middle(clean: Clean, folder: Path) -> Values:
    return np.concatenate([clean.values[: clean.n // 2], -clean.values[clean.n // 2 :]])


@case("discover", "label")
def half_precision(clean: Clean, folder: Path) -> Values:
    return clean.values.astype(np.float16)


@case("discover", "label", "stream", names=r"outside|^scaling")
def whole_numbers(clean: Clean, folder: Path) -> Values:
    return np.rint(1_000 * clean.values).astype(np.int32)


@case("discover", "label", "stream", names="mask")
def a_masked_array(clean: Clean, folder: Path) -> Given:
    rng = np.random.default_rng(6)
    mask = np.repeat(rng.random(clean.n // 10) < 0.1, 10)[:, None] & np.ones(len(NAMES), bool)
    hidden = ma.array(np.where(mask, 500 * rng.normal(size=mask.shape), clean.values), mask=mask)
    return Given(hidden, np.where(mask.any(axis=1), -1, np.arange(clean.n)))


@case("discover", "label", "stream", names="complex")
def complex_numbers(clean: Clean, folder: Path) -> Given:
    return Given(clean.values + 1j)


@case("discover", "label", "stream", names="object")
def an_array_of_objects(clean: Clean, folder: Path) -> Given:
    return Given(clean.values.astype(object))


@case("discover", "label", "stream", names="columns|channels|frames|long")
def rows_and_columns_exchanged(clean: Clean, folder: Path) -> Given:
    return Given(np.ascontiguousarray(clean.values.T))


@case("discover", "label")
def a_trend_of_six_deviations(clean: Clean, folder: Path) -> Values:
    return clean.values + np.linspace(0, 6, clean.n)[:, None] * clean.deviation


@case("discover", "label")
def exponents_of_the_values(clean: Clean, folder: Path) -> Values:
    return np.exp(3 * clean.values / clean.deviation)


@case("discover", "label", "stream", names=NAMES[3])
def noise_instead_of_a_channel(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[:, 3] = clean.deviation[3] * np.random.default_rng(7).normal(size=clean.n)
    return values


@case("label", "stream", names=r"'does not fit'|doubt")
def noise_instead_of_all_channels(clean: Clean, folder: Path) -> Values:
    return clean.deviation * np.random.default_rng(8).normal(size=clean.values.shape)


@case("label", "stream", names=r"'does not fit'|doubt")
def a_random_walk(clean: Clean, folder: Path) -> Values:
    return np.random.default_rng(9).normal(size=clean.values.shape).cumsum(axis=0)


@case("discover", "label", names=f"{NAMES[0]}.*{NAMES[1]}|{NAMES[1]}.*{NAMES[0]}")
def one_channel_copied_over_another(clean: Clean, folder: Path) -> Values:
    values = clean.values.copy()
    values[:, 1] = values[:, 0]
    return values
