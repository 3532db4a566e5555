"""Recordings that differ from those of the model, streams, and files among others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rondo.data.recording import Recording
from tests.damage.case import NAMES, RATE, Clean, Given, Rows, Values, case

DOUBT = r"'does not fit'|doubt|one activity"
GAIN = rf"{DOUBT}|^scaling"


def _of_rows(clean: Clean, rows: Rows) -> Given:
    return Given(Recording(clean.values[rows], RATE, channels=NAMES), rows)


def _of_unit(place: int) -> None:
    """The rows of one unit: a day at rest, a machine that idles."""

    def rows_of_one_unit(clean: Clean, folder: Path) -> Given:
        ids = np.unique(clean.labelled[clean.labelled >= 0])
        return _of_rows(clean, np.flatnonzero(clean.labelled == ids[place]))

    rows_of_one_unit.__name__ = f"rows_of_unit_{place}"
    case("label", "stream", names=DOUBT)(rows_of_one_unit)


for _place in range(5):
    _of_unit(_place)


@case("label", "stream", names=DOUBT)
def the_first_tenth(clean: Clean, folder: Path) -> Given:
    return _of_rows(clean, np.arange(clean.n // 10))


@case("label", "stream", names=DOUBT)
def the_first_half(clean: Clean, folder: Path) -> Given:
    return _of_rows(clean, np.arange(clean.n // 2))


@case("label", "stream", names=GAIN)
def all_channels_at_another_gain(clean: Clean, folder: Path) -> Values:
    return 9.81 * clean.values


@case("label", "stream", names=GAIN)
def each_channel_at_another_gain(clean: Clean, folder: Path) -> Values:
    return clean.values * np.array([0.5, 2, 1.5, 0.7, 3])


@case("label", "stream", names=GAIN)
def all_channels_moved_up(clean: Clean, folder: Path) -> Values:
    return clean.values + 4 * clean.deviation


@case("label", "stream", names=DOUBT)
def units_at_other_levels(clean: Clean, folder: Path) -> Values:
    """A sensor turned about an axis: its first two channels mix."""
    turned = np.eye(len(NAMES))
    turned[:2, :2] = [[np.cos(0.8), -np.sin(0.8)], [np.sin(0.8), np.cos(0.8)]]
    return clean.values @ turned.T


@case("label", "stream", names="Hz|rate")
def another_rate(clean: Clean, folder: Path) -> Given:
    rows = np.arange(0, clean.n, 2)
    return Given(Recording(clean.values[rows], RATE / 2, channels=NAMES), rows)


@case("stream", names="channel|number")
def a_row_of_words(clean: Clean, folder: Path) -> Given:
    return Given([clean.values[:4_000], [["a", "b", "c", "d", "e"]], clean.values[4_000:]], np.arange(clean.n))


@case("stream", names="missing|gap")
def a_chunk_without_values(clean: Clean, folder: Path) -> Given:
    rows = np.concatenate([np.arange(4_000), np.full(100, -1), np.arange(4_000, clean.n)])
    chunks = [clean.values[:4_000], np.full((100, len(NAMES)), np.nan), clean.values[4_000:]]
    return Given(chunks, rows)


@case("stream")
def chunks_of_any_size(clean: Clean, folder: Path) -> Given:
    cuts = np.cumsum([1, 7, 300, 1, 2_000, 13, 4_000])
    return Given(np.split(clean.values, cuts), np.arange(clean.n))


def _parts(clean: Clean) -> Sequence[Rows]:
    return np.split(np.arange(clean.n), [3_500, 7_000])


def _files(clean: Clean, folder: Path, changed: int = -1, values: Values | None = None) -> list[Path]:
    paths = []
    for number, rows in enumerate(_parts(clean)):
        source = values if values is not None and number == changed else clean.values
        paths.append(clean.csv(folder / f"day{number}.csv", clean.timed(source).iloc[rows]))
    return paths


@case("discover", "label")
def files_in_another_order(clean: Clean, folder: Path) -> Given:
    paths = _files(clean, folder)
    return Given(paths[::-1], np.arange(clean.n), rate=None)


@case("discover", "label")
def one_file_in_another_unit(clean: Clean, folder: Path) -> Given:
    return Given(_files(clean, folder, 1, 1_000 * clean.values), rate=None)


@case("discover", "label", names="day1")
def one_file_of_noise(clean: Clean, folder: Path) -> Given:
    rows = np.arange(clean.n)
    rows[_parts(clean)[1]] = -1
    noise = clean.deviation * np.random.default_rng(0).normal(size=clean.values.shape)
    return Given(_files(clean, folder, 1, noise), rows, rate=None)


@case("discover", "label")
def one_file_with_its_columns_in_another_order(clean: Clean, folder: Path) -> Given:
    paths = _files(clean, folder)
    clean.csv(paths[1], clean.timed().iloc[_parts(clean)[1]][["time", *reversed(NAMES)]])
    return Given(paths, rate=None)


@case("discover", "label", names=f"day1|{NAMES[2]}")
def one_file_without_a_channel(clean: Clean, folder: Path) -> Given:
    paths = _files(clean, folder)
    clean.csv(paths[1], clean.timed().iloc[_parts(clean)[1]].drop(columns=NAMES[2]))
    return Given(paths, rate=None)


@case("discover", "label", names="day1|Hz")
def one_file_at_another_rate(clean: Clean, folder: Path) -> Given:
    paths, rows = _files(clean, folder), [*_parts(clean)]
    rows[1] = rows[1][::2]
    clean.csv(paths[1], clean.timed().iloc[rows[1]])
    return Given(paths, np.concatenate(rows), rate=None)


@case("discover", "label", names="day1")
def one_file_broken(clean: Clean, folder: Path) -> Given:
    paths = _files(clean, folder)
    paths[1].write_bytes(b"\x00\x01" * 5_000)
    return Given(paths, rate=None)


@case("discover", names="day1|day3|same|copy")
def one_file_twice(clean: Clean, folder: Path) -> Given:
    paths = _files(clean, folder)
    copy = folder / "day3.csv"
    copy.write_bytes(paths[1].read_bytes())
    return Given([*paths, copy], np.concatenate([*_parts(clean), _parts(clean)[1]]), rate=None)


@case("discover", "label")
def one_file_much_longer(clean: Clean, folder: Path) -> Given:
    short = [clean.csv(folder / f"day{k}.csv", clean.timed().iloc[200 * k : 200 * (k + 1)]) for k in range(2)]
    long = clean.csv(folder / "long.csv", clean.timed().iloc[400:])
    return Given([*short, long], rate=None)


@case("discover", names="day1|activity|variety|ids")
def one_activity_in_each_file(clean: Clean, folder: Path) -> Given:
    ids = np.unique(clean.found[clean.found >= 0])[:3]
    rows = [np.flatnonzero(clean.found == unit) for unit in ids]
    paths = [clean.csv(folder / f"day{k}.csv", clean.frame(clean.values[part])) for k, part in enumerate(rows)]
    return Given(paths, np.concatenate(rows))
