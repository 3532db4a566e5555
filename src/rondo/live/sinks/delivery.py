"""Delivery: one sink follows the files of the run, each line at least once, however often either side goes down.

labels.csv and events.jsonl are the truth, and alarms.jsonl of what only the wall clock knows. A delivery has a place in
each of them, per device: how many bytes and lines the sink has confirmed. It reads whole lines behind that place, hands
them over as JSON, and moves on when they are confirmed. So a sink that is down costs no memory and loses nothing: it
lags, and catches up. The places are written down now and then (OUT/sinks/).

After kill -9 a run begins again with its last checkpoint, and labels.csv and events.jsonl are cut back to it, perhaps
to before our place. Sources that can be read again give the same bytes again, so nothing is sent until the file has
grown past our place. A pipe cannot be read again, and other lines follow: each place has a checksum of all bytes before
it, and where that differs, everything after the cut is sent. What was confirmed after the places were last written down
is sent twice: `n`, the number of the line in its file, tells.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rondo.editing.edits import Edits
from rondo.errors import OutputError
from rondo.live.sinks.base import MessageType, Sink, SinkMessage, shown_sink
from rondo.run.decisions import COLUMNS, DECISIONS, EVENTS
from rondo.store.folder import make_folder, write_text
from rondo.store.reading import read_part, read_regular

ALARMS = "alarms.jsonl"
SINKS = "sinks"
MOST_MESSAGES = 500  # in a batch
_BLOCK_BYTES = 1 << 16  # read at a time
_MOST_BATCHES = 16  # sent by one pump, so that a stream with a long history goes on meanwhile
_SECONDS_BETWEEN, _TIMES_AS_LONG = (
    2.0,
    50.0,
)  # between writing down the places: so many, and so much longer than it takes
_GOES_ON = "make room or give permission, then start the same command again"
_FILES: tuple[tuple[str, MessageType], ...] = ((DECISIONS, "label"), (EVENTS, "event"), (ALARMS, "alarm"))
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
    """One file that grows: what has been handed over, and what of it is confirmed.

    `just_opened` says that nothing has been written since the file was cut back: where it ends now, it was cut.
    """

    def __init__(self, path: Path, type: MessageType, stored: Mapping[str, Any], *, just_opened: bool) -> None:
        self.path, self.type = path, type
        self.confirmed = FilePlace(*stored.get("place", ()))
        self.handed = self.confirmed
        cut = stored.get("cut")
        self.cut: FilePlace | None = None if cut is None else FilePlace(*cut)  # where a file was cut back before it
        self._again: FilePlace | None = None  # how far what follows the cut has been read once more
        self.may_have_more = True  # whether it is worth looking into
        if not just_opened and self.confirmed.n_bytes:
            self.cut = FilePlace()  # it may have been cut anywhere
        if self.cut is not None or _size(path) < self.confirmed.n_bytes:
            self._begin_comparing()

    def as_json(self) -> dict[str, Any]:
        own = self.confirmed
        stored: dict[str, Any] = {"place": [own.n_bytes, own.n_lines, own.crc]}
        return stored if self.cut is None else stored | {"cut": [self.cut.n_bytes, self.cut.n_lines, self.cut.crc]}

    @property
    def n_behind(self) -> int:
        """Bytes that are there and not confirmed."""
        return max(0, _size(self.path) - self.confirmed.n_bytes)

    def _begin_comparing(self) -> None:
        """The file is shorter than it was, or was when we last looked: remember from where on it may differ."""
        size = _size(self.path) if self.cut is None else min(self.cut.n_bytes, _size(self.path))
        self.cut = _place_at(self.path, size)
        self._again = self.cut

    def is_the_same_again(self, *, at_end: bool = False) -> bool:
        """Whether the file has grown past our place once more; where it grew otherwise, we go back to the cut.

        At the end of a stream a file that is shorter than it was will never grow past our place.
        """
        assert self.cut is not None and self._again is not None
        while self._again.n_bytes < self.confirmed.n_bytes:
            block = _read(
                self.path, self._again.n_bytes, min(_BLOCK_BYTES, self.confirmed.n_bytes - self._again.n_bytes)
            )
            if not block and not at_end:
                return False
            if not block:
                break
            self._again = self._again.after(block)
        if self._again != self.confirmed:
            self.confirmed = self.handed = self.cut
        self.cut = self._again = None
        return True

    def take(self, most: int, *, at_end: bool = False) -> list[bytes]:
        """The next whole lines, at most so many."""
        self.may_have_more = False
        if self.cut is not None and not self.is_the_same_again(at_end=at_end):
            return []
        block = _read(self.path, self.handed.n_bytes, _BLOCK_BYTES)
        while block and b"\n" not in block and len(block) % _BLOCK_BYTES == 0:  # a line longer than a block
            more = _read(self.path, self.handed.n_bytes + len(block), _BLOCK_BYTES)
            block += more
            if not more:
                break
        lines = block[: block.rfind(b"\n") + 1].splitlines(keepends=True)
        self.may_have_more = len(lines) > most or len(block) >= _BLOCK_BYTES
        if lines:
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
    except OSError:  # not there yet, or no longer: whoever writes it says so
        return b""


def _place_at(path: Path, n_bytes: int) -> FilePlace:
    place = FilePlace()
    while place.n_bytes < n_bytes and (block := _read(path, place.n_bytes, min(1 << 20, n_bytes - place.n_bytes))):
        place = place.after(block)
    return place


class _Device:
    """The files of one device, and what people call its units and motifs; without a name, the alarms of the source."""

    def __init__(self, device: str, folder: Path, stored: Mapping[str, Any], *, just_opened: bool) -> None:
        self.device, self._edits = device, Edits()
        self._names: dict[tuple[str, str], str] = {}  # of a unit and a motif, as they stand in a message
        files = _FILES if device else _FILES[-1:]
        self.files = [
            _Followed(folder / name, type, stored.get(name, {}), just_opened=just_opened or type == "alarm")
            for name, type in files
        ]
        self._start = json.dumps(device)

    def use_names(self, edits: Edits) -> None:
        if edits is not self._edits:
            self._edits = edits
            self._names.clear()

    def messages(self, file: _Followed, lines: list[bytes], first: int) -> Iterator[SinkMessage]:
        """Lines of a file as messages, numbered as in the file; the header of labels.csv is none."""
        if file.type == "label":
            skip = 1 if first == 0 else 0
            for n, line in enumerate(lines[skip:], start=first + skip - 1):
                yield SinkMessage(self.device, "label", self._label(line.decode().rstrip("\n").split(","), n))
            return
        for n, line in enumerate(lines, start=first):
            about = _object(line, file.path, n)
            device = about.pop("device", self.device)
            yield SinkMessage(device, file.type, json.dumps({"type": file.type, "device": device, "n": n} | about))

    def _label(self, cells: list[str], n: int) -> str:
        """Numbers are written in labels.csv as JSON writes them, but for those that JSON has no word for."""
        pairs = (f'"{name}": {_number(cell)}' for name, cell in zip(COLUMNS, cells, strict=True))
        ids = cells[_UNIT], cells[_MOTIF]
        names = self._names.get(ids)
        if names is None:
            names = self._names[ids] = self._named(*ids)
        return f'{{"type": "label", "device": {self._start}, "n": {n}, {", ".join(pairs)}{names}}}'

    def _named(self, unit: str, motif: str) -> str:
        found = {
            "unit_name": self._edits.name("unit", int(unit)),
            "motif_name": self._edits.name("motif", int(motif)),
        }
        return "".join(f', "{key}": {json.dumps(name)}' for key, name in found.items() if name)


def _object(line: bytes, path: Path, n: int) -> dict[str, Any]:
    try:
        found: Any = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OutputError(f"{path}: expected one JSON object a line, found another in line {n + 1}; put the file back")
    return found


def _number(cell: str) -> str:
    return "null" if cell in ("", "nan", "inf", "-inf") else cell


class _Sent(NamedTuple):
    """A batch on its way, and where its files stand once it has arrived."""

    places: list[tuple[_Followed, FilePlace]]


class Delivery:
    """One sink, and how far it is in the files of every device."""

    def __init__(self, out: Path, where: str, sink: Sink) -> None:
        self.where, self.sink = where, sink
        self._out, self._path = out, out / SINKS / f"{file_name_of(where)}.json"
        self._stored: dict[str, Any] = _stored_places(self._path)
        self._devices: dict[str, _Device] = {}
        self._news: dict[str, None] = {}  # devices whose files may have grown, in the order they are looked at
        self._under_way: deque[_Sent] = deque()
        self._n_confirmed = 0
        self._is_changed, self._not_before = False, 0.0

    def news(
        self,
        device: str,
        folder: Path,
        edits: Edits | None = None,
        types: Collection[MessageType] = ("label", "event", "alarm"),
        *,
        just_opened: bool = False,
    ) -> None:
        """Files of a device have grown, or it is new; `just_opened` if nothing was written in this process."""
        known = self._devices.get(device)
        if known is None:
            known = self._devices[device] = _Device(
                device, folder, self._stored.pop(device, {}), just_opened=just_opened
            )
        if edits is not None:
            known.use_names(edits)
        for file in known.files:
            file.may_have_more = file.may_have_more or file.type in types
        self._news[device] = None

    def look_everywhere(self) -> None:
        """The files of every device may have grown."""
        for device in self._devices.values():
            for file in device.files:
                file.may_have_more = True
        self._news.update(dict.fromkeys(self._devices))

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
            for file, place in self._under_way.popleft().places:
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
            self._under_way.append(_Sent(places))
        return batch

    @property
    def is_done(self) -> bool:
        """Whether everything that is in the files has arrived."""
        return not self._under_way and self.n_behind == 0

    @property
    def n_behind(self) -> int:
        """Bytes of the files that have not arrived yet."""
        return sum(file.n_behind for device in self._devices.values() for file in device.files)

    def store(self, now: float) -> None:
        """Write down how far the sink is."""
        began = time.monotonic()
        places = {name: {f.path.name: f.as_json() for f in device.files} for name, device in self._devices.items()}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        make_folder(self._path.parent)
        text = json.dumps({"sink": shown_sink(self.where), "devices": self._stored | places})
        write_text(self._path, text, _GOES_ON)
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
    """What was written down; nothing where there is none, or where it cannot be read: then all is sent once more."""
    try:
        found = json.loads(read_regular(path))["devices"]
        return {
            device: {name: _checked(place) for name, place in files.items()} for device, files in dict(found).items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _checked(stored: Mapping[str, Any]) -> dict[str, Any]:
    places = {key: [int(number) for number in stored[key]] for key in ("place", "cut") if key in stored}
    if any(len(place) != 3 or min(place) < 0 for place in places.values()):
        raise ValueError("a place is three numbers")
    return places
