"""Reading recordings from files and tables: what comes back, what is noted, and what is refused."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rondo.data.csv_file import read_csv
from rondo.data.files import SUFFIXES, find_recordings
from rondo.data.recording import Recording
from rondo.errors import MissingExtraError, RecordingError

VALUES = np.array([[1.5, -2.0], [np.nan, 0.25], [3.0, 1e6]], dtype=np.float32)


def refusal(read: Callable[[], object], *, naming: Path | str) -> str:
    with pytest.raises(RecordingError) as caught:
        read()
    message = str(caught.value)
    assert message.startswith(str(naming)), message
    assert "\n" not in message
    return message


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# -- text tables -----------------------------------------------------------------------------------


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
    recording = Recording.from_file(write(tmp_path, name, text))
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.channels == ("x", "y")
    assert recording.id == Path(name).stem
    assert recording.rate is None
    assert recording.notes == ()


def test_without_a_header_the_channels_are_numbered_and_noted(tmp_path: Path) -> None:
    recording = Recording.from_file(write(tmp_path, "a.csv", "\ufeff1.5,-2\n,0.25\n3,1e6\n"), rate=50)
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.channels == ("ch0", "ch1")
    assert recording.notes == ("no header line: the channels are named ch0 to ch1",)
    first_missing = Recording.from_file(write(tmp_path, "b.csv", ",2\n3,4\n"))
    npt.assert_array_equal(first_missing.values, [[np.nan, 2], [3, 4]])


def test_one_column_and_blank_lines(tmp_path: Path) -> None:
    one = Recording.from_file(write(tmp_path, "a.csv", "acc x\n1\n\n3\n\n"))
    npt.assert_array_equal(one.values, [[1], [np.nan], [3]])
    assert one.channels == ("acc x",)
    two = Recording.from_file(write(tmp_path, "b.csv", "x,y\n1,2\n\n3,4\n"))
    npt.assert_array_equal(two.values, [[1, 2], [3, 4]])
    assert two.notes == ("1 blank lines skipped",)


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
    recording = Recording.from_file(path, label_columns=["activity"])
    npt.assert_array_equal(recording.values.ravel(), range(len(cells)))
    assert recording.channels == ("x",)
    npt.assert_allclose(recording.timestamps_s, seconds, rtol=1e-15)
    assert (f"read as {note}seconds since 1970" in " ".join(recording.notes)) if note else not recording.notes
    rated = Recording.from_file(path, rate=25, label_columns=["activity"])
    assert (rated.timestamps_s, rated.rate) == (None, 25.0)
    assert rated.notes == (f"column '{header}' left out: the given rate of 25 Hz is the clock",)


def test_a_clock_is_read_in_double_precision(tmp_path: Path) -> None:
    rows = "".join(f"{1.7e9 + i / 100:.2f},{i}\n" for i in range(5000))
    recording = Recording.from_file(write(tmp_path, "a.csv", "time,x\n" + rows))
    npt.assert_allclose(recording.rate, 100, rtol=1e-6)


def test_quoted_labels_may_hold_separators(tmp_path: Path) -> None:
    text = 'x,label,y\n1,"open, then close",2\n3,"say ""hi"", wait",4\n'
    recording = Recording.from_file(write(tmp_path, "a.csv", text), label_columns=["label"])
    npt.assert_array_equal(recording.values, [[1, 2], [3, 4]])


BAD_TEXT = [
    ("", "the file is empty"),
    ("\n\n\n", "it has no rows"),
    ("x,y\n", "a header (2 columns) but no rows"),
    ("x,y\n1,2\n3,abc\n", "line 3, column 'y': 'abc' is not a number"),
    ("x,y\n1,2\n3,1_0\n", "line 3, column 'y': '1_0' is not a number"),
    ("x;y\n1,5;2\n", "'1,5' is not a number (a decimal comma? write a point)"),
    ("x,label\n1,walk\n", "label_columns=['label'] (--label-column label)"),
    ("x,y\n1,2\n3\n4,5\n", "line 3 has 1 cells, but there are 2 columns"),
    ("x,y\n1,2\n3,4,5\n", "line 3 has 3 cells"),
    ("x,y\n1,2\n\n3\n4,5,6\n", "line 4 has 1 cells"),  # a short and a long row together have enough cells
    ('x,y\n1,2\n"3,4\n5",6\n', "line 3 cannot be cut into cells"),
    ('label,x\n"a,b",1\n5\n', "line 3 has 1 cells"),
    ("x,y\n1,inf\n", "frame 0, channel 'y'"),
    ("x,y\n1,2\n1e39,2\n", "frame 1, channel 'x'"),
    ("x,y\nnan,NA\n,\n", "all 4 values are NaN or missing"),
    ("x,x\n1,2\n", "columns 1 and 2 are both named 'x'"),
    (",x\n0,2\n", "column 1 has no name"),
    ("time\n1\n2\n", "no channel is left"),
    ("time,timestamp,x\n1,2,3\n", "'time' and 'timestamp' could both be the clock"),
    ("time,x\n1,1\n1,2\n", "frame 1 (1.000000 s) repeats"),
    ("time,x\n2,1\n1,2\n", "frame 1 (1.000000 s) is earlier"),
    ("time,x\n1,1\n,2\n", "the timestamp of frame 1 is missing"),
    ("time,x\n2024-01-01,1\nyesterday,2\n", "line 3, column 'time': 'yesterday' is not an ISO date"),
    ("time,x\n2024-01-01,1\n,2\n", "the timestamp of frame 1 is missing"),
    (b"x,y\n1,\xff\n", "line 2 is not UTF-8 text"),
    (b"temp \xb0C,y\n1,2\n", "line 1 is not UTF-8 text (byte 0xb0)"),
    ("x,y\n1,2\n".encode("utf-16"), "not"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not"),
    (bytes(range(256)) * 40, "not a text table"),
    (b"x,y\n1,2\n1,\x002\n", "line 3 holds binary data"),
    (b"x,y\r1,2\r3,4\r", "bare carriage return"),
]


@pytest.mark.parametrize(("content", "says"), BAD_TEXT, ids=[str(i) for i in range(len(BAD_TEXT))])
def test_bad_text_is_refused_by_line_and_column(tmp_path: Path, content: bytes | str, says: str) -> None:
    path = write(tmp_path, "bad.csv", content)
    keep = {"label_columns": ["label"]} if str(content).startswith("label") else {}
    assert says in refusal(lambda: Recording.from_file(path, **keep), naming=path)


def test_the_line_at_fault_is_named_whatever_the_block(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "x,y\n" + "1,2\n" * 500 + "\n1,oops\n" + "1,2\n" * 500)
    for block_bytes in (1, 7, 64, 1 << 20):
        with pytest.raises(RecordingError, match="line 503, column 'y'"):
            read_csv(path, rate=None, block_bytes=block_bytes)


# -- stored arrays ---------------------------------------------------------------------------------


def save_h5(path: Path, **arrays: Any) -> None:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def save_array(path: Path, array: np.ndarray) -> None:
    {".npy": np.save, ".npz": lambda p, a: np.savez(p, X=a), ".h5": lambda p, a: save_h5(p, X=a)}[
        path.suffix
    ](path, array)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i2", "u1", "i8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_number_type(tmp_path: Path, suffix: str, dtype: str, order: Any) -> None:
    array = np.asarray(np.random.default_rng(0).integers(0, 2, (50, 3)), dtype=dtype, order=order)
    save_array(tmp_path / f"a{suffix}", array)
    recording = Recording.from_file(tmp_path / f"a{suffix}", rate=10)
    npt.assert_array_equal(recording.values, array.astype(np.float32))
    assert (recording.channels, recording.rate) == (("ch0", "ch1", "ch2"), 10.0)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block_bytes", [1, 8, 100, 1000])
def test_the_block_size_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, order: Any, block_bytes: int
) -> None:
    array = np.asarray(np.random.default_rng(1).normal(size=(61, 5)), order=order)
    save_array(tmp_path / f"a{suffix}", array)
    if suffix == ".h5":
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("X", data=array, chunks=(7, 2), compression="gzip")
    monkeypatch.setattr("rondo.data.array_files.BLOCK_BYTES", block_bytes)
    whole = Recording.from_file(tmp_path / f"a{suffix}")
    npt.assert_array_equal(whole.values, array.astype(np.float32))
    part = Recording.from_file(tmp_path / f"a{suffix}", label_columns=["ch0", "ch3"])
    npt.assert_array_equal(part.values, array[:, [1, 2, 4]].astype(np.float32))
    assert part.channels == ("ch1", "ch2", "ch4")


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_archives_describe_their_array(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    save = np.savez if suffix == ".npz" else save_h5
    names = np.array(["acc", "gyr"], dtype="S")
    arrays = {"X": VALUES, "Z": VALUES[:, :1], "rate": 40.0, "channels": names, "y": np.arange(3)}
    save(path, **arrays)
    recording = Recording.from_file(path)
    npt.assert_array_equal(recording.values, VALUES)
    assert (recording.rate, recording.channels, recording.notes) == (40.0, ("acc", "gyr"), ())
    other = Recording.from_file(path, rate=20, label_columns=["gyr"])
    assert (other.rate, other.channels) == (20.0, ("acc",))
    assert other.notes == ("the file's own rate of 40 Hz left aside",)
    assert "'channels' holds 2 names for 1 columns" in refusal(
        lambda: Recording.from_file(path, key="Z"), naming=path
    )
    save(path, Z=VALUES[:, :1], time=np.array([1.7e12, 1.7e12 + 10, 1.7e12 + 20]))
    timed = Recording.from_file(path, key="Z")
    npt.assert_allclose(timed.rate, 100, rtol=1e-4)
    assert timed.notes == ("clock 'time' read as milliseconds since 1970, from its size",)
    assert Recording.from_file(path, key="Z", rate=5).timestamps_s is None
    save(path, X=np.arange(6.0).reshape(3, 2), channels=np.array(["t", "x"], dtype="S"))
    npt.assert_array_equal(Recording.from_file(path).timestamps_s, [0, 2, 4])


def test_hdf5_groups_and_attributes(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["rate"] = 8
        file["session/left"] = VALUES
        file["session/left"].attrs["channels"] = ["x", "y"]
        file["session/left"].attrs["rate"] = 16
        file["flat"] = np.arange(5)
    left = Recording.from_file(tmp_path / "a.h5", key="/session/left")
    assert (left.channels, left.rate) == (("x", "y"), 16.0)
    assert Recording.from_file(tmp_path / "a.h5", key="flat").values.shape == (5, 1)
    said = refusal(lambda: Recording.from_file(tmp_path / "a.h5"), naming=tmp_path / "a.h5")
    assert "there is no array 'X' in it, only: flat, session/left" in said


def test_hdf5_without_h5py_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_h5(tmp_path / "a.h5", X=VALUES)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(
        MissingExtraError, match=r"reading HDF5 needs the package 'h5py': pip install 'rondo-ts\[io\]'"
    ):
        Recording.from_file(tmp_path / "a.h5")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.float64(3), "0 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions (2, 2, 2)"),
        (np.zeros((5, 0)), "is empty: 5 frames x 0 channels"),
        (np.zeros((0, 5)), "is empty: 0 frames x 5 channels"),
        (np.array([[1 + 2j]]), "complex128, not numbers"),
        (np.array([b"ab"]), "not numbers"),
        (np.zeros(3, dtype=[("x", "f4")]), "not numbers"),
        (np.array([[1.0, np.inf]]), "frame 0, channel 'ch1'"),
        (np.full((3, 2), np.nan), "all 6 values are NaN"),
        (np.array([[1e300]]), "beyond float32"),
    ],
)
def test_arrays_that_are_no_recording(tmp_path: Path, suffix: str, array: np.ndarray, says: str) -> None:
    path = tmp_path / f"bad{suffix}"
    save_array(path, array)
    assert says in refusal(lambda: Recording.from_file(path), naming=path)


class Trap:
    """Unpickling one would create the file named in `spring`."""

    def __init__(self, spring: str) -> None:
        self.spring = spring

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.spring, "w")


@pytest.mark.parametrize("key", ["X", "rate", "channels", "time"])
def test_pickles_are_never_opened(tmp_path: Path, key: str) -> None:
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(str(sprung))], dtype=object)
    np.savez(tmp_path / "a.npz", **({"X": VALUES} | {key: trap}))
    np.save(tmp_path / "b.npy", trap)
    (tmp_path / "c.npy").write_bytes(pickle.dumps(Trap(str(sprung))))
    for name in ("a.npz", "b.npy", "c.npy"):
        refusal(lambda name=name: Recording.from_file(tmp_path / name), naming=tmp_path / name)
    assert not sprung.exists()
    pickle.loads(pickle.dumps(Trap(str(sprung)))).close()
    assert sprung.exists(), "the trap must be able to spring, or the test shows nothing"


def test_other_arrays_in_an_archive_are_not_even_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=VALUES)
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("y.npy", b"no array at all")
    npt.assert_array_equal(Recording.from_file(tmp_path / "a.npz").values, VALUES)
    said = refusal(lambda: Recording.from_file(tmp_path / "a.npz", key="yy"), naming=tmp_path / "a.npz")
    assert "there is no array 'yy' in it, only: X, y" in said


# -- typed tables ----------------------------------------------------------------------------------

COLUMNS: dict[str, list[Any]] = {
    "time": [0.0, 0.5, 1.0],
    "x": [1.5, None, 3.0],
    "n": [1, 2, 3],
    "on": [True, False, True],
}
TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_library(kind: str) -> None:
    recording = Recording.from_frame(TABLES[kind](COLUMNS), id="t")
    npt.assert_array_equal(
        recording.values, np.array([[1.5, 1, 1], [np.nan, 2, 0], [3, 3, 1]], dtype=np.float32)
    )
    assert (recording.channels, recording.rate, recording.id) == (("x", "n", "on"), 2.0, "t")
    rated = Recording.from_frame(TABLES[kind](COLUMNS), rate=5, label_columns=["n"])
    assert (rated.channels, rated.timestamps_s) == (("x", "on"), None)
    assert rated.notes == ("column 'time' left out: the given rate of 5 Hz is the clock",)


@pytest.mark.parametrize("kind", TABLES)
def test_clocks_in_tables(kind: str) -> None:
    moments = pd.date_range("2024-05-01 12:00", periods=4, freq="250ms").to_pydatetime().tolist()
    first = 1714564800.0
    for name, cells in {
        "time": moments,
        "when": moments,
        "timestamp": [moment.isoformat() for moment in moments],
        "t": [int(first * 1e9) + 250_000_000 * i for i in range(4)],
    }.items():
        recording = Recording.from_frame(TABLES[kind]({"x": [1.0, 2.0, 3.0, 4.0], name: cells}))
        npt.assert_allclose(recording.timestamps_s, first + np.arange(4) / 4, rtol=1e-15)
        npt.assert_allclose(recording.rate, 4.0, rtol=1e-5)
        assert len(recording.notes) == (name in ("when", "t"))


def test_the_index_of_a_pandas_frame_may_be_the_clock() -> None:
    moments = pd.date_range("2024-05-01", periods=3, freq="20ms", tz="Europe/Berlin")
    recording = Recording.from_frame(pd.DataFrame({"x": [1, 2, 3]}, index=moments))
    npt.assert_allclose(recording.rate, 50, rtol=1e-4)
    assert recording.notes == ("column 'index' is the clock, because it holds dates",)
    named = pd.DataFrame({"x": [1, 2, 3]}, index=pd.Index([0.0, 0.1, 0.2], name="time"))
    npt.assert_allclose(Recording.from_frame(named).rate, 10)
    elapsed = pd.DataFrame({"x": [1, 2, 3], "time": pd.to_timedelta([0, 5, 10], unit="s")})
    npt.assert_allclose(Recording.from_frame(elapsed).rate, 0.2)
    assert Recording.from_frame(pd.DataFrame({0: [1, 2], 1: [3, 4]}, index=[5, 6])).channels == ("0", "1")


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (
            pd.DataFrame({"x": [1.0], "label": ["walk"]}),
            "column 'label' holds String, not numbers; leave it out with",
        ),
        (pl.DataFrame({"x": [[1.0]]}), "column 'x' holds List"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "'x'"),
        (
            pl.DataFrame({"time": ["noon", "two"], "x": [1, 2]}),
            "frame 0, clock 'time': 'noon' is not an ISO date",
        ),
        (pl.DataFrame({"time": [True], "x": [1]}), "the clock 'time' holds Boolean"),
        (pl.DataFrame({"time": [1, None], "x": [1, 2]}), "the timestamp of frame 1 is missing"),
        (pl.DataFrame({"x": []}, schema={"x": pl.Float64}), "it is empty"),
        (pl.DataFrame(), "no channel is left"),
        (pl.DataFrame({"x": [1.0, float("inf")]}), "frame 1, channel 'x'"),
        (pl.LazyFrame({"x": [1.0]}), "expected a pandas, polars or pyarrow table, got LazyFrame"),
        ([[1.0]], "got list"),
    ],
)
def test_tables_that_are_no_recording(frame: Any, says: str) -> None:
    assert says in refusal(lambda: Recording.from_frame(frame, id="t"), naming="recording 't': ")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "run[1]=*.parquet"  # a name that must not be taken for a pattern
    pl.DataFrame(COLUMNS | {"label": ["a", "b", "c"]}).write_parquet(path)
    recording = Recording.from_file(path, label_columns=["label"])
    npt.assert_array_equal(
        recording.values, np.array([[1.5, 1, 1], [np.nan, 2, 0], [3, 3, 1]], dtype=np.float32)
    )
    assert (recording.rate, recording.id, recording.channels) == (2.0, "run[1]=*", ("x", "n", "on"))
    assert "column 'label' holds String" in refusal(lambda: Recording.from_file(path), naming=path)
    odd = tmp_path / "odd.parquet"
    pl.DataFrame({"^a.*$": [1.0], "*": [2.0]}).write_parquet(odd)  # nor must these column names
    npt.assert_array_equal(Recording.from_file(odd).values, [[1, 2]])


# -- every format ----------------------------------------------------------------------------------


def save_any(path: Path) -> None:
    if path.suffix in (".npy", ".npz", ".h5"):
        save_array(path, np.arange(3000.0).reshape(1000, 3))
    else:
        table = pl.DataFrame(np.arange(3000.0).reshape(1000, 3), schema=["x", "y", "z"])
        table.write_parquet(path) if path.suffix == ".parquet" else table.write_csv(path)


def test_unknown_label_columns_and_keys_are_refused(tmp_path: Path) -> None:
    for suffix, known in {".csv": "x, y, z", ".parquet": "x, y, z", ".npz": "ch0, ch1, ch2"}.items():
        save_any(tmp_path / f"a{suffix}")
        said = refusal(
            lambda path=tmp_path / f"a{suffix}": Recording.from_file(path, label_columns=["lable"]),
            naming=tmp_path,
        )
        assert f"there is no column 'lable' to leave out; the columns are: {known}" in said
    said = refusal(lambda: Recording.from_file(tmp_path / "a.csv", key="X"), naming=tmp_path)
    assert "a key ('X') names an array in .npz .h5 .hdf5" in said


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".npz", ".h5"])
def test_truncated_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    save_any(path)
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.9, 0.999):
        path.write_bytes(whole[: int(len(whole) * share)])
        said = refusal(lambda: Recording.from_file(path), naming=path)
        assert "damaged" in said or "truncated" in said or "cannot be read" in said
    path.write_bytes(b"time,x\n0,1\n")
    refusal(lambda: Recording.from_file(path), naming=path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_folder_empty_and_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"a{suffix}"
    assert "there is no such file" in refusal(lambda: Recording.from_file(path), naming=path)
    path.touch()
    assert "the file is empty" in refusal(lambda: Recording.from_file(path), naming=path)
    for rate in (0, -1.0, float("nan")):
        path.write_bytes(b"x,y\n1,2\n")
        assert "positive number of Hz" in refusal(
            lambda rate=rate: Recording.from_file(path, rate=rate), naming=path
        )

    def forbidden(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", forbidden)
        assert "(Permission denied)" in refusal(lambda: Recording.from_file(path), naming=path)
    (tmp_path / f"folder{suffix}").mkdir()
    folder = tmp_path / f"folder{suffix}"
    assert "it is a folder" in refusal(lambda: Recording.from_file(folder), naming=folder)


def test_odd_paths(tmp_path: Path) -> None:
    path = write(tmp_path, "a.mat", b"x")
    said = refusal(lambda: Recording.from_file(path), naming=path)
    assert said.endswith("expected one of .csv .tsv .txt .parquet .npy .npz .h5 .hdf5")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in refusal(
        lambda: Recording.from_file(tmp_path / "pipe.csv"), naming=tmp_path
    )
    for name in ("x" * 5000 + ".csv", "nul\0.csv"):
        refusal(lambda name=name: Recording.from_file(tmp_path / name), naming=tmp_path)


def test_find_recordings(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    for name in ("b.csv", "a.NPZ", "c.parquet", "notes.md", ".hidden.csv"):
        write(inside, name, b"1")
    (inside / "sub.csv").mkdir()
    lone = write(tmp_path, "z.npy", b"1")
    assert find_recordings([lone, inside]) == [lone, inside / "a.NPZ", inside / "b.csv", inside / "c.parquet"]
    assert "there is no such file" in refusal(
        lambda: find_recordings([tmp_path / "no"]), naming=tmp_path / "no"
    )
    assert "holds no recordings" in refusal(lambda: find_recordings([inside / "sub.csv"]), naming=inside)
    assert "no recordings were named" in refusal(lambda: find_recordings([]), naming="no recordings")
    write(tmp_path, "b.npz", b"1")
    said = refusal(lambda: find_recordings([inside, tmp_path / "b.npz"]), naming=inside / "b.csv")
    assert "would both be recording 'b'" in said


# -- memory ----------------------------------------------------------------------------------------

# VmHWM and not ru_maxrss: a child inherits the latter from its parent, and pytest is larger than what is measured.
PEAK = """
import sys
from pathlib import Path
from rondo.data.files import read_recording

def resident(field):
    line = next(line for line in open("/proc/self/status") if line.startswith(field))
    return int(line.split()[1]) * 1024

read_recording(Path(sys.argv[1]))                      # small: loads every library that the format needs
before = resident("VmRSS")
recording = read_recording(Path(sys.argv[2]))
print(resident("VmHWM") - before, recording.values.nbytes)
"""


def _write_large(path: Path, n_frames: int) -> None:
    values = np.random.default_rng(0).integers(-999, 999, (n_frames, 30)).astype(np.float32) / 8
    if path.stem.endswith("64"):
        values = values.astype(np.float64)
    if path.suffix in (".npy", ".h5"):
        save_array(path, values)
    elif path.suffix == ".npz":
        np.savez_compressed(path, X=values) if "packed" in path.stem else np.savez(path, X=values)
    else:
        table = pl.DataFrame(values, schema=[f"c{i}" for i in range(30)])
        table.write_parquet(path) if path.suffix == ".parquet" else table.write_csv(path)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    "name",
    ["a.csv", "f64.npz", "f32.npz", "packed64.npz", "f64.npy", "f32.npy", "a.parquet", "f64.h5", "f32.h5"],
)
def test_reading_takes_at_most_twice_the_float32_size(tmp_path: Path, name: str) -> None:
    """The constant covers a block and its parsed form, which do not grow with the file."""
    n_frames = 100_000 if "packed" in name else 600_000  # packing takes long
    small, large = tmp_path / f"small_{name}", tmp_path / name
    _write_large(small, 100)
    _write_large(large, n_frames)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, small, large], capture_output=True, text=True, check=True
    )
    large.unlink()
    taken, size = (int(number) for number in done.stdout.split())
    assert size == n_frames * 30 * 4
    assert taken >= size, "the result alone takes this much, or nothing was measured"
    print(name, taken / size, (taken - size) / 1e6)
    assert taken <= 2 * size + (8 << 20), f"{taken / size:.2f} times the float32 size"


# -- the real recordings ---------------------------------------------------------------------------


@pytest.mark.data
def test_every_real_recording_has_the_shape_that_its_set_declares(data_dir: Path) -> None:
    n_read = 0
    for meta_file in sorted(data_dir.glob("*/meta.json")):
        declared = json.loads(meta_file.read_text())["recordings"]
        for path in find_recordings(sorted(meta_file.parent.glob("*.npz"))):
            expected = declared[path.stem]
            if expected["d"] == 0:
                assert "0 channels" in refusal(lambda path=path: Recording.from_file(path), naming=path)
                continue
            recording = Recording.from_file(path)
            assert (recording.n_frames, recording.n_channels) == (expected["T"], expected["d"])
            with np.load(path) as archive:
                npt.assert_array_equal(recording.values, archive["X"].astype(np.float32))
            n_read += 1
    assert n_read >= 30
