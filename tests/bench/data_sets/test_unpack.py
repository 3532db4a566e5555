"""Archives: what is wanted of them, and what they must not do."""

from __future__ import annotations

import errno
import io
import stat
import zipfile
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import OutputError, RecordingError
from rondo_bench.data_sets import unpack as module
from rondo_bench.data_sets.unpack import unpack
from tests.cli.running import tree


def zipped(**members: bytes) -> bytes:
    """An archive; in names a double underscore stands for a slash and a triple one for a dot."""
    return packed({name.replace("___", ".").replace("__", "/"): content for name, content in members.items()})


def packed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def stored(folder: Path, content: bytes) -> Path:
    (folder / "set.zip").write_bytes(content)
    return folder / "set.zip"


def test_only_what_is_wanted_is_unpacked_and_archives_within(tmp_path: Path) -> None:
    inner = zipped(Protocol__subject101___dat=b"rows", Optional__subject101___dat=b"others")
    archive = stored(tmp_path, zipped(readme___pdf=b"words", Dataset___zip=inner))
    out = tmp_path / "out"
    assert unpack(archive, out, ["*Protocol/*.dat", "*.zip"]) == 1
    assert tree(out) == {"Protocol": None, "Protocol/subject101.dat": b"rows"}
    assert unpack(archive, tmp_path / "all") == 3


def test_a_second_run_leaves_what_is_complete(tmp_path: Path) -> None:
    archive, out = stored(tmp_path, zipped(a=b"1234", b=b"5678")), tmp_path / "out"
    unpack(archive, out)
    before = (out / "a").stat().st_mtime_ns
    (out / "b").write_bytes(b"5")
    unpack(archive, out)
    assert (out / "a").stat().st_mtime_ns == before
    assert (out / "b").read_bytes() == b"5678"


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "C:/evil", "..\\evil"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    archive = stored(tmp_path, packed({"good": b"1", name: b"2"}))
    before = tree(tmp_path)
    with pytest.raises(RecordingError, match=r"would be written outside .*; nothing was unpacked"):
        unpack(archive, tmp_path / "out")
    after = tree(tmp_path)
    assert after == before | {"out": None} or after == before


def test_links_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc")
    with pytest.raises(RecordingError, match="'link' would be written outside"):
        unpack(stored(tmp_path, buffer.getvalue()), tmp_path / "out")


def test_a_link_in_the_folder_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path)
    with pytest.raises(RecordingError, match="would be written outside"):
        unpack(stored(tmp_path, packed({"sub/evil": b"1"})), tmp_path / "out")


def test_truncated_and_damaged_archives_are_refused(tmp_path: Path) -> None:
    whole = zipped(a=bytes(range(256)) * 100)
    for content in (b"", whole[:-10], whole[: len(whole) // 2], b"no archive at all"):
        with pytest.raises(RecordingError, match=r"set.zip: it is truncated or damaged .*; fetch it again"):
            unpack(stored(tmp_path, content), tmp_path / "out")
    for position in range(35, 60, 5):  # within the packed bytes of the member
        flipped = bytearray(whole)
        flipped[position] ^= 0xFF
        with pytest.raises(RecordingError, match="truncated or damaged"):
            unpack(stored(tmp_path, bytes(flipped)), tmp_path / "out")
    assert tree(tmp_path / "out") == {}


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    archive = stored(tmp_path, zipped(a=bytes(5_000_000)))
    with monkeypatch.context() as patched:
        patched.setattr(module.shutil, "copyfileobj", full)
        with pytest.raises(OutputError, match=r"out/a: cannot be written \(No space left on device\)"):
            unpack(archive, tmp_path / "out")
    assert tree(tmp_path / "out") == {}
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda folder: usage(1_000_000))
    with pytest.raises(OutputError, match="unpacked it takes 5 MB, 1 MB are free"):
        unpack(archive, tmp_path / "out")
