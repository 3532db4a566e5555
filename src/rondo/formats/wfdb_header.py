"""Headers of WFDB records, as header(5) of the WFDB Applications Guide describes them (physionet.org).

    100 2 360 650000 0:0:0 0/0/0
    100.dat 212 200(1024)/mV 11 1024 995 -22131 0 MLII
    100.dat 212 200(1024)/mV 11 1024 1011 20052 0 V5

The record line holds the name, the number of signals, frames per second, frames, and when it was begun; each signal
line the file of its samples, their format (with samples per frame, skew and byte offset), gain, baseline and units,
bits and zero of the converter, the first sample, a checksum, a block size, and a description. All but the first two
fields of each may be absent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rondo.errors import RecordingError

_MOST_BYTES = 1 << 20  # a line has at most 255
_DEFAULT_RATE = 250.0  # frames per second
_DEFAULT_GAIN = 200.0  # units of the converter per physical unit, where it is absent or 0
_RECORD = re.compile(
    r"(?P<name>[^\s/]+)(/(?P<segments>\d+))?\s+(?P<signals>\d+)"
    r"(\s+(?P<rate>[\d.eE+-]+)(/\S*)?(\s+(?P<frames>\d+)(\s+(?P<time>[\d:.]+)(\s+(?P<date>\d+/\d+/\d+))?)?)?)?\s*"
)
_SIGNAL = re.compile(
    r"(?P<file>\S+)\s+(?P<format>\d+)(x(?P<per_frame>\d+))?(:(?P<skew>\d+))?(\+(?P<offset>\d+))?"
    r"(\s+(?P<gain>[\d.eE+-]+)(\((?P<baseline>-?\d+)\))?(/(?P<units>\S+))?"
    r"(\s+\d+(\s+(?P<zero>-?\d+)(\s+(?P<first>-?\d+)(\s+(?P<checksum>-?\d+)(\s+\d+(\s+(?P<text>.*))?)?)?)?)?)?)?\s*"
)


@dataclass(frozen=True)
class SignalLine:
    """One signal: where its samples are, how they are written, and what they mean."""

    file: str
    format: int
    per_frame: int = 1  # samples
    skew: int = 0  # frames that precede frame 0
    offset: int = 0  # bytes before the samples
    gain: float = _DEFAULT_GAIN
    baseline: int = 0
    first: int = 0  # where differences are stored
    checksum: int | None = None
    text: str = ""


@dataclass(frozen=True)
class RecordHeader:
    """A record of one segment."""

    rate: float  # frames per second
    n_frames: int | None
    began_s: float | None  # since 1970, by the clock of the place where it was recorded
    signals: tuple[SignalLine, ...]
    ends_within_a_line: bool


def read_header(path: Path) -> RecordHeader:
    """The header; records of several segments and damaged lines are refused."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES or b"\0" in content:
        raise RecordingError("it is no WFDB header: expected a short text with a record line and a line per signal")
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    record = _RECORD.fullmatch(lines[0]) if lines else None
    if record is None:
        found = repr(lines[0][:40]) if lines else "no line"
        raise RecordingError(
            f"it is no WFDB header: expected '<record> <signals> <rate> <frames>' first, found {found}"
        )
    if record["segments"] is not None:
        raise RecordingError(
            f"it is a record of {record['segments']} segments, each with a header of its own; read those instead"
        )
    n_signals = int(record["signals"])
    if n_signals != len(lines) - 1 or not n_signals:
        raise RecordingError(f"its record line announces {n_signals} signals, {len(lines) - 1} lines follow")
    n_frames = int(record["frames"] or 0) or None
    rate = float(record["rate"] or _DEFAULT_RATE)
    began_s, signals = _began(record["time"], record["date"]), tuple(map(_signal, lines[1:]))
    return RecordHeader(rate, n_frames, began_s, signals, not content.endswith(b"\n"))


def _signal(line: str) -> SignalLine:
    found = _SIGNAL.fullmatch(line)
    if found is None:
        raise RecordingError(f"its line {line[:60]!r} is not that of a signal; expected '<file> <format> <gain> …'")
    zero = int(found["zero"] or 0)
    per_frame = int(found["per_frame"] or 1)
    if per_frame < 1:
        raise RecordingError(f"its line {line[:60]!r} has no samples per frame; it is damaged")
    return SignalLine(
        found["file"],
        int(found["format"]),
        per_frame,
        int(found["skew"] or 0),
        int(found["offset"] or 0),
        float(found["gain"] or 0) or _DEFAULT_GAIN,
        zero if found["baseline"] is None else int(found["baseline"]),
        zero if found["first"] is None else int(found["first"]),
        None if found["checksum"] is None else int(found["checksum"]),
        found["text"] or "",
    )


def _began(time: str | None, date: str | None) -> float | None:
    """Seconds since 1970, where both are known; `0:0:0 0/0/0` says nothing."""
    if time is None or date is None:
        return None
    day, month, year = map(int, date.split("/"))
    clock = [float(part) for part in time.split(":")]
    hours, minutes, seconds = [0.0] * (3 - len(clock)) + clock
    try:
        midnight = datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return midnight + 3600 * hours + 60 * minutes + seconds
