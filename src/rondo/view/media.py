"""A film or a sound file beside a recording: opened once, served in parts as players ask for them."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from rondo.errors import InputError, SettingError
from rondo.view.loopback import Answer, answered
from rondo.wording import SECONDS_IN

KINDS = {
    "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "ogv": "video/ogg",
    "mkv": "video/x-matroska", "avi": "video/x-msvideo", "wmv": "video/x-ms-wmv", "mpg": "video/mpeg",
    "mpeg": "video/mpeg", "wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "oga": "audio/ogg",
    "opus": "audio/ogg", "flac": "audio/flac", "m4a": "audio/mp4", "aac": "audio/aac",
}  # fmt: skip
MOST_AT_ONCE = 1 << 22
"""Bytes of one answer to a request for "the rest": a player asks again, and a paused one holds no connection."""
_PIECE = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_TIME = re.compile(rf"([+-]?)(\d{{1,9}}(?:\.\d{{1,9}})?)({'|'.join(SECONDS_IN)})", re.ASCII)


class Beside(NamedTuple):
    """What `rondo view --media` says: the recording starts `offset_s` into the file; None is the only recording."""

    path: Path
    offset_s: float = 0.0
    recording: str | None = None


def parse_offset(text: str) -> float:
    """
    >>> [parse_offset(it) for it in ("2.3s", "-500ms", "1min", "0s")]
    [2.3, -0.5, 60.0, 0.0]
    """
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise SettingError(f"--offset: expected a time (2.3s, -500ms, 1min), found '{text}'")
    seconds = float(found[2]) * SECONDS_IN[found[3]]
    return -seconds if found[1] == "-" else seconds


class MediaFile:
    """One regular file; it is read through the descriptor that was opened first, whatever its path leads to later."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)  # pipes are not waited for
        try:
            self._descriptor = os.open(path, flags)
        except OSError as error:
            raise InputError(f"--media {path}: cannot be opened ({error.strerror}); check the path") from None
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.close(self._descriptor)
            raise InputError(f"--media {path}: not a regular file; give a film or a sound file")
        self.name, self._lock = path.name, Lock()
        self.kind = KINDS.get(path.suffix[1:].lower(), "application/octet-stream")

    def close(self) -> None:
        os.close(self._descriptor)

    @property
    def tag(self) -> str:
        """Another one once the content has changed."""
        return self._tag(os.fstat(self._descriptor))

    def answer(self, headers: Mapping[str, str]) -> Answer:
        """The file, or the part that a request asks for (RFC 9110, section 14)."""
        about = os.fstat(self._descriptor)
        size, tag = about.st_size, self._tag(about)
        asked = {name.lower(): value for name, value in headers.items()}
        given = {"Accept-Ranges": "bytes", "ETag": tag}
        wanted = asked.get("range")
        if wanted is None or asked.get("if-range", tag) != tag:
            return Answer(200, self.kind, self._pieces(0, size), size, given)
        found = _RANGE.fullmatch(wanted.strip())
        if found is None or not (found[1] or found[2]):  # other units and several parts: the whole file is right too
            return Answer(200, self.kind, self._pieces(0, size), size, given)
        start, stop = _part(found[1], found[2], size)
        if start >= stop:
            refused = answered(416, "text/plain", f"there are {size} bytes")
            return Answer(
                416, refused.kind, refused.pieces, refused.n_bytes, given | {"Content-Range": f"bytes */{size}"}
            )
        given["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        return Answer(206, self.kind, self._pieces(start, stop), stop - start, given)

    def _pieces(self, start: int, stop: int) -> Iterator[bytes]:
        while start < stop:
            with self._lock:
                os.lseek(self._descriptor, start, os.SEEK_SET)
                piece = os.read(self._descriptor, min(_PIECE, stop - start))
            if not piece:  # it was cut meanwhile: whoever counts the bytes notices
                return
            start += len(piece)
            yield piece

    def _tag(self, about: os.stat_result) -> str:
        text = f"{about.st_dev} {about.st_ino} {about.st_mtime_ns} {about.st_size}"
        return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def _part(first: str, last: str, size: int) -> tuple[int, int]:
    """The bytes [start, stop) of a range: from a byte to a byte, from a byte on, or so many at the end."""
    if not first:
        return max(0, size - int(last)) if int(last) else size, size
    start = int(first)
    stop = min(size, int(last) + 1) if last else min(size, start + MOST_AT_ONCE)
    return start, stop
