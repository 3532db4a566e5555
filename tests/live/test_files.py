"""Files that grow, are rotated, truncated, lost; folders; stored recordings: each by the rule that is stated."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import ModelError, RecordingError, RondoWarning, SourceLostError
from rondo.files.read import read_recording
from rondo.live import rows
from rondo.live.files import PATIENCE_S, FileTail, Folder
from rondo.live.source import Bookmark, Request, Skip, open_source, source_kind
from tests.live.feeding import BEGIN, assert_same, numbers, read_now, read_to_end, read_with_restarts, taken

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
    path.write_text("a,b\n")
    found = taken(read_now(source) + read_now(source))  # news of the file do not wait for a row
    assert [(row, skip.n_lines) for row, skip in found.skipped] == [(0, 0)]
    assert found.skipped[0][1].reason == "truncated; read again from its beginning"
    add(path, BEGIN.removeprefix("a,b\n") + "5,6\n")
    assert numbers(source) == [5]
    source.close()


@pytest.mark.parametrize("kind", [FileTail, Folder])
def test_gone_for_a_moment_and_for_good(tmp_path: Path, kind: type[FileTail | Folder]) -> None:
    there, away = tmp_path / "there", tmp_path / "away"
    there.mkdir()
    (there / "x.csv").write_text(BEGIN + "1,2\n3,")
    now = [0.0]
    path = there if kind is Folder else there / "x.csv"
    source = kind(path, Request(CHANNELS, follow=True), clock=lambda: now[0])
    assert numbers(source) == [1]
    there.rename(away)
    for now[0] in (1.0, PATIENCE_S):
        assert source.read(10) is None
    away.rename(there)
    assert source.read(10) is None
    there.rename(away)
    now[0] = 2 * PATIENCE_S  # patience begins again
    assert source.read(10) is None
    now[0] = 3 * PATIENCE_S + 1
    with pytest.raises(SourceLostError, match=r"disappeared, .*60 s"):
        source.read(10)
    source.close()


MANY = [f"{i},{i}" for i in range(2000)]


@pytest.mark.parametrize(
    "lines",
    [
        ["a,b", *MANY[:-1]],
        ["b,a", *MANY],
        ["a,b", "7,7", *MANY[1:]],
        ["a,b", *MANY[:-1], "1999,1998"],
    ],
)
def test_another_file_is_refused_and_when_following_read_anew(path: Path, lines: list[str]) -> None:
    """Shorter, another header, another row at the beginning or just before the bookmark."""
    path.write_text("\n".join(["a,b", *MANY, ""]))
    with closing(opened(path)) as source:
        source.read(2000)
        bookmark = source.bookmark()
    path.write_text("\n".join([*lines, ""]))
    with pytest.raises(ModelError, match="not the file"):
        opened(path, bookmark)
    with closing(opened(path, bookmark, follow=True)) as again:
        found = taken(read_now(again, 3000))
    assert len(found.values) == len(lines) - 1
    assert found.skipped == [(0, Skip(1, 0, "replaced while nobody read it; read from its beginning"))]


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


# ---------------------------------------------------------------- folders


def opened_folder(path: Path, bookmark: Bookmark | None = None, *, follow: bool = False) -> Folder:
    return Folder(path, Request(CHANNELS, follow=follow, bookmark=bookmark))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_files_in_the_order_of_their_names_each_with_its_own_header(folder: Path) -> None:
    (folder / "2.jsonl").write_text('{"b": 6, "a": 5}\n')
    (folder / "10.tsv").write_text("b\ta\n2\t1\n4\t3")
    (folder / "3.csv").write_text("a,b\n7,8\n")
    (folder / ".hidden.csv").write_text("a,b\n99,99\n")
    (folder / "notes.md").write_text("not rows")
    (folder / "4.csv").mkdir()
    assert read_to_end(opened_folder(folder)).values.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_new_files_are_followed_and_finish_the_ones_before(folder: Path) -> None:
    source = opened_folder(folder, follow=True)
    assert numbers(source) == []
    (folder / "1.csv").write_text(BEGIN + "1,2\n3,4")
    assert [n for _ in range(3) for n in numbers(source)] == [1]
    (folder / "2.csv").write_text(BEGIN + "5,6\n")
    assert [n for _ in range(4) for n in numbers(source)] == [3, 5]
    assert not source.ended
    source.close()


def test_a_file_that_comes_too_late_is_noted_once(folder: Path) -> None:
    (folder / "2.csv").write_text(BEGIN + "1,2\n")
    source = opened_folder(folder, follow=True)
    assert numbers(source) == [1]
    (folder / "1.csv").write_text("a,b\n9,9\n")
    with pytest.warns(RondoWarning, match=r"1\.csv: .*2\.csv") as notes:
        assert numbers(source) + numbers(source) == []
    assert len(notes) == 1
    source.close()


@pytest.mark.parametrize("how", ["gone", "another"])
def test_the_file_being_read_must_still_be_there(folder: Path, how: str) -> None:
    (folder / "1.csv").write_text(BEGIN + "1,2\n3,4\n")
    source = opened_folder(folder, follow=True)
    source.read(1)
    bookmark = source.bookmark()
    source.close()
    (folder / "1.csv").unlink() if how == "gone" else (folder / "1.csv").write_text(BEGIN.replace("0", "7"))
    with pytest.raises(ModelError, match=r"1\.csv: .*gone"):
        opened_folder(folder, bookmark, follow=True)


def test_an_empty_folder_is_refused_unless_it_is_followed(folder: Path) -> None:
    with pytest.raises(RecordingError, match="folder holds no files"):
        opened_folder(folder)
    opened_folder(folder, follow=True).close()


@pytest.mark.parametrize("name", ["../secret.csv", "ABSOLUTE", "sub/secret.csv", ".."])
def test_a_bookmark_leads_to_no_file_elsewhere(tmp_path: Path, folder: Path, name: str) -> None:
    (folder / "sub").mkdir()
    for place in (tmp_path, folder / "sub", folder):
        (place / "secret.csv").write_text("a,b\n1,2\n")
    source = opened_folder(folder)
    assert numbers(source) == [1]
    bookmark = source.bookmark()
    source.close()
    assert bookmark["file"] == "secret.csv"
    opened_folder(folder, bookmark).close()
    foreign = {**bookmark, "file": name.replace("ABSOLUTE", str(tmp_path / "secret.csv"))}
    with pytest.raises(ModelError, match="gone, or another"):
        opened_folder(folder, foreign)


def test_the_clock_goes_on_from_file_to_file(folder: Path) -> None:
    """Its unit is told once, and midnight may lie between two files."""
    for i, times in enumerate((["23:59:58", "23:59:59"], ["00:00:00", "00:00:01"])):
        (folder / f"{i}.csv").write_text("Uhrzeit,a,b\n" + "".join(f"{time},{i},1\n" for time in times))
    with pytest.warns(RondoWarning, match="times of day without"):
        found = read_to_end(opened_folder(folder))
    assert found.times_s is not None and found.times_s.tolist() == [86398, 86399, 86400, 86401]
    with pytest.warns(RondoWarning):
        assert_same(read_with_restarts(lambda mark: opened_folder(folder, mark), 1), found)


# ---------------------------------------------------------------- stored recordings

VALUES = np.random.default_rng(0).normal(size=(150, 2)).astype(np.float32)
TIMES = np.arange(150) / 50


def stored(folder: Path) -> Path:
    np.savez(folder / "walk.npz", X=VALUES, time=TIMES, channels=np.array(CHANNELS))
    return folder / "walk.npz"


def test_channels_go_by_name_else_by_position(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with pytest.warns(RondoWarning, match=r"walk\.npz: 1 channel .*'a'"):
        found = read_to_end(open_source(str(path), Request(("b",))))
    npt.assert_array_equal(found.values, VALUES[:, 1:])
    np.save(tmp_path / "walk.npy", VALUES)
    with pytest.warns(RondoWarning, match="position as 'a', 'b'"):
        found = read_to_end(open_source(str(tmp_path / "walk.npy"), Request(CHANNELS)))
    npt.assert_array_equal(found.values, VALUES)
    with pytest.raises(RecordingError, match=r"walk\.npz: .*'c'; expected 'a', 'c'"):
        open_source(str(path), Request(("a", "c")))


def test_channels_that_look_like_codes_are_kept_where_the_model_has_them(tmp_path: Path) -> None:
    codes = np.repeat([0.0, 3.0, 1.0, 3.0, 0.0, 7.0], 100)
    np.save(tmp_path / "a.npy", np.stack([np.sin(np.arange(600)), codes], axis=1))
    assert read_recording(tmp_path / "a.npy").channels == ("ch0",)
    assert read_to_end(open_source(str(tmp_path / "a.npy"), Request(("ch0", "ch1")))).values.shape == (600, 2)
    with pytest.warns(RondoWarning, match="as labels do|by position"):
        assert read_to_end(open_source(str(tmp_path / "a.npy"), Request(("x",)))).values.shape == (600, 1)


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path)
    source = open_source(str(path), Request(CHANNELS))
    source.read(10)
    bookmark = source.bookmark()
    np.savez(path, X=VALUES + 1, time=TIMES, channels=np.array(CHANNELS))
    with pytest.raises(ModelError, match=r"walk\.npz: changed since"):
        open_source(str(path), Request(CHANNELS, bookmark=bookmark))


def test_a_table_below_statistics_is_read_whole(tmp_path: Path) -> None:
    statistics = "".join(f'"REST","{i}","{i * 1.5}"\n' for i in range(80))
    rows = pl.DataFrame({"time": TIMES, "a": VALUES[:, 0], "b": VALUES[:, 1]}).write_csv()
    path = tmp_path / "walk.csv"
    path.write_text(f'"--- Statistics ---"\n"Type","Number","Mean"\n{statistics}"--- Epochs ---"\n{rows}')
    assert source_kind(str(path)) == ("recorded file", "walk")
    with pytest.warns(RondoWarning, match="table begins below"):
        found = read_to_end(open_source(str(path), Request(CHANNELS, rate=50.0)))
    npt.assert_array_equal(found.values, read_recording(path).values)
    path.write_text(rows)
    assert source_kind(str(path))[0] != "recorded file"  # it may grow
