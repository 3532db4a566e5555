"""Fast and careful reading give the same rows; what is no row is refused or skipped, at the same line."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import RecordingError
from rondo.files.columns import choose_columns
from rondo.files.reading import Reading
from rondo.files.text.cells import ParsedRows, RowParser, parser_of
from rondo.files.text.layout import layout_of
from rondo.files.text.lines import Lines, TextBlock


def parser(text: bytes, *, is_strict: bool = False) -> RowParser:
    left = [text]
    head = Lines(lambda n: left.pop() if left else b"").head(at_end=True)
    assert head
    layout = layout_of(head)
    columns = choose_columns(layout.columns(), Reading())
    return parser_of(layout, columns, is_strict=is_strict)[0]


def rows_of(text: bytes, *, is_strict: bool = False) -> ParsedRows:
    header, _, body = text.partition(b"\n")
    return parser(text, is_strict=is_strict).parse(TextBlock(body, len(header) + 1, 2))


CELLS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=30).map(str).filter(lambda cell: len(cell) < 60),
    st.floats(allow_nan=False, width=64).map(repr),
    st.sampled_from(
        ["", "NA", "nan", "+3", "5.", ".5", "1E5", "-0", "inf", "16777217.0000000001", "1.00000005960464478"]
    ),
)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=9), is_strict=st.booleans())
def test_the_careful_reading_rounds_as_the_fast_one_does(rows: list[tuple[str, str]], is_strict: bool) -> None:
    body = "".join(f"{a},{b}\n" for a, b in [("1", "2"), *rows]).encode()
    reading = parser(b"x,y\n" + body, is_strict=is_strict)
    fast = reading._by_polars(body)
    careful = reading._by_cell(body, 2, is_open=False)
    assert fast is not None
    npt.assert_array_equal(fast.values, careful.values)
    assert fast.values.dtype == careful.values.dtype == np.float64


def test_a_row_without_values_between_tabs_is_a_row_either_way() -> None:
    fast, careful = (rows_of(b"x\ty\n1\t2\n\t\n3\t" + last + b"\n", is_strict=True) for last in (b"4", b"n/a"))
    assert (fast.places, careful.places is None) == (None, False)
    npt.assert_array_equal(fast.values[:2], [[1, 2], [np.nan, np.nan]])
    npt.assert_array_equal(careful.values[:2], fast.values[:2])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"time,x\n0,1\n1,a\nb,2\n3\n", 3),
        (b"time,x\n0,1\nb,2\n1,a\n3\n", 3),
        (b"time,x\n0,1\n3\nb,2\n1,a\n", 3),
        (b"time,x\n0,1\n1,2\n2,3,4\nb,2\n", 4),
    ],
)
def test_the_first_line_at_fault_is_the_one_that_is_refused(text: bytes, line: int) -> None:
    with pytest.raises(RecordingError, match=f"line {line}[:,]"):
        rows_of(text, is_strict=True)
    assert min(place for place, _ in rows_of(text).faults) in (line - 2, line - 1)


def test_json_lines_keep_the_places_of_their_rows() -> None:
    text = b'{"x": 1}\n\n{"x": 2}\nbad\n{"x": "n/a"}\n[1]\n{"x": "oops"}\n{"x": 3}\n'
    found = parser(text).parse(TextBlock(text, 0, 1))
    npt.assert_array_equal(found.values.ravel(), [1, 2, np.nan, 3])
    assert found.places is not None and found.places.tolist() == [0, 2, 4, 7]
    assert found.faults == ((3, "not a JSON object"), (5, "not a JSON object"), (6, "no number in it"))
