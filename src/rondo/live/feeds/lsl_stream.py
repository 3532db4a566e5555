"""LslStream: the rows of one stream of the Lab Streaming Layer, in the channels of the model and with wall-clock times.

A stream says how many channels it has, at which rate, and often what they are called; what does not fit the model is
refused before the first row. Times are those of the sender, brought to the clock of this machine and smoothed by liblsl
(clock synchronisation, dejittering, monotonic), and then to seconds since 1970: the clock of LSL begins again whenever
a machine starts, and times must not go back.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.data.signal import shortened
from rondo.errors import RecordingError
from rondo.files.inputs import in_hertz, same_rate
from rondo.live.row_reader import fit_by_position
from rondo.wording import counted

if TYPE_CHECKING:
    from pylsl import StreamInfo, StreamInlet

BUFFER_S = 360  # what liblsl keeps in memory for us while we are busy
_MOST_ROWS = 4096  # of one message
_OPEN_S = 5.0  # how long a stream that was seen is waited for


class LslStream:
    """A stream that is connected; `pull` raises a RuntimeError (pylsl's LostError) once it is gone.

    Parameters
    ----------
    found
        What the network says about it.
    channels, rate
        Of the model.
    wall_offset_s
        Seconds since 1970 at zero of the local LSL clock.
    say
        For a note on channels that go by position or are left out.
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

    own = about.nominal_srate()
    if about.channel_format() == pylsl.cf_string:
        raise RecordingError("it sends texts (markers), expected numbers; name another stream, such as lsl:type=EEG")
    if own == pylsl.IRREGULAR_RATE:
        raise RecordingError(
            "it has no regular rate, expected one; name another stream, such as lsl:type=EEG, or give its outlet the "
            "nominal rate at which it sends"
        )
    if rate is not None and not same_rate(own, rate):
        raise RecordingError(
            f"it has {in_hertz(own)}, the model has {in_hertz(rate)}; name another stream, or use a model of its rate"
        )
