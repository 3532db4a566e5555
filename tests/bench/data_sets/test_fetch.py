"""Whole data sets from a server on loopback: transfers that break lose nothing, archives must not do everything."""

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

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondo.errors import OutputError, RecordingError, SettingError
from rondo_bench.data_sets import fetch as transfer
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.data_sets.fetch import NOTE, Offer, Remote, download, fetch, offers, read_small, unpack
from rondo_bench.data_sets.motion import MOCAP_SEGMENTS
from tests.bench.data_sets.file_server import FileServer, serving
from tests.cli.running import tree

CONTENT = np.random.default_rng(0).bytes(1_000_000)
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "FIRST_WAIT_S", 0.0)


def get(server: FileServer, folder: Path, checksum: str = SHA256) -> Path:
    fetch(Remote(f"{server.address}set.zip", "set.zip", checksum), folder / "set.zip")
    return folder / "set.zip"


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 400_000), max_size=4), st.booleans(), st.booleans())
def test_wherever_it_breaks_the_file_is_the_same(
    tmp_path: Path, cuts: list[int], takes_ranges: bool, has_tag: bool
) -> None:
    (tmp_path / "set.zip").unlink(missing_ok=True)
    with serving(set__zip=CONTENT) as server:
        server.cuts, server.takes_ranges, server.tag = cuts, takes_ranges, '"one"' if has_tag else None
        assert get(server, tmp_path).read_bytes() == CONTENT


def test_a_later_run_goes_on_where_the_first_gave_up(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server:
        server.cuts = [300_000, 0, 400_000, *[0] * 20]  # it goes on by itself as long as something comes
        with pytest.raises(RecordingError, match="700,000 bytes are kept"):
            get(server, tmp_path)
        assert not (tmp_path / "set.zip").exists()
        server.cuts, server.asked = [], []
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert server.asked == [("/set.zip", "bytes=700000-")]


def test_killed_before_the_old_part_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file on the server is another one now: its tag is noted only when nothing is left of the old bytes."""

    def kill(*_: Any) -> int:
        raise KeyboardInterrupt

    (tmp_path / "set.zip.part").write_bytes(b"old" * 1000)
    (tmp_path / "set.zip.part.json").write_text('{"tag": "\\"old\\"", "total": 5000}')
    with serving(set__zip=CONTENT) as server:
        with monkeypatch.context() as patched:
            patched.setattr(transfer, "_refuse_small_disk", kill)
            with pytest.raises(KeyboardInterrupt):
                get(server, tmp_path)
        assert get(server, tmp_path).read_bytes() == CONTENT


def test_all_bytes_were_here_but_the_name(tmp_path: Path) -> None:
    """Killed between the last byte and the new name: asked beyond its end the server answers 416."""
    with serving(set__zip=CONTENT) as server:
        (tmp_path / "set.zip.part").write_bytes(CONTENT)
        (tmp_path / "set.zip.part.json").write_text('{"tag": "\\"one\\"", "total": 1000000}')
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert server.asked == [("/set.zip", "bytes=1000000-")]
        (tmp_path / "set.zip.part").write_bytes(CONTENT + b"too much")
        (tmp_path / "set.zip.part.json").write_text('{"tag": "\\"one\\"", "total": 1000000}')
        assert get(server, tmp_path).read_bytes() == CONTENT


def test_another_checksum_is_refused_and_nothing_kept(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server, pytest.raises(RecordingError, match=r"md5 is .*, expected abc"):
        get(server, tmp_path, "md5:abc")
    assert left(tmp_path) == []
    with serving(set__zip=CONTENT) as server, pytest.raises(SettingError, match="'crc99'"):
        get(server, tmp_path, "crc99:abc")


def test_servers_that_are_busy_are_asked_again_and_others_are_not(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server:
        server.refusals = [503, 429]
        assert get(server, tmp_path).read_bytes() == CONTENT
        server.refusals, server.asked = [403], []
        with pytest.raises(SettingError, match="the server says 403"):
            get(server, tmp_path)
        assert len(server.asked) == 1
        server.refusals = [500] * 9
        with pytest.raises(RecordingError, match="says 500 Internal Server Error, 5"):
            get(server, tmp_path)
    with pytest.raises(RecordingError, match=r"Connection refused.*, 5 times; 0 bytes"):
        get(server, tmp_path)


def test_a_full_disk_is_said_and_what_came_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(answer: Any, file: Any, *more: Any) -> int:
        file.write(answer.read(1000))
        raise OSError(errno.ENOSPC, "No space left on device")

    with serving(set__zip=CONTENT) as server:
        with monkeypatch.context() as patched:
            patched.setattr(transfer, "_copy", fill)
            with pytest.raises(OutputError, match=r"set.zip.part: .*full"):
                get(server, tmp_path)
        assert (tmp_path / "set.zip.part").read_bytes() == CONTENT[:1000]
        usage = namedtuple("usage", "free")
        with monkeypatch.context() as patched:
            patched.setattr(transfer.shutil, "disk_usage", lambda folder: usage(500_000))
            with pytest.raises(OutputError, match="make room"):
                get(server, tmp_path)
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert server.asked[-1] == ("/set.zip", "bytes=1000-")


def test_nothing_is_fetched_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "set.zip.part").symlink_to("precious")
    with serving(set__zip=CONTENT) as server:
        with pytest.raises(OutputError, match=r"set.zip.part: .*\(a link"):
            get(server, tmp_path)
        (tmp_path / "set.zip.part").unlink()
        (tmp_path / "set.zip.part.json").symlink_to("precious")
        assert get(server, tmp_path).read_bytes() == CONTENT
    assert (tmp_path / "precious").read_text() == "mine"


def test_only_the_web_is_fetched_from(tmp_path: Path) -> None:
    for address in ("file:///etc/passwd", "ftp://example.org/set.zip"):
        with pytest.raises(SettingError, match="only http and https"):
            fetch(Remote(address, "set.zip"), tmp_path / "set.zip")
        with pytest.raises(SettingError, match="only http and https"):
            read_small(address)


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
    assert {name.removesuffix(".4d") for name in offers()["mocap"].files} == set(MOCAP_SEGMENTS)


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
        with pytest.raises(RecordingError, match=r"set.zip: .*damaged"):
            download(offer(server, "set.zip"), tmp_path)
        assert not (tmp_path / "set.zip").exists()
        server.files["set.zip"] = whole
        assert download(offer(server, "set.zip"), tmp_path) == 1
    assert (tmp_path / "a").read_bytes() == b"rows" * 100


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
        with pytest.raises(SettingError, match=r"'kinect', only .*MbientLab.zip"):
            download(other, tmp_path)
        server.files["record"] = b"<html>"
        with pytest.raises(SettingError, match="answer is no list"):
            download(record, tmp_path)


def test_names_from_outside_do_not_lead_outside(tmp_path: Path) -> None:
    with serving(a=b"1") as server:
        files = [{"key": "../mbientlab", "links": {"self": f"{server.address}a"}}]
        server.files["record"] = json.dumps({"files": files}).encode()
        record = Offer("lara", "page", "free", zenodo={"address": f"{server.address}record", "match": "mbientlab"})
        with pytest.raises(SettingError, match="would lead outside"):
            download(record, tmp_path / "lara")
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("name", ["/evil", "a/../../evil", "C:/evil", "..\\evil"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    archive = stored(tmp_path, packed({"good": b"1", name: b"2"}))
    before = tree(tmp_path)
    with pytest.raises(RecordingError, match=r"outside .*; nothing was unpacked"):
        unpack(archive, tmp_path / "out")
    after = tree(tmp_path)
    assert after == before | {"out": None} or after == before


def test_links_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc")
    with pytest.raises(RecordingError, match=r"'link' .* outside"):
        unpack(stored(tmp_path, buffer.getvalue()), tmp_path / "out")


def test_a_link_in_the_folder_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path)
    with pytest.raises(RecordingError, match="would be written outside"):
        unpack(stored(tmp_path, packed({"sub/evil": b"1"})), tmp_path / "out")


def test_truncated_and_damaged_archives_are_refused(tmp_path: Path) -> None:
    whole = zipped(a=bytes(range(256)) * 100)
    for content in (b"", whole[:-10], whole[: len(whole) // 2], b"no archive at all"):
        with pytest.raises(RecordingError, match=r"set.zip: .*damaged .*again"):
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
        patched.setattr(transfer.shutil, "copyfileobj", full)
        with pytest.raises(OutputError, match=r"out/a: .*No space left"):
            unpack(archive, tmp_path / "out")
    assert tree(tmp_path / "out") == {}
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(transfer.shutil, "disk_usage", lambda folder: usage(1_000_000))
    with pytest.raises(OutputError, match="make room"):
        unpack(archive, tmp_path / "out")
