"""Files as devices and programs write them, which no header explains: read rightly, or refused with what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.data.recording import Recording
from tests.formats.reading import read_one, refusal, write

N = 40
X = np.round(np.random.default_rng(0).normal(size=(N, 3)), 3).astype(np.float32)
ROWS = [",".join(map(str, row)) for row in X]
TIMED = [f"{i / 50:.2f},{row}" for i, row in enumerate(ROWS)]
ACTIGRAPH = """\
------------ Data File Created By ActiGraph GT3X+ ActiLife v6.13.3 Firmware v3.2.1 date format M/d/yyyy at 30 Hz  Filter
Serial Number: NEO1F16120025
Start Time 14:15:00
Start Date 3/5/2014
Epoch Period (hh:mm:ss) 00:00:00
Current Battery Voltage: 4.22     Mode = 12
--------------------------------------------------
"""


def read(folder: Path, *lines: str, name: str = "a.csv", end: str = "\n") -> Recording:
    return read_one(write(folder, name, "\n".join(lines) + end))


def test_empatica_e4(tmp_path: Path) -> None:
    recording = read(tmp_path, *[", ".join([cell] * 3) for cell in ("1544027337.000000", "32.000000")], *ROWS)
    npt.assert_array_equal(recording.values, X)
    assert recording.rate == 32.0
    assert recording.timestamps_s is not None and recording.timestamps_s[1] == 1544027337 + 1 / 32
    assert recording.notes[0].startswith("lines 1 and 2 read as an Empatica E4 writes them")
    alone = read(tmp_path, "1544027337.000000", "4.000000", *[str(x) for x in X[:, 0]])
    assert (alone.n_frames, alone.rate) == (N, 4.0)
    given = read_one(tmp_path / "a.csv", rate=8)
    assert (given.rate, given.timestamps_s) == (8.0, None)


def test_beats_of_an_empatica_e4(tmp_path: Path) -> None:
    recording = read(tmp_path, "1544027337.000000, IBI", *(f"{7 + 0.8 * i:.6f},{x}" for i, x in enumerate(X[:, 0])))
    assert (recording.channels, recording.n_frames) == (("IBI",), N)
    assert recording.timestamps_s is not None and recording.timestamps_s[0] == 7.0
    assert read(tmp_path, "5, IBI", "1,2", "3,4").channels == ("5", "IBI")


@pytest.mark.parametrize("begin", [("1544027337,1544027337", "900,900"), ("5,5", "32,32"), ("1544027337,5", "32,32")])
def test_other_numbers_are_no_e4(tmp_path: Path, begin: tuple[str, str]) -> None:
    assert read(tmp_path, *begin, *(row.rsplit(",", 1)[0] for row in ROWS)).n_frames == N + 2


@pytest.mark.parametrize("header", ["", "Accelerometer X,Accelerometer Y,Accelerometer Z\n"])
def test_actigraph(tmp_path: Path, header: str) -> None:
    recording = read_one(write(tmp_path, "a.csv", ACTIGRAPH + header + "\n".join(ROWS)))
    npt.assert_array_equal(recording.values, X)
    assert recording.rate == 30.0
    assert "rate of 30 Hz taken from the lines above the table; give --rate if it is another" in recording.notes
    assert read_one(tmp_path / "a.csv", rate=100).rate == 100.0


def test_a_clock_is_better_than_words(tmp_path: Path) -> None:
    recording = read(tmp_path, "# sampling rate: 10 Hz", "time,x,y,z", *TIMED)
    assert recording.rate == 50.0
    assert not any("rate of" in note for note in recording.notes)


def test_xsens(tmp_path: Path) -> None:
    for step, per_second in ((100, 1e4), (16667, 1e6)):
        rows = [f"{i:05d}\t{i * step}\t" + row.replace(",", "\t") for i, row in enumerate(ROWS)]
        header = "PacketCounter\tSampleTimeFine\tAcc_X\tAcc_Y\tAcc_Z"
        recording = read(tmp_path, "// Update Rate: 100.0Hz", header, *rows, name="a.txt")
        assert recording.channels == ("Acc_X", "Acc_Y", "Acc_Z")
        assert recording.rate == pytest.approx(per_second / step)


def test_deeplabcut(tmp_path: Path) -> None:
    heads = ["scorer,net,net,net", "bodyparts,nose,nose,tail", "coords,x,y,x"]
    recording = read(tmp_path, *heads, *(f"{i},{row}" for i, row in enumerate(ROWS)))
    assert recording.channels == ("nose.x", "nose.y", "tail.x")
    npt.assert_array_equal(recording.values, X)
    several = [heads[0], "individuals,ann,ann,bob", *heads[1:]]
    assert read(tmp_path, *several, *(f"{i},{row}" for i, row in enumerate(ROWS))).channels[2] == "bob.tail.x"


def test_almost_deeplabcut_is_a_table_as_any_other(tmp_path: Path) -> None:
    assert read(tmp_path, "scorer", "coords", "1", "2").channels == ("scorer",)  # and units
    path = write(tmp_path, "a.csv", "scorer,net\ncoords\n1,2\n3,4")
    assert "line 2: expected 2 cells, got 1" in refusal(lambda: read_one(path), naming=path)


def test_a_phone_that_stamps_twice(tmp_path: Path) -> None:
    rows = [f"2024-05-01T12:00:{i / 50:06.3f}+02:00,{i + 1},{1234.5 + i / 50},{row}" for i, row in enumerate(ROWS)]
    recording = read(tmp_path, "loggingTime(txt),loggingSample(N),accTimestamp_sinceReboot(s),x,y,z", *rows)
    assert (recording.channels, recording.rate) == (("x", "y", "z"), pytest.approx(50.0))
    alone = read(tmp_path, "accTimestamp_sinceReboot(s),x,y,z", *(row.split(",", 2)[2] for row in rows))
    assert (alone.channels, alone.rate) == (("x", "y", "z"), pytest.approx(50.0))
    assert "its name speaks of time stamps" in alone.notes[0]


def test_dates_beside_a_clock_are_no_channel(tmp_path: Path) -> None:
    recording = read(tmp_path, "time,when,x,y,z", *(row.replace(",", ",2024-05-01 12:00:00,", 1) for row in TIMED))
    assert (recording.channels, recording.rate) == (("x", "y", "z"), 50.0)
    assert recording.notes[0].startswith("column 'when' left out: 'time' is the clock")


def test_first_columns_that_matlab_and_r_name(tmp_path: Path) -> None:
    for names in ("Var1,Var2,Var3,Var4", "V1,V2,V3,V4"):
        assert (read(tmp_path, names, *TIMED).rate, read(tmp_path, names, *TIMED).n_channels) == (50.0, 3)


@pytest.mark.parametrize(("name", "day_0"), [("Date", 45000.0), ("Date", 738000.0), ("time", 45000.0)])
def test_days_are_no_seconds(tmp_path: Path, name: str, day_0: float) -> None:
    rows = [f"{day_0 + i / 86400:.9f},{row}" for i, row in enumerate(ROWS)]
    recording = read(tmp_path, f"{name},x,y,z", *rows)
    assert recording.rate == pytest.approx(1.0, rel=1e-4)
    assert recording.timestamps_s is not None
    assert recording.timestamps_s[0] == pytest.approx({45000: 1678838400, 738000: 1595894400}[int(day_0)])
    assert read(tmp_path, "time,x,y,z", *(f"{45000 + i},{row}" for i, row in enumerate(ROWS))).rate == 1.0


def test_a_zone_in_words(tmp_path: Path) -> None:
    rows = [f"2024-10-27 00:59:{i:02d} UTC,{row}" for i, row in enumerate(ROWS)]
    assert read(tmp_path, "time,x,y,z", *rows).rate == 1.0


def test_pipes_and_errors_of_a_spreadsheet(tmp_path: Path) -> None:
    recording = read(tmp_path, "time|x|y|z", *(row.replace(",", "|") for row in TIMED), "0.80|#DIV/0!|1|#VALUE!")
    npt.assert_array_equal(recording.values[-1], [np.nan, 1, np.nan])


def test_headers_of_files_put_together(tmp_path: Path) -> None:
    recording = read(tmp_path, "time,x,y,z", *TIMED[:15], "time,x,y,z", *TIMED[15:30], "\ufefftime,x,y,z", *TIMED[30:])
    npt.assert_array_equal(recording.values, X)
    assert "2 lines skipped: the header again" in recording.notes
    write(tmp_path, "b.csv", "\n".join(["time,x,y,z", *TIMED[:15], "time,x,y,z", *TIMED[:15]]))
    said = refusal(lambda: read_one(tmp_path / "b.csv"), naming=tmp_path / "b.csv")
    assert "or cut the file there, if two recordings stand one after the other" in said


def test_the_end_of_summer_time(tmp_path: Path) -> None:
    stamps = [f"2024-10-27T02:{59 - (i >= 20) * 59:02d}:{40 + i if i < 20 else i - 20:02d}" for i in range(N)]
    write(tmp_path, "a.csv", "\n".join(["time,x,y,z", *map(",".join, zip(stamps, ROWS, strict=True))]))
    said = refusal(lambda: read_one(tmp_path / "a.csv"), naming=tmp_path / "a.csv")
    assert "or write the zone (+02:00), if it is the end of summer time" in said


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
    assert "the timestamp of frame 9 is missing" in refusal(lambda: read_one(path), naming=path)
