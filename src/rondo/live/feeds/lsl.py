"""LslFeed: all streams of the Lab Streaming Layer that match a query, each a device.

    stream -> memory of liblsl -> inbox on the disk -> given -> checkpoints -> settled

LSL keeps nothing that nobody reads. So what is lost while Rondo or a sender is away is lost for good, and the first
message of a stream after every connection is `is_after_loss`: a boundary in the journal. What is in the inbox is not
lost, however Rondo ends; what was received and lies in memory (up to a `poll`, and 360 s where Rondo is busy) is.

A stream that does not fit the model is left out with a note; where none of those that were found fits, the run is
refused. Where the network does not carry multicast, liblsl finds streams by `KnownPeers` in its file lsl_api.cfg (named
by LSLAPICFG).
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rondo.errors import MissingExtraError, RecordingError, SettingError, SourceLostError
from rondo.live.address import parse_address
from rondo.live.devices.messages import FeedKind, FeedRequest, Message
from rondo.live.feeds.inbox import LIMIT_BYTES, PARTITION, Arrival, Inbox
from rondo.live.feeds.lsl_stream import LslStream, device_of
from rondo.live.quantities import bytes_in, seconds_in
from rondo.wording import did_you_mean

if TYPE_CHECKING:
    from pylsl import StreamInfo

_OPTIONS = ("inbox", "patience")
_FIELDS = ("name", "type", "source_id", "hostname", "uid", "session_id")
_AT_ONCE = 500  # messages that are given at once
_BETWEEN_PULLS_S, _BETWEEN_LOOKS_S = 0.02, 0.5
_SEARCH_S = 2.0  # a stream that is there is found within this time
_FORGET_AFTER_S = 5.0  # a stream that answers no more


class LslFeed:
    """Rows of the streams that match, by way of an inbox."""

    ended = False

    def __init__(self, where: str, request: FeedRequest) -> None:
        pylsl = _library()
        address = parse_address(
            f"lsl:///{where.partition(':')[2].removeprefix('//')}", ["lsl"], _OPTIONS, needs_host=False
        )
        query = query_of(address.path)
        patience = address.options.get("patience")
        self._patience_s = None if patience is None else seconds_in(patience, "patience")
        limit = bytes_in(address.options["inbox"], "inbox") if "inbox" in address.options else LIMIT_BYTES
        self._name, self._request = f"lsl:{address.path}", request
        self._streams: dict[str, LslStream] = {}
        self._known: set[str] = set()  # devices that were there once
        self._left_out: set[str] = set()  # connections (uid) that do not fit, or are gone
        self._wall_offset_s = time.time() - pylsl.local_clock()
        self._inbox = Inbox(request.folder / "inbox", request.mark_of(PARTITION), limit)
        self._was_full = False
        self._alone_since: float | None = None  # no stream is connected
        self._has_said_so = False
        self._next_look = 0.0
        self._resolver = pylsl.ContinuousResolver(pred=query, forget_after=_FORGET_AFTER_S)

    # ------------------------------------------------------------ what the fleet calls

    def poll(self, seconds: float) -> list[Message]:
        until = time.monotonic() + seconds
        while True:
            self._look()
            self._receive()
            messages = self._inbox.read(_AT_ONCE)
            left_s = until - time.monotonic()
            if messages or left_s <= 0:
                return messages
            time.sleep(min(_BETWEEN_PULLS_S, left_s))

    def settle(self, marks: Mapping[str, int]) -> None:
        if PARTITION in marks:
            self._inbox.settle(marks[PARTITION])

    @property
    def backlog(self) -> int:
        return self._inbox.backlog

    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()
        self._inbox.close()

    # ------------------------------------------------------------ rows

    def _receive(self) -> None:
        """Bring what has come to the disk; where that is full, the memory of liblsl is the only room left."""
        if self._inbox.is_full != self._was_full:
            self._was_full = self._inbox.is_full
            full = "is full; what is not read within 360 s will be lost (?inbox=SIZE gives it more room)"
            self._request.say(f"{self._name}: the inbox {full if self._was_full else 'has room again'}")
        if self._was_full:
            return
        now, arrivals = time.time(), []
        for stream in list(self._streams.values()):
            try:
                pulled = stream.pull()
            except RuntimeError:  # pylsl's LostError, which stands elsewhere from version to version
                self._lose(stream)
                continue
            if pulled is not None:
                payload, is_after_loss = pulled
                arrivals.append(Arrival(stream.device, payload, now, is_after_loss))
        self._inbox.append(arrivals)

    def _lose(self, stream: LslStream) -> None:
        stream.close()
        self._left_out.add(stream.uid)
        del self._streams[stream.device]
        self._request.say(f"{self._name}: the stream '{stream.device}' is gone; waiting for it")

    # ------------------------------------------------------------ streams

    def _look(self) -> None:
        """Connect to streams that are new, or there again."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _BETWEEN_LOOKS_S
        misfits: list[RecordingError] = []
        for found in sorted(self._resolver.results(), key=device_of):
            if found.uid() not in self._left_out:
                try:
                    self._connect(found)
                except RecordingError as error:
                    self._left_out.add(found.uid())
                    misfits.append(error)
        if misfits and not self._known:
            raise misfits[0]
        for misfit in misfits:
            self._request.say(f"{misfit}; it is left out")
        self._wait(now)

    def _connect(self, found: StreamInfo) -> None:
        device = device_of(found)
        if device in self._streams:
            if self._streams[device].uid != found.uid():
                raise RecordingError(f"there are two LSL streams '{device}'; give each outlet a source_id of its own")
            return
        request = self._request
        try:
            stream = LslStream(found, request.channels, request.rate, self._wall_offset_s, request.say)
        except RuntimeError:  # what pylsl raises: seen, and gone since; if it is not, the next look finds it again
            return
        again = " again" if device in self._known else ""
        request.say(f"{self._name}: the stream '{device}' is read{again} ({stream.about})")
        self._streams[device] = stream
        self._known.add(device)

    def _wait(self, now: float) -> None:
        """Say so when no stream has been there for a while; refuse to wait for longer than was asked for."""
        if self._streams or self._alone_since is None:
            self._alone_since, self._has_said_so = None if self._streams else now, False
            return
        alone_s = now - self._alone_since
        if alone_s > _SEARCH_S and not self._has_said_so:
            self._has_said_so = True
            self._request.say(f"{self._name}: no stream matches; waiting for one")
        if self._patience_s is not None and alone_s > self._patience_s:
            raise SourceLostError(
                f"{self._name}: no stream has matched for {self._patience_s:g} s (patience); start its outlet, then "
                "the same command again"
            )


def query_of(text: str) -> str:
    """What liblsl looks for: `imu` is a name, `type=EEG` a field, and anything with quotes a query of its own.

    >>> query_of("imu"), query_of("type=EEG"), query_of("name='imu' and type='IMU'")
    ("name='imu'", "type='EEG'", "name='imu' and type='IMU'")
    """
    if re.search(r"['\"]", text):
        return text
    field, has_value, value = text.partition("=")
    if not has_value:
        field, value = "name", text
    if not value:
        raise SettingError(f"lsl:{text}: expected the streams to read; write lsl:NAME, lsl:type=EEG or lsl:name='imu'")
    if field not in _FIELDS:
        hint = did_you_mean(field, _FIELDS, f"known are {', '.join(_FIELDS)}")
        raise SettingError(f"lsl:{text}: there is no field '{field}'; {hint}")
    return f"{field}='{value}'"


def _library() -> Any:
    try:
        import pylsl
    except (ImportError, RuntimeError):  # the second where liblsl itself is lacking
        raise MissingExtraError("a source lsl:", "pylsl", "lsl") from None
    return pylsl


FEED = FeedKind(
    name="lsl",
    address="lsl:QUERY",
    help="streams of the Lab Streaming Layer, such as lsl:type=EEG or lsl:name='imu', one each",
    schemes=("lsl",),
    open=LslFeed,
    order=30,
)
