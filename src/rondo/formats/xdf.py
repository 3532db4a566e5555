"""XDF: streams of Lab Streaming Layer, read with pyxdf (extra `io`).

One stream is one recording. Streams of markers, of text, or without a rate hold events and never become channels. The
time stamps are the clock, in seconds of the recording computer: where a stream was silent, they jump.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import kept_channels
from rondo.files.extras import clocked, distinct_names, marked_head, optional_library
from rondo.files.reading import Reading, RecordingFormat, listed

GAP_S = 1.0
"""A longer silence is a gap, over which time stamps are not straightened. pyxdf's own rule adds "and 500 frames", so
that 10 s of silence in a stream of 50 Hz would vanish; late packets are late by less than a second."""


def read_xdf(path: Path, reading: Reading) -> Recording:
    """The stream called `key`, or the only one that holds a signal."""
    marked_head(path, 8, lambda head: head.startswith(b"XDF:"), "XDF file")
    pyxdf = optional_library("pyxdf", "Reading .xdf")
    logger = logging.getLogger("pyxdf")  # its remarks on the way; what is wrong with a file becomes an error anyway
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        streams = pyxdf.resolve_streams(str(path))
        chosen = _chosen(streams, reading.key)
        (stream,), _ = pyxdf.load_xdf(
            str(path),
            select_streams=[chosen["stream_id"]],
            jitter_break_threshold_seconds=GAP_S,
            jitter_break_threshold_samples=1,
        )
    finally:
        logger.setLevel(before)
    values = np.asarray(stream["time_series"])
    if not len(values):
        raise RecordingError(f"the stream '{chosen['name']}' holds no frames")
    names = distinct_names(_labels(stream["info"], values.shape[1]))
    kept, notes = kept_channels(names, reading)
    others = [f"'{other['name']}'" for other in streams if other is not chosen]
    notes += (f"other streams left out: {listed(others)}",) if others else ()
    times, channels = np.asarray(stream["time_stamps"], dtype=np.float64), [names[index] for index in kept]
    return clocked(values[:, kept], times, channels, path.stem, reading, notes, "time stamps")


def _chosen(streams: Sequence[dict[str, Any]], key: str | None) -> dict[str, Any]:
    timed = [one for one in streams if one["channel_format"] != "string" and float(one["nominal_srate"]) > 0]
    signals = [stream for stream in timed if "marker" not in str(stream["type"]).casefold()]
    named = signals if key is None else [stream for stream in signals if stream["name"] == key]
    if len(named) == 1:
        return named[0]
    names = listed([f"'{stream['name']}'" for stream in signals])
    if not signals:
        found = listed([f"'{stream['name']}'" for stream in streams])
        raise RecordingError(f"no stream holds a signal with a rate, only events: {found}")
    if not named:
        raise RecordingError(f"there is no stream '{key}' with a signal; it has {names}; name one with the key (--key)")
    what = f"{len(named)} streams are called '{key}'" if key is not None else f"it has {len(named)} streams"
    raise RecordingError(f"{what} ({names}); name one with the key (--key NAME)")


def _labels(info: dict[str, Any], count: int) -> list[str]:
    """Labels from the description that a device may send, or none."""
    try:
        channels = info["desc"][0]["channels"][0]["channel"]
        labels = [str(channel["label"][0]) for channel in channels]
    except (KeyError, IndexError, TypeError):
        labels = []
    return labels if len(labels) == count else [""] * count


FORMAT = RecordingFormat(
    name="xdf",
    suffixes=(".xdf",),
    read=read_xdf,
    takes_key=True,
    extra="io",
    help="one stream, the only one or the one named by `--key`",
    order=7,
)
