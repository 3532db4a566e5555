"""The server under attack: only this machine, only with the token, and nobody can hold it up."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from rondo.view import loopback
from rondo.view.loopback import LOOPBACK, TOKEN_HEADER, Answer, LoopbackServer, Question, answered
from tests.report.asking import PATIENCE_S, ask, send, serving


class Echo(LoopbackServer):
    """Says what it was asked."""

    def answer(self, question: Question) -> Answer:
        return answered(200, "text/plain", f"{question.method} {question.path} {len(question.body)}")


@pytest.fixture
def server() -> Iterator[Echo]:
    with serving(Echo()) as server:
        yield server


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bounds in reach of a test."""
    monkeypatch.setattr(loopback, "HEAD_S", 0.3)
    monkeypatch.setattr(loopback, "BODY_S", 0.3)


def test_with_the_token_it_answers_and_says_what_browsers_must_not_do(server: Echo) -> None:
    got = ask(server, "/a%20b?x=1")
    assert (got.status, got.text) == (200, "GET /a b 0")
    assert got.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Referrer-Policy"] == "no-referrer"
    assert got.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in got.headers
    assert ask(server, "/x", "POST", b"abc").text == "POST /x 3"
    head = ask(server, "/x", "HEAD")
    assert (head.status, head.text, head.headers["Content-Length"]) == (200, "", str(len("HEAD /x 0")))
    assert server.address == f"http://127.0.0.1:{server.server_port}/?token={server.token}"
    assert ask(server, f"/?token={server.token}", X_Rondo_Token=None).status == 200
    assert server.server_address[0] == LOOPBACK


def test_the_token_of_one_server_opens_no_other(server: Echo) -> None:
    with serving(Echo()) as other:
        assert [ask(other, "/", X_Rondo_Token=token).status for token in (server.token, other.token)] == [403, 200]
    assert len(other.token) >= 32


@pytest.mark.parametrize("path", ["/", "/state.json", "/edits", "/media", "/favicon.ico"])
@pytest.mark.parametrize("token", [None, "", "wrong", "é", "x" * 5000])
def test_without_the_token_nothing_is_answered(server: Echo, path: str, token: str | None) -> None:
    got = ask(server, path, X_Rondo_Token=token)
    assert got.status == 403
    assert server.token not in got.text
    assert ask(server, f"{path}?token=", X_Rondo_Token=None).status == 403
    assert ask(server, f"{path}?token={server.token}&token=x", X_Rondo_Token=None).status == 403


def test_what_changes_something_needs_the_token_in_a_header(server: Echo) -> None:
    """A form of another site could name an address; a header it cannot send."""
    assert ask(server, f"/edits?token={server.token}", "POST", b"[]", X_Rondo_Token=None).status == 403
    assert ask(server, "/edits", "POST", b"[]").status == 200


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:{port}", "", "127.1:{port}"]
)
def test_another_host_is_refused(server: Echo, host: str) -> None:
    host = host.format(port=server.server_port)
    got = send(server, f"GET / HTTP/1.1\r\nHost: {host}\r\n{TOKEN_HEADER}: {{token}}\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 403 ")
    assert ask(server, "/", Host=f"localhost:{server.server_port}").status == 200


def test_no_host_and_two_hosts_are_refused(server: Echo) -> None:
    for hosts in ("", "Host: {host}\r\nHost: {host}\r\n"):
        got = send(server, f"GET / HTTP/1.1\r\n{hosts}{TOKEN_HEADER}: {{token}}\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
    ],
)
def test_pages_of_others_are_refused(server: Echo, method: str, headers: dict[str, Any]) -> None:
    assert ask(server, "/", method, b"[]" if method == "POST" else None, **headers).status == 403


def test_own_pages_and_links_are_answered(server: Echo) -> None:
    own: dict[str, Any] = {"Origin": f"http://{LOOPBACK}:{server.server_port}", "Sec_Fetch_Site": "same-origin"}
    assert ask(server, "/edits", "POST", b"[]", **own).status == 200
    link: dict[str, Any] = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert ask(server, "/", **link).status == 200
    assert ask(server, "/", "POST", b"[]", **link).status == 403


HEAD = "Host: {host}\r\nX-Rondo-Token: {token}\r\n"


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (f"GET / HTTP/1.1\r\n{HEAD}\r\nGET /more HTTP/1.1\r\n{HEAD}\r\n", 200),  # what follows is not read
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: 5\r\n\r\nhelloGET /more HTTP/1.1\r\n{HEAD}\r\n", 200),
        (f"PUT / HTTP/1.1\r\n{HEAD}\r\n", 405),
        (f"OPTIONS / HTTP/1.1\r\n{HEAD}\r\n", 405),
        (f"TRACE / HTTP/1.1\r\n{HEAD}\r\n", 405),
        (f"CONNECT x:1 HTTP/1.1\r\n{HEAD}\r\n", 405),
        (f"GET http://example.org/ HTTP/1.1\r\n{HEAD}\r\n", 400),
        (f"GET * HTTP/1.1\r\n{HEAD}\r\n", 400),
        ("GET /?" + "a=1&" * 21 + "b=1 HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        (f"GET /\r\n{HEAD}\r\n", 505),
        (f"GET / HTTP/2.0\r\n{HEAD}\r\n", 505),
        (f"GET / HTTP/1.1\r\nHost{HEAD}\r\n", 403),
        (f"GET / HTTP/1.1\r\n{HEAD}no colon\r\nContent-Length: 5\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\n{HEAD}Content-Length: 5\r\n\r\nhello", 400),
        (f"POST /x HTTP/1.1\r\n{HEAD}\r\n", 411),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: -5\r\n\r\nhello", 400),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: +5\r\n\r\nhello", 400),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: 5, 5\r\n\r\nhello", 400),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: 5\r\n 0\r\n\r\nhello", 400),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: {'9' * 400}\r\n\r\nhello", 400),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: 999999999\r\n\r\nhello", 413),
        (f"POST /x HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 501),
        (f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (f"GET /{'a' * 40_000} HTTP/1.1\r\n{HEAD}\r\n", 431),
        (f"GET / HTTP/1.1\r\n{HEAD}X: {'a' * 40_000}\r\n\r\n", 431),
        (f"GET / HTTP/1.1\r\n{HEAD}{'X: a' * 2}{chr(13)}{chr(10)}" + "Y: b\r\n" * 200 + "\r\n", 431),
        ("nonsense\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ],
)  # fmt: skip
def test_odd_requests_get_one_line(
    server: Echo, request_text: str, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    got = send(server, request_text)
    assert got.split(b" ")[1] == str(status).encode()
    assert b"Traceback" not in got and got.count(b"HTTP/1.1 ") == 1
    assert ask(server, "/").status == 200
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "start", ["", "GET / HTTP/1.1\r\nHost: {host}\r\nX: ", f"POST /x HTTP/1.1\r\n{HEAD}Content-Length: 500\r\n\r\n"]
)
def test_a_client_that_sends_a_byte_now_and_then_is_left(server: Echo, start: str) -> None:
    """Each byte comes in time, but all of them together would take for ever."""
    text = start.replace("{host}", f"{LOOPBACK}:{server.server_port}").replace("{token}", server.token)
    begun = time.monotonic()
    with socket.create_connection((LOOPBACK, server.server_port), timeout=PATIENCE_S) as connection:
        connection.sendall(text.encode())
        connection.settimeout(0.05)
        while time.monotonic() - begun < PATIENCE_S:
            try:
                connection.sendall(b"a")
                if not connection.recv(100):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
    assert 0.2 < time.monotonic() - begun < 30
    assert ask(server, "/").status == 200


@pytest.mark.usefixtures("hurried")
def test_a_hundred_connections_that_say_nothing_end_and_the_next_is_answered(server: Echo) -> None:
    before = threading.active_count()
    held = [socket.create_connection((LOOPBACK, server.server_port), timeout=PATIENCE_S) for _ in range(100)]
    for connection in held:  # each is ended by the server: turned away, in favour of a later one, or after its time
        with connection, suppress(ConnectionError):
            assert connection.recv(100)[:13] in (b"", b"HTTP/1.1 503 ", b"HTTP/1.1 408 ")
    assert ask(server, "/").status == 200
    assert threading.active_count() <= before + 2


def test_connections_that_say_nothing_give_way_to_one_with_the_token(server: Echo) -> None:
    held = [socket.create_connection((LOOPBACK, server.server_port), timeout=PATIENCE_S) for _ in range(200)]
    assert [ask(server, "/").status for _ in range(5)] == [200] * 5
    for connection in held:
        connection.close()


def test_of_a_hundred_requests_at_once_all_for_whom_there_is_room_are_answered() -> None:
    waiting, turned_away, all_have_come = list[str](), list[int](), threading.Event()

    def look() -> None:
        if len(waiting) + len(turned_away) == 100:
            all_have_come.set()

    class Slow(Echo):
        def answer(self, question: Question) -> Answer:
            waiting.append(question.path)
            look()
            if not all_have_come.wait(30):
                all_have_come.set()  # nobody else has to wait as long
            return super().answer(question)

    def come() -> None:
        try:
            status = ask(slow, "/").status
        except ConnectionError:  # closed before the request was sent
            status = 503
        if status != 200:
            turned_away.append(status)
            look()

    with serving(Slow()) as slow:
        threads = [threading.Thread(target=come) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert len(waiting) == loopback.MOST_CONNECTIONS
        assert turned_away == [503] * (100 - loopback.MOST_CONNECTIONS)
        assert ask(slow, "/").status == 200


def test_a_browser_that_goes_away_is_no_fault(capfd: pytest.CaptureFixture[str]) -> None:
    """Large enough that the answer does not fit into what the system keeps for someone who does not read."""

    class Large(LoopbackServer):
        def answer(self, question: Question) -> Answer:
            return answered(200, "text/plain", "x" * (20_000_000 if question.path == "/" else 1))

    with serving(Large()) as server:
        before = set(threading.enumerate())
        with socket.create_connection((LOOPBACK, server.server_port)) as connection:
            text = f"GET /?token={server.token} HTTP/1.0\r\nHost: {LOOPBACK}:{server.server_port}\r\n\r\n"
            connection.sendall(text.encode())
            connection.recv(10)
        assert ask(server, "/small").status == 200
        for left_alone in set(threading.enumerate()) - before:
            left_alone.join(PATIENCE_S)
    assert capfd.readouterr().err == ""


def test_what_goes_wrong_is_answered_and_printed(capfd: pytest.CaptureFixture[str]) -> None:
    class Broken(LoopbackServer):
        def answer(self, question: Question) -> Answer:
            raise ValueError("a fault of ours")

    before = set(threading.enumerate())
    with serving(Broken()) as server:
        assert ask(server, "/").status == 500
        for answering in set(threading.enumerate()) - before:
            if "process_request" in answering.name:
                answering.join(PATIENCE_S)
    assert "a fault of ours" in capfd.readouterr().err
