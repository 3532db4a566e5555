"""ActiGraph's .agd, written by SQLite with the tables that ActiLife makes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

TICKS = (datetime(2026, 11, 14, 8) - datetime(1, 1, 1)).days * 864_000_000_000 + 8 * 36_000_000_000


def save(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
    return path


def test_epochs_are_frames(tmp_path: Path) -> None:
    rows = [f"INSERT INTO data VALUES ({TICKS + i * 100_000_000}, {i}, {i % 3}, NULL)" for i in range(30)]
    table = "CREATE TABLE data (dataTimestamp INTEGER, axis1 INTEGER, axis2 INTEGER, lux INTEGER)"
    recording = read_one(save(tmp_path / "p1.agd", table, *rows))
    assert (recording.id, recording.channels[:2]) == ("p1", ("axis1", "axis2"))
    assert recording.rate is not None and round(recording.rate, 6) == 0.1
    npt.assert_array_equal(recording.values[:, 1], [i % 3 for i in range(30)])
    assert recording.times_s is not None and recording.times_s[0] == 1794643200.0


def test_epochs_are_put_in_the_order_of_time_and_silence_is_a_gap(tmp_path: Path) -> None:
    """With the tables of ActiLife 6, of which only `data` is read."""
    places = [3, 0, 1, 2, 10, 11]
    rows = [f"INSERT INTO data VALUES ({TICKS + i * 600_000_000}, {i}.0, {60 * (i % 2)})" for i in places]
    recording = read_one(
        save(
            tmp_path / "p1.agd",
            "CREATE TABLE settings (settingID INTEGER PRIMARY KEY, settingName TEXT, settingValue TEXT)",
            "INSERT INTO settings VALUES (1, 'epochlength', '60')",
            "CREATE TABLE sleep (sleepID INTEGER PRIMARY KEY, inBedTimestamp INTEGER, outBedTimestamp INTEGER)",
            "CREATE TABLE data (dataTimestamp INTEGER, axis1 REAL, inclineOff REAL)",
            "CREATE INDEX IX_dataTimestamp ON data (dataTimestamp)",
            *rows,
        )
    )
    assert recording.channels == ("axis1", "inclineOff") and recording.rate == pytest.approx(1 / 60)
    npt.assert_array_equal(recording.values[:, 0], sorted(places))
    assert recording.times_s is not None and recording.times_s[-1] - recording.times_s[0] == 660


def test_what_is_no_table_of_epochs_is_refused(tmp_path: Path) -> None:
    view = save(tmp_path / "v.agd", "CREATE TABLE a (x)", "CREATE VIEW data AS SELECT 1 AS dataTimestamp FROM a")
    assert "holds no table 'data'" in refusal(lambda: read_one(view), naming=view)
    empty = save(tmp_path / "e.agd", "CREATE TABLE data (dataTimestamp INTEGER, axis1 INTEGER)")
    assert "table 'data' is empty" in refusal(lambda: read_one(empty), naming=empty)
    other = write(tmp_path, "o.agd", b"x,y\n1,2\n")
    assert "no ActiGraph database" in refusal(lambda: read_one(other), naming=other)
