"""The page on loopback: it is built again when the run has gone on, takes edits, and nothing else is served."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rondo import edit
from rondo.errors import InputError, OutputError, SettingError
from rondo.view import serve
from rondo.view.loopback import LOOPBACK
from rondo.view.media import Beside
from rondo.view.serve import PageServer
from tests.report.asking import ask, serving
from tests.report.run_folders import write_run_folder
from tests.report.stream_folders import add_decisions, write_stream_folder


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return write_stream_folder(tmp_path / "live")


@pytest.fixture
def server(live: Path) -> Iterator[PageServer]:
    with serving(PageServer(live)) as server:
        yield server


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a pause between two drawings."""
    monkeypatch.setattr(serve, "_TIMES_AS_LONG", 0.0)


def state(server: PageServer) -> Any:
    return json.loads(ask(server, "/state.json").text)["state"]


def test_page_and_state_follow_the_run(server: PageServer, live: Path) -> None:
    got = ask(server, "/")
    assert got.status == 200
    assert "In 20 s" in got.text
    before = state(server)
    assert state(server) == before
    add_decisions(live, 5)
    assert state(server) != before
    assert "In 25 s" in ask(server, "/").text


def test_a_page_that_takes_long_is_not_drawn_all_the_time(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_TIMES_AS_LONG", 1e9)
    monkeypatch.setattr(edit, "apply_edits", lambda run, edits: [])
    with serving(PageServer(live)) as server:
        before = state(server)
        add_decisions(live, 5)
        assert state(server) == before  # the page does not ask for another one yet
        assert "In 25 s" in ask(server, "/").text  # but whoever loads it gets it as it is now
        before = state(server)
        add_decisions(live, 5)
        assert json.loads(ask(server, "/edits", "POST", b"[]").text)["state"] == state(server) != before


def test_the_state_of_a_stream_comes_with_the_news(server: PageServer, live: Path) -> None:
    assert json.loads(ask(server, "/state.json").text) == {"state": state(server), "health": None}
    (live / "health.json").write_text('{"state": "finished", "written_s": 1.0, "pid": 1}', encoding="utf-8")
    assert json.loads(ask(server, "/state.json").text)["health"]["state"] == "finished"


def test_the_page_brings_its_policy_as_a_header_too(server: PageServer) -> None:
    policy = ask(server, "/").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert policy.endswith("; frame-ancestors 'none'")


@pytest.mark.parametrize(
    "path",
    [
        "/labels.csv", "/../labels.csv", "/..%2flabels.csv", "/%2e%2e/labels.csv", "//etc/passwd", "/etc/passwd",
        "/.", "/./", "/index.html", "/media", "/media/../labels.csv", "/state.json/", "/state.json%00", "/model",
        "/C:%5Cx", "/file:%2f%2f%2fetc%2fpasswd", "/edits",
    ],
)  # fmt: skip
def test_only_the_page_is_served(server: PageServer, path: str) -> None:
    assert server.server_address[0] == LOOPBACK
    got = ask(server, path)
    assert (got.status, got.text) == (404, "there is nothing here")


def test_a_run_that_cannot_be_read_for_a_moment_is_said(server: PageServer, live: Path) -> None:
    (live / "events.jsonl").write_text("nonsense\n", encoding="utf-8")
    got = ask(server, "/")
    assert (got.status, "events.jsonl" in got.text) == (503, True)
    assert 'http-equiv="refresh"' in got.text  # it comes back by itself
    (live / "events.jsonl").write_text("", encoding="utf-8")
    assert ask(server, "/").status == 200


def test_no_run_and_no_port_are_refused(server: PageServer, live: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"neither .*`rondo discover`"):
        PageServer(tmp_path)
    with pytest.raises(OutputError, match="no such folder"):
        PageServer(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="give another --port"):
        PageServer(live, server.server_port)


def test_edits_are_applied_and_answered(server: PageServer, live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[Any] = []

    def apply_edits(run: Path, edits: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        wanted.append((run, edits))
        return list(edits)

    monkeypatch.setattr(edit, "apply_edits", apply_edits)
    edits = [{"kind": "name", "id": 3, "name": "wälk"}]
    got = ask(server, "/edits", "POST", json.dumps(edits).encode())
    assert (got.status, json.loads(got.text)) == (200, {"edits": edits, "state": state(server)})
    assert wanted == [(live, edits)]


def test_edits_that_cannot_be_are_one_line(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(run: Path, edits: Sequence[Mapping[str, Any]]) -> None:
        raise SettingError("there is no unit 99;\n see rondo name")

    monkeypatch.setattr(edit, "apply_edits", refuse)
    got = ask(server, "/edits", "POST", b"[{}]")
    assert (got.status, json.loads(got.text)) == (400, {"error": "there is no unit 99; see rondo name"})


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}", b"[1]", b"null", b"\xff", b"[" * 100_000, b'[{"a": NaN}]x'])
def test_what_is_no_list_of_edits(server: PageServer, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit, "apply_edits", lambda run, edits: pytest.fail("applied"))
    got = ask(server, "/edits", "POST", body)
    assert (got.status, list(json.loads(got.text))) == (400, ["error"])


def test_the_named_file_is_served_and_no_other(tmp_path: Path) -> None:
    film = tmp_path / "film.webm"
    film.write_bytes(b"0123456789")
    run = write_run_folder(tmp_path / "run", n_frames=600)
    with serving(PageServer(run, beside=Beside(film, 2.5))) as server:
        assert ask(server, "/media", Range="bytes=2-4").text == "234"
        assert ask(server, "/media", X_Rondo_Token=None).status == 403
        assert ask(server, "/film.webm").status == 404
        page = ask(server, "/")
        assert "media-src 'self'" in page.headers["Content-Security-Policy"]
        about = page.text.split('id="server-data">')[1].split("</script>")[0]
        assert json.loads(about) == {
            "token": server.token, "edits": True, "running": False,
            "media": {"name": "film.webm", "kind": "video/webm", "offset_s": 2.5, "recording": "day1"},
        }  # fmt: skip


def test_a_film_that_belongs_to_nothing(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"0")
    run = write_run_folder(tmp_path / "run", recording_ids=("a1", "a2"), n_frames=600)
    for beside, words in (
        (Beside(film), r"2 recordings \(a1, a2, …\); give --recording ID"),
        (Beside(film, 0.0, "a3"), "the run has no 'a3'; there are a1, a2"),
    ):
        with pytest.raises(SettingError, match=words):
            PageServer(run, beside=beside)
    with pytest.raises(InputError, match="cannot be opened"):
        PageServer(run, beside=Beside(tmp_path / "nowhere.mp4", 0.0, "a1"))
