"""A folder is one stream: its files in the order of their names, new ones as they come."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.live.files import PATIENCE_S, Folder
from rondo.live.source import Bookmark, Request
from tests.live.feeding import BEGIN, assert_same, numbers, read_to_end, read_with_restarts

CHANNELS = ("a", "b")


def opened(path: Path, bookmark: Bookmark | None = None, *, follow: bool = False) -> Folder:
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
    assert read_to_end(opened(folder)).values.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_new_files_are_followed_and_finish_the_ones_before(folder: Path) -> None:
    source = opened(folder, follow=True)
    assert numbers(source) == []
    (folder / "1.csv").write_text(BEGIN + "1,2\n3,4")
    assert [n for _ in range(3) for n in numbers(source)] == [1]
    (folder / "2.csv").write_text(BEGIN + "5,6\n")
    assert [n for _ in range(4) for n in numbers(source)] == [3, 5]
    assert not source.ended
    source.close()


def test_a_file_that_comes_too_late_is_noted_once(folder: Path) -> None:
    (folder / "2.csv").write_text(BEGIN + "1,2\n")
    source = opened(folder, follow=True)
    assert numbers(source) == [1]
    (folder / "1.csv").write_text("a,b\n9,9\n")
    with pytest.warns(RondoWarning, match=r"1\.csv: .*2\.csv") as notes:
        assert numbers(source) + numbers(source) == []
    assert len(notes) == 1
    source.close()


@pytest.mark.parametrize("how", ["gone", "another"])
def test_the_file_being_read_must_still_be_there(folder: Path, how: str) -> None:
    (folder / "1.csv").write_text(BEGIN + "1,2\n3,4\n")
    source = opened(folder, follow=True)
    source.read(1)
    bookmark = source.bookmark()
    source.close()
    (folder / "1.csv").unlink() if how == "gone" else (folder / "1.csv").write_text(BEGIN.replace("0", "7"))
    with pytest.raises(ModelError, match=r"1\.csv: .*gone"):
        opened(folder, bookmark, follow=True)


def test_an_empty_folder_is_refused_unless_it_is_followed(folder: Path) -> None:
    with pytest.raises(RecordingError, match="folder holds no files"):
        opened(folder)
    opened(folder, follow=True).close()


def test_a_folder_that_disappears(folder: Path) -> None:
    (folder / "1.csv").write_text(BEGIN + "1,2\n")
    now = [0.0]
    source = Folder(folder, Request(CHANNELS, follow=True), clock=lambda: now[0])
    assert numbers(source) == [1]
    folder.rename(folder.with_name("away"))
    assert source.read(1) is None
    assert source.backlog_bytes() == 0
    now[0] = PATIENCE_S + 1
    with pytest.raises(RecordingError, match="it has disappeared"):
        source.read(1)
    source.close()


@pytest.mark.parametrize("name", ["../secret.csv", "ABSOLUTE", "sub/secret.csv", ".."])
def test_a_bookmark_leads_to_no_file_elsewhere(tmp_path: Path, folder: Path, name: str) -> None:
    (folder / "sub").mkdir()
    for place in (tmp_path, folder / "sub", folder):
        (place / "secret.csv").write_text("a,b\n1,2\n")
    source = opened(folder)
    assert numbers(source) == [1]
    bookmark = source.bookmark()
    source.close()
    assert bookmark["file"] == "secret.csv"
    opened(folder, bookmark).close()
    foreign = {**bookmark, "file": name.replace("ABSOLUTE", str(tmp_path / "secret.csv"))}
    with pytest.raises(ModelError, match="gone, or another"):
        opened(folder, foreign)


def test_the_clock_goes_on_from_file_to_file(folder: Path) -> None:
    """Its unit is told once, and midnight may lie between two files."""
    for i, times in enumerate((["23:59:58", "23:59:59"], ["00:00:00", "00:00:01"])):
        (folder / f"{i}.csv").write_text("Uhrzeit,a,b\n" + "".join(f"{time},{i},1\n" for time in times))
    with pytest.warns(RondoWarning, match="times of day without"):
        found = read_to_end(opened(folder))
    assert found.times_s is not None and found.times_s.tolist() == [86398, 86399, 86400, 86401]
    with pytest.warns(RondoWarning):
        assert_same(read_with_restarts(lambda mark: opened(folder, mark), 1), found)
