"""A small HTTP server for one person on this machine: whoever else asks gets nothing, and nobody can block it.

- It listens on 127.0.0.1. A request needs the Host of this server, so that no other site's name can be made to lead
  here, and a token that is new in every process, since other users of a machine can reach its loopback.
- The token comes in the address of a page or in the header X-Rondo-Token, never in a cookie: cookies of 127.0.0.1 are
  shared by all ports of the machine. What changes something takes the header alone, which no other site can send.
- A connection carries one request. Its head and its body have a largest size and must arrive within a few seconds,
  however slowly bytes drip. So many connections are open at a time; the next one takes the place of the oldest that
  has shown no token, and is turned away where all have.
- Nothing in a request is ever used as a path of the file system.
"""

from __future__ import annotations

import io
import os
import secrets
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rondo.errors import OutputError
from rondo.report.render import NOTHING

LOOPBACK = "127.0.0.1"
TOKEN_HEADER = "X-Rondo-Token"
MOST_CONNECTIONS = 64
MOST_HEAD_BYTES = 1 << 15  # cookies of all other servers of this machine come along
MOST_BODY_BYTES = 1 << 22
HEAD_S, BODY_S, SEND_S = 5.0, 20.0, 30.0
"""How long a head, a body and one piece of an answer may take."""
_MOST_FIELDS = 20  # of the query of an address
_DRAINED_BYTES, _DRAINED_S = 1 << 18, 1.0
_ROOM_S = 1.0  # for the thread of a connection to end
_AT_ONCE = getattr(socket, "MSG_DONTWAIT", 0)  # the few bytes fit into what the system keeps
_ALWAYS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Connection": "close",
}
NO_TOKEN = "open the address that `rondo view` printed: it ends in a token that this one lacks\n"


@dataclass(frozen=True)
class Question:
    """A request that may be answered. `path` is unquoted; it names what is wanted and is no path of a file."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What to send; `pieces` are sent one after the other, and together have `n_bytes`."""

    status: int
    kind: str
    pieces: Iterable[bytes]
    n_bytes: int
    headers: Mapping[str, str] = field(default_factory=dict)


def answered(status: int, kind: str, text: str, **headers: str) -> Answer:
    """An answer of text; `Content_Security_Policy="..."` sets the header of that name."""
    body = text.encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, f"{kind}; charset=utf-8", [body], len(body), named)


class RefusedError(Exception):
    """A request that gets a status and one line."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class LoopbackServer(ThreadingHTTPServer):
    """Checks requests and hands them to `answer`."""

    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = os.name == "posix"  # elsewhere it would let another program take the port over

    def __init__(self, port: int = 0) -> None:
        """Listen on a port of loopback, a free one if it is 0."""
        self.token = secrets.token_urlsafe(24)
        self._slots, self._lock = BoundedSemaphore(MOST_CONNECTIONS), Lock()
        self._strangers: dict[socket.socket, None] = {}  # connections that have shown no token yet, the oldest first
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise OutputError(
                f"port {port}: cannot be listened on ({getattr(error, 'strerror', None) or error}); give another --port"
            ) from None

    def answer(self, question: Question) -> Answer:
        """The answer to a request that has passed all checks."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        """What to open, with the token."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost"))

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, as long as there are not too many."""
        if not self._slots.acquire(blocking=False) and not self._has_made_room():
            _turn_away(request)
            self.shutdown_request(request)
            return
        with self._lock:
            self._strangers[request] = None
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no more threads: `process_request_thread` will not be called
            self._leave(request)
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(request)

    def _has_made_room(self) -> bool:
        """Whether the oldest connection without a token has gone: others of this machine could hold all of them."""
        with self._lock:
            oldest = next(iter(self._strangers), None)
            if oldest is None:
                return False
            del self._strangers[oldest]
        _turn_away(oldest)
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)  # its thread ends
        return self._slots.acquire(timeout=_ROOM_S)

    def admit(self, request: socket.socket) -> bool:
        """A connection has shown the token, and keeps its place; False if it has lost it."""
        with self._lock:
            is_there = request in self._strangers
            self._strangers.pop(request, None)
            return is_there

    def _leave(self, request: socket.socket) -> None:
        with self._lock:
            self._strangers.pop(request, None)
        self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away before it has its answer is no fault: tabs are closed, pages reloaded."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _turn_away(request: socket.socket) -> None:
    with suppress(OSError):
        request.send(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n", _AT_ONCE)


class _Incoming(io.RawIOBase):
    """What a client sends, until a moment and up to a number of bytes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.room, self.until = MOST_HEAD_BYTES, time.monotonic() + HEAD_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if not self.room:
            raise RefusedError(431, "the head of the request is too large")
        self._connection.settimeout(left)
        n_bytes = self._connection.recv_into(memoryview(buffer)[: self.room])
        self.room -= n_bytes
        return n_bytes


class _Handler(BaseHTTPRequestHandler):
    server: LoopbackServer
    server_version, sys_version = "rondo", ""
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self._incoming = _Incoming(self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def handle(self) -> None:
        """One request; whatever follows it on the same connection is never looked at."""
        self.command = self.requestline = ""  # not known yet
        try:
            self.raw_requestline = self.rfile.readline(MOST_HEAD_BYTES + 1)
            if not self.raw_requestline or not self.parse_request():
                return
            answer = self.server.answer(self._question())
        except RefusedError as refused:
            answer = answered(refused.status, "text/plain", str(refused))
        except TimeoutError:
            return
        except Exception:
            self._send(answered(500, "text/plain", "this went wrong; `rondo view` has printed why"))
            raise
        self._send(answer)

    def finish(self) -> None:
        """Let the client read its answer: closing with bytes unread would take it away again."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_DRAINED_S)
            until, left = time.monotonic() + _DRAINED_S, _DRAINED_BYTES
            while left > 0 and time.monotonic() < until and (more := self.connection.recv(1 << 16)):
                left -= len(more)
        super().finish()

    # ------------------------------------------------------------ what may be asked

    def _question(self) -> Question:
        self._check_form()
        self._check_sender()
        try:
            target = urlsplit(self.path)
            in_address = parse_qs(target.query, max_num_fields=_MOST_FIELDS).get("token", [])
        except ValueError:
            raise RefusedError(400, "not a request that can be read") from None
        self._check_token(in_address)
        if not self.server.admit(self.connection):
            raise TimeoutError
        return Question(self.command, unquote(target.path), dict(self.headers.items()), self._body())

    def _check_form(self) -> None:
        if self.request_version not in ("HTTP/1.0", "HTTP/1.1"):
            raise RefusedError(505, "only HTTP/1.0 and HTTP/1.1")
        if self.command not in ("GET", "HEAD", "POST"):
            raise RefusedError(405, "only GET, HEAD and POST")
        if not self.path.startswith("/") or self.headers.defects or self.headers.get_payload():
            raise RefusedError(400, "not a request that can be read")
        if "Transfer-Encoding" in self.headers:
            raise RefusedError(501, "send the body whole, with its Content-Length")

    def _check_sender(self) -> None:
        """From a page of this server or from no page at all; a link elsewhere may lead to it, nothing may embed it."""
        host = self.headers.get_all("Host", [])
        if len(host) != 1 or host[0] not in self.server.hosts:
            raise RefusedError(403, "only for this machine")
        if any(origin != f"http://{host[0]}" for origin in self.headers.get_all("Origin", [])):
            raise RefusedError(403, "only for pages of this server")
        site, mode = (self.headers.get(f"Sec-Fetch-{name}", "") for name in ("Site", "Mode"))
        is_link = self.command == "GET" and mode == "navigate" and self.headers.get("Sec-Fetch-Dest") == "document"
        if site not in ("", "same-origin", "none") and not is_link:
            raise RefusedError(403, "only for pages of this server")

    def _check_token(self, in_address: list[str]) -> None:
        given = self.headers.get_all(TOKEN_HEADER, [])
        given += in_address if self.command != "POST" else []
        if len(given) != 1 or not secrets.compare_digest(given[0].encode(), self.server.token.encode()):
            raise RefusedError(403, NO_TOKEN)

    def _body(self) -> bytes:
        sizes = self.headers.get_all("Content-Length", [])
        if len(sizes) > 1 or not all(size.isascii() and size.isdigit() and len(size) < 16 for size in sizes):
            raise RefusedError(400, "one Content-Length, a number")
        n_bytes = int(sizes[0]) if sizes else 0
        if self.command != "POST":
            if n_bytes:
                raise RefusedError(400, f"a {self.command} has no body")
            return b""
        if not sizes:
            raise RefusedError(411, "the Content-Length is missing")
        if n_bytes > MOST_BODY_BYTES:
            raise RefusedError(413, f"at most {MOST_BODY_BYTES:,} bytes")
        self._incoming.room, self._incoming.until = n_bytes + 1, time.monotonic() + BODY_S
        body = self.rfile.read(n_bytes)
        if len(body) < n_bytes:
            raise RefusedError(400, "the body ends early")
        return body

    # ------------------------------------------------------------ answers

    def _send(self, answer: Answer) -> None:
        self.connection.settimeout(SEND_S)
        self.request_version = self.protocol_version  # of an older one the standard library sends no head
        self.send_response(answer.status)
        for name, value in {"Content-Security-Policy": NOTHING, **_ALWAYS, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(answer.n_bytes))
        self.end_headers()
        for piece in answer.pieces if self.command != "HEAD" else ():
            self.wfile.write(piece)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the parser of the standard library refuses, as one line."""
        self._send(answered(int(code), "text/plain", "not a request that can be read"))

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line for every question of every page would bury everything else."""
