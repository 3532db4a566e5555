"""The page of a run on loopback, built again when the run has gone on; with its edits, and a film beside it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from threading import Lock
from typing import Any

from rondo.errors import RondoError, SettingError
from rondo.report.contents import EVERYTHING, Wish
from rondo.report.render import NOT_FRAMED, NOTHING, render
from rondo.report.summarize import summarize
from rondo.result import Result
from rondo.run.health import DEAD, HEALTHY, IN_ALARM, judged, read_health
from rondo.view.loopback import Answer, LoopbackServer, Question, answered
from rondo.view.media import Beside, MediaFile
from rondo.wording import did_you_mean

_LATER = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Rondo</title></head><body><p>{}</p><p>This page looks again every two seconds.</p></body></html>"""
_WATCHED = (
    "labels.csv", "events.jsonl", "summary.json", "segments.parquet", "truth.parquet", "checkpoint/edits.json",
    "overview",  # the folder: it changes when a file in it is replaced
)  # fmt: skip
_TIMES_AS_LONG = 4.0  # as drawing a page takes, until the next is drawn
_STALE_S = 30.0  # after so long without a sign of life a stream counts as dead
_STATES = {HEALTHY: "ok", IN_ALARM: "alarm", DEAD: "dead"}
_POLICY = re.compile('<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


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


class RunPage:
    """The page of one run folder, and everything that it asks for."""

    def __init__(self, run_dir: Path, token: str, wish: Wish = EVERYTHING, beside: Beside | None = None) -> None:
        """A folder that is no run is refused at once, and so is a film for a recording that is not there."""
        self._run_dir, self._token, self._wish, self._lock = run_dir, token, wish, Lock()
        self._state, self._page, self._not_before = "", "", 0.0
        self._media = None if beside is None else MediaFile(beside.path)
        self._about_media = None if beside is None else self._checked(beside)
        self.page()

    def state(self) -> str:
        return state_of(self._run_dir)

    def news(self) -> str:
        """The state that a page should ask for: the last one that was drawn, until it is time for another.

        A long stream changes every second and takes longer to draw: most of the machine is left to the stream itself.
        """
        return self._state if time.monotonic() < self._not_before else self.state()

    def page(self) -> str:
        """The page as the folder is now."""
        with self._lock:
            now, began = self.state(), time.monotonic()
            if now != self._state:
                result = Result.load(self._run_dir)
                stream = result.summary.stream
                server = {
                    "token": self._token,
                    "edits": True,
                    "media": self._about_media,
                    "running": stream is not None and not stream.finished,
                }
                self._page = render(summarize(result, self._wish), live=now, server=server)
                self._state, done = now, time.monotonic()
                self._not_before = done + _TIMES_AS_LONG * (done - began)
            return self._page

    def answer(self, method: str, path: str, question: Question) -> Answer:
        """`path` is what follows the address of this page."""
        answers: dict[tuple[str, str], Callable[[], Answer]] = {
            ("GET", ""): self._whole_page,
            ("GET", "state.json"): self._news,
            ("GET", "edits.json"): lambda: self._edits(None),
            ("POST", "edits"): lambda: self._edits(question.body),
        }
        if self._media is not None:
            answers["GET", "media"] = lambda: self._served_media(question)
        found = answers.get(("GET" if method == "HEAD" else method, path))
        return _nothing() if found is None else found()

    def _whole_page(self) -> Answer:
        page = self.page()
        return answered(200, "text/html", page, Content_Security_Policy=_header_policy(page))

    def _news(self) -> Answer:
        about = {"state": self.news(), "health": _health_in_words(self._run_dir)}
        if self._media is not None:
            about["media"] = self._media.tag
        return _json(200, about)

    def _served_media(self, question: Question) -> Answer:
        assert self._media is not None
        return self._media.answer(question.headers)

    def _edits(self, body: bytes | None) -> Answer:
        """What people have changed; a body is a list of more edits, which are written before the answer."""
        from rondo import edit as editing

        try:
            made = editing.edits_in(self._run_dir) if body is None else editing.apply_edits(self._run_dir, _list(body))
            if body is not None:
                self._not_before = 0.0  # whoever has changed something sees it at once
            return _json(200, {"edits": made, "state": self.state()})
        except RondoError as error:
            return _json(400, {"error": " ".join(str(error).split())})

    def _checked(self, beside: Beside) -> dict[str, Any]:
        """What the page needs to know of the film."""
        assert self._media is not None
        recordings = {one.id: one for one in Result.load(self._run_dir).recordings}
        if beside.recording is None and len(recordings) > 1:
            first = ", ".join([*recordings][:5])
            raise SettingError(f"--media: the run has {len(recordings)} recordings ({first}, …); give --recording ID")
        name = beside.recording or next(iter(recordings))
        if name not in recordings:
            hint = did_you_mean(name, recordings, f"there are {', '.join([*recordings][:5])}")
            raise SettingError(f"--recording: the run has no '{name}'; {hint}")
        if recordings[name].rate is None:
            raise SettingError(
                f"--media: '{name}' has no rate, so its frames have no times; discover it with --rate HZ"
            )
        kind = self._media.kind
        return {"name": self._media.name, "kind": kind, "offset_s": beside.offset_s, "recording": name}


class PageServer(LoopbackServer):
    """Serves the page of one run folder."""

    def __init__(self, run_dir: Path, port: int = 0, wish: Wish = EVERYTHING, beside: Beside | None = None) -> None:
        super().__init__(port)
        try:
            self._page = RunPage(run_dir, self.token, wish, beside)
        except BaseException:
            self.server_close()
            raise

    def answer(self, question: Question) -> Answer:
        try:
            return self._page.answer(question.method, question.path.removeprefix("/"), question)
        except RondoError as error:
            return answered(503, "text/html", _LATER.format(escape(str(error))))


def _health_in_words(run_dir: Path) -> dict[str, str] | None:
    """The state of a stream as one word and as one line; None where the folder holds none."""
    health = read_health(run_dir)
    if health is None:
        return None
    code, words = judged(health, _STALE_S, time.time())
    return {"state": "finished" if health.state == "finished" else _STATES[code], "words": words}


def _nothing() -> Answer:
    return answered(404, "text/plain", "there is nothing here")


def _header_policy(page: str) -> str:
    """The policy that stands in the page, with what browsers obey in a header only."""
    found = _POLICY.search(page, 0, 4096)
    return NOTHING if found is None else f"{unescape(found[1])}; {NOT_FRAMED}"


def _json(status: int, value: Any) -> Answer:
    return answered(status, "application/json", json.dumps(value))


def _list(body: bytes) -> list[dict[str, Any]]:
    """A list of objects, or one line about what is wrong."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise SettingError("edits: expected JSON") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise SettingError("edits: expected a list of objects")
    return found
