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
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.expected_memory import refuse_large_array
from rondo.formats.gt3x_records import PACKED, WORDS, Log, unpacked_12, walked
from rondo.formats.io_extra import kept_channels, refuse_another_format
from rondo.formats.recording_format import RecordingFormat
from rondo.wording import counted

CHANNELS = ("acc_x", "acc_y", "acc_z")
_SCALE_OF_SERIAL = {"NEO": 341.0, "CLE": 341.0, "MRA": 341.0, "MOS": 256.0, "TAS": 256.0}  # units per g
_SMALL_FILE = 1 << 20  # of the two texts in an archive
_BYTES_PER_FRAME = 4.5  # at least: three samples of 12 bits
_TICKS_PER_SECOND, _SECONDS_BEFORE_1970 = 10_000_000, 62_135_596_800  # of .NET, which counts from the year 1
_ROTATED = ("MOS", "1.6.0")  # this firmware turned the axes by a quarter about z


def read_gt3x(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The raw acceleration, in g."""
    with path.open("rb") as file:
        head = file.read(4)
    refuse_another_format(head, head == b"PK\x03\x04", "ActiGraph archive (.gt3x)")
    kept, notes = kept_channels(CHANNELS, label_columns)
    with zipfile.ZipFile(path) as archive:
        info = _info(archive)
        if "log.bin" in archive.namelist():
            _refuse_uncalibrated(archive)
            values, times, more = _from_log(walked(_content(archive, "log.bin")), info)
        elif "activity.bin" in archive.namelist():
            values, times, more = _from_activity(_content(archive, "activity.bin"), info)
        else:
            raise RecordingError("the archive holds no log.bin; expected what ActiLife downloads from a device")
    channels = [CHANNELS[place] for place in kept]
    if rate is not None:
        more += (f"the clock of the file left aside: the given rate of {rate:g} Hz is the clock",)
        return Recording(values[:, kept], rate, channels, path.stem, notes=notes + more)
    return Recording(values[:, kept], None, channels, path.stem, times, notes + more)


def _info(archive: zipfile.ZipFile) -> dict[str, str]:
    if "info.txt" not in archive.namelist():
        raise RecordingError("the archive holds no info.txt; expected what ActiLife downloads from a device")
    text = _small(archive, "info.txt").decode("utf-8-sig", "replace")
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _small(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        return file.read(_SMALL_FILE)


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """The member, if its frames fit into memory; zipfile gives no more bytes than the archive announces."""
    refuse_large_array(int(archive.getinfo(name).file_size / _BYTES_PER_FRAME), len(CHANNELS))
    return archive.read(name)


def _refuse_uncalibrated(archive: zipfile.ZipFile) -> None:
    if "calibration.json" in archive.namelist():
        about = json.loads(_small(archive, "calibration.json"))
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
    parts = [log.samples(kind) for kind in (PACKED, WORDS)]
    seconds = np.concatenate([part.seconds for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    if not counts.size:
        raise RecordingError("its log holds no activity records; expected raw acceleration")
    starts = np.append(0, np.cumsum(counts))
    every = np.concatenate([part.values for part in parts])
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
    if log.n_sleeps and asleep.any():
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


FORMAT = RecordingFormat(
    name="gt3x", suffixes=(".gt3x",), read=read_gt3x, help="ActiGraph: raw acceleration in g", order=3
)
