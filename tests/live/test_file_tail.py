"""A file that grows, is cut into chunks, rotated, truncated, lost: each by the rule that is stated."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.live import rows
from rondo.live.files import PATIENCE_S, FileTail
from rondo.live.source import Bookmark, Request, Skip
from tests.live.feeding import BEGIN, assert_same, numbers, read_now, read_to_end, taken

CHANNELS = ("a", "b")


def opened(path: Path, bookmark: Bookmark | None = None, *, follow: bool = False) -> FileTail:
    return FileTail(path, Request(CHANNELS, follow=follow, bookmark=bookmark))


def bookmark_after(path: Path, n_rows: int) -> Bookmark:
    with closing(opened(path)) as source:
        source.read(n_rows)
        return source.bookmark()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.csv"


def add(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_growing_file_gives_the_rows_of_the_whole_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("tail") / "x.csv"
    text = b"a,b\n" + b"".join(f"{i % 9},{i / 7}\n".encode() for i in range(75))
    path.write_bytes(b"")
    stops = [*sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8))), len(text)]
    source = opened(path, follow=True)
    chunks, done = [], 0
    for stop in stops:
        with path.open("ab") as file:
            file.write(text[done:stop])
        done = stop
        chunks += read_now(source, 5)
    source.close()
    path.write_bytes(text)
    assert_same(taken(chunks), read_to_end(opened(path)))


def test_a_line_is_not_read_before_it_ends(path: Path) -> None:
    path.write_text(BEGIN + "1,2\n3,4")
    source = opened(path, follow=True)
    assert numbers(source) == [1]
    add(path, "5\n")
    rows = source.read(10)
    assert rows is not None
    assert rows.values.tolist() == [[3, 45]]
    source.close()


def test_no_row_is_given_before_the_head_is_there_and_then_all_of_them(path: Path) -> None:
    path.write_text(BEGIN.removesuffix("0,0\n") + "1,2")
    with pytest.warns(RondoWarning, match="first 64 lines, which tell"):
        source = opened(path, follow=True)
    assert source.read(10) is None
    assert source.bookmark()["position"] == 0
    add(path, "\n3,4\n")
    assert numbers(source) == [1, 3]
    source.close()


def test_rotated(path: Path) -> None:
    path.write_text(BEGIN + "1,2\n3,4")
    source = opened(path, follow=True)
    assert numbers(source) == [1]
    path.rename(path.with_suffix(".1"))
    add(path.with_suffix(".1"), "\n5,6")  # the sender still writes to the old one
    path.write_text(BEGIN.replace("a,b", "b,a") + "8,7\n")
    seen: list[float] = []
    for _ in range(4):
        seen += numbers(source)
    assert seen == [3, 5, 7]
    assert source.bookmark()["position"] == path.stat().st_size
    source.close()


def test_truncated(path: Path) -> None:
    path.write_text(BEGIN + "1,2\n3,4\n")
    source = opened(path, follow=True)
    assert numbers(source) == [1, 3]
    path.write_text(BEGIN + "5,6\n")
    read_now(source)
    again = taken(read_now(source))
    first = source.read(10)
    source.close()
    assert first is None
    assert again.values[-1, 0] == 5
    assert [(row, skip.n_lines, skip.reason) for row, skip in again.skipped] == [
        (0, 0, "truncated; read again from its beginning")
    ]


def test_news_of_the_file_do_not_wait_for_a_row(path: Path) -> None:
    path.write_text(BEGIN + "1,2\n")
    source = opened(path, follow=True)
    assert numbers(source) == [1]
    path.write_text("a,b\n")
    found = taken(read_now(source) + read_now(source))
    source.close()
    assert [skip.reason for _, skip in found.skipped] == ["truncated; read again from its beginning"]


def test_gone_for_a_moment(path: Path) -> None:
    path.write_text(BEGIN + "1,2\n")
    now = [0.0]
    source = FileTail(path, Request(CHANNELS, follow=True), clock=lambda: now[0])
    assert numbers(source) == [1]
    path.unlink()
    for now[0] in (1.0, PATIENCE_S):
        assert source.read(10) is None
    path.write_text(BEGIN + "3,4\n")
    assert [number for _ in range(3) for number in numbers(source)] == [3]
    path.unlink()
    now[0] = 2 * PATIENCE_S
    assert source.read(10) is None  # patience begins again
    source.close()


def test_gone_for_good(path: Path) -> None:
    path.write_text(BEGIN + "1,2\n3,")
    now = [0.0]
    source = FileTail(path, Request(CHANNELS, follow=True), clock=lambda: now[0])
    assert numbers(source) == [1]
    path.unlink()
    assert source.read(10) is None
    now[0] = PATIENCE_S + 1
    with pytest.raises(RecordingError, match=r"disappeared, .*60 s"):
        source.read(10)
    source.close()


def changed(path: Path, how: str) -> None:
    if how == "shorter":
        path.write_text("a,b\n1,2\n")
    elif how == "other rows":
        path.write_text("a,b\n1,2\n9,4\n5,6\n")
    elif how == "other header":
        path.write_text("b,a\n1,2\n3,4\n5,6\n")


@pytest.mark.parametrize("how", ["shorter", "other rows", "other header"])
def test_another_file_is_refused_and_when_following_read_anew(path: Path, how: str) -> None:
    path.write_text("a,b\n1,2\n3,4\n")
    bookmark = bookmark_after(path, 2)
    changed(path, how)
    with pytest.raises(ModelError, match="not the file"):
        opened(path, bookmark)
    add(path, "0,0\n" * 63)
    again = opened(path, bookmark, follow=True)
    found = taken(read_now(again))
    again.close()
    assert len(found.values) == len(path.read_text().splitlines()) - 1
    assert found.skipped == [(0, Skip(1, 0, "replaced while nobody read it; read from its beginning"))]


@pytest.mark.parametrize("row", [0, 1999])
def test_a_row_changed_at_the_beginning_or_just_before_the_bookmark(path: Path, row: int) -> None:
    lines = [f"{i},{i}" for i in range(2000)]
    path.write_text("\n".join(["a,b", *lines, ""]))
    bookmark = bookmark_after(path, 2000)
    lines[row] = lines[row].replace(str(row)[0], "7", 1)
    path.write_text("\n".join(["a,b", *lines, ""]))
    with pytest.raises(ModelError, match="not the file"):
        opened(path, bookmark)


def test_a_file_that_has_only_grown_goes_on(path: Path) -> None:
    path.write_text("a,b\n1,2\n3,4\n")
    bookmark = bookmark_after(path, 1)
    add(path, "5,6\n")
    again = opened(path, bookmark)
    assert numbers(again) == [3, 5]
    again.close()


def test_runs_of_bad_lines_are_one_skip_each(path: Path) -> None:
    path.write_text("a,b\n1,2\nx\ny\n\nz,z\n3,4\n5\n")
    assert read_to_end(opened(path)).skipped == [
        (1, Skip(3, 2, "expected 2 cells, got 1")),
        (1, Skip(6, 1, "no number in it")),
        (2, Skip(8, 1, "expected 2 cells, got 1")),
    ]


def test_a_sender_that_has_changed_what_it_sends_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_SKIPPED", 5)
    path.write_text("a,b\n1,2\n" + "1,2,3\n" * 5 + "3,4\n" + "1,2,3\n" * 6)
    source = opened(path)
    assert len(source.read(9).values) == len(source.read(9).values) == 1  # type: ignore[union-attr]
    with pytest.raises(RecordingError, match=r"line 9 on \(expected 2"):
        source.read(9)
    source.close()


def test_the_unit_of_the_clock_is_told_once_and_kept(path: Path) -> None:
    path.write_text("time,a,b\n99999999000,1,2\n")  # seconds, by its size
    bookmark = bookmark_after(path, 9)
    add(path, "100000001000,3,4\n")  # would be milliseconds if it came first
    again = opened(path, bookmark)
    rows = again.read(9)
    again.close()
    assert rows is not None
    npt.assert_array_equal(rows.times_s, np.array([100000001000.0]))


def test_a_file_that_becomes_shorter_while_it_is_read_is_refused(path: Path) -> None:
    path.write_text("a,b\n" + "1,2\n" * 200_000)
    source = opened(path)
    assert source.read(10) is not None
    path.write_text("a,b\n" + "1,2\n" * 100_000)
    with pytest.raises(RecordingError, match=r"x\.csv: .*800004 bytes became 400004"):
        read_now(source)
    source.close()


def test_zeros_after_a_power_cut_are_noted_and_no_row(path: Path) -> None:
    path.write_bytes(b"a,b\n1,2\n3,4\n" + bytes(5000))
    with pytest.warns(RondoWarning, match="5000 bytes of zeros"):
        assert read_to_end(opened(path)).values.tolist() == [[1, 2], [3, 4]]


def test_how_a_file_is_written_is_decided_once(path: Path) -> None:
    """By the lines that were there when it was first read, also after a restart with more of them."""
    path.write_text("a;b\n1;2\n3;4\n")
    bookmark = bookmark_after(path, 1)
    add(path, "5,5;6\n" * 3)  # with these among the first 64 lines, commas would be decimal
    again = read_to_end(opened(path, bookmark))
    npt.assert_array_equal(again.values, [[3, 4], [np.nan, 6], [np.nan, 6], [np.nan, 6]])
    assert again.n_unreadable == 3
