"""Standard input: read as it comes, passed over when it comes again, live when it is followed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rondo.errors import ModelError
from rondo.live.source import Bookmark, Request, Skip
from rondo.live.stdin import StandardInput
from tests.live.feeding import BEGIN, numbers, read_now, taken

CHANNELS = ("a", "b")
TEXT = b"a,b\n1,2\n3,4\nbad\n5,6\n7,8"


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            try:
                os.close(end)
            except OSError:  # the test has closed it
                continue


def opened(text: bytes, bookmark: Bookmark | None = None, *, follow: bool = False) -> StandardInput:
    """A pipe that holds the text and is closed; what it leaves open is little, and ends with the process."""
    out, into = os.pipe()
    os.write(into, text)
    os.close(into)
    return StandardInput(Request(CHANNELS, follow=follow, bookmark=bookmark), descriptor=out)


def test_nothing_waits_for_bytes_that_have_not_come() -> None:
    with pipe() as (out, into):
        source = StandardInput(Request(CHANNELS), descriptor=out)
        assert source.read(10) is None
        os.write(into, BEGIN.encode() + TEXT[4:9])
        assert numbers(source) == [1]
        begun = time.monotonic()
        source.wait(0.05)
        assert time.monotonic() - begun >= 0.04
        os.write(into, TEXT[9:])
        source.wait(60)
        assert [rows.values[:, 0].tolist() for rows in read_now(source)] == [[3], [5]]
        assert not source.ended
        os.close(into)
        assert [rows.values[:, 0].tolist() for rows in read_now(source)] == [[7]]
        assert source.ended


def test_stopped_while_passing_over_nothing_is_forgotten() -> None:
    first = opened(TEXT)
    read_now(first, 3)
    with pipe() as (out, into):
        os.write(into, TEXT[:9])
        second = StandardInput(Request(CHANNELS, bookmark=first.bookmark()), descriptor=out)
        assert second.read(10) is None
        assert second.bookmark() == first.bookmark()


@pytest.mark.parametrize(("text", "why"), [(b"a,b\n1,2\n9,4\n5,6\n", "they differ"), (b"a,b\n1,2\n", "only 8 of 12")])
def test_something_else_piped_in_is_refused(text: bytes, why: str) -> None:
    first = opened(TEXT)
    first.read(2)
    with pytest.raises(ModelError, match=why):
        read_now(opened(text, first.bookmark()))


def test_a_live_pipe_goes_on_with_new_rows_and_says_so() -> None:
    first = opened(TEXT, follow=True)
    first.read(2)
    second = opened(b"b,a\n10,9\n", first.bookmark(), follow=True)
    found = taken(read_now(second))
    assert found.values.tolist() == [[9, 10]]
    assert found.skipped == [(0, Skip(1, 0, "begun again after a restart; rows sent meanwhile are lost"))]
    assert second.bookmark()["position"] == first.bookmark()["position"] + 9
