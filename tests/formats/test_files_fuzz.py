"""Whatever lies in a file, reading it gives a Recording or a RecordingError; and blocks change nothing."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.read import read_recording, suffixes
from rondo.files.reading import Reading
from tests import naive_files as naive
from tests.formats.reading import read_in_blocks


@pytest.fixture(autouse=True)
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the trial in a child, which has tests of its own: hundreds of children would take minutes."""
    monkeypatch.setattr("rondo.formats.hdf5.refuse_fatal", lambda *_: None)
    monkeypatch.setattr("rondo.files.tables.refuse_fatal_parquet", lambda _: None)


few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
many = settings(few, max_examples=120)


def assert_read_or_refused(path: Path, content: bytes) -> Recording | None:
    path.write_bytes(content)
    try:
        recording = read_recording(path)
    except RecordingError as error:
        assert str(error).startswith(f"{path}: ")
        assert len(str(error).splitlines()) == 1
        return None
    assert recording.values.dtype == np.float32
    assert np.isfinite(recording.values).any()
    return recording


@cache
def valid(suffix: str) -> bytes:
    """A small file of each format, as bytes."""
    values = np.arange(60.0).reshape(20, 3)
    buffer = io.BytesIO()
    if suffix == ".npy":
        np.save(buffer, values)
    elif suffix == ".npz":
        np.savez(buffer, X=values, rate=50.0, channels=np.array(["a", "b", "c"]), time=np.arange(20.0))
    elif suffix in (".h5", ".hdf5"):
        with h5py.File(buffer, "w") as file:
            file["X"] = values
            file["rate"] = 50.0
    else:
        table = pl.DataFrame(values, schema=["time", "x", "y"])
        if suffix == ".parquet":
            table.write_parquet(buffer)
        elif suffix in (".jsonl", ".ndjson"):
            table.write_ndjson(buffer)
        else:
            table.write_csv(buffer)
    return buffer.getvalue()


_ELSEWHERE = (
    ".edf",
    ".bdf",
    ".c3d",
    ".xdf",
    ".xlsx",
    ".xlsm",
    ".mat",
    ".fit",
    ".gpx",
    ".agd",
    ".hea",
    ".cwa",
    ".gt3x",
    ".mcap",
)  # have tests of their own
OWN_SUFFIXES = [suffix for suffix in suffixes() if suffix not in _ELSEWHERE]


@pytest.mark.parametrize("suffix", OWN_SUFFIXES)
def test_the_files_to_be_damaged_are_sound(tmp_path: Path, suffix: str) -> None:
    assert assert_read_or_refused(tmp_path / f"a{suffix}", valid(suffix)) is not None


@pytest.mark.parametrize("suffix", OWN_SUFFIXES)
@few
@given(content=st.binary(max_size=300))
def test_random_bytes(tmp_path: Path, suffix: str, content: bytes) -> None:
    assert_read_or_refused(tmp_path / f"a{suffix}", content)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npy", ".npz", ".h5"])
@many
@given(data=st.data())
def test_flipped_bits_and_lost_ends(tmp_path: Path, suffix: str, data: st.DataObject) -> None:
    content = bytearray(valid(suffix))
    places = st.integers(0, len(content) - 1)
    for place, bit in data.draw(st.lists(st.tuples(places, st.integers(0, 7)), max_size=4)):
        content[place] ^= 1 << bit
    assert_read_or_refused(
        tmp_path / f"a{suffix}", bytes(content[: data.draw(st.one_of(st.just(len(content)), places))])
    )


def test_flipped_bits_in_parquet(tmp_path: Path) -> None:
    """In a child and with a fixed seed: untried, polars ends the process where a page claims an impossible size."""
    rng = np.random.default_rng(5)
    for number in range(150):
        content = np.frombuffer(valid(".parquet"), dtype=np.uint8).copy()
        content[rng.integers(0, content.size, 3)] ^= np.uint8(1 << rng.integers(0, 8))
        (tmp_path / f"{number}.parquet").write_bytes(content.tobytes()[: rng.integers(1, 2 * content.size)])
    child = f"""
from pathlib import Path
from rondo.files import tables
from tests.formats.test_files_fuzz import assert_read_or_refused
tables.refuse_fatal_parquet = lambda _: None
outcomes = [assert_read_or_refused(path, path.read_bytes()) for path in sorted(Path({str(tmp_path)!r}).iterdir())]
print(sum(outcome is None for outcome in outcomes), len(outcomes))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", child], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused, all_read = map(int, done.stdout.split())
    assert 0 < refused < all_read == 150


@many
@given(text=st.text(alphabet='0123456789.,;\t \r\n"eE+-nainfx_\0°\ufeff', max_size=60))
@example('"')
@example("1,2\n\n\r\n")
@example('x\n"1"\n""')
def test_text_that_is_almost_a_table(tmp_path: Path, text: str) -> None:
    assert_read_or_refused(tmp_path / "a.csv", text.encode())


floats = st.floats(width=32, allow_infinity=False)
tables = st.tuples(st.integers(1, 12), st.integers(1, 5)).flatmap(
    lambda shape: hnp.arrays(np.float32, shape, elements=floats)
)
separators = st.sampled_from([",", ";", "\t"])
line_ends = st.sampled_from(["\n", "\r\n"])


def written(values: np.ndarray, separator: str, line_end: str, missing: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator=line_end)
    writer.writerow([f"channel {i}" for i in range(values.shape[1])])
    for row in values:
        writer.writerow([missing if np.isnan(value) else str(value) for value in row])
    return text.getvalue().encode()


@many
@given(
    values=tables,
    separator=separators,
    line_end=line_ends,
    missing=st.sampled_from(["", "nan", "NA", "null"]),
)
def test_what_is_written_comes_back(
    tmp_path: Path, values: np.ndarray, separator: str, line_end: str, missing: str
) -> None:
    recording = assert_read_or_refused(tmp_path / "a.csv", written(values, separator, line_end, missing))
    if np.isnan(values).all():
        assert recording is None
        return
    assert recording is not None
    kept = np.flatnonzero(~np.isnan(values).all(axis=0))  # a column without a value is left out
    npt.assert_array_equal(recording.values, values[:, kept])
    assert recording.channels == tuple(f"channel {i}" for i in kept)


@few
@given(values=tables, separator=separators, line_end=line_ends, tail=st.sampled_from(["", "\n", "\r\n\n"]))
def test_blocks_of_every_size_give_what_the_whole_file_gives(
    tmp_path: Path, values: np.ndarray, separator: str, line_end: str, tail: str
) -> None:
    content = written(np.nan_to_num(values), separator, line_end, "")
    (tmp_path / "a.csv").write_bytes(content + tail.encode())
    names, expected = naive.read_csv(content, separator)
    for block_bytes in {
        1,
        2,
        3,
        5,
        8,
        13,
        len(content) // 2,
        len(content) - 1,
        len(content),
        len(content) + 1,
    }:
        recording = read_in_blocks(tmp_path / "a.csv", max(1, block_bytes))
        npt.assert_array_equal(recording.values, expected)
        assert recording.channels == tuple(names)


def test_a_block_may_end_at_any_byte(tmp_path: Path) -> None:
    content = b'time,x,"y, left"\r\n0,1.25,"-3"\r\n0.5,,4e1\n\r\n1, 7 ,NULL\n1.5,nan,"2"'
    (tmp_path / "a.csv").write_bytes(content)
    expected = np.array([[1.25, -3], [np.nan, 40], [7, np.nan], [np.nan, 2]], dtype=np.float32)
    for block_bytes in range(1, len(content) + 2):
        recording = read_in_blocks(tmp_path / "a.csv", block_bytes)
        npt.assert_array_equal(recording.values, expected)
        npt.assert_array_equal(recording.timestamps_s, [0, 0.5, 1, 1.5])
        assert recording.notes == ("1 blank line skipped",)


@many
@given(rows=st.lists(st.lists(st.sampled_from(["1", "2.5", "", '"3"', '"4,5"']), min_size=1, max_size=4), min_size=1))
def test_ragged_rows_are_found_wherever_they_are(tmp_path: Path, rows: list[list[str]]) -> None:
    """Quoted separators and short rows next to long ones, in a column that is left out and beside it.

    A row may lack its last cell, as that is left out.
    """
    content = ("label,x,label\n" + "".join(",".join(row) + "\n" for row in rows)).encode()
    (tmp_path / "a.csv").write_bytes(content)
    rows_with_cells = [row for row in rows if len(row) > 1 or any(row)]
    ends_in_separators = bool(rows_with_cells) and all(len(row) == 4 and row[3] == "" for row in rows_with_cells)
    sound = naive.is_rectangular(content) or ends_in_separators or all(len(row) in (2, 3) for row in rows_with_cells)
    numeric = sound and all("," not in row[1] for row in rows if any(row) or len(row) > 1)
    try:
        recording = read_recording(tmp_path / "a.csv", Reading(leave_out=["label"]))
    except RecordingError as error:
        assert not numeric or "all" in str(error) or "no rows" in str(error)
    else:
        assert sound
        assert recording.n_channels == 1


@many
@given(
    values=hnp.arrays(np.float32, (7, 3), elements=st.floats(-1e6, 1e6, width=32)),
    blanks=st.lists(st.sampled_from([" ", "  ", "\t", " \t "]), min_size=4, max_size=4),
    block_bytes=st.integers(1, 200),
)
def test_runs_of_blanks_are_one_separator(
    tmp_path: Path, values: np.ndarray, blanks: list[str], block_bytes: int
) -> None:
    lead, first, second, trail = blanks
    rows = [f"{lead}{a!s}{first}{b!s}{second}{c!s}{trail}\n" for a, b, c in values]
    (tmp_path / "a.txt").write_text("x y z\n" + "".join(rows))
    recording = read_in_blocks(tmp_path / "a.txt", block_bytes)
    npt.assert_array_equal(recording.values, values)
