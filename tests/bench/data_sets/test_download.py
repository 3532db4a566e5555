"""Whole data sets from a server on loopback; nothing is fetched from anywhere else.

Archives: what is wanted of them, and what they must not do.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import stat
import urllib.parse
import zipfile
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import OutputError, RecordingError, SettingError
from rondo_bench.data_sets import download as module
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.data_sets.fetch import NOTE, Offer, download, offers, unpack
from rondo_bench.data_sets.motion import SEGMENTS
from tests.bench.data_sets.file_server import FileServer, serving
from tests.cli.running import tree


def offer(server: FileServer, *names: str, keep: tuple[str, ...] = ("*",)) -> Offer:
    return Offer("set", "page", "free", server.address, dict.fromkeys(names, ""), keep)


def test_every_data_set_has_an_offer_with_a_licence() -> None:
    assert set(offers()) == {one.name for one in DATA_SETS}
    for one in offers().values():
        assert one.licence
        assert one.page.startswith("https://")
        assert sum((bool(one.files), bool(one.zenodo), bool(one.by_hand))) == 1, one.name
        for remote in [] if one.zenodo else one.remotes():
            assert urllib.parse.urlsplit(remote.address).scheme == "https"
            kind, _, digest = remote.checksum.partition(":")
            assert not kind or len(digest) == hashlib.new(kind).digest_size * 2
    assert {name.removesuffix(".4d") for name in offers()["mocap"].files} == set(SEGMENTS)


def test_files_and_archives_end_in_the_folder(tmp_path: Path) -> None:
    with serving(set__zip=zipped(data__a___csv=b"rows", notes___txt=b"words")) as server:
        server.files["sub folder/b.dat"] = b"more"
        wanted = offer(server, "set.zip", "sub folder/b.dat", keep=("*.csv",))
        assert download(wanted, tmp_path / "set") == 2
        assert (tmp_path / "set" / "data" / "a.csv").read_bytes() == b"rows"
        assert (tmp_path / "set" / "sub folder" / "b.dat").read_bytes() == b"more"
        names = {path.name for path in (tmp_path / "set").rglob("*") if path.is_file()}
        assert names == {"a.csv", "b.dat", NOTE}
        server.asked = []
        assert download(wanted, tmp_path / "set") == 0
        assert server.asked == []


def test_a_second_run_fetches_only_what_is_missing(tmp_path: Path) -> None:
    with serving(a=b"1", b=b"2") as server:
        del server.files["b"]
        with pytest.raises(SettingError, match="the server says 404"):
            download(offer(server, "a", "b"), tmp_path)
        server.files["b"], server.asked = b"2", []
        assert download(offer(server, "a", "b"), tmp_path) == 1
        assert [path for path, _ in server.asked] == ["/b"]
        (tmp_path / "a").unlink()
        server.asked = []
        assert download(offer(server, "a", "b"), tmp_path) == 1  # lost since, though the note has it
        assert [path for path, _ in server.asked] == ["/a"]


def test_a_truncated_archive_is_refused_and_fetched_anew(tmp_path: Path) -> None:
    whole = zipped(a=b"rows" * 100)
    with serving(set__zip=whole[:-30]) as server:
        with pytest.raises(RecordingError, match=r"set.zip: it is truncated or damaged"):
            download(offer(server, "set.zip"), tmp_path)
        assert not (tmp_path / "set.zip").exists()
        server.files["set.zip"] = whole
        assert download(offer(server, "set.zip"), tmp_path) == 1
    assert (tmp_path / "a").read_bytes() == b"rows" * 100


def test_an_archive_that_only_wants_room_is_not_fetched_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rondo_bench.data_sets import download as module

    def no_room(*_: object) -> int:
        raise OutputError("no room")

    with serving(set__zip=zipped(a=b"rows")) as server:
        with monkeypatch.context() as patched:
            patched.setattr(module, "unpack", no_room)
            with pytest.raises(OutputError):
                download(offer(server, "set.zip"), tmp_path)
        assert download(offer(server, "set.zip"), tmp_path) == 1
        assert len(server.asked) == 1


def test_an_archive_without_what_is_wanted(tmp_path: Path) -> None:
    with serving(set__zip=packed({"readme": b"moved"})) as server:
        with pytest.raises(RecordingError, match=r"no file in it is called like \*.csv; the archive has changed"):
            download(offer(server, "set.zip", keep=("*.csv",)), tmp_path)
        assert not (tmp_path / NOTE).exists()


def test_a_zenodo_record_tells_addresses_and_checksums(tmp_path: Path) -> None:
    archive = zipped(S07__L01_S07_R01___csv=b"rows")
    with serving(imu__zip=archive) as server:
        md5 = "md5:" + hashlib.md5(archive, usedforsecurity=False).hexdigest()
        files = [
            {"key": "IMU data MbientLab.zip", "checksum": md5, "links": {"self": f"{server.address}imu.zip"}},
            {"key": "Videos.zip", "checksum": "md5:0", "links": {"self": f"{server.address}videos.zip"}},
        ]
        server.files["record"] = json.dumps({"files": files}).encode()
        record = Offer("lara", "page", "free", zenodo={"address": f"{server.address}record", "match": "mbientlab"})
        assert download(record, tmp_path) == 1
        assert (tmp_path / "S07" / "L01_S07_R01.csv").read_bytes() == b"rows"
        other = Offer("lara", "page", "free", zenodo={"address": f"{server.address}record", "match": "kinect"})
        with pytest.raises(SettingError, match=r"no file there is called like 'kinect', only IMU data MbientLab.zip"):
            download(other, tmp_path)
        server.files["record"] = b"<html>"
        with pytest.raises(SettingError, match="the answer is no list of files"):
            download(record, tmp_path)


def test_names_from_outside_do_not_lead_outside(tmp_path: Path) -> None:
    with serving(a=b"1") as server:
        files = [{"key": "../mbientlab", "links": {"self": f"{server.address}a"}}]
        server.files["record"] = json.dumps({"files": files}).encode()
        record = Offer("lara", "page", "free", zenodo={"address": f"{server.address}record", "match": "mbientlab"})
        with pytest.raises(SettingError, match="would lead outside"):
            download(record, tmp_path / "lara")
    assert list(tmp_path.iterdir()) == []


def test_sets_for_which_a_person_is_needed_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"hugadb is fetched by hand: .* get version 2 .* unpack it into"):
        download(offers()["hugadb"], tmp_path / "hugadb")


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
