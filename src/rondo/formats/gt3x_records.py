"""Records of an ActiGraph's log: found one after the other, and unpacked by kinds and sizes at once."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.wording import counted, noun

PACKED, WORDS = 0, 26
"""Records of a second: samples of 12 bits in the order y, x, z; of 16 bits in the order x, y, z."""

_EVENT, _PARAMETERS = 3, 21
_FALLS_ASLEEP = b"\x08"
_SCALE = (0, 55)  # address space and identifier of ACCEL_SCALE
_MARK = 0x1E
_HEADER = struct.Struct("<BBIH")  # mark, type, seconds, size of the payload
_LEAST_PAYLOAD = 6  # shorter ones say that a cable was plugged in
_Bytes = NDArray[np.uint8]
_Whole = NDArray[np.int64]


class Seconds(NamedTuple):
    """Records of one kind: the second and the number of samples of each, and all samples one after the other."""

    seconds: _Whole
    counts: _Whole
    values: NDArray[np.int16]  # (n_samples, 3), x, y, z


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
    def n_sleeps(self) -> int:
        """How often the device fell asleep because it lay still."""
        return sum(self._payload(place) == _FALLS_ASLEEP for place in np.flatnonzero(self.kinds == _EVENT).tolist())

    def scale(self) -> float | None:
        """Units per g, where parameters tell it."""
        for place in np.flatnonzero(self.kinds == _PARAMETERS).tolist():
            payload = self._payload(place)
            for space, identifier, value in struct.iter_unpack("<HHI", payload[: len(payload) // 8 * 8]):
                if (space, identifier) == _SCALE:
                    return _decoded(value)
        return None

    def samples(self, kind: int) -> Seconds:
        """All samples of one kind of records."""
        empty = np.empty(0, np.int64)
        seconds, counts, values = [empty], [empty], [np.empty((0, 3), np.int16)]
        chosen = np.flatnonzero((self.kinds == kind) & (self.sizes >= _LEAST_PAYLOAD))
        for size in np.unique(self.sizes[chosen]).tolist():
            places = chosen[self.sizes[chosen] == size]
            payloads = np.lib.stride_tricks.sliding_window_view(self.content, size)[self.starts[places]]
            found = unpacked_12(payloads) if kind == PACKED else _words(payloads)
            seconds.append(self.seconds[places])
            counts.append(np.full(places.size, found.shape[1]))
            values.append(found.reshape(-1, 3))
        return Seconds(np.concatenate(seconds), np.concatenate(counts), np.concatenate(values))

    def notes(self) -> tuple[str, ...]:
        """What was wrong with the log."""
        damaged = (
            f"{counted(self.n_damaged, 'record')} {noun(self.n_damaged, 'has', 'have')} a wrong checksum: left out"
        )
        lost = f"{counted(self.n_lost_bytes, 'byte')} of its log belong to no whole record: left out"
        return ((damaged,) if self.n_damaged else ()) + ((lost,) if self.n_lost_bytes else ())

    def _payload(self, place: int) -> bytes:
        return self.content[self.starts[place] : self.starts[place] + self.sizes[place]].tobytes()


def walked(content: bytes) -> Log:
    """The records, each found from the size of the one before; after a damaged place, at the next sound record."""
    heads: list[tuple[int, int, int, int]] = []  # kind, second, start, size
    place, lost, is_sure = 0, 0, True
    while place + _HEADER.size < len(content):
        mark, kind, second, size = _HEADER.unpack_from(content, place)
        stop = place + _HEADER.size + size + 1
        if mark == _MARK and stop <= len(content) and (is_sure or _is_sound(content[place:stop])):
            heads.append((kind, second, place + _HEADER.size, size))
            place, is_sure = stop, content[stop : stop + 1] in (b"", bytes([_MARK]))
            continue
        found = content.find(_MARK, place + 1)
        following = found if found >= 0 else len(content)
        skipped = content[place:following]
        lost += len(skipped) if skipped.strip(b"\0") else 0  # zeros may lie between records
        place, is_sure = following, False
    lost += len(content) - place if content[place:].strip(b"\0") else 0
    kinds, seconds, starts, sizes = np.array(heads, np.int64).reshape(-1, 4).T
    every = np.frombuffer(content, np.uint8)
    sound = _sound(every, starts, sizes)
    return Log(every, kinds[sound], seconds[sound], starts[sound], sizes[sound], int((~sound).sum()), lost)


def _is_sound(record: bytes) -> bool:
    return int(np.bitwise_xor.reduce(np.frombuffer(record, np.uint8))) == 0xFF


def _sound(content: _Bytes, starts: _Whole, sizes: _Whole) -> NDArray[np.bool_]:
    """Which records have the right checksum, those of one size at once."""
    sound = np.zeros(starts.size, np.bool_)
    for size in np.unique(sizes).tolist():
        places = np.flatnonzero(sizes == size)
        records = np.lib.stride_tricks.sliding_window_view(content, _HEADER.size + size + 1)
        sound[places] = np.bitwise_xor.reduce(records[starts[places] - _HEADER.size], axis=1) == 0xFF
    return sound


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


def _words(payloads: _Bytes) -> NDArray[np.int16]:
    n_samples = payloads.shape[1] // 6
    words = np.ascontiguousarray(payloads[:, : 6 * n_samples]).view("<i2")
    return words.astype(np.int16, copy=False).reshape(len(payloads), n_samples, 3)


def _decoded(value: int) -> float:
    """A number of the parameters: 24 bits of a fraction and 8 of an exponent of 2, both with a sign.

    >>> _decoded(0x09400000)
    256.0
    """
    fraction, exponent = value & 0xFFFFFF, value >> 24
    fraction -= (fraction & 0x800000) << 1
    exponent -= (exponent & 0x80) << 1
    return float(fraction / 2**23 * 2.0**exponent)
