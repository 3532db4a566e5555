"""Whole lines out of pieces of bytes, whatever the pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import RecordingError
from rondo.live import lines as lines_module
from rondo.live.lines import Lines


def drained(lines: Lines) -> list[bytes]:
    found = []
    while (line := lines.peek()) is not None:
        found.append(line)
        lines.take()
    return found


@given(text=st.lists(st.sampled_from([b"a", b"bc", b"\n"]), max_size=30).map(b"".join), data=st.data())
def test_lines_are_those_of_the_text_however_it_comes(text: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    lines = Lines(lambda n: next((pieces.pop(0) for _ in list(pieces) if pieces[0]), b"") if any(pieces) else b"")
    pieces = [piece for piece in pieces if piece]
    *whole, rest = text.split(b"\n")
    assert drained(lines) == whole
    assert lines.position == len(text) - len(rest)
    assert lines.number == len(whole)
    lines.end()
    assert drained(lines) == ([rest] if rest else [])
    assert lines.position == len(text)


def test_looking_ahead_moves_nothing() -> None:
    pieces = [b"1\n2", b"\n3"]
    lines = Lines(lambda n: pieces.pop(0) if pieces else b"")
    assert (lines.peek(1), lines.peek(), lines.peek(2), lines.position) == (b"2", b"1", None, 0)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 100)
    lines = Lines(lambda n: b"x" * 60)
    with pytest.raises(RecordingError, match="line 1 does not end within 100 bytes"):
        lines.peek()
