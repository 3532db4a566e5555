"""Small files of folders that may be someone else's."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from rondo.store.reading import checked_id, read_regular


def test_a_regular_file_is_read_behind_a_link_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "b").symlink_to("a")
    assert read_regular(tmp_path / "a", 5) == read_regular(tmp_path / "b") == b"12345"
    with pytest.raises(OSError, match="larger than"):
        read_regular(tmp_path / "a", 4)


def test_what_never_ends_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    with (tmp_path / "vast").open("wb") as file:
        file.truncate(1 << 40)
    for name, says in (("pipe", "not a regular"), ("device", "not a regular"), ("vast", "larger than 268 MB")):
        with pytest.raises(OSError, match=says):
            read_regular(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "gone")
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)


def test_no_more_memory_is_reserved_than_the_file_takes(tmp_path: Path) -> None:
    (tmp_path / "part.json").write_bytes(b"{}")
    tracemalloc.start()
    try:
        assert read_regular(tmp_path / "part.json", 1 << 34) == b"{}"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("id", ["", ".", "..", "/", "/etc/x", "a/b", "../x", "x/", "./x", "a\0b"])
def test_paths_are_no_ids(id: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        checked_id(id)
