"""Whole lines out of pieces of bytes, whatever the pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import RecordingError
from rondo.files.text import lines as lines_module
from rondo.files.text.layout import SEPARATORS, cells_of, n_cells_of
from rondo.files.text.lines import Lines
from tests.naive_files import naive_cells


def in_pieces(*pieces: bytes) -> Lines:
    left = list(pieces)
    return Lines(lambda n: left.pop(0) if left else b"")


def taken(lines: Lines) -> bytes:
    """All that is there now, with places that must follow on each other."""
    text = b""
    while (block := lines.take()) is not None:
        assert block.start + len(block.text) - block.is_open == lines.position
        assert block.first_line + block.text.count(b"\n") - block.is_open == lines.number + 1
        text += block.text
    return text


TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\0"]), max_size=30).map(b"".join)


@given(text=TEXTS, data=st.data())
def test_lines_are_those_of_the_text_however_it_comes(text: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    lines = in_pieces(*[piece for piece in pieces if piece])
    before = taken(lines)
    assert text.startswith(before)
    assert b"\n" not in text[len(before) :].rstrip(b"\r\n\0")  # what is left is one open line, or no row yet
    lines.end()
    filled = text.rstrip(b"\r\n\0")
    after = taken(lines)
    assert (before + after).rstrip(b"\r\n") == filled
    assert lines.position == len(before + after) - (bool(after) and not text.startswith(after, len(before)))
    assert lines.n_zeros == text[max(len(filled), len(before)) :].count(b"\0")


def test_looking_at_the_head_moves_nothing() -> None:
    lines = in_pieces(b"\xef\xbb\xbfa,b\r\n\n", b"1,2", b"\n3")
    assert lines.head(3, at_end=False) is None
    assert lines.position == 0
    head = lines.head(3, at_end=True)
    assert head is not None
    assert [(line.text, line.start, line.stop, line.number) for line in head] == [
        ("a,b", 3, 8, 1), ("1,2", 9, 13, 3), ("3", 13, 14, 4),
    ]  # fmt: skip
    assert lines.skip_to(head[1].start)
    assert (taken(lines), lines.position, lines.number) == (b"1,2\n3\n", 14, 3)


def test_lines_before_a_place_are_passed_over_when_they_have_come() -> None:
    pieces = [b"1\n2"]
    lines = Lines(lambda n: pieces.pop(0) if pieces else b"")
    assert not lines.skip_to(4)
    pieces.append(b"\n3\n")
    assert lines.skip_to(4)
    assert (taken(lines), lines.number) == (b"3\n", 3)


def test_blank_lines_at_the_end_are_held_until_something_follows() -> None:
    pieces = [b"1\n\n\n"]
    lines = Lines(lambda n: pieces.pop(0) if pieces else b"")
    assert taken(lines) == b"1\n"
    pieces.append(b"\n2\n\n")
    assert taken(lines) == b"\n\n\n2\n"
    lines.end()
    assert taken(lines) == b""


@pytest.mark.parametrize("text", [b"\0\0\0", b"a\x03,b\n1,2\n", b"x\n1\x00\n", b"a,b\r1,2\r3,4\n"])
def test_what_is_no_text_is_refused(text: bytes) -> None:
    with pytest.raises(RecordingError, match=r"binary data\?|bare carriage return"):
        in_pieces(text).head(at_end=True)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 100)
    with pytest.raises(RecordingError, match="line 1 does not end"):
        Lines(lambda n: b"x" * 60).take()
    with pytest.raises(RecordingError, match=r"binary data\?"):
        Lines(lambda n: b"x" * 60).head(at_end=False)


@given(st.lists(st.sampled_from(["a", " ", "\t", ",", ";", '"', '""', "\xa0", "-1.5"]), max_size=12).map("".join))
def test_cells_are_those_of_csv(line: str) -> None:
    for separator in SEPARATORS:
        assert cells_of(line, separator) == naive_cells(line, separator)
        assert n_cells_of(line, separator) == len(naive_cells(line, separator))
