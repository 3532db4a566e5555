"""Webhook: batches posted to a web page as JSON lines; one has arrived when the page answers with 2xx.

The body holds one JSON object a line (application/x-ndjson), at most 500 of them. What comes of an answer:

- no connection, no answer in ten seconds, 408, 425, 429 or 5xx: the same batch again, after pauses up to a minute;
- 401, 403, 404, 405, 407 or a redirection, which are about the address or the token: again too, after a minute;
- any other 4xx is about the content: the batch is refused for good and counted, and the next one follows.
"""

from __future__ import annotations

import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from email.message import Message as Headers
from typing import IO

from rondo.live.address import Address, parse_address
from rondo.live.credentials import webhook_token
from rondo.live.sinks.base import SinkKind, SinkMessage, has_scheme
from rondo.live.sinks.pauses import GrowingPauses
from rondo.version import __version__

_TIMEOUT_S = 10.0
_LATER = (408, 425, 429)
_ABOUT_US = (401, 403, 404, 405, 407)
_LONGEST_S = 60.0


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    """Of a POST that is sent elsewhere only a GET without content would be left."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Headers, newurl: str
    ) -> None:
        return None


class Webhook:
    """One page, and the thread that posts to it."""

    waits_at_end = False

    def __init__(self, address: Address) -> None:
        self._url, self._shown = str(address), f"{address.scheme}://{address.host}"  # a path may hold a secret
        self._token = webhook_token()
        self.problem: str | None = None
        self.n_refused = 0
        self._n_taken = self._n_done = 0
        self._batches: queue.SimpleQueue[Sequence[SinkMessage] | None] = queue.SimpleQueue()
        self._is_closed = threading.Event()
        self._opener = urllib.request.build_opener(_NoRedirection)
        self._pauses = GrowingPauses()
        self._thread = threading.Thread(target=self._run, name="rondo webhook", daemon=True)
        self._thread.start()

    def is_ready(self) -> bool:
        return self._n_taken == self._n_done

    def send(self, batch: Sequence[SinkMessage]) -> None:
        self._n_taken += 1
        self._batches.put(batch)

    def n_confirmed(self) -> int:
        return self._n_done

    def close(self) -> None:
        """A post that waits for its answer is given up: its thread ends with the process."""
        self._is_closed.set()
        self._batches.put(None)

    # ------------------------------------------------------------ in its thread

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            body = "".join(message.text + "\n" for message in batch).encode()
            while (pause_s := self._post(body, len(batch))) is not None:
                if self._is_closed.wait(pause_s):
                    return
            self._n_done += 1

    def _post(self, body: bytes, n_messages: int) -> float | None:
        """Post once; seconds until the next attempt, None where there is none to make."""
        headers = {"Content-Type": "application/x-ndjson", "User-Agent": f"rondo/{__version__}"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                answer.read(1 << 16)  # so that the other side is not cut off
        except urllib.error.HTTPError as error:
            with error:
                return self._answered(error, n_messages)
        except Exception as error:  # noqa: BLE001  # whatever a server that is no web server makes http.client raise
            reason = getattr(error, "reason", None) or error
            return self._wait(f"{self._shown}: no answer ({reason})")
        self.problem = None
        self._pauses.end()
        return None

    def _answered(self, error: urllib.error.HTTPError, n_messages: int) -> float | None:
        said = f"{self._shown}: answered {error.code} {error.reason}"
        if error.code < 400 or error.code in _ABOUT_US:
            return self._wait(f"{said}; check the address and RONDO_WEBHOOK_TOKEN", _LONGEST_S)
        if error.code >= 500 or error.code in _LATER:
            return self._wait(said, _retry_after(error))
        self.n_refused += n_messages
        self.problem = f"{said}: {n_messages} messages refused"
        return None

    def _wait(self, problem: str, at_least_s: float = 0.0) -> float:
        self.problem = problem
        return self._pauses.begin(time.monotonic(), at_least_s)


def _retry_after(error: urllib.error.HTTPError) -> float:
    wish = (error.headers.get("Retry-After") or "").strip()
    return float(wish) if wish.isascii() and wish.isdigit() else 0.0


SINK = SinkKind(
    name="webhook",
    address="http(s)://...",
    help="a web page, by POST of JSON lines",
    matches=has_scheme("http", "https"),
    open=lambda where: Webhook(parse_address(where, ["http", "https"], None)),
    order=13,
)
