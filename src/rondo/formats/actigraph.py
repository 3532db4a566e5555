"""ActiGraph's .gt3x: raw acceleration, read from the maker's description (github.com/actigraph/GT3X-File-Format).

A zip archive with `info.txt` (lines "Sample Rate: 30") and `log.bin`, records one after the other: 1E, the type,
seconds since 1970 (4 bytes), the size of the payload (2 bytes), the payload, and a checksum that makes the exclusive or
of all bytes FF. Record 0 holds a second of samples of 12 bits in the order y, x, z, the high bits first; record 26 a
second of 16-bit numbers in the order x, y, z; record 21 parameters, among them the scale. Zeros may lie between
records. Samples are divided by the scale, which gives g, and not rounded to three digits as ActiLife does.

Where idle sleep mode was on, the device stored nothing while it lay still: that is a gap in the clock. The clock is
that of the place where the device was set up, in seconds since 1970. Light, heart rate and epochs have other rates and
are not read. Devices of firmware 2.5 and before store `activity.bin` instead, samples of 12 bits from "Start Date" on
(github.com/actigraph/NHANES-GT3X-File-Format).

An .agd is a database of SQLite with one row per epoch: the table `data` has `dataTimestamp`, in ticks of 100 ns since
the year 1 by the clock of the place, and a column for each count (`axis1`, `steps`, `lux`, …), as the ActiLife 6 User's
Manual describes it and actigraph.sleepr, PhysicalActivity and pyActigraphy read it. Only `data` is read, and only
if it is a table: a view could compute anything.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zipfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import kept_channels
from rondo.files.extras import clocked, marked_head
from rondo.files.reading import Reading, RecordingFormat
from rondo.memory import refuse_large_array
from rondo.store.reading import open_regular
from rondo.wording import counted, noun

_PACKED, _WORDS = 0, 26  # records of a second: samples of 12 bits in the order y, x, z; of 16 bits in the order x, y, z
_EVENT, _PARAMETERS = 3, 21
_FALLS_ASLEEP = b"\x08"
_SCALE = (0, 55)  # address space and identifier of ACCEL_SCALE
_MARK = 0x1E
_HEADER = struct.Struct("<BBIH")  # mark, type, seconds, size of the payload
_LEAST_PAYLOAD = 6  # shorter ones say that a cable was plugged in
_Bytes = NDArray[np.uint8]
_Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Log:
    """Where the payloads of sound records lie."""

    content: _Bytes
    kinds: _Whole
    seconds: _Whole
    starts: _Whole  # of payloads
    sizes: _Whole
    n_damaged: int
    n_lost_bytes: int

    @property
    def slept(self) -> bool:
        """Whether the device fell asleep because it lay still."""
        return _FALLS_ASLEEP in self._payloads(_EVENT)

    def scale(self) -> float | None:
        """Units per g, where parameters tell it."""
        for payload in self._payloads(_PARAMETERS):
            for space, identifier, value in struct.iter_unpack("<HHI", payload[: len(payload) // 8 * 8]):
                if (space, identifier) == _SCALE:
                    fraction, exponent = value & 0xFFFFFF, value >> 24  # of 24 and 8 bits, both with a sign
                    fraction -= (fraction & 0x800000) << 1
                    exponent -= (exponent & 0x80) << 1
                    return float(fraction / 2**23 * 2.0**exponent)
        return None

    def samples(self) -> tuple[_Whole, _Whole, NDArray[np.int16]]:
        """The second and the number of samples of each record, and all samples (n_samples, 3) one after the other."""
        empty = np.empty(0, np.int64)
        seconds, counts, values = [empty], [empty], [np.empty((0, 3), np.int16)]
        for kind in (_PACKED, _WORDS):
            chosen = np.flatnonzero((self.kinds == kind) & (self.sizes >= _LEAST_PAYLOAD))
            for size in np.unique(self.sizes[chosen]).tolist():
                records = chosen[self.sizes[chosen] == size]
                payloads = np.lib.stride_tricks.sliding_window_view(self.content, size)[self.starts[records]]
                if kind == _PACKED:
                    samples = unpacked_12(payloads)
                else:
                    words = np.ascontiguousarray(payloads[:, : size // 6 * 6]).view("<i2")
                    samples = words.astype(np.int16, copy=False).reshape(len(payloads), -1, 3)
                seconds.append(self.seconds[records])
                counts.append(np.full(records.size, samples.shape[1]))
                values.append(samples.reshape(-1, 3))
        return np.concatenate(seconds), np.concatenate(counts), np.concatenate(values)

    def notes(self) -> tuple[str, ...]:
        """What was wrong with the log."""
        damaged = (
            f"{counted(self.n_damaged, 'record')} {noun(self.n_damaged, 'has', 'have')} a wrong checksum: left out"
        )
        lost = f"{counted(self.n_lost_bytes, 'byte')} of its log belong to no whole record: left out"
        return ((damaged,) if self.n_damaged else ()) + ((lost,) if self.n_lost_bytes else ())

    def _payloads(self, kind: int) -> list[bytes]:
        records = np.flatnonzero(self.kinds == kind)
        spans = zip(self.starts[records], self.starts[records] + self.sizes[records], strict=True)
        return [self.content[start:stop].tobytes() for start, stop in spans]


def walked(content: bytes) -> Log:
    """The records, each found from the size of the one before; after a damaged place, at the next sound record."""
    heads: list[tuple[int, int, int, int]] = []  # kind, second, start, size
    place, lost, is_sure = 0, 0, True
    while place + _HEADER.size < len(content):
        mark, kind, second, size = _HEADER.unpack_from(content, place)
        stop = place + _HEADER.size + size + 1
        if (
            mark == _MARK
            and stop <= len(content)
            and (is_sure or np.bitwise_xor.reduce(np.frombuffer(content[place:stop], np.uint8)) == 0xFF)
        ):
            heads.append((kind, second, place + _HEADER.size, size))
            place, is_sure = stop, content[stop : stop + 1] in (b"", bytes([_MARK]))
            continue
        mark_at = content.find(_MARK, place + 1)
        following = mark_at if mark_at >= 0 else len(content)
        skipped = content[place:following]
        lost += len(skipped) if skipped.strip(b"\0") else 0  # zeros may lie between records
        place, is_sure = following, False
    lost += len(content) - place if content[place:].strip(b"\0") else 0
    kinds, seconds, starts, sizes = np.array(heads, np.int64).reshape(-1, 4).T
    every = np.frombuffer(content, np.uint8)
    sound = np.zeros(starts.size, np.bool_)
    for size in np.unique(sizes).tolist():
        same = np.flatnonzero(sizes == size)
        records = np.lib.stride_tricks.sliding_window_view(every, _HEADER.size + size + 1)
        sound[same] = np.bitwise_xor.reduce(records[starts[same] - _HEADER.size], axis=1) == 0xFF
    return Log(every, kinds[sound], seconds[sound], starts[sound], sizes[sound], int((~sound).sum()), lost)


def unpacked_12(payloads: _Bytes) -> NDArray[np.int16]:
    """Samples of 12 bits, (n_records, n_samples, 3) in the order x, y, z; bits that fill no sample are left out.

    >>> example = bytes.fromhex("006008EBD007009EBF007008EBF0")  # of the description
    >>> unpacked_12(np.frombuffer(example, np.uint8)[None]).tolist()
    [[[8, 6, -323], [9, 7, -321], [8, 7, -321]]]
    """
    n_samples = payloads.shape[1] * 8 // 36
    whole = np.pad(payloads, ((0, 0), (0, -payloads.shape[1] % 3))).astype(np.uint16)
    high, both, low = (whole[:, place::3] for place in range(3))
    numbers = np.stack([high << 4 | both >> 4, (both & 15) << 8 | low], axis=2).reshape(len(payloads), -1)
    signed = (numbers << 4).view(np.int16) >> 4
    return signed[:, : 3 * n_samples].reshape(len(payloads), n_samples, 3)[:, :, [1, 0, 2]]


CHANNELS = ("acc_x", "acc_y", "acc_z")
_SCALE_OF_SERIAL = {"NEO": 341.0, "CLE": 341.0, "MRA": 341.0, "MOS": 256.0, "TAS": 256.0}  # units per g
_SMALL_FILE = 1 << 20  # of the two texts in an archive
_BYTES_PER_FRAME = 4.5  # at least: three samples of 12 bits
_TICKS_PER_SECOND, _SECONDS_BEFORE_1970 = 10_000_000, 62_135_596_800  # of .NET, which counts from the year 1
_ROTATED = ("MOS", "1.6.0")  # this firmware turned the axes by a quarter about z


def read_gt3x(path: Path, reading: Reading) -> Recording:
    """The raw acceleration, in g."""
    marked_head(path, 4, lambda head: head == b"PK\x03\x04", "ActiGraph archive (.gt3x)")
    kept, notes = kept_channels(CHANNELS, reading)
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        info = _info(archive)
        if "log.bin" in archive.namelist():
            _refuse_uncalibrated(archive)
            values, times, more = _from_log(walked(_content(archive, "log.bin")), info)
        elif "activity.bin" in archive.namelist():
            values, times, more = _from_activity(_content(archive, "activity.bin"), info)
        else:
            raise RecordingError("the archive holds no log.bin; expected what ActiLife downloads from a device")
    channels = [CHANNELS[index] for index in kept]
    return clocked(values[:, kept], times, channels, path.stem, reading, notes + more, "the clock of the file")


def _info(archive: zipfile.ZipFile) -> dict[str, str]:
    if "info.txt" not in archive.namelist():
        raise RecordingError("the archive holds no info.txt; expected what ActiLife downloads from a device")
    with archive.open("info.txt") as file:
        text = file.read(_SMALL_FILE).decode("utf-8-sig", "replace")
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """The member, if its frames fit into memory; zipfile gives no more bytes than the archive announces."""
    refuse_large_array(int(archive.getinfo(name).file_size / _BYTES_PER_FRAME), len(CHANNELS))
    return archive.read(name)


def _refuse_uncalibrated(archive: zipfile.ZipFile) -> None:
    if "calibration.json" not in archive.namelist():
        return
    with archive.open("calibration.json") as file:
        about = json.loads(file.read(_SMALL_FILE))
    if isinstance(about, dict) and about.get("isCalibrated") is False:
        raise RecordingError(
            "its samples are not calibrated (calibration.json); export it as csv with ActiGraph's software, or "
            "with the package pygt3x"
        )


def _hertz(info: Mapping[str, str]) -> float:
    try:
        hertz = float(info["Sample Rate"])
    except (KeyError, ValueError):
        hertz = 0.0
    if not 1 <= hertz <= 1000:
        raise RecordingError(
            f"its info.txt gives no usable 'Sample Rate' ({info.get('Sample Rate', 'none')}); expected Hz"
        )
    return hertz


def _scale(info: Mapping[str, str], log: Log | None = None) -> float:
    """Units per g: of the parameters in the log, of info.txt, or of the kind of device."""
    said = info.get("Acceleration Scale", "0").replace(",", ".")
    scale = (log.scale() if log is not None else None) or float(said)
    scale = scale or _SCALE_OF_SERIAL.get(info.get("Serial Number", "")[:3], 0.0)
    if not (np.isfinite(scale) and scale > 0):
        raise RecordingError(
            f"nothing in it tells the scale of its samples (serial number {info.get('Serial Number')})"
        )
    return scale


def _from_log(log: Log, info: Mapping[str, str]) -> tuple[NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
    """One second of samples per record, in the order of time; where a second comes again, its first record counts."""
    hertz, scale = _hertz(info), _scale(info, log)
    seconds, counts, every = log.samples()
    if not counts.size:
        raise RecordingError("its log holds no activity records; expected raw acceleration")
    starts = np.append(0, np.cumsum(counts))
    _, chosen = np.unique(seconds, return_index=True)
    n_frames = int(counts[chosen].sum())
    first = np.repeat(starts[chosen] - np.append(0, np.cumsum(counts[chosen])[:-1]), counts[chosen])
    rows = first + np.arange(n_frames)
    within = rows - np.repeat(starts[chosen], counts[chosen])
    per_second = np.repeat(np.maximum(counts[chosen], hertz), counts[chosen])  # a record may hold a sample too many
    times = np.repeat(seconds[chosen], counts[chosen]) + within / per_second
    values = (every[rows] / scale).astype(np.float32)
    notes = log.notes()
    if chosen.size < counts.size:
        notes += (f"{counted(counts.size - chosen.size, 'record')} of a second that came before left out",)
    asleep = np.diff(seconds[chosen]) - 1
    if log.slept and asleep.any():
        notes += (f"idle sleep mode: {counted(int((asleep > 0).sum()), 'gap')}, {int(asleep.sum())} s in all",)
    if (info.get("Serial Number", "")[:3], info.get("Firmware")) == _ROTATED:
        values = np.stack([values[:, 1], -values[:, 0], values[:, 2]], axis=1)
        notes += ("axes x and y turned back: firmware 1.6.0 stored them turned by a quarter",)
    return values, times, notes


def _from_activity(
    content: bytes, info: Mapping[str, str]
) -> tuple[NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
    """Samples without records, as old firmware stored them."""
    samples = unpacked_12(np.frombuffer(content, np.uint8)[None])
    values = (samples[0] / _scale(info)).astype(np.float32)
    began_s = int(info.get("Start Date", "0")) / _TICKS_PER_SECOND - _SECONDS_BEFORE_1970
    return values, began_s + np.arange(len(values)) / _hertz(info), ()


GT3X = RecordingFormat(
    name="gt3x", suffixes=(".gt3x",), read=read_gt3x, help="ActiGraph: raw acceleration in g", order=3
)


_CLOCK = "dataTimestamp"
_ROWS_AT_ONCE = 1 << 14


def read_agd(path: Path, reading: Reading) -> Recording:
    """The counts of every epoch."""
    marked_head(path, 16, lambda head: head.startswith(b"SQLite format 3"), "ActiGraph database (.agd)")
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as database:
        database.execute("PRAGMA trusted_schema = OFF")
        kind = database.execute("SELECT type FROM sqlite_master WHERE name = 'data'").fetchone()
        if kind != ("table",):
            raise RecordingError(
                "it holds no table 'data'; expected the epochs of an ActiGraph, as ActiLife writes them"
            )
        asked = database.execute("SELECT * FROM data")
        names = [about[0] for about in asked.description]
        if _CLOCK not in names:
            raise RecordingError(f"its table 'data' has no column '{_CLOCK}'; expected the epochs of an ActiGraph")
        parts = [np.empty((0, len(names)))]
        while rows := asked.fetchmany(_ROWS_AT_ONCE):  # rows of Python take ten times as much memory
            parts.append(np.array(rows, dtype=np.float64))
    table = np.concatenate(parts)
    if not len(table):
        raise RecordingError("its table 'data' is empty")
    counts = [name for name in names if name != _CLOCK]
    kept, notes = kept_channels(counts, reading)
    channels = [counts[index] for index in kept]
    clock = table[:, names.index(_CLOCK)]
    order = np.argsort(clock, kind="stable") if reading.rate is None else np.arange(len(clock))
    values = table[order][:, [names.index(name) for name in channels]]
    times = clock[order] / _TICKS_PER_SECOND - _SECONDS_BEFORE_1970
    return clocked(values, times, channels, path.stem, reading, notes, _CLOCK)


AGD = RecordingFormat(
    name="agd", suffixes=(".agd",), read=read_agd, help="ActiGraph: the counts of every epoch", order=3
)
