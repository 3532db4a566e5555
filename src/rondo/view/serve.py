"""The page of a run on loopback, built again when the run has gone on; with its edits, and a film beside it."""

from __future__ import annotations

import json
import re
import time
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


class PageServer(LoopbackServer):
    """Serves the page of one run folder, and everything that it asks for."""

    def __init__(self, run_dir: Path, port: int = 0, wish: Wish = EVERYTHING, beside: Beside | None = None) -> None:
        """A folder that is no run is refused at once, and so is a film for a recording that is not there."""
        super().__init__(port)
        self._run_dir, self._wish, self._lock = run_dir, wish, Lock()
        self._state, self._page, self._not_before = "", "", 0.0
        self._media: MediaFile | None = None
        self._about_media: dict[str, Any] | None = None
        try:
            if beside is not None:
                self._media = MediaFile(beside.path)
                self._about_media = self._checked(self._media, beside)
            self.page()
        except BaseException:
            self.server_close()
            raise

    def state(self) -> str:
        """Changes when the files that a page is made of do."""
        parts = []
        for name in _WATCHED:
            try:
                found = (self._run_dir / name).stat()
                parts.append(f"{found.st_mtime_ns}-{found.st_size}")
            except OSError:
                parts.append("none")
        return " ".join(parts)

    def page(self) -> str:
        """The page as the folder is now."""
        with self._lock:
            now, began = self.state(), time.monotonic()
            if now != self._state:
                result = Result.load(self._run_dir)
                stream = result.summary.stream
                server = {
                    "token": self.token,
                    "edits": True,
                    "media": self._about_media,
                    "running": stream is not None and not stream.finished,
                }
                self._page = render(summarize(result, self._wish), live=now, server=server)
                self._state, done = now, time.monotonic()
                self._not_before = done + _TIMES_AS_LONG * (done - began)
            return self._page

    def answer(self, question: Question) -> Answer:
        path, method = question.path.removeprefix("/"), "GET" if question.method == "HEAD" else question.method
        try:
            match method, path:
                case "GET", "":
                    page = self.page()
                    return answered(200, "text/html", page, Content_Security_Policy=_header_policy(page))
                case "GET", "state.json":
                    return self._news()
                case "GET", "edits.json":
                    return self._edits(None)
                case "POST", "edits":
                    return self._edits(question.body)
                case "GET", "media" if self._media is not None:
                    return self._media.answer(question.headers)
        except RondoError as error:
            return answered(503, "text/html", _LATER.format(escape(str(error))))
        return answered(404, "text/plain", "there is nothing here")

    def _news(self) -> Answer:
        """The state that a page should ask for, the health of a stream, and the film.

        The state is the last one that was drawn, until it is time for another: a long stream changes every second and
        takes longer to draw, and most of the machine is left to the stream itself.
        """
        news: dict[str, Any] = {"state": self._state if time.monotonic() < self._not_before else self.state()}
        health = read_health(self._run_dir)
        news["health"] = None
        if health is not None:
            code, words = judged(health, _STALE_S, time.time())
            news["health"] = {"state": "finished" if health.state == "finished" else _STATES[code], "words": words}
        if self._media is not None:
            news["media"] = self._media.tag
        return _json(200, news)

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

    def _checked(self, media: MediaFile, beside: Beside) -> dict[str, Any]:
        """What the page needs to know of the film."""
        recordings = {recording.id: recording for recording in Result.load(self._run_dir).recordings}
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
        return {"name": media.name, "kind": media.kind, "offset_s": beside.offset_s, "recording": name}


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
    if not isinstance(found, list) or not all(isinstance(edit, dict) for edit in found):
        raise SettingError("edits: expected a list of objects")
    return found
