"""Lines -> rows: by name, one line at a time, with a stated rule for everything that is no number."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.live.file_tail import FileTail
from rondo.live.table import Row, Table, table_of
from tests.formats.test_text_layout import FILES
from tests.live.feeding import read_to_end


def table(header: bytes = b"a,b", row: bytes = b"1,2", channels: tuple[str, ...] = ("a", "b")) -> Table:
    return table_of(header, row, channels)


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (b"a,b", b"1.5,-2e3"),
        (b"b,a", b"-2e3,1.5"),
        (b"a\tb", b"1.5\t-2e3"),
        (b"a;b", b"1.5;-2e3"),
        (b"a b", b"1.5   -2e3"),
        (b'"a","b"', b'"1.5","-2e3"'),
        (b"\xef\xbb\xbfa,b\r", b"1.5,-2e3\r"),
        (b"a,x,b", b"1.5,7,-2e3"),
        (b"a,label,b", b"1.5,walking,-2e3"),
        (b'{"a": 1, "b": 2}', b'{"b": -2e3, "a": 1.5}'),
        (b'{"a": 1, "b": 2}', b'{"b": -2000, "a": 1.5, "more": [1]}\r'),
    ],
)
def test_channels_go_by_name_in_the_order_of_the_model(header: bytes, line: bytes) -> None:
    assert table(header, line).row(line) == Row([1.5, -2000.0], None)


def test_columns_without_names_go_by_position() -> None:
    by_position = table(b"1,2", b"3,4")
    assert not by_position.has_header
    assert by_position.row(b"3,4") == Row([3.0, 4.0], None)
    assert "taken by position as 'a', 'b'" in by_position.notes[0]


def test_an_index_without_a_name_is_no_channel() -> None:
    assert table(b",a,b", b"0,1,2").row(b"7,1,2") == Row([1.0, 2.0], None)
    dated = table(b",a,b", b"1970-01-01 00:00:01,1,2")
    assert dated.row(b"1970-01-01 00:00:02,1,2") == Row([1.0, 2.0], 2.0)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"a,c", "it lacks the channel 'b'; expected 'a', 'b', it has 'a', 'c'"),
        (b'{"a": 1}', "it lacks the channel 'b'"),
        (b"1,2,3", "it lacks the channels 'a', 'b'"),
        (b"a,a", "columns 1 and 2 are both named 'a'"),
        (b"a,\xff", "it lacks the channel 'b'; expected 'a', 'b', it has 'a', 'ÿ'"),
        (b'{"a": 1', "not a whole JSON object"),
    ],
)
def test_a_stream_that_does_not_fit_the_model_is_refused(header: bytes, message: str) -> None:
    with pytest.raises(RecordingError) as refused:
        table(header)
    assert message in str(refused.value)


def test_what_the_model_does_not_know_is_left_out_with_a_note() -> None:
    assert table(b"a,x,b,y", b"1,2,3,4").notes == ("2 channels left out that the model does not know: 'x', 'y'",)


@pytest.mark.parametrize(
    ("line", "n_unreadable"),
    [
        (b"1,", 0),
        (b"1,NA", 0),
        (b"1,nan", 0),
        (b'1,""', 0),
        (b"1,null", 0),
        (b"1,broken", 1),
        (b"1,1_0", 1),
        (b"1,\x00", 1),
        (b"1,0x10", 1),
    ],
)
def test_missing_cells_are_nan_and_unreadable_ones_counted(line: bytes, n_unreadable: int) -> None:
    row = table().row(line)
    assert isinstance(row, Row)
    assert row.values[0] == 1.0
    assert math.isnan(row.values[1])
    assert row.n_unreadable == n_unreadable


@pytest.mark.parametrize(
    ("line", "n_unreadable"),
    [(b'{"a":1}', 0), (b'{"a":1,"b":null}', 0), (b'{"a":1,"b":"2"}', 1), (b'{"a":1,"b":[]}', 1)],
)
def test_the_same_for_json(line: bytes, n_unreadable: int) -> None:
    row = table(b'{"a":1,"b":2}').row(line)
    assert isinstance(row, Row)
    assert math.isnan(row.values[1])
    assert row.n_unreadable == n_unreadable


@pytest.mark.parametrize(
    ("header", "line", "reason"),
    [
        (b"a,b", b"1", "expected 2 cells, got 1"),
        (b"a,b", b"1,2,3", "expected 2 cells, got 3"),
        (b"a,b", b"1,\xff", "not UTF-8 text"),
        (b"a,b", b"a,b", "no number in it"),
        (b"a,b", b"1;5,2;5", "no number in it"),
        (b"time,a,b", b",1,2", "no time in column 'time'"),
        (b"time,a,b", b"inf,1,2", "no time in column 'time'"),
        (b"time,a,b", b"noon,1,2", "no time in column 'time'"),
        (b'{"a":1,"b":2}', b"[1,2]", "not a JSON object"),
        (b'{"a":1,"b":2}', b"{", "not a JSON object"),
        (b'{"a":1,"b":2}', b"[" * 100_000, "not a JSON object"),
        (b'{"t":0,"a":1,"b":2}', b'{"a":1,"b":2}', "no time under 't'"),
    ],
)
def test_a_line_without_a_row_gives_its_reason(header: bytes, line: bytes, reason: str) -> None:
    assert table(header, b"").row(line) == reason


def test_blank_lines_are_no_rows_unless_there_is_one_column() -> None:
    assert table().row(b"") is None
    assert table().row(b"  \r") is None
    single = table(b"a", b"1", ("a",)).row(b"")
    assert isinstance(single, Row)
    assert math.isnan(single.values[0])


@pytest.mark.parametrize(
    ("line", "time"),
    [
        (b"12.5,1,2", 12.5),
        (b"1970-01-01T00:00:12.5,1,2", 12.5),
        (b'"1970-01-01 00:00:12.5",1,2', 12.5),
    ],
)
def test_the_clock(line: bytes, time: float) -> None:
    assert table(b"time,a,b", line).row(line) == Row([1.0, 2.0], time)


cells = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(min_value=-1e30, max_value=1e30).map(repr),
    st.sampled_from(["", "NA", "nan", " 1.5 ", "+3", "1E5", '"7"', ".5", "5.", "-0"]),
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=8), with_clock=st.booleans())
def test_a_stream_is_read_as_the_stored_file_is(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], with_clock: bool
) -> None:
    path: Path = tmp_path_factory.mktemp("table") / "x.csv"
    rows = [("1", "2"), *rows]  # a recording of nothing but missing values is refused when it is stored
    clock = [f"{1.7e12 + 20 * i:.0f}," if with_clock else "" for i in range(len(rows))]
    header = "time,a,b\n" if with_clock else "a,b\n"
    path.write_text(header + "".join(f"{t}{a},{b}\n" for t, (a, b) in zip(clock, rows, strict=True)))
    stored = Recording.from_file(path)
    with pytest.warns() if with_clock else _nothing():  # says that the clock counts milliseconds
        live = read_to_end(FileTail(path, ("a", "b"), follow=False))
    npt.assert_array_equal(live.values, stored.values)
    npt.assert_array_equal(live.times_s, stored.timestamps_s) if with_clock else None
    assert (live.times_s is None) == (stored.timestamps_s is None)
    assert not live.skipped and not live.n_unreadable


class _nothing:  # noqa: N801  # stands beside pytest.warns
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e39", "-1e300"])
def test_infinite_and_beyond_float32_is_nan_and_counted(tmp_path: Path, cell: str) -> None:
    (tmp_path / "x.csv").write_text(f"a,b\n1,{cell}\n2,3\n")
    live = read_to_end(FileTail(tmp_path / "x.csv", ("a", "b"), follow=False))
    npt.assert_array_equal(live.values, np.array([[1, np.nan], [2, 3]], np.float32))
    assert live.n_unreadable == 1


# the others are told from more than two lines
AS_PEOPLE_HAVE_THEM = sorted(set(FILES) - {"header in a remark", "lines above", "utf-16"})


@pytest.mark.parametrize("case", AS_PEOPLE_HAVE_THEM)
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_files_as_people_have_them_are_streamed_as_they_are_stored(tmp_path: Path, case: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(FILES[case][0])
    stored = Recording.from_file(path)
    live = read_to_end(FileTail(path, ("x", "y"), follow=False))
    npt.assert_array_equal(live.values, stored.values)
    if stored.timestamps_s is None:
        assert live.times_s is None
    else:
        npt.assert_array_equal(live.times_s, stored.timestamps_s)
    assert len(live.skipped) == (case == "units")
