"""Files that would end the process: a child ends instead, and one line says so."""

from __future__ import annotations

import io
from pathlib import Path

import h5py
import numpy as np
import polars as pl
import pytest

from rondo.annotations.segments import read_segment_table
from rondo.errors import AnnotationError, RecordingError
from rondo.files.crash_guard import refuse_fatal
from rondo.files.read import read_recording
from tests.formats.reading import refusal, write


@pytest.mark.parametrize(
    ("library", "opening", "says"),
    [
        ("os", "os.abort()", "os, which reads such files, crashed on it (signal 6); get it again"),
        ("os", "os._exit(3)", "crashed on it (code 3)"),
        ("time", "time.sleep(60)", "time did not come to an end with it in 1 s"),
    ],
)
def test_what_ends_or_holds_up_a_process_is_refused(tmp_path: Path, library: str, opening: str, says: str) -> None:
    with pytest.raises(RecordingError) as refused:
        refuse_fatal(write(tmp_path, "a.bin", b"x"), library, opening, seconds=1.0 if library == "time" else 30.0)
    assert says in str(refused.value)


def test_what_reads_or_raises_is_left_to_the_reader(tmp_path: Path) -> None:
    path = write(tmp_path, "it's.bin", b"x")
    refuse_fatal(path, "pathlib", "assert pathlib.Path(path).read_bytes() == b'x' or pathlib.os.abort()")
    refuse_fatal(path, "pathlib", "raise ValueError('no such format')")


def test_no_module_of_the_folder_we_stand_in_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "colorsys.py", "import os\nos.abort()\n")
    monkeypatch.chdir(tmp_path)
    refuse_fatal(write(tmp_path, "a.bin", b"x"), "colorsys", "colorsys.rgb_to_hsv(0, 0, 0)")


def test_what_cannot_be_tried_is_read_untried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.bin", b"x")
    refuse_fatal(path, "no_such_library_1", "no_such_library_1.open(path)")
    monkeypatch.setattr("sys.executable", str(tmp_path / "no python here"))
    refuse_fatal(path, "os", "os.abort()")


def parquet_with_page_head(n_values: int) -> bytes:
    """60 numbers in one page; its head says `n_values`, for which one byte of it is changed (zigzag, so 121 is -61)."""
    buffer = io.BytesIO()
    pl.DataFrame({"x": np.arange(60.0)}).write_parquet(buffer, compression="uncompressed", statistics=False)
    head, said = b"\x2c\x15", bytes([2 * 60])  # the structure of a data page, then its number of values
    assert buffer.getvalue().count(head + said) == 1
    return buffer.getvalue().replace(head + said, head + bytes([n_values]))


@pytest.mark.parametrize(("n_values", "how"), [(121, "signal 6"), (122, "code 1")])
def test_a_parquet_page_that_ends_polars_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], n_values: int, how: str
) -> None:
    path = write(tmp_path, "a.parquet", parquet_with_page_head(n_values))
    said = refusal(lambda: read_recording(path), naming=path)
    assert f"crashed on it ({how})" in said
    with pytest.raises(AnnotationError, match="crashed on it"):
        read_segment_table(path)
    assert capfd.readouterr().err == ""
    assert read_recording(write(tmp_path, "b.parquet", parquet_with_page_head(120))).n_frames == 60


def test_a_column_that_only_fails_hides_none_that_panics(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The clock is read last of the two here and first there."""
    buffer = io.BytesIO()
    frame = pl.DataFrame({"x": np.arange(60.0), "time": np.arange(60.0)})
    frame.write_parquet(buffer, compression="uncompressed", statistics=False)
    head, said = b"\x2c\x15", bytes([2 * 60])
    before, own, last = buffer.getvalue().split(head + said)
    path = write(tmp_path, "a.parquet", before + head + bytes([118]) + own + head + bytes([122]) + last)
    assert "crashed on it (code 1)" in refusal(lambda: read_recording(path), naming=path)
    assert capfd.readouterr().err == ""


def test_an_hdf5_chunk_that_crashes_the_library_is_one_line(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("X", data=np.arange(180.0).reshape(60, 3), chunks=(16, 2), fletcher32=True)
    assert read_recording(tmp_path / "a.h5").n_frames == 60
    content = bytearray((tmp_path / "a.h5").read_bytes())
    sizes = content.index(b"TREE\x01") + 24  # of the chunks, and where they lie
    content[sizes : sizes + 40] = bytes(40)
    path = write(tmp_path, "b.h5", bytes(content))
    assert "crashed on it (signal 11)" in refusal(lambda: read_recording(path), naming=path)
