"""Transfers that break, from a server on loopback: nothing is lost, nothing half is taken for whole."""

from __future__ import annotations

import errno
import hashlib
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondo.errors import OutputError, RecordingError, SettingError
from rondo_bench.data_sets import http as transfer
from rondo_bench.data_sets.fetch import Remote, fetch, read_small
from tests.bench.data_sets.file_server import FileServer, serving

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


def test_a_file_comes_whole_under_its_name_only(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server:
        assert get(server, tmp_path / "new").read_bytes() == CONTENT
    assert left(tmp_path / "new") == ["set.zip"]


def test_a_broken_line_is_gone_on_with(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server:
        server.cuts = [300_000, 0, 500_000]
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert [wanted for _, wanted in server.asked] == [None, "bytes=300000-", "bytes=300000-", "bytes=800000-"]
    assert left(tmp_path) == ["set.zip"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        server.cuts = [700_000, *[0] * 20]
        with pytest.raises(RecordingError, match=r"the line broke, 5 times; 700,000 bytes are kept; run it again"):
            get(server, tmp_path)
        assert not (tmp_path / "set.zip").exists()
        server.cuts, server.asked = [], []
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert server.asked == [("/set.zip", "bytes=700000-")]


@pytest.mark.parametrize(("tag", "takes_ranges"), [(None, True), ('"one"', False)])
def test_it_is_said_where_a_server_cannot_go_on_in_the_middle(
    tmp_path: Path, tag: str | None, takes_ranges: bool
) -> None:
    with serving(set__zip=CONTENT) as server:
        server.tag, server.takes_ranges, server.cuts = tag, takes_ranges, [700_000] * 20
        with pytest.raises(RecordingError, match=r"5 times; this server sends only whole files, so that a later run"):
            get(server, tmp_path)


def test_a_date_is_enough_to_go_on_where_the_tag_is_weak(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server:
        server.tag, server.date, server.cuts = 'W/"one"', "Wed, 21 Oct 2015 07:28:00 GMT", [300_000]
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert [wanted for _, wanted in server.asked] == [None, "bytes=300000-"]


def test_addresses_that_lead_in_a_circle_are_said_in_one_line(tmp_path: Path) -> None:
    with serving() as server:
        server.moved["set.zip"] = f"{server.address}set.zip"
        with pytest.raises(SettingError, match=r"set.zip: the server says 302 .*infinite loop") as caught:
            get(server, tmp_path)
    assert "\n" not in str(caught.value)


def test_files_that_have_moved_are_followed_and_gone_on_with(tmp_path: Path) -> None:
    with serving(other__zip=CONTENT) as server:
        server.moved["set.zip"], server.cuts = f"{server.address}other.zip", [300_000]
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert server.asked[-1] == ("/other.zip", "bytes=300000-")


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


def test_a_part_of_another_file_is_not_gone_on_with(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT[::-1]) as server:
        server.cuts = [400_000, *[0] * 20]
        with pytest.raises(RecordingError):
            get(server, tmp_path)
        server.files["set.zip"], server.tag, server.cuts = CONTENT, '"two"', []
        assert get(server, tmp_path).read_bytes() == CONTENT


def test_all_bytes_were_here_but_the_name(tmp_path: Path) -> None:
    """Killed between the last byte and the new name: asked beyond its end the server answers 416."""
    with serving(set__zip=CONTENT) as server:
        (tmp_path / "set.zip.part").write_bytes(CONTENT)
        (tmp_path / "set.zip.part.json").write_text('{"tag": "\\"one\\"", "total": 1000000}')
        assert get(server, tmp_path).read_bytes() == CONTENT
        (tmp_path / "set.zip.part").write_bytes(CONTENT + b"too much")
        (tmp_path / "set.zip.part.json").write_text('{"tag": "\\"one\\"", "total": 1000000}')
        assert get(server, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("about", ["", "{", "[]", '{"total": 5}'])
def test_a_part_that_nothing_is_known_of_is_begun_anew(tmp_path: Path, about: str) -> None:
    (tmp_path / "set.zip.part").write_bytes(b"what is this?")
    (tmp_path / "set.zip.part.json").write_text(about)
    with serving(set__zip=CONTENT) as server:
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert server.asked == [("/set.zip", None)]


def test_a_server_that_tells_no_length(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server:
        server.says_length = False
        assert get(server, tmp_path).read_bytes() == CONTENT


def test_another_checksum_is_refused_and_nothing_kept(tmp_path: Path) -> None:
    with serving(set__zip=CONTENT) as server, pytest.raises(RecordingError, match=r"its md5 is .*, expected abc"):
        get(server, tmp_path, "md5:abc")
    assert left(tmp_path) == []
    with serving(set__zip=CONTENT) as server, pytest.raises(SettingError, match=r"checksum of the kind 'crc99', whic"):
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
        with pytest.raises(RecordingError, match="the server says 500 Internal Server Error, 5 times"):
            get(server, tmp_path)
    with pytest.raises(RecordingError, match=r"Connection refused.*, 5 times; 0 bytes are kept"):
        get(server, tmp_path)


def test_a_full_disk_is_said_and_what_came_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(answer: Any, file: Any, *more: Any) -> int:
        file.write(answer.read(1000))
        raise OSError(errno.ENOSPC, "No space left on device")

    with serving(set__zip=CONTENT) as server:
        with monkeypatch.context() as patched:
            patched.setattr(transfer, "_copy", fill)
            with pytest.raises(OutputError, match=r"set.zip.part: the disk is full; make room, then run it again"):
                get(server, tmp_path)
        assert (tmp_path / "set.zip.part").read_bytes() == CONTENT[:1000]
        usage = namedtuple("usage", "free")
        with monkeypatch.context() as patched:
            patched.setattr(transfer.shutil, "disk_usage", lambda folder: usage(500_000))
            with pytest.raises(OutputError, match="1 MB are still to come, 0 MB are free"):
                get(server, tmp_path)
        assert get(server, tmp_path).read_bytes() == CONTENT
        assert server.asked[-1] == ("/set.zip", "bytes=1000-")


def test_nothing_is_fetched_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "set.zip.part").symlink_to("precious")
    with serving(set__zip=CONTENT) as server:
        with pytest.raises(OutputError, match=r"set.zip.part: it cannot be written \(a link"):
            get(server, tmp_path)
        (tmp_path / "set.zip.part").unlink()
        (tmp_path / "set.zip.part.json").symlink_to("precious")
        assert get(server, tmp_path).read_bytes() == CONTENT
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with serving(set__zip=CONTENT) as server, pytest.raises(OutputError, match="the folder cannot be made"):
        get(server, tmp_path / "file" / "below")


def test_only_the_web_is_fetched_from(tmp_path: Path) -> None:
    for address in ("file:///etc/passwd", "ftp://example.org/set.zip"):
        with pytest.raises(SettingError, match="only http and https"):
            fetch(Remote(address, "set.zip"), tmp_path / "set.zip")
        with pytest.raises(SettingError, match="only http and https"):
            read_small(address)


def test_short_answers(tmp_path: Path) -> None:
    with serving(list=b"{}") as server:
        assert read_small(f"{server.address}list") == b"{}"
        with pytest.raises(RecordingError, match="Not Found; check the line"):
            read_small(f"{server.address}nothing")


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with serving(set__zip=bytes(3 << 20)) as server:
        remote = Remote(f"{server.address}set.zip", "set.zip")
        fetch(remote, tmp_path / "set.zip", lambda *what: told.append(what))
    assert told[-1] == ("set.zip (MB)", 3, 3)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
