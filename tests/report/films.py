"""Films and sounds for tests, written by hand: a few pictures of one colour each, and a sine."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

RED, GREEN, BLUE = (
    base64.b64decode(picture)
    for picture in (
        "8AMAnQEqQABAAD7RaK9SqCYkIqIIAQAaCWkA1aqAABGfcdYAK8QpgAD+7c7f8NqrK2//5mj9JvpN3V9vFma3USAAAAA=",
        "8AMAnQEqQABAAD7RaK9SqCYkIqIIAQAaCWkA0L6AABA3U1AYa8QpgAD+34A/8W0joUyH/+Fa3s9gepssGCci/mGWszHWgAAA",
        "sAMAnQEqQABAAD7RaK9SqCYkIqIIAQAaCWkA0FQFq3K6XGAXUtAA/vDXA//maP/Sb/sN2uewUpBSYL9hws6VY6dcDFUWywIAAAA=",
    )
)
"""A square of 64 pixels as a key frame of VP8."""

_SIDE = 64


def write_film(path: Path, pictures: list[bytes], picture_s: float = 0.1) -> Path:
    """A WebM file (Matroska, RFC 9559) that shows one picture after the other; each of them can be sought."""
    step_ms = round(1000 * picture_s)
    clusters, places = b"", []
    for place, picture in enumerate(pictures):
        places.append(len(clusters))
        clusters += _element(0x1F43B675, _number(0xE7, place * step_ms) + _element(0xA3, b"\x81\0\0\x80" + picture))
    video = _element(0xE0, _number(0xB0, _SIDE) + _number(0xBA, _SIDE))
    track = _number(0xD7, 1) + _number(0x73C5, 1) + _number(0x83, 1) + _element(0x86, b"V_VP8") + video
    length = _element(0x4489, struct.pack(">d", step_ms * len(pictures)))
    info = _element(0x1549A966, _number(0x2AD7B1, 1_000_000) + length + _text(0x4D80, "x") + _text(0x5741, "x"))
    head = info + _element(0x1654AE6B, _element(0xAE, track))
    seek_bytes = len(_seek(0))
    cues = b"".join(
        _element(
            0xBB,
            _number(0xB3, i * step_ms) + _element(0xB7, _number(0xF7, 1) + _long(0xF1, seek_bytes + len(head) + at)),
        )
        for i, at in enumerate(places)
    )
    segment = _seek(seek_bytes + len(head) + len(clusters)) + head + clusters + _element(0x1C53BB6B, cues)
    kind = _number(0x4286, 1) + _number(0x42F7, 1) + _number(0x42F2, 4) + _number(0x42F3, 8) + _text(0x4282, "webm")
    version = _number(0x4287, 4) + _number(0x4285, 2)
    path.write_bytes(_element(0x1A45DFA3, kind + version) + _element(0x18538067, segment))
    return path


def _seek(place: int) -> bytes:
    """Says where the cues are; always of the same length."""
    return _element(0x114D9B74, _element(0x4DBB, _element(0x53AB, b"\x1c\x53\xbb\x6b") + _long(0x53AC, place)))


def _element(id: int, content: bytes) -> bytes:
    name = id.to_bytes((id.bit_length() + 7) // 8, "big")
    return name + (0x0100_0000_0000_0000 | len(content)).to_bytes(8, "big") + content


def _number(id: int, value: int) -> bytes:
    return _element(id, value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"))


def _long(id: int, value: int) -> bytes:
    return _element(id, value.to_bytes(8, "big"))


def _text(id: int, value: str) -> bytes:
    return _element(id, value.encode())
