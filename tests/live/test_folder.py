"""A folder is one stream: its files in the order of their names, new ones as they come."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.live.base import open_source
from rondo.live.file_tail import PATIENCE_S
from rondo.live.folder import Folder
from tests.live.feeding import assert_same, read_now, read_to_end, read_with_restarts, taken

CHANNELS = ("a", "b")


def numbers(source: Folder) -> list[float]:
    values = taken(read_now(source)).values
    return values[:, 0].tolist() if values.size else []


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
    assert read_to_end(Folder(folder, CHANNELS, follow=False)).values.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


@settings(max_examples=40, deadline=None)
@given(
    files=st.lists(st.lists(st.sampled_from(["1,2", "3,4", "5", "x,y", ""]), max_size=5), min_size=1, max_size=4),
    at_most=st.integers(1, 4),
    ends=st.booleans(),
)
def test_neither_chunks_nor_restarts_change_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]], at_most: int, ends: bool
) -> None:
    folder = tmp_path_factory.mktemp("folder")
    for i, lines in enumerate(files):
        (folder / f"{i}.csv").write_text("\n".join(["a,b", *lines]) + ("\n" if ends else ""))
    whole = read_to_end(Folder(folder, CHANNELS, follow=False), 10_000)
    assert_same(read_to_end(Folder(folder, CHANNELS, follow=False), at_most), whole)
    again = read_with_restarts(lambda mark: open_source(str(folder), CHANNELS, follow=False, bookmark=mark), at_most)
    assert_same(again, whole)
    assert len(whole.values) == sum(line in ("1,2", "3,4") for lines in files for line in lines)


def test_new_files_are_followed_and_finish_the_ones_before(folder: Path) -> None:
    source = Folder(folder, CHANNELS, follow=True)
    assert numbers(source) == []
    (folder / "1.csv").write_text("a,b\n1,2\n3,4")
    assert [n for _ in range(3) for n in numbers(source)] == [1]
    (folder / "2.csv").write_text("a,b\n5,6\n")
    assert [n for _ in range(4) for n in numbers(source)] == [3, 5]
    assert not source.ended
    source.close()


def test_positions_never_go_back(folder: Path) -> None:
    for i in range(3):
        (folder / f"{i}.csv").write_text("a,b\n1,2\n3,4\n")
    source = Folder(folder, CHANNELS, follow=False)
    positions = [rows.position for _ in range(3) if (rows := source.read(1)) is not None]
    again = Folder(folder, CHANNELS, follow=False, bookmark=source.bookmark())
    source.close()
    positions += [rows.position for rows in read_now(again, 1)]
    again.close()
    assert positions == sorted(set(positions))
    assert positions[-1] == 36


def test_a_file_that_comes_too_late_is_noted_once(folder: Path) -> None:
    (folder / "2.csv").write_text("a,b\n1,2\n")
    source = Folder(folder, CHANNELS, follow=True)
    assert numbers(source) == [1]
    (folder / "1.csv").write_text("a,b\n9,9\n")
    with pytest.warns(RondoWarning, match=r"1\.csv: not read, it came after 2\.csv was begun") as notes:
        assert numbers(source) + numbers(source) == []
    assert len(notes) == 1
    source.close()


@pytest.mark.parametrize("how", ["gone", "another"])
def test_the_file_being_read_must_still_be_there(folder: Path, how: str) -> None:
    (folder / "1.csv").write_text("a,b\n1,2\n3,4\n")
    source = Folder(folder, CHANNELS, follow=True)
    source.read(1)
    bookmark = source.bookmark()
    source.close()
    (folder / "1.csv").unlink() if how == "gone" else (folder / "1.csv").write_text("a,b\n7,2\n3,4\n")
    with pytest.raises(ModelError, match=r"1\.csv: the file that was being read is gone, or another one"):
        Folder(folder, CHANNELS, follow=True, bookmark=bookmark)


def test_an_empty_folder_is_refused_unless_it_is_followed(folder: Path) -> None:
    with pytest.raises(RecordingError, match="the folder holds no files to read"):
        Folder(folder, CHANNELS, follow=False)
    Folder(folder, CHANNELS, follow=True).close()


def test_a_folder_that_disappears(folder: Path) -> None:
    (folder / "1.csv").write_text("a,b\n1,2\n")
    now = [0.0]
    source = Folder(folder, CHANNELS, follow=True, clock=lambda: now[0])
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
    source = Folder(folder, CHANNELS, follow=False)
    assert numbers(source) == [1]
    bookmark = source.bookmark()
    source.close()
    assert bookmark["file"] == "secret.csv"
    Folder(folder, CHANNELS, follow=False, bookmark=bookmark).close()
    foreign = {**bookmark, "file": name.replace("ABSOLUTE", str(tmp_path / "secret.csv"))}
    with pytest.raises(ModelError, match="is gone, or another one"):
        Folder(folder, CHANNELS, follow=False, bookmark=foreign)
