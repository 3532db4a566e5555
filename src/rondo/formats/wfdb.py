"""WFDB, the records of PhysioNet: a header (`100.hea`) and the files of samples that it names (`100.dat`).

Read as header(5) and signal(5) of the WFDB Applications Guide (physionet.org) describe them: the package `wfdb` needs
aiohttp, requests, matplotlib and a library of sounds. Signals that share a file and a rate are interleaved frame by
frame. A sample is (number - baseline) / gain in physical units, NaN where its format says that it is missing; skewed
signals are brought into line. The clock is the rate, from the start that the header names, if it names one. Nothing is
read but files directly in the folder of the header. Annotations (`100.atr`) are labels and never read.

    100 2 360 650000 0:0:0 0/0/0                          record, signals, frames per second, frames, begin
    100.dat 212 200(1024)/mV 11 1024 995 -22131 0 MLII    file, format, gain(baseline)/units, bits, zero,
    100.dat 212 200(1024)/mV 11 1024 1011 20052 0 V5      first sample, checksum, block size, description
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import kept_channels
from rondo.files.extras import distinct_names, of_one_rate
from rondo.files.reading import Reading, RecordingFormat
from rondo.formats.edf import EVENT_LABELS
from rondo.memory import ExpectedSize, refuse_large_array
from rondo.store.reading import open_regular

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
    rate: float  # frames per second
    n_frames: int | None
    began_s: float | None  # since 1970, by the clock of the place where it was recorded
    signals: tuple[SignalLine, ...]
    ends_within_a_line: bool


def read_header(path: Path) -> RecordHeader:
    """The header; records of several segments and damaged lines are refused."""
    with open_regular(path) as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES or b"\0" in content:
        raise RecordingError("it is no WFDB header: expected a short text with a record line and a line per signal")
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    record = _RECORD.fullmatch(lines[0]) if lines else None
    if record is None:
        there = repr(lines[0][:40]) if lines else "no line"
        raise RecordingError(
            f"it is no WFDB header: expected '<record> <signals> <rate> <frames>' first, found {there}"
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
    zero, per_frame = int(found["zero"] or 0), int(found["per_frame"] or 1)
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


Samples = NDArray[np.int32]
_Bytes = NDArray[np.uint8]


class _Packing(NamedTuple):
    """A group of `samples` in so many bytes, the first of which end after `partly` bytes; `missing` stands for none."""

    samples: int
    n_group_bytes: int
    missing: int | None
    unpack: Callable[[_Bytes], Samples]
    partly: tuple[int, ...] = ()

    def n_bytes(self, n_samples: int) -> int:
        """That so many samples take at least, the last ones perhaps in part of what several share."""
        whole, rest = divmod(n_samples, self.samples)
        return whole * self.n_group_bytes + (self.partly[rest - 1] if rest else 0)

    def n_samples(self, n_bytes: int) -> int:
        whole, rest = divmod(n_bytes, self.n_group_bytes)
        return whole * self.samples + sum(rest >= stop for stop in self.partly)

    def unpacked(self, content: bytes) -> Samples:
        """All samples in these bytes, perhaps with some of zeros at the end where the last group is not whole."""
        padded = content + bytes(-len(content) % self.n_group_bytes)
        return self.unpack(np.frombuffer(padded, np.uint8).reshape(-1, self.n_group_bytes))


def _packing(format: int) -> _Packing:
    packing = _PACKINGS.get(format)
    if packing is None:
        what = "compressed by FLAC" if format in (508, 516, 524) else "unknown"
        raise RecordingError(
            f"its samples are of format {format} ({what}); expected one of {', '.join(map(str, _PACKINGS))}: convert "
            "the record, as with `xform -i RECORD -n NEW -O 16` of the WFDB software"
        )
    return packing


def _signed(values: Samples, bits: int) -> Samples:
    shift = 32 - bits
    return (values << shift) >> shift


def _numbers(dtype: str, subtract: int = 0) -> Callable[[_Bytes], Samples]:
    return lambda rows: np.ascontiguousarray(rows).view(dtype).ravel().astype(np.int32) - np.int32(subtract)


def _unpack_24(rows: _Bytes) -> Samples:
    low, middle, high = rows.astype(np.int32).T
    return _signed(low | middle << 8 | high << 16, 24)


def _unpack_212(rows: _Bytes) -> Samples:
    low, both, high = rows.astype(np.int32).T  # the low nibble of `both` belongs to the first sample
    return _signed(np.stack([low | (both & 15) << 8, high | (both >> 4) << 8], axis=1).ravel(), 12)


def _unpack_310(rows: _Bytes) -> Samples:
    first, second = np.ascontiguousarray(rows).view("<u2").astype(np.int32).T
    return _signed(np.stack([first >> 1, second >> 1, first >> 11 | (second >> 11) << 5], axis=1).ravel(), 10)


def _unpack_311(rows: _Bytes) -> Samples:
    words = np.ascontiguousarray(rows).view("<u4").ravel()
    return _signed(np.stack([(words >> shift).astype(np.int32) for shift in (0, 10, 20)], axis=1).ravel(), 10)


_PACKINGS = {
    8: _Packing(1, 1, None, _numbers("i1")),  # a difference to the sample before
    16: _Packing(1, 2, -(2**15), _numbers("<i2")),
    24: _Packing(1, 3, -(2**23), _unpack_24),
    32: _Packing(1, 4, -(2**31), _numbers("<i4")),
    61: _Packing(1, 2, -(2**15), _numbers(">i2")),  # the high byte first
    80: _Packing(1, 1, -(2**7), _numbers("u1", 2**7)),
    160: _Packing(1, 2, -(2**15), _numbers("<u2", 2**15)),
    212: _Packing(2, 3, -(2**11), _unpack_212, (2,)),
    310: _Packing(3, 4, -(2**9), _unpack_310, (2, 4)),
    311: _Packing(3, 4, -(2**9), _unpack_311, (2, 3)),
}


_NO_FILE = "~"  # of signals that a layout has, and this segment has not


def read_wfdb(path: Path, reading: Reading) -> Recording:
    """The signals of one rate; the others have to be left out, or `rate` says which are meant."""
    header = read_header(path)
    names = distinct_names([signal.text for signal in header.signals])
    absent = {index: "has no samples" for index, signal in enumerate(header.signals) if signal.file == _NO_FILE}
    absent |= {index: "holds events" for index, signal in enumerate(header.signals) if signal.text in EVENT_LABELS}
    present = [index for index in range(len(names)) if index not in absent]
    if not present:
        raise RecordingError("none of its signals has samples; expected at least one")
    chosen, notes = kept_channels([names[index] for index in present], reading)
    kept = [present[index] for index in chosen]
    rates = {index: header.rate * header.signals[index].per_frame for index in kept}
    kept, rate, more = of_one_rate(kept, rates, names, reading.rate)
    values, wrong = _values(path, header, kept)
    notes += more + (("its header ends within a line: it may be cut short",) if header.ends_within_a_line else ())
    notes += tuple(f"channel '{names[index]}' left out: it {why}" for index, why in absent.items())
    notes += tuple(f"channel '{names[index]}': its checksum is another; the file may be damaged" for index in wrong)
    channels, times = [names[index] for index in kept], None
    if header.began_s is not None and reading.rate is None:
        times = header.began_s + np.arange(len(values)) / rate
    return Recording(values, rate, channels, path.stem, times, notes)


def expected_size(path: Path, reading: Reading) -> ExpectedSize:
    """Frames of the fastest signal, and signals, by the header and the sizes of the files that it names."""
    header = read_header(path)
    signals = [signal for signal in header.signals if signal.file != _NO_FILE]
    n_frames = header.n_frames or _frames_there(_data_file(path, signals[:1]), signals)
    return ExpectedSize.of_table(n_frames * max(signal.per_frame for signal in signals), len(signals))


def _values(path: Path, header: RecordHeader, kept: Sequence[int]) -> tuple[NDArray[np.float32], list[int]]:
    """The kept signals in physical units, and which of them have another checksum than the header says."""
    groups: dict[Path, list[tuple[int, SignalLine]]] = {}  # the signals of each file, in the order of its samples
    for name, group in groupby(enumerate(header.signals), lambda item: item[1].file):
        members = list(group)
        if name == _NO_FILE or not any(index in kept for index, _ in members):
            continue
        file = _data_file(path, [signal for _, signal in members])
        if file in groups:
            raise RecordingError("signals of one file do not follow each other in it; the header is damaged")
        groups[file] = members
    there = {file: _frames_there(file, [signal for _, signal in members]) for file, members in groups.items()}
    shortest = min(there, key=there.__getitem__)
    n_frames = there[shortest] if header.n_frames is None else header.n_frames
    if there[shortest] < n_frames:
        raise RecordingError(f"'{shortest.name}' is truncated: {there[shortest]} of {n_frames} frames are there")
    per_frame = header.signals[kept[0]].per_frame
    refuse_large_array(n_frames * per_frame, len(kept))
    values = np.empty((n_frames * per_frame, len(kept)), np.float32)
    wrong = []
    for file, members in groups.items():
        packing, width = _packing(members[0][1].format), sum(signal.per_frame for _, signal in members)
        with open_regular(file) as opened:
            opened.seek(members[0][1].offset)
            content = opened.read(packing.n_bytes(n_frames * width))
        frames = packing.unpacked(content)[: n_frames * width].reshape(n_frames, width)
        stop = 0
        for index, signal in members:
            start, stop = stop, stop + signal.per_frame
            if index in kept:
                samples = frames[:, start:stop].reshape(-1)
                if signal.format == 8:
                    samples = signal.first + np.cumsum(samples, dtype=np.int32)
                values[:, kept.index(index)] = _physical(samples, signal, packing.missing)
                # The header has 16 bits of the sum of the samples; 0 may mean unknown.
                if signal.checksum and (int(samples.sum(dtype=np.int64)) - signal.checksum) % 2**16:
                    wrong.append(index)
    return values, sorted(wrong)


def _data_file(path: Path, group: Sequence[SignalLine]) -> Path:
    """The file of some signals: one of the header's own folder, and no link to elsewhere."""
    name = group[0].file
    if any(sign in name for sign in "/\\:") or name in (".", ".."):
        raise RecordingError(f"it names the file {name!r}; only files in its own folder are read: put it there")
    file = path.parent / name
    if not file.exists():
        raise RecordingError(f"its samples are in '{name}', which is not in the same folder; put it there")
    if file.resolve().parent != path.parent.resolve() or not file.is_file():
        raise RecordingError(
            f"'{name}' is no file of the same folder, but a link to elsewhere; put the file itself there"
        )
    if len({(signal.format, signal.offset) for signal in group}) > 1:
        raise RecordingError(f"signals in '{name}' have different formats or offsets; the header is damaged")
    return file


def _frames_there(file: Path, group: Sequence[SignalLine]) -> int:
    size = max(0, file.stat().st_size - group[0].offset)
    return _packing(group[0].format).n_samples(size) // sum(signal.per_frame for signal in group)


def _physical(samples: Samples, signal: SignalLine, missing: int | None) -> NDArray[np.float64]:
    physical = (samples.astype(np.float64) - signal.baseline) / signal.gain
    if missing is not None:
        physical[samples == missing] = np.nan
    n_before = min(signal.skew * signal.per_frame, physical.size)
    return np.concatenate([physical[n_before:], np.full(n_before, np.nan)]) if n_before else physical


FORMAT = RecordingFormat(
    name="wfdb",
    suffixes=(".hea",),
    read=read_wfdb,
    expected_size=expected_size,
    companions={".dat": "the samples of a WFDB record; name its header"},
    help="WFDB (PhysioNet): signals of one rate, from the `.dat` in the same folder",
    order=3,
)
