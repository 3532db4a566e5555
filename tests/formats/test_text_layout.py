"""Files as loggers, phones and spreadsheets write them, each read without a single setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.files.text.layout import WHITESPACE, cells_of
from tests.formats.reading import read_one, write

VALUES = np.array([[1.5, -2.0], [0.5, 0.25], [3.0, 1e3], [2.5, 4.0]], dtype=np.float32)


def rows(separator: str = ",", comma: bool = False, before: tuple[str, ...] = ("",) * 4, end: str = "\n") -> str:
    lines = [separator.join(f"{value:g}" for value in row) for row in VALUES]
    lines = [line.replace(".", ",") if comma else line for line in lines]
    return "".join(first + line + end for first, line in zip(before, lines, strict=True))


SECONDS = ("0,", "0.5,", "1,", "1.5,")
GERMAN = tuple(f"15.11.2026 20:31:0{second};" for second in ("5,250", "5,750", "6,250", "6,750"))
TABBED = tuple(cell.replace(",", "\t") for cell in SECONDS)
START = 1794774665.25

FILES: dict[str, tuple[bytes, float | None, str]] = {
    "remarks": (
        ("#Activity\tsit stand\n# rate 50\nx\ty\n" + rows("\t")).encode(),
        None,
        "lines 1 to 2 skipped: remarks",
    ),
    "header in a remark": (("# by me\n# x y\n" + rows(" ")).encode(), None, "line 1 skipped: remark"),
    "row numbers": (("#,x,y\n" + rows(before=("1,", "2,", "3,", "4,"))).encode(), None, "it only counts the rows"),
    "lines above": (("Device: A7\nStart: noon\nx,y\n" + rows()).encode(), None, "lines 1 to 2 skipped: no part"),
    "windows": (("Datum Uhrzeit;x;y\n" + rows(";", True, GERMAN)).encode("cp1252"), 2.0, ""),
    "utf-16": (("time\tx\ty\r\n" + rows("\t", before=TABBED, end="\r\n")).encode("utf-16"), 2.0, ""),
    "an empty column": (
        ("x,y,hr\n" + rows().replace("\n", ",\n")).encode(),
        None,
        "column 'hr' left out: it has no values",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_files_as_people_have_them(tmp_path: Path, case: str) -> None:
    content, rate, note = FILES[case]
    recording = read_one(write(tmp_path, "a.csv", content))
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.channels == ("x", "y")
    assert recording.rate == (None if rate is None else pytest.approx(rate))
    assert note in " ".join(recording.notes)
    if recording.timestamps_s is not None and recording.timestamps_s[0] > 100:
        npt.assert_allclose(recording.timestamps_s, START + np.arange(4) / 2, rtol=1e-15)


def test_the_degree_sign_of_a_spreadsheet(tmp_path: Path) -> None:
    recording = read_one(write(tmp_path, "a.csv", "T [°C];a [m/s²]\n20,5;1\n21,5;2\n".encode("cp1252")))
    assert recording.channels == ("T [°C]", "a [m/s²]")
    assert ["UTF-8: read as Windows-1252" in note for note in recording.notes] == [True]
    npt.assert_array_equal(recording.values, [[20.5, 1], [21.5, 2]])


def test_without_a_header_a_first_column_that_rises_throughout_is_the_clock(tmp_path: Path) -> None:
    wave = np.sin(np.arange(200) / 7)
    lines = [f"{i / 50:.2f},{value:.4f}\n" for i, value in enumerate(wave)]
    recording = read_one(write(tmp_path, "a.csv", "".join(lines)))
    assert (recording.channels, recording.rate) == (("ch1",), pytest.approx(50))
    assert any("rises" in note for note in recording.notes)
    lines[150:] = [f"{(300 - i) / 50:.2f},{wave[i]:.4f}\n" for i in range(150, 200)]  # a joint that turns back
    turning = read_one(write(tmp_path, "b.csv", "".join(lines)))
    assert (turning.channels, turning.rate) == (("ch0", "ch1"), None)
    assert not any("is the clock" in note for note in turning.notes)


def test_a_date_in_the_first_line_is_no_header(tmp_path: Path) -> None:
    text = "".join(f"2026-11-15 20:31:0{i},{i * i}\n" for i in range(5))
    recording = read_one(write(tmp_path, "a.csv", text))
    assert (recording.n_frames, recording.channels, recording.rate) == (5, ("ch1",), 1.0)


def test_a_clock_of_whole_seconds_does_not_cost_the_rows(tmp_path: Path) -> None:
    text = "timestamp,x\n" + "".join(f"2026-11-15 09:00:{i // 4:02d},{i % 7}\n" for i in range(80))
    recording = read_one(write(tmp_path, "a.csv", text))
    assert recording.rate == pytest.approx(4)
    assert any("60 rows repeat the time" in note for note in recording.notes)


def test_a_table_that_only_looks_ragged_above_is_not_cut(tmp_path: Path) -> None:
    recording = read_one(write(tmp_path, "a.csv", "x\n1\n2\n3\n"))
    assert recording.notes == ()
    positions = read_one(write(tmp_path, "b.csv", ",0,1\n" + rows(before=("0,", "1,", "2,", "3,"))))
    assert positions.channels == ("0", "1")
    npt.assert_array_equal(positions.values, VALUES)


@pytest.mark.parametrize("n_cells", [3, 3000])  # the cells of short lines are remembered
def test_cells_of_a_line_are_the_same_again(n_cells: int) -> None:
    cells = tuple(f"c{i}" for i in range(n_cells))
    for separator, line in ((",", ", ".join(cells)), (WHITESPACE, "  ".join(cells) + " "), (";", ";".join(cells))):
        assert cells_of(line, separator) == cells_of(line, separator) == cells
        assert cells_of(line, "|") == (line.strip(),)
