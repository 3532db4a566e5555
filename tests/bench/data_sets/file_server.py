"""A file server on loopback that can be told to break the line, forget ranges or change its files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class FileServer:
    """`files` by name; `cuts`: after how many bytes the next answers end; `refusals`: the codes of the next answers."""

    files: dict[str, bytes]
    address: str = ""
    tag: str | None = '"one"'
    takes_ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    refusals: list[int] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range of each request


@contextmanager
def serving(**files: bytes) -> Iterator[FileServer]:
    """Serve files (a double underscore in a name stands for a dot) for the length of a `with`."""
    server = FileServer({name.replace("__", "."): content for name, content in files.items()})
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    server.address = f"http://127.0.0.1:{listener.server_address[1]}/"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def _handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            server.asked.append((self.path, wanted))
            name = unquote(self.path.lstrip("/"))
            content = server.files.get(name)
            if server.refusals or content is None:
                self.send_error(server.refusals.pop(0) if server.refusals else 404)
                return
            start = 0
            if wanted and server.takes_ranges and self.headers.get("If-Range") == server.tag is not None:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            if server.tag is not None:
                self.send_header("ETag", server.tag)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            cut = server.cuts.pop(0) if server.cuts else len(content)
            self.wfile.write(content[start : start + cut])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Tests are silent."""

    return Handler
