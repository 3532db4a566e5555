"""Whole data sets from a server on loopback; nothing is fetched from anywhere else."""

from __future__ import annotations

import hashlib
import json
import urllib.parse
from pathlib import Path

import pytest

from rondo.errors import OutputError, RecordingError, SettingError
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.data_sets.download import NOTE, download
from rondo_bench.data_sets.mocap import SEGMENTS
from rondo_bench.data_sets.offers import Offer, offers
from tests.bench.data_sets.file_server import FileServer, serving
from tests.bench.data_sets.test_unpack import packed, zipped


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
    with pytest.raises(SettingError, match=r"hugadb is fetched by hand: .* get version 2 and unpack it into"):
        download(offers()["hugadb"], tmp_path / "hugadb")
