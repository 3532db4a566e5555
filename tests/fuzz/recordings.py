"""Files of devices, drawn at random and then damaged; whole ones are tested in tests/formats."""

from __future__ import annotations

import io
import struct
import zipfile

from tests.formats import test_actigraph, test_cwa
from tests.fuzz.generators import Random, damaged


def cwa(rng: Random) -> bytes:
    """Blocks of an Axivity: some damaged behind their checksum, some with odd fields in front of it."""
    blocks = []
    for number in range(int(rng.integers(0, 12))):
        is_odd = rng.random() < 0.1
        axes = int(rng.choice([0x30, 0x32, 0x62, 0x92, 0x45])) if is_odd else 0x32
        count = int(rng.choice([0, 1, 80, 120, 9999])) if is_odd else 50
        fraction, light = (int(rng.integers(1 << 16)) if is_odd else 0 for _ in range(2))
        offset = int(rng.integers(-(1 << 15), 1 << 15)) if is_odd else 0
        blocks.append(
            test_cwa.block(
                number, rng.bytes(480), count, second=number, axes=axes, fraction=fraction, light=light, offset=offset
            )
        )
    return damaged(test_cwa.HEADER + b"".join(blocks), rng)


def gt3x(rng: Random) -> bytes:
    """An archive of an ActiGraph whose log is damaged before it is packed."""
    kinds = (0, 26, 2, 3, 5, 21, 99)
    log = b"".join(
        test_actigraph.record(
            int(rng.choice(kinds)), test_actigraph.BEGAN + int(rng.integers(30)), rng.bytes(int(rng.integers(40)))
        )
        for _ in range(int(rng.integers(0, 30)))
    )
    info = f"Sample Rate: {rng.choice(['30', '0', 'x', '1e9'], p=[0.7, 0.1, 0.1, 0.1])}\nSerial Number: NEO1\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("info.txt", info)
        archive.writestr("log.bin" if rng.random() < 0.8 else "activity.bin", damaged(log, rng))
    return damaged(buffer.getvalue(), rng) if rng.random() < 0.3 else buffer.getvalue()


def wfdb(rng: Random) -> bytes:
    """A header that names itself as the file of its samples."""
    formats = (8, 16, 24, 32, 61, 80, 160, 212, 310, 311, 516, 0)
    format = int(rng.choice(formats))
    fields = ("1/mV 12 0 0 0 0 x", "0", "1e-300(99999999999)", "nan", "-1e400/g", "200 12 -5 1 2 3 " + "y" * 99, "")
    n_signals = int(rng.integers(1, 4))
    tail = ("", "x2", ":1", "+3", "x99999999", "+99999999999")
    lines = [f"x {n_signals} {rng.choice(['50', '1e400', '0', '50/1(0)'])}"]
    end = str(rng.choice(tail, p=[0.75, 0.05, 0.05, 0.05, 0.05, 0.05]))
    lines += [f"x.hea {format}{end} {rng.choice(fields)}" for _ in range(n_signals)]
    return damaged(("\n".join(lines) + "\n").encode(), rng)


def mcap(rng: Random) -> bytes:
    """Messages in JSON without chunks, so that damage reaches them; numbers, and what else JSON allows."""
    odd = (None, True, [], {}, "x", "10000", -0.0, [[1]], 1e308)
    channel = struct.pack("<HH", 1, 0) + struct.pack("<I", 2) + b"/a" + struct.pack("<I", 4) + b"json" + bytes(4)
    records = [_record(4, channel)]
    for place in range(int(rng.integers(0, 40))):
        value = repr(odd[int(rng.integers(len(odd)))]) if rng.random() < 0.05 else f"{rng.normal():.3f}"
        at = int(rng.integers(1 << 63)) if rng.random() < 0.03 else 10**18 + place * 10**7
        message = f'{{"x": {value}, "y": {{"z": [{place}, 1]}}}}'.encode()
        records.append(_record(5, struct.pack("<HIQQ", 1, place, at, at) + message))
    return damaged(b"\x89MCAP0\r\n" + b"".join(records) + _record(15, bytes(4)), rng)


def _record(opcode: int, content: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(content)) + content
