"""Folders that are filled file by file: each file whole or not at all, drafts are no files, and links lead nowhere."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from rondo.errors import OutputError
from rondo.store import folder as module
from rondo.store.folder import PartFolder
from tests.systems import needs_posix


@pytest.fixture
def folder(tmp_path: Path) -> PartFolder:
    return PartFolder(tmp_path / "run")


def test_files_come_and_go(folder: PartFolder) -> None:
    assert folder.names() == set()
    folder.write("labels/a.npy", b"one")
    folder.write("labels/a.npy", b"two")
    folder.write_together({"labels/b.npy": b"b", "parts/x/0.json": b"{}"})
    assert folder.names() == {"labels/a.npy", "labels/b.npy", "parts/x/0.json"}
    assert folder.names("labels") == {"labels/a.npy", "labels/b.npy"}
    assert folder.read("labels/a.npy") == b"two"
    with pytest.raises(FileNotFoundError):
        folder.read("labels/c.npy")
    folder.remove("labels/a.npy")
    folder.remove("labels/a.npy")
    assert folder.names("labels") == {"labels/b.npy"}
    folder.remove_under("parts")
    assert folder.names() == {"labels/b.npy"}
    assert (folder.path / "labels").is_dir()
    folder.write("a", b"")
    folder.remove("labels/b.npy")
    assert [path.name for path in folder.path.iterdir()] == ["a"]  # a folder goes with its last file
    folder.remove("a")
    assert folder.path.is_dir()
    folder.write("labels/b.npy", b"b")
    assert pickle.loads(pickle.dumps(folder)) == folder


def test_many_files_are_brought_to_the_disk_at_once(folder: PartFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(module.os, "sync", lambda: synced.append("all"))
    monkeypatch.setattr(module, "sync_file", lambda path: synced.append(path.name))
    folder.write_together({f"a/{i}": b"" for i in range(60)})
    assert synced == ["all"]
    folder.write_together({"b/1": b"", "b/2": b""})
    assert synced == ["all", "1", "2", "b"]


def test_a_write_that_fails_leaves_what_was_there(folder: PartFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a", b"before")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match=r"\(No space left"):
        folder.write("a", b"after")
    monkeypatch.undo()
    assert folder.read("a") == b"before" and folder.names() == {"a"}
    assert [path.name for path in folder.path.iterdir()] == ["a"]


@needs_posix
def test_a_link_in_the_place_of_a_folder_is_not_followed(folder: PartFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder.path.mkdir()
    (folder.path / "labels").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="a link"):
        folder.write("labels/a.npy", b"x")
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_drafts_of_killed_processes_are_no_files_and_can_be_cleared(folder: PartFolder) -> None:
    folder.write("labels/a.npy", b"x")
    draft = folder.path / "labels" / ".b.npy.0123abcd-1-0123456789abcdef.draft"
    draft.write_bytes(b"half")
    assert folder.names() == {"labels/a.npy"}
    folder.clear_drafts()
    assert not draft.exists() and folder.names() == {"labels/a.npy"}
