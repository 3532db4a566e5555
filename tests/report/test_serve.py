"""The page on loopback: it is built anew when the run has gone on, and nothing else is served to anybody."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rondo.errors import OutputError
from rondo.report.serve import LOOPBACK, PageServer
from tests.report.run_folders import write_run_folder
from tests.report.stream_folders import add_decisions, write_stream_folder


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return write_stream_folder(tmp_path / "live")


@pytest.fixture
def server(live: Path) -> Iterator[PageServer]:
    with PageServer(live) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server
        server.shutdown()


def answer(server: PageServer, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=300)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def test_page_and_state_follow_the_run(server: PageServer, live: Path) -> None:
    status, page = answer(server, "/")
    assert status == 200
    assert "In 20 s of the stream" in page
    state = json.loads(answer(server, "/state.json")[1])
    assert json.loads(answer(server, "/state.json")[1]) == state
    add_decisions(live, 5)
    assert json.loads(answer(server, "/state.json")[1]) != state
    assert "In 25 s of the stream" in answer(server, "/")[1]


def test_only_this_machine_and_only_the_page(server: PageServer, live: Path) -> None:
    assert server.server_address[0] == LOOPBACK
    assert answer(server, "/labels.csv")[0] == 404
    assert answer(server, "/../labels.csv")[0] == 404
    assert answer(server, "/", Host="example.org")[0] == 403
    assert answer(server, "/", Host=f"localhost:{server.server_port}")[0] == 200


def test_a_run_that_cannot_be_read_for_a_moment_is_said(server: PageServer, live: Path) -> None:
    (live / "events.jsonl").write_text("nonsense\n", encoding="utf-8")
    status, text = answer(server, "/")
    assert (status, "events.jsonl" in text) == (503, True)
    assert 'http-equiv="refresh"' in text  # it comes back by itself
    (live / "events.jsonl").write_text("", encoding="utf-8")
    assert answer(server, "/")[0] == 200


def test_a_run_that_is_whole_is_served_too(tmp_path: Path) -> None:
    with PageServer(write_run_folder(tmp_path / "run", n_frames=600)) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        status, page = answer(server, "/")
        assert status == 200
        assert "Rondo found" in page and 'id="live"' in page
        server.shutdown()


def test_a_browser_that_goes_away_is_no_fault(server: PageServer, capfd: pytest.CaptureFixture[str]) -> None:
    """Large enough that the answer does not fit into what the system keeps for someone who does not read."""
    server._state, server._page = server.state(), "x" * 20_000_000
    before = set(threading.enumerate())
    with socket.create_connection((LOOPBACK, server.server_port)) as connection:
        connection.sendall(f"GET / HTTP/1.0\r\nHost: {LOOPBACK}:{server.server_port}\r\n\r\n".encode())
        connection.recv(10)
    assert answer(server, "/state.json")[0] == 200
    for left_alone in set(threading.enumerate()) - before:
        left_alone.join(300)
    assert capfd.readouterr().err == ""


def test_no_run_and_no_port_are_refused(server: PageServer, live: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="neither a run nor a stream, or not yet: `rondo discover`"):
        PageServer(tmp_path)
    with pytest.raises(OutputError, match="no such folder"):
        PageServer(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="give another --port"):
        PageServer(live, server.server_port)
