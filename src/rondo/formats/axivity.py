"""Axivity's .cwa (AX3, AX6), read from Open Movement's description (Docs/ax3/ax3-technical.md of its repository).

A header of 1024 bytes ("MD"), then blocks of 512 bytes ("AX"): 30 bytes about the block, 480 of samples, and a checksum
that makes the sum of all 16-bit words 0. A sample is three numbers of 10 bits with a common exponent in 32 bits, or 3,
6 or 9 numbers of 16 bits: acceleration, or gyroscope, acceleration and magnetometer. Acceleration is in g, turning in
degrees per second, the magnetic field in microtesla. Blocks that fail their checksum are left out.

Each block says at which of its samples the device's clock was read. Between blocks that follow each other samples are
spread evenly, which corrects the sensor's rate (nominally 3200 / 2^(15 - code) Hz); elsewhere the clock has a gap. It
is the time of the place where the device was set, in seconds since 1970. Light, temperature and battery, which are
stored once per block, are not read.
"""

from __future__ import annotations

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

_HEADER_BYTES, _BLOCK_BYTES, _SAMPLE_BYTES = 1024, 512, 480
_BLOCK = np.dtype([
    ("mark", "S2"), ("length", "<u2"), ("fraction", "<u2"), ("session", "<u4"), ("sequence", "<u4"), ("stamp", "<u4"),
    ("light", "<u2"), ("temperature", "<u2"), ("events", "u1"), ("battery", "u1"), ("rate", "u1"), ("axes", "u1"),
    ("offset", "<i2"), ("count", "<u2"), ("samples", "u1", _SAMPLE_BYTES), ("checksum", "<u2"),
])  # fmt: skip
_PACKED = 0x30
_AXES = {_PACKED: "acc", 0x32: "acc", 0x62: "gyro acc", 0x92: "gyro acc mag"}  # number of axes, bytes of a sample
_MAGNETIC_UNIT = 16.0  # units per microtesla
_LEAST_STEP, _LARGEST_STEP = 0.8, 1.25  # of the nominal one, before two blocks do not follow each other
_Blocks = NDArray[np.void]


def read_cwa(path: Path, reading: Reading) -> Recording:
    """Acceleration, and what else was recorded with it."""
    marked_head(path, 8, lambda head: head.startswith(b"MD"), "Axivity recording (.cwa)")
    n_blocks = max(0, path.stat().st_size - _HEADER_BYTES) // _BLOCK_BYTES
    refuse_large_array(n_blocks * _SAMPLE_BYTES // 4, 3)
    with open_regular(path) as file:
        file.seek(_HEADER_BYTES)
        every = np.frombuffer(file.read(n_blocks * _BLOCK_BYTES), _BLOCK)
    blocks = every[_sound(every)]
    if not blocks.size:
        raise RecordingError(f"none of its {every.size} blocks is sound; expected at least one with samples")
    blocks = blocks[(blocks["axes"] == blocks["axes"][0]) & (blocks["rate"] == blocks["rate"][0])]
    code = int(blocks["axes"][0])
    names = [f"{sensor}_{axis}" for sensor in _AXES[code].split() for axis in "xyz"]
    kept, notes = kept_channels(names, reading)
    n_lost = int((every["mark"] == b"AX").sum()) - blocks.size
    if n_lost:
        notes += (f"{counted(n_lost, 'block')} {noun(n_lost, 'is', 'are')} damaged or of another kind: left out",)
    values, channels = _values(blocks, code)[:, kept], [names[index] for index in kept]
    return clocked(values, _times(blocks), channels, path.stem, reading, notes, "the clock of the file")


def _sound(blocks: _Blocks) -> NDArray[np.bool_]:
    """Which blocks hold samples of a known kind at a known time, and have the right checksum."""
    words = blocks.view("<u2").reshape(blocks.size, -1) if blocks.size else np.empty((0, 1), np.uint16)
    most = np.array([_most_samples(code) for code in range(256)])
    month, day = blocks["stamp"] >> 22 & 15, blocks["stamp"] >> 17 & 31
    is_dated = (month >= 1) & (month <= 12) & (day >= 1)
    is_whole = (blocks["mark"] == b"AX") & (blocks["length"] == _BLOCK_BYTES - 4)
    has_samples = (blocks["count"] >= 1) & (blocks["count"] <= most[blocks["axes"]]) & (blocks["rate"] & 15 > 0)
    return np.asarray(is_whole & is_dated & has_samples & (words.sum(axis=1, dtype=np.uint16) == 0))


def _most_samples(code: int) -> int:
    if code not in _AXES:
        return 0
    return _SAMPLE_BYTES // (4 if code == _PACKED else 6 * len(_AXES[code].split()))


def _values(blocks: _Blocks, code: int) -> NDArray[np.float32]:
    """(n_frames, n_channels) in physical units."""
    most, sensors = _most_samples(code), _AXES[code].split()
    if code == _PACKED:
        words = np.ascontiguousarray(blocks["samples"]).view("<u4")
        tens = np.stack([words << 22, words << 12, words << 2], axis=2).view(np.int32) >> 22
        numbers = tens << (words >> 30).astype(np.int32)[:, :, None]
    else:
        numbers = np.ascontiguousarray(blocks["samples"]).view("<i2").reshape(blocks.size, most, -1)
    values = numbers.astype(np.float32)
    coded = blocks["light"].astype(np.int64)
    turning = coded >> 10 & 7
    scale = {
        "acc": 2.0 ** -(8 + (coded >> 13)),  # 1/256 g in an AX3
        "gyro": 8000 / 2.0 ** np.where(turning, turning, 2) / 2**15,
        "mag": np.full(blocks.size, 1 / _MAGNETIC_UNIT),
    }
    for place, sensor in enumerate(sensors):
        values[:, :, 3 * place : 3 * place + 3] *= scale[sensor][:, None, None]
    return values[np.arange(most) < blocks["count"][:, None]]


def _times(blocks: _Blocks) -> NDArray[np.float64]:
    """When each sample was taken."""
    hertz = 3200 / 2.0 ** (15 - (blocks["rate"] & 15).astype(np.int64))
    counts = blocks["count"].astype(np.int64)
    starts = _starts(blocks, hertz)
    follows = np.diff(blocks["sequence"].astype(np.int64)) == 1
    steps = np.diff(starts) / counts[:-1]
    is_even = follows & (steps > _LEAST_STEP / hertz[:-1]) & (steps < _LARGEST_STEP / hertz[:-1])
    steps = np.append(np.where(is_even, steps, 1 / hertz[:-1]), 1 / hertz[-1])
    if is_even.any():  # a last block goes on as the one before it
        steps[1:][is_even & ~np.append(is_even[1:], False)] = steps[:-1][is_even & ~np.append(is_even[1:], False)]
    first = np.append(0, np.cumsum(counts)[:-1])
    within = np.arange(counts.sum()) - np.repeat(first, counts)
    return np.asarray(np.repeat(starts, counts) + within * np.repeat(steps, counts))


def _starts(blocks: _Blocks, hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Seconds since 1970 of the first sample of each block.

    The clock was read at sample `offset`. Where it has fractions of a second, `offset` was moved to the whole second
    for older readers, and is moved back.
    """
    stamp = blocks["stamp"].astype(np.int64)
    months = ((stamp >> 26) * 12 + (stamp >> 22 & 15) - 1).astype("m8[M]") + np.datetime64("2000-01", "M")
    days = months.astype("M8[D]").astype(np.int64) + (stamp >> 17 & 31) - 1
    whole = 86_400 * days + 3600 * (stamp >> 12 & 31) + 60 * (stamp >> 6 & 63) + (stamp & 63)
    has_fraction = blocks["fraction"] >> 15 == 1
    fraction = np.where(has_fraction, (blocks["fraction"].astype(np.int64) & 0x7FFF) << 1, 0)
    moved = fraction * hertz.astype(np.int64) >> 16
    return np.asarray(whole + fraction / 2**16 - (blocks["offset"] + moved) / hertz)


FORMAT = RecordingFormat(
    name="cwa", suffixes=(".cwa",), read=read_cwa, help="Axivity AX3, AX6: acceleration in g, turning …", order=3
)
