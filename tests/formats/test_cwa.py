"""Axivity's .cwa, byte for byte as Open Movement describes it: packed and plain samples, clocks, gaps, damage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

HEADER = (b"MD" + struct.pack("<H", 1020) + b"\x17").ljust(1024, b"\xff")
RATE_50 = 0x49  # 50 Hz, 8 g


def stamp(second: int, minute: int = 30) -> int:
    """2026-11-14 10:30:00 and so many seconds: years since 2000, month, day, hour, minute, second."""
    return 26 << 26 | 11 << 22 | 14 << 17 | 10 << 12 | minute + second // 60 << 6 | second % 60


BEGAN = 1794652200.0


def block(
    sequence: int, samples: bytes, count: int, *, second: int = 0, fraction: int = 0, offset: int = 0, axes: int = 0x32,
    light: int = 0, rate: int = RATE_50,
) -> bytes:  # fmt: skip
    head = b"AX" + struct.pack("<HHII", 508, fraction, 7, sequence) + struct.pack("<IHH", stamp(second), light, 200)
    head += struct.pack("<BBBBhH", 0, 100, rate, axes, offset, count)
    body = head + samples.ljust(480, b"\0")
    words = struct.unpack("<255H", body)
    return body + struct.pack("<H", -sum(words) & 0xFFFF)


def packed(x: int, y: int, z: int, exponent: int) -> bytes:
    return struct.pack("<I", (x & 1023) | (y & 1023) << 10 | (z & 1023) << 20 | exponent << 30)


def seconds(first: int, last: int, count: int = 50) -> list[bytes]:
    """Blocks of a second each, with samples of the numbers of the block."""
    return [block(i, np.full((count, 3), i, "<i2").tobytes(), count, second=i) for i in range(first, last)]


def seconds_of(n: int) -> bytes:
    return HEADER + b"".join(seconds(0, n))


def test_packed_samples(tmp_path: Path) -> None:
    samples = packed(1, -2, 511, 0) + packed(-512, 256, 0, 3) + packed(5, -5, 64, 1)
    path = write(tmp_path, "p1.cwa", HEADER + block(0, samples, 3, axes=0x30))
    recording = read_one(path)
    assert (recording.id, recording.channels) == ("p1", ("acc_x", "acc_y", "acc_z"))
    numbers = [[1, -2, 511], [-4096, 2048, 0], [10, -10, 128]]
    npt.assert_array_equal(recording.values, np.array(numbers, np.float32) / 256)
    npt.assert_allclose(recording.times_s, BEGAN + np.arange(3) / 50, atol=1e-6)  # type: ignore[arg-type]


def test_six_axes_with_their_scales(tmp_path: Path) -> None:
    numbers = np.array([[1, 2, 3, 4096, 5, -6], [-7, 8, 9, 10, 11, 12]], "<i2")
    light = 4 << 13 | 3 << 10 | 77  # 1/4096 g, 1000 degrees per second, and a light of 77
    recording = read_one(write(tmp_path, "a.cwa", HEADER + block(0, numbers.tobytes(), 2, axes=0x62, light=light)))
    assert recording.channels == ("gyro_x", "gyro_y", "gyro_z", "acc_x", "acc_y", "acc_z")
    npt.assert_allclose(recording.values[:, :3], numbers[:, :3] * 1000 / 2**15, rtol=1e-6)
    npt.assert_allclose(recording.values[:, 3:], numbers[:, 3:] / 4096, rtol=1e-6)


def test_samples_are_spread_between_readings_of_the_clock(tmp_path: Path) -> None:
    """A sensor of 49 Hz that says 50; the second block says at which of its samples the second began."""
    blocks = [
        block(0, np.zeros((49, 3), "<i2").tobytes(), 49, second=0),
        block(1, np.ones((49, 3), "<i2").tobytes(), 49, second=1),
        block(2, np.ones((49, 3), "<i2").tobytes(), 49, second=2),
    ]
    recording = read_one(write(tmp_path, "a.cwa", HEADER + b"".join(blocks)))
    npt.assert_allclose(recording.times_s, BEGAN + np.arange(147) / 49, atol=1e-6)  # type: ignore[arg-type]
    assert recording.rate == pytest.approx(49)


def test_fractions_of_a_second(tmp_path: Path) -> None:
    """The clock was read at sample 30, at 0.25 s; for older readers the offset was moved back by 12 samples."""
    whole = block(0, np.ones((50, 3), "<i2").tobytes(), 50, second=5, fraction=0x8000 | 0x2000, offset=30 - 12)
    recording = read_one(write(tmp_path, "a.cwa", HEADER + whole))
    assert recording.times_s is not None
    assert recording.times_s[30] == pytest.approx(BEGAN + 5.25, abs=1e-6)
    early = block(0, np.ones((50, 3), "<i2").tobytes(), 50, second=5, offset=10)
    times = read_one(write(tmp_path, "a.cwa", HEADER + early)).times_s
    assert times is not None and times[10] == pytest.approx(BEGAN + 5, abs=1e-6)


def test_silence_and_damage_are_gaps(tmp_path: Path) -> None:
    blocks = [*seconds(0, 3), *seconds(30, 32)]
    wrong = bytearray(blocks[1])
    wrong[100] ^= 1
    content = HEADER + blocks[0] + bytes(wrong) + b"".join(blocks[2:]) + b"\xff" * 512 + blocks[0][:300]
    recording = read_one(write(tmp_path, "a.cwa", content))
    assert "1 block is damaged" in recording.notes[0]
    assert recording.times_s is not None
    npt.assert_allclose(recording.times_s[::50] - BEGAN, [0, 2, 30, 31], atol=1e-6)
    npt.assert_array_equal(recording.values[::50, 0] * 256, [0, 2, 30, 31])


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    samples = bytes(480)
    for content, expected in (
        (b"x,y\n1,2\n", "no Axivity recording"),
        (HEADER, "none of its 0 blocks is sound"),
        (HEADER + block(0, samples, 5, axes=0x45), "none of its 1 blocks is sound"),
        (HEADER + block(0, samples, 60000), "none of its 1 blocks is sound"),
        (HEADER + block(0, samples, 0), "none of its 1 blocks is sound"),
        (HEADER + seconds(1, 2)[0] + seconds(0, 1)[0], "timestamps must increase"),
    ):
        path = write(tmp_path, "a.cwa", content)
        assert expected in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]


def test_channels_and_rate_as_they_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "a.cwa", HEADER + b"".join(seconds(0, 3)))
    recording = read_one(path, rate=25, leave_out=["acc_y"])
    assert (recording.rate, recording.channels, recording.timestamps_s) == (25.0, ("acc_x", "acc_z"), None)
    assert "no channel 'y'" in refusal(lambda: read_one(path, leave_out=["y"]), naming=path)
