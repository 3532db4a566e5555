"""LslFeed: all streams of the Lab Streaming Layer that match a query, each a device.

LSL keeps nothing. What is sent while Rondo or a sender is away is lost for good: the first message of a stream after
every connection is after a loss. What is in the inbox is safe; what lies in memory (up to a `poll`, and 360 s while
Rondo is busy) is not. A stream that does not fit the model is left out with a note; if none fits, the run is refused.
Times are those of the sender, brought to the clock of this machine and smoothed by liblsl, then to seconds since 1970:
the clock of LSL restarts with every machine, and times must not go back.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.data.signal import shortened
from rondo.errors import MissingExtraError, RecordingError, SettingError
from rondo.files.inputs import in_hertz, same_rate
from rondo.live.address import parse_address
from rondo.live.inbox import Arrival, InboxFeed
from rondo.live.rows import fit_by_position
from rondo.live.source import FeedKind, FeedRequest, Message
from rondo.wording import counted, did_you_mean

if TYPE_CHECKING:
    from pylsl import StreamInfo, StreamInlet

_OPTIONS = ("inbox", "patience")
_FIELDS = ("name", "type", "source_id", "hostname", "uid", "session_id")
_AT_ONCE = 500  # messages that are given at once
_BETWEEN_PULLS_S, _BETWEEN_LOOKS_S = 0.02, 0.5
_SEARCH_S = 2.0  # a stream that is there is found within this time
_FORGET_AFTER_S = 5.0  # a stream that answers no more


class LslFeed(InboxFeed):
    """Rows of the streams that match, by way of an inbox."""

    def __init__(self, where: str, request: FeedRequest) -> None:
        try:
            import pylsl
        except (ImportError, RuntimeError):  # the second where liblsl itself is lacking
            raise MissingExtraError("a source lsl:", "pylsl", "lsl") from None
        address = parse_address(
            f"lsl:///{where.partition(':')[2].removeprefix('//')}", ["lsl"], _OPTIONS, needs_host=False
        )
        query = query_of(address.path)
        super().__init__(f"lsl:{address.path}", request, address.options)
        self._streams: dict[str, LslStream] = {}
        self._known: set[str] = set()  # devices that were there once
        self._left_out: set[str] = set()  # connections (uid) that do not fit, or are gone
        self._wall_offset_s = time.time() - pylsl.local_clock()
        self._next_look = 0.0
        self._resolver = pylsl.ContinuousResolver(pred=query, forget_after=_FORGET_AFTER_S)

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

    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()
        self._inbox.close()

    def _receive(self) -> None:
        """Bring what has come to the disk; where that is full, the memory of liblsl is the only room left."""
        so = "; what is not read within 360 s will be lost (?inbox=SIZE gives it more room)"
        self._say_if_full(self._inbox.is_full, so)
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
        if self._streams:
            self._patience.reset("a stream matches again")
        else:
            self._patience.lose("no stream matches", _SEARCH_S)

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


FEED = FeedKind(
    name="lsl",
    address="lsl:QUERY",
    help="streams of the Lab Streaming Layer, such as lsl:type=EEG or lsl:name='imu', one each",
    schemes=("lsl",),
    open=LslFeed,
    order=30,
)


BUFFER_S = 360  # what liblsl keeps in memory for us while we are busy
_MOST_ROWS = 4096  # of one message
_OPEN_S = 5.0  # how long a stream that was seen is waited for


class LslStream:
    """A stream that is connected; `pull` raises a RuntimeError (pylsl's LostError) once it is gone.

    `wall_offset_s` are the seconds since 1970 at zero of the local LSL clock.
    """

    def __init__(
        self,
        found: StreamInfo,
        channels: Sequence[str],
        rate: float | None,
        wall_offset_s: float,
        say: Callable[[str], None],
    ) -> None:
        import pylsl

        self.device, self.uid = device_of(found), found.uid()
        name = f"the LSL stream '{self.device}'"
        flags = pylsl.proc_clocksync | pylsl.proc_dejitter | pylsl.proc_monotonize
        # Not recovered by liblsl itself: it would go on in silence, and what was missed would not be in the journal.
        self._inlet: StreamInlet = pylsl.StreamInlet(found, BUFFER_S, recover=False, processing_flags=flags)
        about = self._inlet.info(_OPEN_S)
        try:
            _refuse_rate(about, rate)
            labels = channel_labels(about)
            self._positions, note = chosen_channels(labels, about.channel_count(), channels)
        except RecordingError as error:
            raise RecordingError(f"{name}: {error}") from None
        if note:
            say(f"{name}: {note}")
        self._wall_offset_s = wall_offset_s
        self._most_waiting = int(BUFFER_S * about.nominal_srate())
        self._inlet.open_stream(_OPEN_S)
        self._is_after_loss = True  # nobody keeps what was sent before we were there
        self.about = f"{about.channel_count()} channels, {in_hertz(about.nominal_srate())}, host {about.hostname()}"

    def pull(self) -> tuple[bytes, bool] | None:
        """The rows that have come, as a packed payload, and whether some before them are lost; None without rows."""
        if self._inlet.samples_available() >= self._most_waiting:
            self._is_after_loss = True  # liblsl drops the oldest where its memory is full
        rows, times_s = self._inlet.pull_chunk(timeout=0.0, max_samples=_MOST_ROWS)
        if not len(times_s):
            return None
        values = np.asarray(rows, np.float64)[:, self._positions]
        payload = packed(np.asarray(times_s, np.float64) + self._wall_offset_s, values)
        is_after_loss, self._is_after_loss = self._is_after_loss, False
        return payload, is_after_loss

    def close(self) -> None:
        self._inlet.close_stream()


def device_of(found: StreamInfo) -> str:
    """What its sender calls it for good, else its name."""
    return str(found.source_id() or found.name() or found.uid())


def channel_labels(about: StreamInfo) -> list[str]:
    """What desc/channels/channel/label says; empty texts where there are none."""
    labels = []
    channel = about.desc().child("channels").child("channel")
    for _ in range(about.channel_count()):
        labels.append(str(channel.child_value("label")).strip())
        channel = channel.next_sibling("channel")
    return labels


def chosen_channels(labels: Sequence[str], n_channels: int, wanted: Sequence[str]) -> tuple[list[int], str]:
    """Where the channels of the model are, and a note on what was done; refused where some are lacking.

    >>> chosen_channels(["y", "x"], 2, ["x", "y"])
    ([1, 0], '')
    >>> chosen_channels(["x", "battery", "y"], 3, ["x", "y"])
    ([0, 2], "channels that the model does not have are left out: 'battery'")
    """
    place = {label: i for i, label in enumerate(labels) if label}
    if len(place) < n_channels:  # without names, or with names that do not tell channels apart
        if n_channels != len(wanted):
            raise RecordingError(
                f"it has {counted(n_channels, 'channel')} without names, expected {len(wanted)} ({shortened(wanted)}); "
                "name another stream, or let its outlet name its channels (desc/channels/channel/label)"
            )
        return list(range(n_channels)), f"channels without names taken by position as {shortened(wanted)}"
    if not set(wanted) <= set(place):
        return list(range(n_channels)), fit_by_position(labels, wanted)
    extra = [label for label in labels if label not in wanted]
    note = f"channels that the model does not have are left out: {shortened(extra)}" if extra else ""
    return [place[name] for name in wanted], note


def packed(times_s: NDArray[np.float64], values: NDArray[np.float64]) -> bytes:
    """Rows as the bytes of an .npy file, the times first.

    >>> np.load(io.BytesIO(packed(np.array([0.5]), np.array([[1.0, 2.0]])))).tolist()
    [[0.5, 1.0, 2.0]]
    """
    content = io.BytesIO()
    np.lib.format.write_array(content, np.column_stack([times_s, values]).astype("<f8"), allow_pickle=False)
    return content.getvalue()


def _refuse_rate(about: StreamInfo, rate: float | None) -> None:
    import pylsl

    other = "name another stream, such as lsl:type=EEG"
    own = about.nominal_srate()
    if about.channel_format() == pylsl.cf_string:
        raise RecordingError(f"it sends texts (markers), expected numbers; {other}")
    if own == pylsl.IRREGULAR_RATE:
        raise RecordingError(
            f"it has no regular rate, expected one; {other}, or give its outlet the nominal rate at which it sends"
        )
    if rate is not None and not same_rate(own, rate):
        raise RecordingError(
            f"it has {in_hertz(own)}, the model has {in_hertz(rate)}; name another stream, or use a model of its rate"
        )
