"""Requests to the server of a page, as programs of this machine send them."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from rondo.view.loopback import LOOPBACK, TOKEN_HEADER, LoopbackServer

PATIENCE_S = 300
_Server = TypeVar("_Server", bound=LoopbackServer)


class Got(NamedTuple):
    status: int
    text: str
    headers: http.client.HTTPMessage


@contextmanager
def serving(server: _Server) -> Iterator[_Server]:
    """A server that answers until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(PATIENCE_S)


def ask(
    server: LoopbackServer, path: str, method: str = "GET", body: bytes | None = None, **headers: str | None
) -> Got:
    """With the token, unless `X_Rondo_Token` says otherwise; a header that is None is left out."""
    sent = {TOKEN_HEADER: server.token} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=PATIENCE_S)
    connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
    response = connection.getresponse()
    text = response.read().decode("utf-8", "replace")
    connection.close()
    return Got(response.status, text, response.headers)


def send(server: LoopbackServer, text: str | bytes) -> bytes:
    """Raw bytes; what comes back until the server ends the connection. {host} and {token} are filled in."""
    if isinstance(text, str):
        text = text.replace("{host}", f"{LOOPBACK}:{server.server_port}").replace("{token}", server.token).encode()
    with socket.create_connection((LOOPBACK, server.server_port), timeout=PATIENCE_S) as connection:
        got = b""
        try:
            connection.sendall(text)
            while more := connection.recv(1 << 16):
                got += more
        except ConnectionError:  # it has had enough
            pass
    return got
