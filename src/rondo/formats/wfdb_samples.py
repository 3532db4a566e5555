"""Samples of WFDB records, as signal(5) of the WFDB Applications Guide describes them (physionet.org).

| format | a sample is | missing |
|---|---|---|
| 8 | a difference of 8 bits to the one before | |
| 16, 61 | 16 bits, the low or the high byte first | -2^15 |
| 24, 32 | 24 or 32 bits, the low byte first | -2^23, -2^31 |
| 80, 160 | 8 or 16 bits without a sign, 2^7 or 2^15 too large | -2^7, -2^15 |
| 212 | 12 bits, two in three bytes: the low nibble of the second byte belongs to the first | -2^11 |
| 310 | 10 bits, three in two words of 16: bits 1 to 10 of each, and bits 11 to 15 of both | -2^9 |
| 311 | 10 bits, three in a word of 32 from its low end | -2^9 |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError

Samples = NDArray[np.int32]
_Bytes = NDArray[np.uint8]


class _Packing(NamedTuple):
    """So many `samples` in `bytes` bytes; `missing` stands for none; the first of a group end after `partly` bytes."""

    samples: int
    bytes: int
    missing: int | None
    unpack: Callable[[_Bytes], Samples]
    partly: tuple[int, ...] = ()


def n_bytes(format: int, n_samples: int) -> int:
    """That so many samples take at least, the last ones perhaps in part of what several share.

    >>> n_bytes(212, 3), n_bytes(310, 4), n_bytes(16, 3)
    (5, 6, 6)
    """
    packing = _known(format)
    whole, rest = divmod(n_samples, packing.samples)
    return whole * packing.bytes + (packing.partly[rest - 1] if rest else 0)


def n_samples(format: int, n_bytes: int) -> int:
    """How many lie in so many bytes.

    >>> n_samples(212, 5), n_samples(310, 6), n_samples(24, 8)
    (3, 4, 2)
    """
    packing = _known(format)
    whole, rest = divmod(n_bytes, packing.bytes)
    return whole * packing.samples + sum(rest >= stop for stop in packing.partly)


def unpacked(format: int, content: bytes) -> Samples:
    """All samples in these bytes, perhaps with some of zeros at the end where the last group is not whole.

    >>> unpacked(212, bytes([0xE3, 0x33, 0xF3])).tolist()
    [995, 1011]
    """
    packing = _known(format)
    whole = content + bytes(-len(content) % packing.bytes)
    return packing.unpack(np.frombuffer(whole, np.uint8).reshape(-1, packing.bytes))


def missing_sample(format: int) -> int | None:
    """The number that says that there is no sample."""
    return _known(format).missing


def _known(format: int) -> _Packing:
    packing = _PACKINGS.get(format)
    if packing is None:
        what = "compressed by FLAC" if format in (508, 516, 524) else "unknown"
        raise RecordingError(
            f"its samples are of format {format} ({what}); expected one of {', '.join(map(str, _PACKINGS))}: convert "
            "the record, as with `xform -i RECORD -n NEW -O 16` of the WFDB software"
        )
    return packing


def _signed(values: NDArray[np.int32], bits: int) -> Samples:
    """Numbers of so many bits in two's complement."""
    shift = 32 - bits
    return (values << shift) >> shift


def _numbers(dtype: str, subtract: int = 0) -> Callable[[_Bytes], Samples]:
    return lambda rows: np.ascontiguousarray(rows).view(dtype).ravel().astype(np.int32) - np.int32(subtract)


def _unpack_24(rows: _Bytes) -> Samples:
    low, middle, high = (rows[:, place].astype(np.int32) for place in range(3))
    return _signed(low | middle << 8 | high << 16, 24)


def _unpack_212(rows: _Bytes) -> Samples:
    low, both, high = (rows[:, place].astype(np.int32) for place in range(3))
    return _signed(np.stack([low | (both & 15) << 8, high | (both >> 4) << 8], axis=1).ravel(), 12)


def _unpack_310(rows: _Bytes) -> Samples:
    first, second = (np.ascontiguousarray(rows).view("<u2")[:, place].astype(np.int32) for place in range(2))
    return _signed(np.stack([first >> 1, second >> 1, first >> 11 | (second >> 11) << 5], axis=1).ravel(), 10)


def _unpack_311(rows: _Bytes) -> Samples:
    words = np.ascontiguousarray(rows).view("<u4").ravel()
    return _signed(np.stack([(words >> shift).astype(np.int32) for shift in (0, 10, 20)], axis=1).ravel(), 10)


_PACKINGS = {
    8: _Packing(1, 1, None, _numbers("i1")),
    16: _Packing(1, 2, -(2**15), _numbers("<i2")),
    24: _Packing(1, 3, -(2**23), _unpack_24),
    32: _Packing(1, 4, -(2**31), _numbers("<i4")),
    61: _Packing(1, 2, -(2**15), _numbers(">i2")),
    80: _Packing(1, 1, -(2**7), _numbers("u1", 2**7)),
    160: _Packing(1, 2, -(2**15), _numbers("<u2", 2**15)),
    212: _Packing(2, 3, -(2**11), _unpack_212, (2,)),
    310: _Packing(3, 4, -(2**9), _unpack_310, (2, 4)),
    311: _Packing(3, 4, -(2**9), _unpack_311, (2, 3)),
}
