"""A page of a run on loopback, built anew when the run has gone on; only this machine can reach it."""

from __future__ import annotations

import json
import sys
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from rondo.errors import OutputError, RondoError
from rondo.report.contents import EVERYTHING, Wish
from rondo.report.render import render
from rondo.report.summarize import summarize
from rondo.result import Result

LOOPBACK = "127.0.0.1"
_LATER = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Rondo</title></head><body><p>{}</p><p>This page looks again every two seconds.</p></body></html>"""
_WATCHED = ("labels.csv", "events.jsonl", "summary.json", "segments.parquet", "truth.parquet", "checkpoint/edits.json")


def state_of(run_dir: Path) -> str:
    """Changes when the files that a page is made of do."""
    parts = []
    for name in _WATCHED:
        try:
            found = (run_dir / name).stat()
            parts.append(f"{found.st_mtime_ns}-{found.st_size}")
        except OSError:
            parts.append("none")
    return " ".join(parts)


class PageServer(ThreadingHTTPServer):
    """Serves the page of one run folder and nothing else."""

    daemon_threads = True

    def __init__(self, run_dir: Path, port: int = 0, wish: Wish = EVERYTHING) -> None:
        """Listen on a port of loopback, a free one if it is 0; a folder that is no run is refused at once."""
        self._run_dir, self._wish, self._lock = run_dir, wish, Lock()
        self._state, self._page = "", ""
        self.page()
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise OutputError(
                f"port {port}: cannot be listened on ({getattr(error, 'strerror', None) or error}); give another --port"
            ) from None

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    def state(self) -> str:
        return state_of(self._run_dir)

    def page(self) -> str:
        """The page as the folder is now."""
        with self._lock:
            now = self.state()
            if now != self._state:
                self._page = render(summarize(Result.load(self._run_dir), self._wish), live=now)
                self._state = now
            return self._page

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away before it has its answer is no fault: tabs are closed, pages reloaded."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "rondo", ""

    def do_GET(self) -> None:
        hosts = {f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")}
        if self.headers.get("Host") not in hosts:  # another site's name that was made to lead here
            self._answer(403, "text/plain", "only for this machine")
        elif self.path == "/state.json":
            self._answer(200, "application/json", json.dumps({"state": self.server.state()}))
        elif self.path in ("/", "/index.html"):
            try:
                self._answer(200, "text/html", self.server.page())
            except RondoError as error:
                self._answer(503, "text/html", _LATER.format(escape(str(error))))
        elif self.path == "/favicon.ico":  # every browser asks
            self._answer(204, "image/x-icon", "")
        else:
            self._answer(404, "text/plain", "there is nothing here")

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line for every question of every page would bury everything else."""
