"""Parts of a film: ranges, files that change, and what is no film."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rondo.errors import InputError, SettingError
from rondo.view.loopback import Answer, LoopbackServer, Question
from rondo.view.media import MOST_AT_ONCE, MediaFile, parse_offset
from tests.report.asking import ask, serving
from tests.systems import needs_posix

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "film.mp4"
    path.write_bytes(CONTENT)
    return path


def body_of(answer: Answer) -> bytes:
    found = b"".join(answer.pieces)
    assert len(found) == answer.n_bytes
    return found


def test_without_a_range_the_whole_file(film: Path) -> None:
    answer = MediaFile(film).answer({})
    assert (answer.status, answer.kind, body_of(answer)) == (200, "video/mp4", CONTENT)
    assert answer.headers["Accept-Ranges"] == "bytes"


@pytest.mark.parametrize(
    ("wanted", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=5-9", 5, 10),
        ("bytes=10000-", 10000, 10240),
        ("bytes=-3", 10237, 10240),
        ("bytes=-99999", 0, 10240),
        ("bytes=10239-999999", 10239, 10240),
    ],
)
def test_a_part(film: Path, wanted: str, start: int, stop: int) -> None:
    answer = MediaFile(film).answer({"range": wanted})
    assert (answer.status, body_of(answer)) == (206, CONTENT[start:stop])
    assert answer.headers["Content-Range"] == f"bytes {start}-{stop - 1}/10240"


@pytest.mark.parametrize("wanted", ["bytes=10240-", "bytes=99999-100000", "bytes=-0", "bytes=7-3"])
def test_a_part_that_is_not_there(film: Path, wanted: str) -> None:
    answer = MediaFile(film).answer({"Range": wanted})
    assert (answer.status, answer.headers["Content-Range"]) == (416, "bytes */10240")


@pytest.mark.parametrize("wanted", ["bytes=0-1,5-9", "lines=1-2", "bytes=-", "bytes=a-b", "bytes=1" + "0" * 30 + "-"])
def test_what_is_no_single_range_gets_the_whole_file(film: Path, wanted: str) -> None:
    assert body_of(MediaFile(film).answer({"Range": wanted})) == CONTENT


def test_the_rest_of_a_long_file_comes_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "long.webm"
    with path.open("wb") as file:
        file.truncate(3 * MOST_AT_ONCE)
    answer = MediaFile(path).answer({"Range": "bytes=100-"})
    assert (answer.status, answer.n_bytes) == (206, MOST_AT_ONCE)
    assert answer.headers["Content-Range"] == f"bytes 100-{MOST_AT_ONCE + 99}/{3 * MOST_AT_ONCE}"


def test_a_file_that_has_changed_is_served_whole_to_whoever_has_the_old_one(film: Path) -> None:
    media = MediaFile(film)
    tag = media.tag
    assert media.answer({"Range": "bytes=5-9", "If-Range": tag}).status == 206
    film.write_bytes(CONTENT[:100])
    assert media.tag != tag
    answer = media.answer({"Range": "bytes=5-9", "If-Range": tag})
    assert (answer.status, body_of(answer)) == (200, CONTENT[:100])


def test_a_path_that_leads_elsewhere_later_changes_nothing(film: Path, tmp_path: Path) -> None:
    media = MediaFile(film)
    (tmp_path / "other").write_text("secret")
    (tmp_path / "other").replace(film)
    assert body_of(media.answer({})) == CONTENT


@needs_posix
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    for path, words in (
        (tmp_path / "pipe.mp4", "not a regular"),
        (tmp_path, "not a regular"),
        (tmp_path / "x", "No such"),
    ):
        with pytest.raises(InputError, match=words):
            MediaFile(path)


def test_over_the_wire(film: Path) -> None:
    media = MediaFile(film)

    class Films(LoopbackServer):
        def answer(self, question: Question) -> Answer:
            return media.answer(question.headers)

    with serving(Films()) as server:
        got = ask(server, "/media", "HEAD", Range="bytes=2-5")
        assert (got.status, got.text, got.headers["Content-Length"]) == (206, "", "4")
        assert ask(server, "/media", Range="bytes=65-70").text == "ABCDEF"


@pytest.mark.parametrize("text", ["", "2.3", "s", "--1s", "1e3s", "nans", "1 year", "²s"])
def test_what_is_no_offset(text: str) -> None:
    with pytest.raises(SettingError, match="expected a time"):
        parse_offset(text)
