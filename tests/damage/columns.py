"""Columns that are named otherwise, are not there, or are no channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.ndimage import uniform_filter1d

from tests.damage.case import NAMES, RATE, Clean, Given, Values, case

SWAPPED = [0, 3, 2, 1, 4]


@case("label", "stream")
def columns_in_another_order(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", clean.timed()[["time", *reversed(NAMES)]])


@case("label", "stream", names=r"'does not fit'|doubt")
def unnamed_columns_in_another_order(clean: Clean, folder: Path) -> Given:
    return Given(clean.values[:, SWAPPED])


@case("label", "stream", names="|".join(NAMES))
def columns_renamed(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", clean.timed().rename(columns={name: name.upper()[1:] for name in NAMES}))


@case("label", "stream", names="|".join(NAMES))
def columns_in_capitals(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", clean.timed().rename(columns=str.upper))


@case("label", "stream", names=r"'does not fit'|doubt")
def two_names_swapped(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", clean.timed(clean.values[:, SWAPPED]))


@case("label", "stream", names=NAMES[2])
def a_channel_lacks(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", clean.timed().drop(columns=NAMES[2]))


@case("label", "stream", names="channel")
def an_unnamed_channel_lacks(clean: Clean, folder: Path) -> Given:
    return Given(clean.values[:, :4])


@case("label", "stream", names="channel")
def an_unnamed_channel_too_many(clean: Clean, folder: Path) -> Given:
    return Given(np.column_stack([clean.values[:, 0], clean.values]))


def _more(clean: Clean, folder: Path, name: str, values: object) -> Path:
    return clean.csv(folder / "day.csv", clean.timed(**{name: values}))


@case("label", "stream", names="humidity")
def a_channel_more(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "humidity", np.random.default_rng(0).normal(size=clean.n))


@case("discover", "label", names="voltage")
def a_constant_column(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "voltage", 3.3)


@case("discover", "label", names="battery")
def a_battery_that_runs_down(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "battery", np.round(np.linspace(100, 60, clean.n)))


@case("discover", "label", "stream", names="pressure_2|copy|same")
def a_channel_twice(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "pressure_2", clean.values[:, 4])


@case("discover", "label", names=NAMES[0])
def two_columns_with_one_name(clean: Clean, folder: Path) -> Path:
    path = clean.csv(folder / "day.csv", clean.timed(other=clean.values[:, 0]))
    path.write_text(path.read_text().replace("other", NAMES[0], 1))
    return path


@case("discover", "label", names="'label'")
def labels_as_numbers(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "label", _coarse(clean))


@case("discover", "label", names="'mode'")
def labels_under_another_name(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "mode", _coarse(clean))


@case("discover", "label", names=f"ch6|no name|lacks.*{NAMES[0]}")
def labels_without_a_name(clean: Clean, folder: Path) -> Given:
    table = clean.timed(labels=_coarse(clean))
    return Given(clean.csv(folder / "day.csv", table, header=False), rate=None)


@case("discover", "label", names="'class_share'")
def labels_as_fractions(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "class_share", 0.25 * _coarse(clean))


@case("discover", "label", names="'score'")
def labels_smoothed(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "score", uniform_filter1d(10.0 * _coarse(clean), 25))


@case("discover", "label", names="'activity'|text")
def labels_as_words(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "activity", np.array(["walk", "sit", "run"])[_coarse(clean)])


@case("discover", "label", names="'is_sit'|is_walk")
def labels_as_one_column_each(clean: Clean, folder: Path) -> Path:
    each = {f"is_{name}": (_coarse(clean) == k).astype(int) for k, name in enumerate(("walk", "sit", "run"))}
    return clean.csv(folder / "day.csv", clean.timed(**each))


def _coarse(clean: Clean) -> Values:
    """Labels of another thing than the units: three activities in turn."""
    return np.arange(clean.n) // 700 % 3


@case("discover", "label", names="1|counts|no name")
def an_index_without_a_name(clean: Clean, folder: Path) -> Path:
    path = folder / "day.csv"
    clean.timed().to_csv(path)
    return path


@case("discover", "label", names="frame")
def a_counter_of_frames(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", clean.frame(frame=np.arange(clean.n), time=np.arange(clean.n) / RATE))


@case("discover", "label", names="packet")
def a_counter_that_wraps_at_256(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "packet", np.arange(clean.n) % 256)


@case("discover", "label", names="pkt")
def a_counter_under_another_name(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "pkt", np.arange(clean.n) % 256)


@case("discover", "label", names="NSM")
def seconds_since_midnight(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "NSM", 36_000 + np.arange(clean.n) // 50)


@case("discover", "label", names="subject")
def a_number_of_the_person(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "subject", np.arange(clean.n) // 5_000 + 1)


@case("discover", "label", names="quality")
def a_share_of_confidence(clean: Clean, folder: Path) -> Path:
    return _more(clean, folder, "quality", np.random.default_rng(1).uniform(0.9, 1, clean.n))


@case("discover", "label")
def a_data_frame_with_dates_as_its_index(clean: Clean, folder: Path) -> Given:
    index = pd.date_range("2026-11-15", periods=clean.n, freq="20ms")
    return Given(clean.frame().set_index(index), rate=None)


@case("discover", "label")
def a_data_frame_with_time_since_start_as_its_index(clean: Clean, folder: Path) -> Given:
    index = pd.to_timedelta(np.arange(clean.n) / RATE, unit="s")
    return Given(clean.frame().set_index(index), rate=None)


@case("discover", "label", names="index|person|level")
def a_data_frame_with_persons_in_its_index(clean: Clean, folder: Path) -> Given:
    time = np.arange(clean.n) % 5_000 / RATE
    index = pd.MultiIndex.from_arrays([np.where(np.arange(clean.n) < 5_000, "ada", "bob"), time], names=["person", "t"])
    return Given(clean.frame().set_index(index), rate=None)


@case("discover", "label", names="|".join(NAMES))
def numbers_as_strings_in_a_data_frame(clean: Clean, folder: Path) -> Given:
    return Given(clean.timed().round(4).astype(str), rate=None)


@case("discover", names="pivot")
def one_reading_per_row(clean: Clean, folder: Path) -> Given:
    long = clean.timed().melt("time", var_name="sensor").sort_values("time", kind="stable")
    return Given(clean.csv(folder / "long.csv", long), rate=None)


@case("discover", names="pivot")
def one_reading_per_row_of_forty_tags(clean: Clean, folder: Path) -> Given:
    rows = np.arange(600)
    tags = {f"TI{100 + k}": clean.values[rows, k % 5] * (1 + k) for k in range(40)}
    wide = pd.DataFrame({"timestamp": pd.date_range("2026-01-01", periods=600, freq="20ms")} | tags)
    long = wide.melt("timestamp", var_name="tag").sort_values("timestamp", kind="stable").assign(quality=192)
    return Given(clean.csv(folder / "long.csv", long), rows, rate=None)


@case("discover", names="pivot")
def one_reading_per_row_of_a_data_frame(clean: Clean, folder: Path) -> Given:
    long = clean.timed().melt("time", var_name="sensor").sort_values("time", kind="stable")
    return Given(long, rate=None)


@case("discover", "label")
def one_tag_of_a_plant(clean: Clean, folder: Path) -> Given:
    table = clean.timed().assign(tag="TI100", status="good")[["time", "tag", *NAMES, "status"]]
    return Given(clean.csv(folder / "tag.csv", table), np.arange(clean.n), rate=None)


@case("discover", names="pivot")
def readings_only_where_they_change(clean: Clean, folder: Path) -> Given:
    rng = np.random.default_rng(2)
    rows, tags = np.nonzero(rng.random((clean.n, 5)) < 0.3)
    long = pd.DataFrame({"time": rows / RATE, "tag": [f"tag{k}" for k in tags], "value": clean.values[rows, tags]})
    return Given(clean.csv(folder / "long.csv", long), rows, rate=None)


def _animals(clean: Clean) -> pd.DataFrame:
    """Five flies in a table of no known program, one after the other."""
    table = pd.DataFrame({"fly": np.repeat("fly_0", 2_000), "frame_idx": np.arange(2_000)})
    for k, name in enumerate(("Head.x", "Head.y", "Tail.x", "Tail.y")):
        table[name] = 100 + 20 * clean.values[:2_000, k]
    return pd.concat([table, *(table.assign(fly=f"fly_{k}") for k in range(1, 5))])


@case("discover", names="split-by")
def animals_in_turn(clean: Clean, folder: Path) -> Given:
    every = _animals(clean).sort_values("frame_idx", kind="stable")
    return Given(clean.csv(folder / "flies.csv", every), every.frame_idx.to_numpy())


@case("discover", names="split-by")
def one_animal_after_the_other(clean: Clean, folder: Path) -> Given:
    every = _animals(clean)
    return Given(clean.csv(folder / "flies.csv", every), every.frame_idx.to_numpy())
