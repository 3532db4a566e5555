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


def test_a_clock_is_better_than_words(tmp_path: Path) -> None:
    recording = read(tmp_path, "# sampling rate: 10 Hz", "time,x,y,z", *TIMED)
    assert recording.rate == 50.0
    assert not any("rate of" in note for note in recording.notes)


def test_almost_deeplabcut_is_a_table_as_any_other(tmp_path: Path) -> None:
    assert read(tmp_path, "scorer", "coords", "1", "2").channels == ("scorer",)  # and units
    path = write(tmp_path, "a.csv", "scorer,net\ncoords\n1,2\n3,4")
    assert "line 2: expected 2 cells, got 1" in refusal(lambda: read_one(path), naming=path)


def test_dates_beside_a_clock_are_no_channel(tmp_path: Path) -> None:
    recording = read(tmp_path, "time,when,x,y,z", *(row.replace(",", ",2024-05-01 12:00:00,", 1) for row in TIMED))
    assert (recording.channels, recording.rate) == (("x", "y", "z"), 50.0)
    assert "'when' left out: 'time'" in recording.notes[0]


def test_first_columns_that_matlab_and_r_name(tmp_path: Path) -> None:
    for names in ("Var1,Var2,Var3,Var4", "V1,V2,V3,V4"):
        assert (read(tmp_path, names, *TIMED).rate, read(tmp_path, names, *TIMED).n_channels) == (50.0, 3)


def test_pipes_and_errors_of_a_spreadsheet(tmp_path: Path) -> None:
    recording = read(tmp_path, "time|x|y|z", *(row.replace(",", "|") for row in TIMED), "0.80|#DIV/0!|1|#VALUE!")
    npt.assert_array_equal(recording.values[-1], [np.nan, 1, np.nan])


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
    assert "timestamp of frame 9" in refusal(lambda: read_one(path), naming=path)
