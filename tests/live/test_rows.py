"""A live text is read as the stored file is: the same rows, times and channels, in chunks and blocks of any size."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rondo.data.recording import Recording
from rondo.errors import RecordingError, RondoWarning
from rondo.files.read import read_all_columns, read_recording
from rondo.files.reading import Reading
from rondo.files.text.lines import Lines
from rondo.live.rows import RowReader
from rondo.live.source import Request, Rows
from tests.formats.reading import write
from tests.formats.test_text_tables import FILES, ROWS, TIMED
from tests.live.feeding import Taken, assert_same, taken

CHUNKS = (1, 7, 1000, 1 << 40)


def read_live(content: bytes, channels: tuple[str, ...], at_most: int = 1000, block_bytes: int = 1 << 18) -> Taken:
    reader = RowReader(Lines(io.BytesIO(content).read, block_bytes=block_bytes), Request(channels), "it")
    chunks: list[Rows] = []
    for at_end in (False, True):
        while (rows := reader.read(at_most, at_end=at_end)) is not None:
            chunks.append(rows)
    return taken(chunks)


def assert_read_as_stored(path: Path, stored: Recording, block_bytes: int = 1 << 18) -> None:
    whole = read_live(path.read_bytes(), stored.channels)
    npt.assert_array_equal(whole.values, stored.values)
    assert (whole.times_s is None) == (stored.timestamps_s is None)
    if whole.times_s is not None:
        npt.assert_array_equal(whole.times_s, stored.timestamps_s)
    assert whole.n_unreadable == 0
    for at_most in CHUNKS:
        assert_same(read_live(path.read_bytes(), stored.channels, at_most, block_bytes), whole)


E4 = [", ".join([cell] * 3) for cell in ("1544027337.000000", "32.000000")]
POSE = ["scorer,net,net,net", "bodyparts,nose,nose,tail", "coords,x,y,x"]
ACTIGRAPH = [
    "------------ Data File Created By ActiGraph GT3X+ ActiLife v6.13.3 date format M/d/yyyy at 30 Hz  Filter",
    "Serial Number: NEO1F16120025",
    "Start Time 14:15:00",
    "Start Date 3/5/2014",
    "Epoch Period (hh:mm:ss) 00:00:00",
    "Current Battery Voltage: 4.22     Mode = 12",
    "--------------------------------------------------",
]
COARSE = [f"2026-11-15 09:00:{(i + 13) // 25:02d},{row}" for i, row in enumerate(ROWS * 5)]
PROGRAMS = {
    "e4": [*E4, *ROWS],
    "e4 beats": ["1544027337.000000, IBI", *(f"{7 + 0.8 * i:.6f},{i % 7}" for i in range(40))],
    "deeplabcut": [*POSE, *(f"{i},{row}" for i, row in enumerate(ROWS))],
    "actigraph": [*ACTIGRAPH, "X,Y,Z", *ROWS],
    "actigraph, no header": [*ACTIGRAPH, *ROWS],
    "xsens": ["// Rate: 100.0Hz", "PacketCounter\tSampleTimeFine\tX\tY"]
    + [f"{i:05d}\t{i * 100}\t{i % 5}\t{i % 3}" for i in range(90)],
    "files put together": ["time,x,y,z", *TIMED[:15], "time,x,y,z", *TIMED[15:]],
    "coarse clock": ["when,x,y,z", *COARSE],
    "coarse clock, two readings": ["when,x,y,z", *COARSE[:20]],
    "coarse time of day, midnight": ["Uhrzeit;x"]
    + [f"{(datetime(2026, 1, 1, 23, 59, 58) + timedelta(seconds=i // 10)):%H:%M:%S};{i % 7}" for i in range(90)],
    "a phone that stamps twice": ["when,accTimestamp_sinceReboot(s),x,y,z"]
    + [f"2024-05-01T12:00:{i / 50:06.3f}+02:00,{1234.5 + i / 50},{row}" for i, row in enumerate(ROWS)],
    "spreadsheet days": ["Date,x,y,z", *(f"{45000 + i / 86400:.9f},{row}" for i, row in enumerate(ROWS))],
    "uneven ticks": ["time,x,y,z", *(f"{20 * i + i % 3},{row}" for i, row in enumerate(ROWS))],
    "matlab": ["Var1,Var2,Var3,Var4", *TIMED],
    "no header, rising": TIMED * 1,
    "no header, no clock": ROWS,
    "one column": ["acc x", *(str(i % 7) if i % 9 else "" for i in range(1, 90)), "", ""],
    "spreadsheet errors": ["x|y|z", *(row.replace(",", "|") for row in ROWS), "#DIV/0!|1|#VALUE!"],
    "blank rows at the end": ["time,x,y,z", *TIMED, ",,,", ",,,"],
    "json lines": [f'{{"time": {i / 50}, "x": {i % 7}, "where": "here", "y": null}}' for i in range(90)]
    + ['{"x": "1.5", "time": 1.8, "y": 2, "ok": true}'],
}


@pytest.mark.parametrize("case", PROGRAMS)
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_files_of_programs(tmp_path: Path, case: str) -> None:
    path = write(tmp_path, "a.csv", "\n".join(PROGRAMS[case]) + "\n")
    assert_read_as_stored(path, read_all_columns(path, Reading()))


@pytest.mark.parametrize("case", sorted(set(FILES) - {"utf-16"}))  # which is replayed as a recording
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_files_as_people_have_them(tmp_path: Path, case: str) -> None:
    path = write(tmp_path, "a.csv", FILES[case][0])
    assert_read_as_stored(path, read_recording(path))


@dataclass(frozen=True)
class Written:
    """A text table in some way of writing it."""

    separator: str
    comma: bool
    line_end: str
    before: tuple[str, ...]
    has_header: bool
    has_units: bool
    clock: str
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    encoding: str
    extra: tuple[tuple[int, str], ...]
    tail: str

    def text(self) -> bytes:
        names = [*([self.clock] if self.clock else []), *self.columns]
        rows = [self._row(i, cells) for i, cells in enumerate(self.cells)]
        for place, what in self.extra:
            rows.insert(place % (len(rows) + 1), self.separator.join(names) if what == "header" else "")
        header = [self.separator.join(names)] if self.has_header else []
        units = [self.separator.join(["s"] * bool(self.clock) + ["g"] * len(self.columns))] if self.has_units else []
        text = self.line_end.join([*self.before, *header, *units, *rows]) + self.tail.replace("\n", self.line_end)
        return text.encode(self.encoding)

    def _row(self, i: int, cells: tuple[str, ...]) -> str:
        when = datetime(2026, 11, 13, 23, 59, 50) + timedelta(milliseconds=40 * i)
        time = {
            "": [],
            "time": [f"{i / 25:.2f}"],
            "Timestamp [ms]": [str(40 * i)],
            "unixtime": [str(1794774665250 + 40 * i)],
            "Datum Uhrzeit": [f"{when:%d.%m.%Y %H:%M:%S}," + f"{when.microsecond // 1000:03d}"],
            "when": [when.isoformat()],
            "Uhrzeit": [f"{when:%H:%M:%S}"],
        }[self.clock]
        numbers = [*(time if self.clock == "time" else []), *cells]
        numbers = [cell.replace(".", ",") for cell in numbers] if self.comma else numbers
        return self.separator.join([*([] if self.clock == "time" else time), *numbers])


SPELLINGS = ("", "NA", "nan", " 1.5 ", "+3", "1E5", "-0", ".5", "5.", "16777217.0000000001", "0.1", "-2e-3")
CELLS: dict[str, Callable[[random.Random, int], str]] = {
    "x": lambda rng, i: f"{rng.gauss(0, 9):.{rng.randrange(9)}f}",
    "acc y": lambda rng, i: rng.choice(SPELLINGS),
    "T [°C]": lambda rng, i: str(rng.randrange(-9, 9)),
    "label": lambda rng, i: rng.choice("ab"),
    "n": lambda rng, i: str(i),
    "state": lambda rng, i: rng.choice(["ok", "off"]),
    "id": lambda rng, i: "7",
}


@st.composite
def tables(draw: st.DrawFn) -> Written:
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    has_header = draw(st.booleans())
    columns = ("x", *draw(st.lists(st.sampled_from([*CELLS][1:]), unique=True, max_size=4)))
    if not has_header:
        columns = tuple(name for name in columns if name in ("x", "acc y", "T [°C]"))
    comma = separator in ";\t" and len(columns) > 1 and draw(st.booleans())
    n_rows = draw(st.sampled_from([1, 2, 3, 40, 62, 63, 64, 65, 130]))
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    cells = tuple(tuple(CELLS[name](rng, i) for name in columns) for i in range(n_rows))
    clock = draw(st.sampled_from(["", "time", "Timestamp [ms]", "unixtime", "when", "Uhrzeit"] * has_header + [""]))
    if clock == "when" and separator == ";":
        clock = "Datum Uhrzeit"
    before = draw(st.sampled_from([(), ("# by me",), ("% 3 sensors", "# at 25 Hz")]))
    places = st.tuples(st.integers(3, 200), st.sampled_from(["blank", "header"] if has_header else ["blank"]))
    return Written(
        separator, comma, draw(st.sampled_from(["\n", "\r\n"])), before, has_header,
        has_header and n_rows > 2 and draw(st.booleans()), clock, columns, cells,
        draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252"])),
        tuple(draw(st.lists(places, max_size=3))), draw(st.sampled_from(["\n", "", "\n\n\n", "\n" + "\0" * 9])),
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), block_bytes=st.sampled_from([13, 400, 1 << 18]))
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_however_a_table_is_written_it_is_read_as_the_stored_file(
    tmp_path: Path, table: Written, block_bytes: int
) -> None:
    path = write(tmp_path, "a.csv", table.text())
    try:
        stored = read_all_columns(path, Reading())
    except RecordingError:  # few are: a test that refuses too many would fail for it
        assume(False)
    assert_read_as_stored(path, stored, block_bytes)


def columns_of(header: str, row: str, channels: tuple[str, ...] = ("a", "b")) -> list[list[float]]:
    return read_live(f"{header}\n{row}\n".encode(), channels).values.tolist()


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("b,a", "-2e3,1.5"),
        ('"a","b"', '"1.5","-2e3"'),
        ("a b", "1.5   -2e3"),
        ("a,label,b", "1.5,walking,-2e3"),
        ('{"a": 0, "b": 1}', '{"b": -2e3, "a": 1.5}'),
        ('{"a": 0, "b": 1}', '{"b": -2000, "a": 1.5, "more": [1]}\r'),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_channels_go_by_name_in_the_order_of_the_model(header: str, row: str) -> None:
    assert columns_of(header, row)[-1] == [1.5, -2000.0]


def test_a_channel_of_the_model_is_one_whatever_it_looks_like() -> None:
    """Labels, ids, clocks and counters by their names or cells, where the model was fitted on them."""
    text = "".join(f"{i},{i % 2},{i / 50},{i}\n" for i in range(70))
    found = read_live(f"id,activity,time,n\n{text}".encode(), ("n", "activity", "time", "id"))
    assert found.times_s is None
    assert found.values[69].tolist() == [69, 1, np.float32(69 / 50), 69]


def test_what_the_model_does_not_know_is_left_out_with_a_note() -> None:
    with pytest.warns(RondoWarning, match=r"3 channels .*'x', 'column 4', 'y'"):
        assert columns_of("a,x,b,,y", "1,2,3,4,5") == [[1, 3]]


def test_columns_without_names_go_by_position() -> None:
    with pytest.warns(RondoWarning) as notes:
        assert columns_of("1,2", "3,4") == [[1, 2], [3, 4]]
    assert any("position as 'a', 'b'" in str(note.message) for note in notes)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("a,c", "it: it lacks the channel 'b'; expected 'a', 'b', it has 'a', 'c'"),
        ('{"a": 1}', "it lacks the channel 'b'"),
        ("1,2,3", "it lacks the channels 'a', 'b'"),
        ("a,b,a", "columns 1 and 3 are both named 'a'"),
        ('{"a": 1', "not a whole JSON object"),
        ("{}", "its objects are empty"),
        ("a\0b", "binary data?"),
        ('"' + "a" * 200_000, "it cannot be cut into cells (field larger than field limit (131072))"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out", "ignore:.*no header")
def test_a_stream_that_does_not_fit_the_model_is_refused(header: str, message: str) -> None:
    with pytest.raises(RecordingError) as refused:
        columns_of(header, "")
    assert message in str(refused.value)


def test_rows_that_say_they_have_another_rate_are_refused() -> None:
    lines = Lines(io.BytesIO("\n".join(PROGRAMS["actigraph"]).encode()).read)
    reader = RowReader(lines, Request(("X", "Y", "Z"), rate=50.0), "it")
    with pytest.raises(RecordingError, match=r"30 Hz, .*50 Hz"):
        reader.read_head(at_end=True)


@pytest.mark.parametrize(
    ("line", "n_unreadable"),
    [("1,", 0), ("1,NA", 0), ('1,""', 0), ("1,null", 0), ("1,broken", 1), ("1,1_0", 1), ("1,0x10", 1), ("1,\xff", 1)]
    + [(f"1,{cell}", 1) for cell in ("inf", "-Infinity", "1e39", "-1e300")],
)
@pytest.mark.filterwarnings("ignore:.*Windows-1252")
def test_missing_cells_are_nan_and_unreadable_ones_counted(line: str, n_unreadable: int) -> None:
    found = read_live(f"a,b\n3,4\n{line}\n".encode("cp1252"), ("a", "b"))
    assert found.values[1, 0] == 1
    assert math.isnan(found.values[1, 1])
    assert found.n_unreadable == n_unreadable


@pytest.mark.parametrize(
    ("header", "line", "reason"),
    [
        ("a,b\n1,2", "1", "expected 2 cells, got 1"),
        ("a,b\n1,2", "1,2,3", "expected 2 cells, got 3"),
        ("a,b\n1,2", "a,b", "the header again"),
        ("a,b\n1,2", "x,y", "no number in it"),
        ("a,b\n1,2", "1;5,2;5", "no number in it"),
        ("a,b\n1,2", '1,"2', "cannot be cut into cells: unexpected end of data; quotes must close on their line"),
        ("a,b\n1,2", "1,\0", "binary data"),
        ("time,a,b\n0,1,2", ",1,2", "no time in column 'time'"),
        ("time,a,b\n0,1,2", "inf,1,2", "no time in column 'time'"),
        ("time,a,b\n0,1,2", "noon,1,2", "no time in column 'time'"),
        ("Zeit,a,b\n2024-05-01 12:00:00,1,2", "noon,1,2", "no time in column 'Zeit'"),
        ('{"a":1,"b":2}', "[1,2]", "not a JSON object"),
        ('{"a":1,"b":2}', "{", "not a JSON object"),
        ('{"a":1,"b":2}', "[" * 100_000, "not a JSON object"),
        ('{"t":0,"a":1,"b":2}', '{"a":1,"b":2}', "no time in column 't'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is the clock")
def test_a_line_without_a_row_gives_its_reason(header: str, line: str, reason: str) -> None:
    last = header.splitlines()[-1].replace('"t":0', '"t":1').replace("0,1,2", "1,1,2").replace("12:00:00", "12:00:01")
    text = f"{header}\n{line}\n{last}\n".encode()
    for at_most in CHUNKS:
        found = read_live(text, ("a", "b"), at_most)
        number = header.count("\n") + 2
        assert [(row, skip.line, skip.n_lines, skip.reason) for row, skip in found.skipped] == [(1, number, 1, reason)]
        assert len(found.values) == 2


def test_a_torn_last_line_is_no_row() -> None:
    found = read_live(b"a,b\n1,2\n3", ("a", "b"))
    assert (found.values.tolist(), found.skipped[0][1].reason) == ([[1, 2]], "torn: expected 2 cells, got 1")


def test_times_counted_from_an_opening_go_on_after_a_bad_line() -> None:
    text = "\n".join([*E4, *ROWS[:3], "bad", *ROWS[3:]])
    with pytest.warns(RondoWarning, match="Empatica E4"):
        times = read_live(text.encode(), ("ch0", "ch1", "ch2")).times_s
    assert times is not None
    assert ((times - 1544027337) * 32).tolist() == [0, 1, 2, *range(4, 41)]
