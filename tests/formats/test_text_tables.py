"""Text tables: however they are written, what is noted, and which line is at fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from tests.formats.reading import VALUES, read_in_blocks, read_one, refusal, write


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "x,y\n1.5,-2\n,0.25\n3,1e6\n"),
        ("a.csv", "x;y\n1.5;-2\nnan;0.25\n3;1e6"),
        ("a.tsv", "x\ty\n1.5\t-2\nNA\t0.25\n3\t1E+6\n"),
        ("a.txt", "  x   y\n 1.5  -2.0\n null\t0.25  \n3 1000000\n"),
        ("a.csv", "\ufeffx,y\r\n1.5,-2\r\nNULL,.25\r\n3,1e6\r\n"),
        ("a.csv", '"x","y"\n"1.5","-2"\n"",0.25\n3.,+1e6\n'),
        ("a.csv", "x, y\n1.5, -2\nNa , 0.25\n 3,1e6 \n\n\n"),
        ("A.CSV", "\n\nx,y\n1.5,-2\nNaN,0.25\n3,1e6\n"),
    ],
)
def test_text_tables_however_they_are_written(tmp_path: Path, name: str, text: str) -> None:
    recording = read_one(write(tmp_path, name, text))
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.channels == ("x", "y")
    assert recording.id == Path(name).stem
    assert recording.rate is None
    assert recording.notes == ()


def test_without_a_header_the_channels_are_numbered_and_noted(tmp_path: Path) -> None:
    recording = read_one(write(tmp_path, "a.csv", "\ufeff1.5,-2\n,0.25\n3,1e6\n"), rate=50)
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.channels == ("ch0", "ch1")
    assert ["named ch0 to ch1" in note for note in recording.notes] == [True]
    first_missing = read_one(write(tmp_path, "b.csv", ",2\n3,4\n"))
    npt.assert_array_equal(first_missing.values, [[np.nan, 2], [3, 4]])


def test_one_column_and_blank_lines(tmp_path: Path) -> None:
    one = read_one(write(tmp_path, "a.csv", "acc x\n1\n\n3\n\n"))
    npt.assert_array_equal(one.values, [[1], [np.nan], [3]])
    assert one.channels == ("acc x",)
    two = read_one(write(tmp_path, "b.csv", "x,y\n1,2\n\n3,4\n"))
    npt.assert_array_equal(two.values, [[1, 2], [3, 4]])
    assert two.notes == ("1 blank line skipped",)


@pytest.mark.parametrize(
    ("header", "cells", "seconds", "note"),
    [
        ("time", ["0", "0.5", "1.0"], [0, 0.5, 1], None),
        ("Timestamp", ["10", "20", "30"], [10, 20, 30], None),
        ("TIME_S", ["0.1", "0.2", "0.4"], [0.1, 0.2, 0.4], None),
        (
            "t",
            ["1700000000000", "1700000000020", "1700000000040"],
            [1.7e9, 1.7e9 + 0.02, 1.7e9 + 0.04],
            "milli",
        ),
        ("timestamps", ["1700000000000000", "1700000000500000"], [1.7e9, 1.7e9 + 0.5], "micro"),
        ("time", ["1700000000000000000", "1700000001000000000"], [1.7e9, 1.7e9 + 1], "nano"),
        (
            "time",
            ["1970-01-01T00:00:01", "1970-01-01T00:00:01.25", "1970-01-01 00:00:02Z"],
            [1, 1.25, 2],
            None,
        ),
    ],
)
def test_the_clock_of_a_text_table(
    tmp_path: Path, header: str, cells: list[str], seconds: list[float], note: str | None
) -> None:
    rows = "".join(f"{value},{cell},walk\n" for value, cell in enumerate(cells))
    path = write(tmp_path, "a.csv", f"x,{header},activity\n{rows}")
    recording = read_one(path, leave_out=["activity"])
    npt.assert_array_equal(recording.values.ravel(), range(len(cells)))
    assert recording.channels == ("x",)
    npt.assert_allclose(recording.timestamps_s, seconds, rtol=1e-15)
    assert (f"read as {note}seconds since 1970" in " ".join(recording.notes)) if note else not recording.notes
    rated = read_one(path, rate=25, leave_out=["activity"])
    assert (rated.timestamps_s, rated.rate) == (None, 25.0)
    assert [f"column '{header}' left out" in note for note in rated.notes] == [True]


def test_a_clock_is_read_in_double_precision(tmp_path: Path) -> None:
    rows = "".join(f"{1.7e9 + i / 100:.2f},{i}\n" for i in range(5000))
    recording = read_one(write(tmp_path, "a.csv", "time,x\n" + rows))
    npt.assert_allclose(recording.rate, 100, rtol=1e-6)


def test_quoted_labels_may_hold_separators(tmp_path: Path) -> None:
    text = 'x,label,y\n1,"open, then close",2\n3,"say ""hi"", wait",4\n'
    recording = read_one(write(tmp_path, "a.csv", text), leave_out=["label"])
    npt.assert_array_equal(recording.values, [[1, 2], [3, 4]])


BAD_TEXT = [
    ("", "the file is empty"),
    ("\n\n\n", "it has no rows"),
    ("x,y\n", "a header (2 columns) but no rows"),
    ("x,y\n1,2\n3,abc\n", "line 3, column 'y': 'abc' is not a number"),
    ("x;y\n1.5;2\n1,5;2\n", "'1,5' is not a number (a decimal comma? write a point)"),
    ("x,y\n1,2\n3,walk\n", "--label-column 'y'"),
    ("x,y\n1,2\n3,1_0\n", "line 3, column 'y': '1_0' is not a number"),
    ("x,y\n1,2\n3\n4,5\n", "line 3: expected 2 cells, got 1; correct the line or delete it"),
    ("x,y\n1,2\n3,4,5\n", "line 3: expected 2 cells, got 3"),
    ("x,y\n1,2\n\n3\n4,5,6\n", "line 4: expected 2 cells, got 1"),  # a short and a long row together have enough cells
    ('x,y\n1,2\n"3,4\n5",6\n', "line 3: cannot be cut into cells"),
    ('label,x\n"a,b",1\n5\n', "line 3: expected 2 cells, got 1"),
    ("x,y\n1,inf\n", "frame 0, channel 'y'"),
    ("x,y\n1,2\n1e39,2\n", "frame 1, channel 'x'"),
    ("x,y\nnan,NA\n,\n", "all 4 values are NaN or missing"),
    ("x,x\n1,2\n", "columns 1 and 2 are both named 'x'"),
    (",x\n0,2\n", "column 1 has no name"),
    ("time\n1\n2\n", "no channel is left"),
    ("time,x\n1,1\n1,2\n", "the clock 'time' reads '1' in every row"),
    ("time,x\n2,1\n1,2\n", "line 3 (1 s) is earlier"),
    ("time,x\n1,1\n,2\n", "the timestamp of line 3 is missing"),
    ("time,x\n2024-01-01,1\nyesterday,2\n", "line 3, column 'time': 'yesterday' is not a date like 2024"),
    ("time,x\n2024-01-01,1\n,2\n", "the timestamp of line 3 is missing"),
    ("x,y\n1,2\n".encode("utf-16")[:-3] + b"\xd8\x00\x00", "does not continue as such"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not"),
    (bytes(range(256)) * 40, "not a text table"),
    (b"x,y\n1,2\n1,\x002\n", "line 3: binary data"),
    (b"x,y\r1,2\r3,4\r", "bare carriage return"),
]


@pytest.mark.parametrize(("content", "says"), BAD_TEXT, ids=[str(i) for i in range(len(BAD_TEXT))])
def test_bad_text_is_refused_by_line_and_column(tmp_path: Path, content: bytes | str, says: str) -> None:
    path = write(tmp_path, "bad.csv", content)
    keep = {"leave_out": ["label"]} if str(content).startswith("label") else {}
    assert says in refusal(lambda: read_one(path, **keep), naming=path)


def test_the_line_at_fault_is_named_whatever_the_block(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "x,y\n" + "1,2\n" * 500 + "\n1,oops\n" + "1,2\n" * 500)
    for block_bytes in (1, 7, 64, 1 << 20):
        with pytest.raises(RecordingError, match="line 503, column 'y'"):
            read_in_blocks(path, block_bytes)


PLAIN = np.array([[1.5, -2.0], [0.5, 0.25], [3.0, 1e3], [2.5, 4.0]], dtype=np.float32)


def lines_of(separator: str = ",", comma: bool = False, before: tuple[str, ...] = ("",) * 4, end: str = "\n") -> str:
    lines = [separator.join(f"{value:g}" for value in row) for row in PLAIN]
    lines = [line.replace(".", ",") if comma else line for line in lines]
    return "".join(first + line + end for first, line in zip(before, lines, strict=True))


SECONDS = ("0,", "0.5,", "1,", "1.5,")
GERMAN = tuple(f"15.11.2026 20:31:0{second};" for second in ("5,250", "5,750", "6,250", "6,750"))
TABBED = tuple(cell.replace(",", "\t") for cell in SECONDS)
FIRST_S = 1794774665.25

FILES: dict[str, tuple[bytes, float | None, str]] = {
    "remarks": (
        ("#Activity\tsit stand\n# rate 50\nx\ty\n" + lines_of("\t")).encode(),
        None,
        "lines 1 to 2 skipped: remarks",
    ),
    "header in a remark": (("# by me\n# x y\n" + lines_of(" ")).encode(), None, "line 1 skipped: remark"),
    "row numbers": (("#,x,y\n" + lines_of(before=("1,", "2,", "3,", "4,"))).encode(), None, "it only counts the rows"),
    "lines above": (("Device: A7\nStart: noon\nx,y\n" + lines_of()).encode(), None, "lines 1 to 2 skipped: no part"),
    "windows": (("Datum Uhrzeit;x;y\n" + lines_of(";", True, GERMAN)).encode("cp1252"), 2.0, ""),
    "utf-16": (("time\tx\ty\r\n" + lines_of("\t", before=TABBED, end="\r\n")).encode("utf-16"), 2.0, ""),
    "an empty column": (
        ("x,y,hr\n" + lines_of().replace("\n", ",\n")).encode(),
        None,
        "column 'hr' left out: it has no values",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_files_as_people_have_them(tmp_path: Path, case: str) -> None:
    content, rate, note = FILES[case]
    recording = read_one(write(tmp_path, "a.csv", content))
    npt.assert_array_equal(recording.values, PLAIN)
    assert recording.channels == ("x", "y")
    assert recording.rate == (None if rate is None else pytest.approx(rate))
    assert note in " ".join(recording.notes)
    if recording.timestamps_s is not None and recording.timestamps_s[0] > 100:
        npt.assert_allclose(recording.timestamps_s, FIRST_S + np.arange(4) / 2, rtol=1e-15)


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


def test_a_table_that_only_looks_ragged_above_is_not_cut(tmp_path: Path) -> None:
    recording = read_one(write(tmp_path, "a.csv", "x\n1\n2\n3\n"))
    assert recording.notes == ()
    positions = read_one(write(tmp_path, "b.csv", ",0,1\n0,1.5,-2\n1,0.5,0.25\n2,3,9\n"))
    assert positions.channels == ("0", "1")
    npt.assert_array_equal(positions.values, [[1.5, -2], [0.5, 0.25], [3, 9]])


N = 40
X = np.round(np.random.default_rng(0).normal(size=(N, 3)), 3).astype(np.float32)
ROWS = [",".join(map(str, row)) for row in X]
TIMED = [f"{i / 50:.2f},{row}" for i, row in enumerate(ROWS)]


def read(folder: Path, *lines: str, name: str = "a.csv", end: str = "\n") -> Recording:
    return read_one(write(folder, name, "\n".join(lines) + end))


def test_beats_of_an_empatica_e4(tmp_path: Path) -> None:
    recording = read(tmp_path, "1544027337.000000, IBI", *(f"{7 + 0.8 * i:.6f},{x}" for i, x in enumerate(X[:, 0])))
    assert (recording.channels, recording.n_frames) == (("IBI",), N)
    assert recording.timestamps_s is not None and recording.timestamps_s[0] == 7.0
    assert read(tmp_path, "5, IBI", "1,2", "3,4").channels == ("5", "IBI")


@pytest.mark.parametrize("begin", [("1544027337,1544027337", "900,900"), ("5,5", "32,32"), ("1544027337,5", "32,32")])
def test_other_numbers_are_no_e4(tmp_path: Path, begin: tuple[str, str]) -> None:
    assert read(tmp_path, *begin, *(row.rsplit(",", 1)[0] for row in ROWS)).n_frames == N + 2


def test_almost_deeplabcut_is_a_table_as_any_other(tmp_path: Path) -> None:
    assert read(tmp_path, "scorer", "coords", "1", "2").channels == ("scorer",)  # and units
    path = write(tmp_path, "a.csv", "scorer,net\ncoords\n1,2\n3,4")
    assert "line 2: expected 2 cells, got 1" in refusal(lambda: read_one(path), naming=path)


def test_headers_of_files_put_together(tmp_path: Path) -> None:
    recording = read(tmp_path, "time,x,y,z", *TIMED[:15], "time,x,y,z", *TIMED[15:30], "\ufefftime,x,y,z", *TIMED[30:])
    npt.assert_array_equal(recording.values, X)
    assert "2 lines skipped: the header" in "\n".join(recording.notes)
    write(tmp_path, "b.csv", "\n".join(["time,x,y,z", *TIMED[:15], "time,x,y,z", *TIMED[:15]]))
    said = refusal(lambda: read_one(tmp_path / "b.csv"), naming=tmp_path / "b.csv")
    assert "cut the file there" in said


def test_what_a_stopped_writer_leaves(tmp_path: Path) -> None:
    """A torn line, zeros after a power cut; but a short row with its line end is a fault as any other."""
    torn = read(tmp_path, "time,x,y,z", *TIMED, "0.80,1", end="")
    assert (torn.n_frames, torn.notes) == (N, ("its last line is torn: left out",))
    zeros = read(tmp_path, "time,x,y,z", *TIMED, end="\n" + 70000 * "\0")
    assert (zeros.n_frames, zeros.notes) == (N, ("70000 bytes of zeros at its end left out",))
    both = read(tmp_path, "time,x,y,z", *TIMED, "0.80,1", end="\0\0")
    assert both.n_frames == N
    path = write(tmp_path, "b.csv", "\n".join(["time,x,y,z", *TIMED, "0.80,1"]) + "\n")
    assert "line 42: expected 4 cells, got 2" in refusal(lambda: read_one(path), naming=path)
    path = write(tmp_path, "c.csv", 300 * "\0")
    assert "binary data?" in refusal(lambda: read_one(path), naming=path)


def test_blank_rows_that_a_spreadsheet_leaves(tmp_path: Path) -> None:
    recording = read(tmp_path, "time,x,y,z", *TIMED, ",,,", ",,,")
    assert (recording.n_frames, recording.notes) == (N, ("2 rows without a value at its end left out",))
    path = write(tmp_path, "b.csv", "\n".join(["time,x,y,z", *TIMED[:9], ",,,", *TIMED[9:]]))
    assert "timestamp of line 11" in refusal(lambda: read_one(path), naming=path)


EPOCHS = "".join(
    f'"{i + 1}","11/14/2026","{8 + i // 60:02d}:{i % 60:02d}:00","{i % 7}","{i % 11 / 10}"\n' for i in range(99)
)


@pytest.mark.parametrize("n_statistics", [5, 59, 300])
def test_a_table_begins_below_statistics(tmp_path: Path, n_statistics: int) -> None:
    statistics = "".join(f'"REST","{i}","{i * 1.5}"\n' for i in range(n_statistics))
    text = (
        '"------- Subject Properties -------"\n\n"Identity:","S05"\n\n"------- Statistics -------"\n\n'
        f'"Interval Type","Interval#","Avg AC"\n{statistics}\n"------- Epoch-by-Epoch Data -------"\n\n'
        f'"Line","Date","Time","Counts","White Light"\n{EPOCHS}'
    )
    recording = read_one(write(tmp_path, "a.csv", text))
    assert recording.channels == ("Counts", "White Light")
    assert recording.rate == pytest.approx(1 / 60)
    npt.assert_array_equal(recording.values[:, 0], [i % 7 for i in range(99)])
    assert "skipped: " in recording.notes[0]


ACTIWARE = {
    "Actiware Export File": ("Line", "Date", "Time", "Activity", "White Light", "Sleep/Wake", "Marker"),
    "Fichier d'exportation Actiware": (
        "Ligne", "Date", "Heure", "Activité", "Lumière blanche", "Sommeil/Éveil", "Marqueur",
    ),
    "Actiware-Exportdatei": ("Zeile", "Datum", "Zeit", "Aktivität", "Weißes Licht", "Schlaf/Wach", "Markierung"),
}  # fmt: skip


@pytest.mark.parametrize("first", ACTIWARE)
@pytest.mark.parametrize("ends", ["both", "header"])
def test_an_export_of_actiware(tmp_path: Path, first: str, ends: str) -> None:
    """Sections, a legend above each table, lines that end in a separator; as in the examples of pyActigraphy."""
    names = ACTIWARE[first]
    statistics = "".join(f'"REST","{i}","{i}.50","NaN",\n' for i in range(40)) + '"Rest Summary","n","8","NaN",\n'
    legend = '"Column Title","Notes"\n"------------------","---------"\n' + "".join(f'"{n}:","what"\n' for n in names)
    header = ",".join(f'"{name}"' for name in names) + ",\n\n"
    end = "," if ends == "both" else ""
    rows = "".join(
        f'"{i + 1}","{14 + i // 1440}.11.2026","{i // 60:02d}:{i % 60:02d}:00","{0 if i < 90 else i % 7}","0.{i % 9}",'
        f'"{"kZ" if i < 4 else i // 50 % 2}","0"{end}\n'
        for i in range(300)
    )
    text = (
        f'"{first}"\n"Identity:","S05"\n\n"---- Statistics ----"\n\n"Interval Type","Interval#","Duration",'
        f'"Efficiency",\n"","","(minutes)","(%)",\n\n{statistics}\n\n"---- Epoch-by-Epoch Data ----"\n\n'
        f"{legend}\n{header}{rows}"
    )
    recording = read_one(write(tmp_path, "a.csv", text))
    assert recording.channels == names[3:5]
    assert (recording.n_frames, recording.rate) == (300, pytest.approx(1 / 60))
    npt.assert_array_equal(recording.values[:, 0], [0 if i < 90 else i % 7 for i in range(300)])
    assert f"column '{names[5]}' left out" in "\n".join(recording.notes)
    kept = read_one(tmp_path / "a.csv", keep=[names[5]])
    assert kept.channels == names[3:6]


def test_a_wrong_line_in_a_table_is_still_a_fault(tmp_path: Path) -> None:
    rows = "".join(f"{i % 7},{i * i}\n" for i in range(100))
    for wrong in ("oops\n", "1,2,3\n", "oops\na,b\n1,2,3\n"):
        path = write(tmp_path, "a.csv", "x,y\n" + rows + wrong + rows)
        assert "line 102" in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]
