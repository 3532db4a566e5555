"""Real servers on loopback, started by the tests that need them: MQTT brokers and a web page.

Ports are free ones of the system. A broker can be killed and started again on the same port, to see what survives.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

_PATIENCE_S = 60.0  # for a busy machine; every wait ends as soon as it can


def free_port() -> int:
    """A port of loopback that nothing listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_until(holds: Callable[[], object], what: str, patience_s: float = _PATIENCE_S) -> None:
    """Return as soon as it holds; a test that waits in vain fails with what it waited for."""
    end = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"waited {patience_s:.0f} s in vain: {what}")
        time.sleep(0.02)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


# ------------------------------------------------------------ MQTT


def mosquitto_path() -> str | None:
    """Debian puts it where only root looks."""
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin")


class MqttServer:
    """A broker as a process of its own: mosquitto, or amqtt where there is none (which keeps nothing on the disk)."""

    def __init__(self, folder: Path, *, persistence: bool, lines: tuple[str, ...] = ()) -> None:
        self.host, self.port, self._folder = "127.0.0.1", free_port(), folder
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._command = self._mosquitto(persistence, lines) if mosquitto_path() else self._amqtt()
        self.start()

    def _mosquitto(self, persistence: bool, lines: tuple[str, ...]) -> list[str]:
        settings = [f"listener {self.port} {self.host}", f"persistence {'true' if persistence else 'false'}"]
        settings += ["max_queued_messages 0"]  # no limit: a test that stays away long must lose nothing here
        if not any(line.startswith(("allow_anonymous", "password_file")) for line in lines):
            settings.append("allow_anonymous true")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            settings.append("user root")  # else it becomes another user, who may not enter the folder of a test
        if persistence:
            settings += [f"persistence_location {self._folder}/", "autosave_on_changes true", "autosave_interval 1"]
        file = self._folder / "mosquitto.conf"
        file.write_text("\n".join([*settings, *lines]) + "\n")
        found = mosquitto_path()
        assert found is not None
        return [found, "-c", str(file)]

    def _amqtt(self) -> list[str]:
        file = self._folder / "amqtt.yaml"
        file.write_text(
            f"listeners:\n  default:\n    type: tcp\n    bind: {self.host}:{self.port}\n"
            "plugins:\n  amqtt.plugins.authentication.AnonymousAuthPlugin:\n    allow_anonymous: true\n"
        )
        return [sys.executable, "-m", "amqtt.scripts.broker_script", "-c", str(file)]

    @property
    def address(self) -> str:
        return f"mqtt://{self.host}:{self.port}"

    def start(self) -> None:
        log = (self._folder / "broker.log").open("ab")
        with log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._folder)
        try:
            wait_until(lambda: is_listening(self.port), f"a broker on port {self.port}")
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Ask it to end: what it keeps is on the disk."""
        self._end(lambda process: process.terminate())

    def kill(self) -> None:
        """kill -9: only what it had saved is kept."""
        self._end(lambda process: process.kill())

    def freeze(self) -> None:
        """SIGSTOP: connections stay, and nothing is answered; `kill` ends it all the same."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def _end(self, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        if self._process is not None:
            how(self._process)
            self._process.wait(_PATIENCE_S)
            self._process = None


@contextmanager
def mosquitto_server(
    tmp_path: Path, *, persistence: bool = False, needs_mosquitto: bool = False, lines: tuple[str, ...] = ()
) -> Iterator[MqttServer]:
    """A broker for a test; skipped where there is none, or only amqtt and mosquitto is needed."""
    needs_mosquitto = needs_mosquitto or persistence or bool(lines)
    if mosquitto_path() is None and (needs_mosquitto or find_spec("amqtt") is None):
        pytest.skip("no mosquitto here" if needs_mosquitto else "neither mosquitto nor amqtt here")
    pytest.importorskip("paho.mqtt.client")
    server = MqttServer(tmp_path / "broker", persistence=persistence, lines=lines)
    try:
        yield server
    finally:
        server.kill()


# ------------------------------------------------------------ web pages


class WebPage:
    """A page that takes what is posted: it answers with the codes in `answers` first, then always with 200."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []  # of requests that were answered with 2xx
        self.headers: list[dict[str, str]] = []  # of all requests
        self.answers: list[int] = []
        self.slow_s = 0.0
        self.n_requests = 0
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                page.n_requests += 1
                page.headers.append(dict(self.headers.items()))
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(page.slow_s)
                code = page.answers.pop(0) if page.answers else 200
                if 200 <= code < 300:
                    page.bodies.append(body)
                try:
                    self.send_response(code)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:  # whoever asked did not wait for the answer
                    self.close_connection = True

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing on stderr."""

        self._handler, self._port = Handler, free_port()
        self._server: ThreadingHTTPServer | None = None
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/hook"

    def start(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Connections are refused from now on."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def web_page() -> Iterator[WebPage]:
    page = WebPage()
    try:
        yield page
    finally:
        page.stop()
