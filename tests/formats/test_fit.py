"""FIT, byte for byte as Garmin describes the protocol: header, definition, data messages, checksum."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

pytest.importorskip("fitdecode", reason="needs fitdecode: pip install 'rondo-ts[io]'")

SINCE_1989 = 631065600  # seconds of 1989-12-31 since 1970, from which FIT counts
_NIBBLES = (0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401,
            0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400)  # fmt: skip


def checksum(content: bytes) -> bytes:
    crc = 0
    for byte in content:
        for nibble in (byte & 15, byte >> 4):
            crc = (crc >> 4) ^ _NIBBLES[crc & 15] ^ _NIBBLES[nibble]
    return struct.pack("<H", crc)


def fit(*records: tuple[int, int, int, int], message: int = 20) -> bytes:
    """Messages `record` (20) of timestamp (253), position_lat (0), heart_rate (3) and power (7)."""
    fields = ((253, 4, 0x86), (0, 4, 0x85), (3, 1, 0x02), (7, 2, 0x84))
    body = b"\x40\x00\x00" + struct.pack("<HB", message, len(fields)) + b"".join(bytes(field) for field in fields)
    body += b"".join(b"\x00" + struct.pack("<IiBH", *record) for record in records)
    head = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    head += checksum(head)
    return head + body + checksum(head + body)


def test_records_are_frames(tmp_path: Path) -> None:
    began = 1794643200 - SINCE_1989
    path = write(
        tmp_path, "ride.fit", fit((began, 2**29, 60, 200), (began + 1, 2**29, 0xFF, 210), (began + 2, 0, 62, 0))
    )
    recording = read_one(path)
    assert (recording.id, recording.rate) == ("ride", 1.0)
    assert recording.channels == ("position_lat", "heart_rate", "power")
    npt.assert_allclose(recording.values, [[45, 60, 200], [45, float("nan"), 210], [0, 62, 0]])
    assert recording.times_s is not None and recording.times_s[0] == 1794643200.0


def test_what_is_no_activity_is_refused(tmp_path: Path) -> None:
    whole = fit((1, 0, 60, 0), (2, 0, 61, 0))
    for content, expected in (
        (b"x,y\n1,2\n", "no FIT file"),
        (whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], "damaged"),
        (fit((1, 0, 60, 0), message=18), "it holds no points"),
    ):
        path = write(tmp_path, "a.fit", content)
        assert expected in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]
