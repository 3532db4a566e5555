"""The page of a run on loopback, built again when the run has gone on; with its edits, and a film beside it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from html import escape, unescape
from pathlib import Path
from threading import Lock
from typing import Any

from rondo.errors import RondoError, SettingError
from rondo.report.contents import EVERYTHING, Wish
from rondo.report.render import NOT_FRAMED, NOTHING, render
from rondo.report.summarize import spans_to_mark, summarize
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
_SPAN: dict[str, type] = {"recording": str, "start_frame": int, "end_frame": int}
_MOST_FRAMES = 1 << 53
_MOST_FOUND = 20  # rows; what is suggested is always among them
_STATES = {HEALTHY: "ok", IN_ALARM: "alarm", DEAD: "dead"}
_POLICY = re.compile('<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


class PageServer(LoopbackServer):
    """Serves the page of one run folder, and everything that it asks for."""

    def __init__(self, run_dir: Path, port: int = 0, wish: Wish = EVERYTHING, beside: Beside | None = None) -> None:
        """A folder that is no run is refused at once, and so is a film for a recording that is not there."""
        super().__init__(port)
        self._run_dir, self._wish, self._lock, self._working = run_dir, wish, Lock(), Lock()
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
                summary = summarize(result, self._wish)
                if summary["edit"]["teachable"]:
                    summary["edit"]["next"] = spans_to_mark(result)
                self._page = render(summary, live=now, server=server)
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
                case "POST", "teach" | "find":
                    return self._work(path, question.body)
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
            return _refusal(error)

    def _work(self, what: str, body: bytes) -> Answer:
        """Teach the run with marked spans, or search it for what is like one: one at a time, since both take long."""
        from rondo.edit import teach_run

        if not self._working.acquire(blocking=False):
            return _json(409, {"error": "the server is still teaching or searching; wait until it is done"})
        try:
            spans = _spans(body, _SPAN if what == "find" else _SPAN | {"name": str})
            if what == "find":
                return _json(200, {"found": _alike(Result.load(self._run_dir), *spans[0].values())})
            taught = teach_run(self._run_dir, spans)
            self._not_before = 0.0
            return _json(200, {"edits": taught.run.edits.rows(), "state": self.state()})
        except RondoError as error:
            return _refusal(error)
        finally:
            self._working.release()

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


def _refusal(error: RondoError) -> Answer:
    return _json(400, {"error": " ".join(str(error).split())})


def _list(body: bytes, of: str = "edits") -> list[dict[str, Any]]:
    """A list of objects, or one line about what is wrong."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise SettingError(f"{of}: expected JSON") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise SettingError(f"{of}: expected a list of objects")
    return found


def _spans(body: bytes, fields: Mapping[str, type]) -> list[dict[str, Any]]:
    """Spans by frames, each with exactly these fields, in their order: no path can come with them."""
    found = _list(body, "spans")
    for span in found:
        if {name: type(value) for name, value in span.items()} != fields:
            raise SettingError(f"spans: expected objects of {', '.join(fields)}")
        if not 0 <= span["start_frame"] < span["end_frame"] < _MOST_FRAMES:
            raise SettingError(f"spans: expected frames in order, got {span['start_frame']} to {span['end_frame']}")
    if not found:
        raise SettingError("spans: expected at least one")
    return [{name: span[name] for name in fields} for span in found]


def _alike(result: Result, recording: str, start: int, end: int) -> list[list[Any]]:
    """The rows of `Result.find`, as JSON can hold them."""
    found = result.find(recording, start, end, most=_MOST_FOUND).astype(object)
    rows: list[list[Any]] = found.where(found.notna(), None).to_numpy().tolist()
    return rows
