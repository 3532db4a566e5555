"""Excel workbooks written by XlsxWriter: the sheet with the table, remarks, dates, formulas, and bombs."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from rondo.formats import xlsx
from tests.formats.reading import VALUES, read_one, refusal, write

pytest.importorskip("python_calamine", reason="needs python-calamine: pip install 'rondo-ts[io]'")
xlsxwriter = pytest.importorskip("xlsxwriter", reason="needs XlsxWriter, which writes the files of this test")

BEGAN = datetime.datetime(2026, 11, 14, 23, 59, 59)
TABLE = [["x", "y"], [1.5, -2], [None, 0.25], [3, 1e6]]


def book(path: Path, sheets: dict[str, Sequence[Sequence[Any]]], *, hidden: str = "", row: int = 0) -> Path:
    """Dates get the format of dates; what begins with `=` is a formula with the value 7."""
    with xlsxwriter.Workbook(str(path)) as made:
        formats = {
            datetime.datetime: made.add_format({"num_format": "dd.mm.yyyy hh:mm:ss.000"}),
            datetime.time: made.add_format({"num_format": "hh:mm:ss"}),
            datetime.timedelta: made.add_format({"num_format": "[h]:mm:ss"}),
        }
        for name, rows in sheets.items():
            sheet = made.add_worksheet(name)
            for place, cells in enumerate(rows, start=row):
                for column, cell in enumerate(cells):
                    if isinstance(cell, str) and cell.startswith("="):
                        sheet.write_formula(place, column, cell, None, 7)
                    elif type(cell) in formats:
                        sheet.write_datetime(place, column, cell, formats[type(cell)])
                    else:
                        sheet.write(place, column, cell)
            if name == hidden:
                sheet.hide()
    return path


def test_below_remarks_with_units_dates_text_and_formulas(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["Subject", 5], ["Device", "AX6", "left"], [], ["When", "Acc", "Twice", "Status", ""]]
    rows += [["", "m/s²", "m/s²", "", ""]]
    rows += [[BEGAN + datetime.timedelta(seconds=i / 50), i % 7, "=B1*2", "OK", None] for i in range(100)]
    recording = read_one(book(tmp_path / "day.xlsx", {"notes": [["read me"]], "data": rows}))
    assert recording.channels == ("Acc", "Twice")
    npt.assert_array_equal(recording.values, [[i % 7, 7] for i in range(100)])
    assert recording.times_s is not None
    npt.assert_allclose(np.diff(recording.times_s), 0.02, atol=1e-6)
    assert recording.times_s[0] == BEGAN.replace(tzinfo=datetime.UTC).timestamp()
    said = " ".join(recording.notes)
    assert "column 'Status' left out" in said and "line 5 skipped" in said and "lines 1 to 2" in said


def test_times_of_day_go_through_midnight_and_durations_are_seconds(tmp_path: Path) -> None:
    moments = [BEGAN + datetime.timedelta(seconds=i) for i in range(40)]
    rows = [["Time", "x"], *([moment.time(), i * i] for i, moment in enumerate(moments))]
    by_day = read_one(book(tmp_path / "a.xlsx", {"a": rows}))
    assert by_day.rate == pytest.approx(1)
    rows = [["Time", "x"], *([datetime.timedelta(hours=25, seconds=i / 4), i * i] for i in range(40))]
    by_duration = read_one(book(tmp_path / "b.xlsx", {"a": rows}))
    assert by_duration.rate == pytest.approx(4, rel=1e-3)


def test_the_largest_sheet_is_read_and_a_key_names_another(tmp_path: Path) -> None:
    long = [["a"], *([i * i] for i in range(20))]
    path = book(tmp_path / "day.xlsx", {"info": [["about"]], "short": TABLE, "long": long, "old": long}, hidden="old")
    found = read_one(path)
    assert (found.channels, found.notes) == (
        ("a",),
        ("sheet 'long' read, others left out: 'short'; name one with key (--key)",),
    )
    npt.assert_array_equal(read_one(path, key="short").values, VALUES)
    assert read_one(path, key="old").n_frames == 20
    message = refusal(lambda: read_one(path, key="none"), naming=path)
    assert "no sheet 'none'" in message


def test_faults_name_the_row_of_the_sheet(tmp_path: Path) -> None:
    rows = [["x", "y"], *([i % 5, i * i] for i in range(70)), ["oops", 1]]
    path = book(tmp_path / "day.xlsx", {"a": rows}, row=3)
    assert "line 75, column 'x': 'oops'" in refusal(lambda: read_one(path), naming=path)


def test_what_is_no_workbook_or_has_no_table_is_refused(tmp_path: Path) -> None:
    none = book(tmp_path / "none.xlsx", {"a": [["only"], ["words"]]})
    assert "no sheet holds" in refusal(lambda: read_one(none), naming=none)
    for content, expected in (
        (b"x,y\n1,2\n", "no Excel workbook"),
        (b"\xd0\xcf\x11\xe0" + bytes(99), "it has a password, or is an old .xls"),
        (none.read_bytes()[:700], "damaged"),
    ):
        path = write(tmp_path, "bad.xlsx", content)
        assert expected in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]


def test_cells_that_lie_far_apart_and_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "most_for_a_file", lambda: 10_000_000)
    path = tmp_path / "far.xlsx"
    with xlsxwriter.Workbook(str(path)) as made:
        sheet = made.add_worksheet("a")
        for row, column in ((0, 0), (1, 0), (99_999, 16383)):
            sheet.write(row, column, 1.0)
    message = refusal(lambda: read_one(path), naming=path)
    assert "cells take 52.4 GB" in message
    bomb = book(tmp_path / "bomb.xlsx", {"Sheet1": TABLE})
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/a.bin", bytes(5_000_000))
    assert "its cells take 5 MB" in refusal(lambda: read_one(bomb), naming=bomb)
