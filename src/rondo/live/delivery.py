"""Delivery: a sink follows the files of the run, each line at least once, however often either side goes down.

labels.csv and events.jsonl are the truth. A delivery has a place in each of them, per device: the bytes and lines that
the sink has confirmed, stored now and then (OUT/sinks/). So a sink that is down costs no memory and loses nothing.

After kill -9 a run restarts from its last checkpoint, which truncates the files, perhaps to before the place. Sources
that can be read again give the same bytes again, so nothing is sent until the file has grown past the place. A pipe
gives other lines: each place has a checksum of all bytes before it, and where that differs, everything after the cut is
sent. What is sent twice has the same `n`, the number of the line in its file.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from rondo.editing.edits import Edits
from rondo.errors import OutputError
from rondo.live.source import MessageType, Sink, SinkMessage, shown_sink
from rondo.run.decisions import COLUMNS, DECISIONS, EVENTS
from rondo.store.folder import make_folder, write_text
from rondo.store.reading import read_part, read_regular

SINKS = "sinks"
MOST_MESSAGES = 500  # in a batch
_BLOCK_BYTES = 1 << 16  # read at a time
_MOST_BATCHES = 16  # sent by one pump, so that a stream with a long history goes on meanwhile
_SECONDS_BETWEEN, _TIMES_AS_LONG = 2.0, 50.0  # between storing the places: at least so many, and so much longer
_FILES: tuple[tuple[str, MessageType], ...] = ((DECISIONS, "label"), (EVENTS, "event"))
_UNIT, _MOTIF = COLUMNS.index("unit"), COLUMNS.index("motif")


@dataclass(frozen=True)
class FilePlace:
    """Where a sink is in one file: the bytes and lines before it, and the checksum of these bytes."""

    n_bytes: int = 0
    n_lines: int = 0
    crc: int = 0

    def after(self, block: bytes) -> FilePlace:
        return FilePlace(self.n_bytes + len(block), self.n_lines + block.count(b"\n"), zlib.crc32(block, self.crc))


class _Followed:
    """One file that grows: what has been handed over, and what of it is confirmed."""

    def __init__(self, path: Path, type: MessageType, stored: Mapping[str, Any]) -> None:
        self.path, self.type = path, type
        self.confirmed = self.handed = FilePlace(*stored.get("place", ()))
        self.may_have_more = True
        # the size to which the file was truncated before the place; None once it has grown past it again
        self.cut: int | None = stored.get("cut")
        if self.cut is not None or _size(path) < self.confirmed.n_bytes:
            self.cut = min(_size(path), self.confirmed.n_bytes if self.cut is None else self.cut)

    def as_json(self) -> dict[str, Any]:
        stored: dict[str, Any] = {"place": list(astuple(self.confirmed))}
        return stored if self.cut is None else stored | {"cut": self.cut}

    @property
    def n_behind(self) -> int:
        """Bytes that are there and not confirmed."""
        return max(0, _size(self.path) - self.confirmed.n_bytes)

    def _has_grown_past_place(self, *, at_end: bool) -> bool:
        """Whether the place holds again; if other lines followed the cut, the place becomes the cut.

        At the end of a stream a file that is shorter than it was will never grow past the place.
        """
        assert self.cut is not None
        if _size(self.path) < self.confirmed.n_bytes and not at_end:
            return False
        if _place_at(self.path, self.confirmed.n_bytes) != self.confirmed:
            self.confirmed = self.handed = _place_at(self.path, self.cut)
        self.cut = None
        return True

    def take(self, most: int, *, at_end: bool = False) -> list[bytes]:
        self.may_have_more = False
        if self.cut is not None and not self._has_grown_past_place(at_end=at_end):
            return []
        block = more = _read(self.path, self.handed.n_bytes, _BLOCK_BYTES)
        while more and b"\n" not in block:  # a line longer than a block
            more = _read(self.path, self.handed.n_bytes + len(block), _BLOCK_BYTES)
            block += more
        lines = block[: block.rfind(b"\n") + 1].splitlines(keepends=True)
        self.may_have_more = len(lines) > most or len(block) >= _BLOCK_BYTES
        self.handed = self.handed.after(b"".join(lines[:most]))
        return lines[:most]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # not there yet
        return 0


def _read(path: Path, start: int, n_bytes: int) -> bytes:
    try:
        return read_part(path, start, n_bytes)
    except OSError:  # not there yet, or no longer: the session reports it
        return b""


def _place_at(path: Path, n_bytes: int) -> FilePlace:
    place = FilePlace()
    while place.n_bytes < n_bytes and (block := _read(path, place.n_bytes, min(1 << 20, n_bytes - place.n_bytes))):
        place = place.after(block)
    return place


class _Device:
    """The files of one device, and the names that people gave its units and motifs."""

    def __init__(self, device: str, folder: Path, stored: Mapping[str, Any]) -> None:
        self.device, self.edits = device, Edits()
        self.names: dict[tuple[str, str], str] = {}  # of a unit and a motif, as they stand in a message
        self.files = [_Followed(folder / name, type, stored.get(name, {})) for name, type in _FILES]
        self._start = json.dumps(device)

    def messages(self, file: _Followed, lines: list[bytes], first: int) -> Iterator[SinkMessage]:
        """Lines of a file as messages, numbered as in the file; the header of labels.csv is none."""
        for n, line in enumerate(lines, start=first):
            if file.type == "event":
                about = {"type": file.type, "device": self.device, "n": n} | _object(line, file.path, n)
                yield SinkMessage(self.device, file.type, json.dumps(about))
            elif n:
                yield SinkMessage(self.device, "label", self._label(line.decode().rstrip("\n").split(","), n - 1))

    def _label(self, cells: list[str], n: int) -> str:
        """Numbers are written in labels.csv as JSON writes them, except those that JSON cannot write."""
        numbers = ("null" if cell in ("", "nan", "inf", "-inf") else cell for cell in cells)
        pairs = ", ".join(f'"{name}": {number}' for name, number in zip(COLUMNS, numbers, strict=True))
        ids = cells[_UNIT], cells[_MOTIF]
        if ids not in self.names:
            unit, motif = self.edits.name("unit", int(ids[0])), self.edits.name("motif", int(ids[1]))
            named = {"unit_name": unit, "motif_name": motif}
            self.names[ids] = "".join(f', "{key}": {json.dumps(name)}' for key, name in named.items() if name)
        return f'{{"type": "label", "device": {self._start}, "n": {n}, {pairs}{self.names[ids]}}}'


def _object(line: bytes, path: Path, n: int) -> dict[str, Any]:
    try:
        found: Any = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OutputError(f"{path}: expected one JSON object a line, found another in line {n + 1}; put the file back")
    return found


class Delivery:
    """One sink, and how far it is in the files of every device."""

    def __init__(self, out: Path, where: str, sink: Sink) -> None:
        self.where, self.sink = where, sink
        self._path = out / SINKS / f"{file_name_of(where)}.json"
        self._stored: dict[str, Any] = _stored_places(self._path)
        self._devices: dict[str, _Device] = {}
        self._news: dict[str, None] = {}  # devices whose files may have grown, in the order they are looked at
        self._under_way: deque[list[tuple[_Followed, FilePlace]]] = deque()  # where files stand once a batch arrives
        self._n_confirmed = 0
        self._is_changed, self._not_before = False, 0.0

    def news(self, device: str, folder: Path, edits: Edits) -> None:
        """Files of a device have grown; or it is new, and nothing has been written to its files since they were cut."""
        if device not in self._devices:
            self._devices[device] = _Device(device, folder, self._stored.pop(device, {}))
            if any(file.cut is not None for file in self._devices[device].files):
                self.store(time.monotonic())  # before lines follow: another kill must not forget where it was cut
        known = self._devices[device]
        if edits is not known.edits:
            known.edits, known.names = edits, {}
        self._look_at(device)

    def _look_at(self, device: str) -> None:
        for file in self._devices[device].files:
            file.may_have_more = True
        self._news[device] = None

    def look_everywhere(self) -> None:
        for device in self._devices:
            self._look_at(device)

    def pump(self, now: float, *, at_end: bool = False) -> None:
        """Move on past what has arrived, and hand over what is new; never waits."""
        self._confirm()
        for _ in range(_MOST_BATCHES):
            if not self.sink.is_ready() or not (batch := self._next_batch(at_end=at_end)):
                break
            self.sink.send(batch)
            self._confirm()
        if self._is_changed and now >= self._not_before:
            self.store(now)

    def _confirm(self) -> None:
        arrived = self.sink.n_confirmed()
        while self._n_confirmed < arrived:
            for file, place in self._under_way.popleft():
                file.confirmed = place
            self._n_confirmed += 1
            self._is_changed = True

    def _next_batch(self, *, at_end: bool) -> list[SinkMessage]:
        """Some lines of every device that has news, until there are enough; what was cut short comes first next."""
        batch: list[SinkMessage] = []
        places: list[tuple[_Followed, FilePlace]] = []
        for name in list(self._news):
            device = self._devices[name]
            del self._news[name]
            for file in device.files:
                if not file.may_have_more or len(batch) >= MOST_MESSAGES:
                    continue
                lines = file.take(MOST_MESSAGES - len(batch), at_end=at_end)
                if lines:
                    batch += device.messages(file, lines, file.handed.n_lines - len(lines))
                    places.append((file, file.handed))
            if any(file.may_have_more for file in device.files):
                self._news[name] = None  # behind the others, so that none waits for one that says much
            if len(batch) >= MOST_MESSAGES:
                break
        if places and not batch:  # a header, and nothing else: there is nothing to wait for
            for file, place in places:
                file.confirmed = place
            return self._next_batch(at_end=at_end)
        if batch:
            self._under_way.append(places)
        return batch

    @property
    def is_done(self) -> bool:
        return not self._under_way and self.n_behind == 0

    @property
    def n_behind(self) -> int:
        """Bytes of the files that have not arrived yet."""
        return sum(file.n_behind for device in self._devices.values() for file in device.files)

    def store(self, now: float) -> None:
        began = time.monotonic()
        places = {name: {f.path.name: f.as_json() for f in device.files} for name, device in self._devices.items()}
        make_folder(self._path.parent.parent, SINKS)
        text = json.dumps({"sink": shown_sink(self.where), "devices": self._stored | places})
        write_text(self._path, text, "make room or give permission, then run the same command again")
        self._is_changed = False
        self._not_before = now + max(_SECONDS_BETWEEN, _TIMES_AS_LONG * (time.monotonic() - began))

    def close(self, now: float) -> None:
        self._confirm()
        self.sink.close()
        if self._devices:
            self.store(now)


def file_name_of(where: str) -> str:
    """A name for a file from an address, the same each time, different for different addresses.

    >>> file_name_of("-"), file_name_of("mqtt://host:1883/site/{device}")
    ('stdout', 'mqtt-host-1883-site-device-8ca44c31')
    """
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", shown_sink(where)).strip("-.")[:60]
    return plain if where == "-" else f"{plain}-{zlib.crc32(where.encode()):08x}"


def _stored_places(path: Path) -> dict[str, Any]:
    """What was stored; nothing if there is none, or if it cannot be read: then everything is sent once more."""
    try:
        found = dict(json.loads(read_regular(path))["devices"])
        for place in (place for files in found.values() for place in files.values()):
            numbers = [*place["place"], place.get("cut", 0)]
            if len(numbers) != 4 or any(type(number) is not int or number < 0 for number in numbers):
                return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return found
