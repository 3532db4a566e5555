"""MCAP files, written by the package `mcap`: topics, encodings, clocks, damage; chunks and records that lie are written
byte for byte."""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from rondo.formats.mcap import MAGIC
from tests.formats.reading import read_one, refusal, write

mcap_writer = pytest.importorskip("mcap.writer", reason="needs mcap: pip install 'rondo-ts[io]'")

BEGAN = 1794643200_000000000  # 2026-11-14 08:00:00 in nanoseconds
IMU = """\
std_msgs/Header header
geometry_msgs/Vector3 acc
float64[3] covariance
uint8[] image
string name
bool on
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""


def save(path: Path, *messages: tuple[str, int, Any], schema: tuple[str, str] = ("", ""), encoding: str = "json",
         **settings: Any) -> Path:  # fmt: skip
    """Messages as (topic, milliseconds, message), in JSON where they are not bytes."""
    with path.open("wb") as file:
        writer = mcap_writer.Writer(file, chunk_size=settings.pop("chunk_size", 512), **settings)
        writer.start()
        kind = writer.register_schema("test/msg/Imu", schema[0], schema[1].encode()) if schema[0] else 0
        channels: dict[str, int] = {}
        for topic, at_ms, message in messages:
            if topic not in channels:
                channels[topic] = writer.register_channel(topic, encoding, kind)
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            writer.add_message(channels[topic], BEGAN + at_ms * 1_000_000, data, 5)
        writer.finish()
    return path


def imu(times: Iterable[int]) -> list[tuple[str, int, Any]]:
    return [
        ("/imu", at, {"stamp": {"sec": at, "nsec": 1}, "acc": {"x": at / 4, "y": -at}, "q": [at, 1.5], "id": "a"})
        for at in times
    ]


@pytest.mark.parametrize("compression", ["NONE", "LZ4", "ZSTD"])
def test_messages_of_a_topic_are_frames(tmp_path: Path, compression: str) -> None:
    path = save(tmp_path / "run.mcap", *imu(range(0, 4000, 20)), compression=mcap_writer.CompressionType[compression])
    recording = read_one(path)
    assert (recording.id, recording.rate) == ("run", pytest.approx(50))
    assert recording.channels == ("acc.x", "acc.y", "q[0]", "q[1]")
    times = np.arange(0, 4000, 20)
    npt.assert_array_equal(recording.values, np.stack([times / 4, -times, times, np.full(200, 1.5)], axis=1))
    assert recording.times_s is not None and recording.times_s[0] == 1794643200.0
    assert read_one(path, rate=10).timestamps_s is None


def test_messages_are_put_in_the_order_of_time_and_may_lack_fields(tmp_path: Path) -> None:
    messages = [("/a", at, {"x": at} | ({"y": 1} if at > 10 else {})) for at in (0, 20, 10, 40, 30)]
    recording = read_one(save(tmp_path / "a.mcap", *messages))
    npt.assert_array_equal(recording.values[:, 0], [0, 10, 20, 30, 40])
    npt.assert_array_equal(recording.values[:, 1], [np.nan, np.nan, 1, 1, 1])
    odd = [("/a", at, {"x": {"y": at}, "x.y": 7, "big": 10**400, "z": None, "w": at}) for at in range(3)]
    twice = read_one(save(tmp_path / "b.mcap", *odd))
    npt.assert_array_equal(twice.values[:, 0], [0, 1, 2])


def test_a_key_names_the_topics(tmp_path: Path) -> None:
    slow = [("/temperature", at, {"celsius": at / 100}) for at in range(100, 1000, 100)]
    text = [("/log", 3, {"text": "hello"})]
    path = save(tmp_path / "a.mcap", *imu(range(0, 2000, 20)), *slow, *text)
    said = refusal(lambda: read_one(path), naming=path)
    assert "/imu (100 messages), /temperature (9 messages)" in said
    assert read_one(path, key="/temperature").rate == pytest.approx(10)
    both = read_one(path, key="/imu, /temperature")
    assert both.channels[-1] == "/temperature.celsius" and both.n_frames == 100
    held = [np.nan] * 5 + [at // 100 for at in range(100, 1000, 20)] + [9.0] * 25 + [np.nan] * 25
    npt.assert_array_equal(both.values[:70, -1], np.array(held[:70], np.float32))
    assert np.isnan(both.values[-20:, -1]).all()  # silent for longer than five of its steps
    assert "9 messages of '/temperature'" in "\n".join(both.notes)
    for key, expected in (
        ("/x", "there is no topic '/x'; it has /imu, /temperature, /log"),
        ("/log", "hold no numbers"),
    ):
        assert expected in refusal(lambda key=key: read_one(path, key=key), naming=path)  # type: ignore[misc]


def test_what_is_no_signal_is_left_out(tmp_path: Path) -> None:
    messages = [
        ("/a", at, {"x": at % 7, "timestamp": at / 1000, "object": {"label": at // 9}, "scan": list(range(100))})
        for at in range(60)
    ]
    recording = read_one(save(tmp_path / "a.mcap", *messages))
    assert recording.channels == ("x",)
    assert all(
        word in note
        for word, note in zip(
            ("holds labels; --keep-column 'object.label'", "field 'timestamp' left out", "field 'scan' left out"),
            recording.notes,
            strict=True,
        )
    )
    kept = read_one(tmp_path / "a.mcap", keep=["object.label"])
    assert kept.channels == ("x", "object.label")


def test_messages_of_ros_2(tmp_path: Path) -> None:
    pytest.importorskip("mcap_ros2", reason="needs mcap-ros2-support: pip install 'rondo-ts[io]'")
    body = struct.pack("<iI", 5, 6) + struct.pack("<I4s", 4, b"abc\0")  # stamp, frame_id
    path = tmp_path / "a.mcap"
    messages = []
    for at in range(0, 200, 10):
        numbers = struct.pack("<6d", at, 2.5, -at, 1, 2, 3)
        tail = struct.pack("<I", 3) + b"abc" + b"\0" + struct.pack("<I3s", 3, b"ab\0") + b"\x01"
        messages.append(("/imu", at, b"\0\1\0\0" + body + numbers + tail))
    save(path, *messages, schema=("ros2msg", IMU), encoding="cdr")
    recording = read_one(path)
    assert recording.channels == ("acc.x", "acc.y", "acc.z", *(f"covariance[{i}]" for i in range(3)), "on")
    npt.assert_array_equal(recording.values[2], [20, 2.5, -20, 1, 2, 3, 1])
    save(path, ("/imu", 0, b"\0\1\0\0" + body), schema=("ros2msg", IMU), encoding="cdr")
    assert "cannot be decoded" in refusal(lambda: read_one(path), naming=path)
    endless = "test/Self self\n" + "=" * 80 + "\nMSG: test/Self\ntest/Self self\n"
    save(path, ("/imu", 0, bytes(40)), schema=("ros2msg", endless), encoding="cdr")
    assert "cannot be decoded (RecursionError" in refusal(lambda: read_one(path), naming=path)


def test_messages_of_protobuf(tmp_path: Path) -> None:
    pytest.importorskip("mcap_protobuf", reason="needs mcap-protobuf-support: pip install 'rondo-ts[io]'")
    from google.protobuf.timestamp_pb2 import Timestamp
    from google.protobuf.wrappers_pb2 import DoubleValue
    from mcap_protobuf.writer import Writer

    with (tmp_path / "a.mcap").open("wb") as file, Writer(file) as writer:
        for at in range(20):
            writer.write_message("/x", DoubleValue(value=at / 2), BEGAN + at * 10_000_000)
            writer.write_message("/t", Timestamp(seconds=at), BEGAN + at * 10_000_000)
    recording = read_one(tmp_path / "a.mcap")
    assert (recording.channels, recording.rate) == (("value",), pytest.approx(100))
    npt.assert_array_equal(recording.values[:, 0], np.arange(20) / 2)


@pytest.mark.parametrize(
    ("encoding", "schema", "expected"),
    [
        ("ros1", ("ros1msg", "float64 x"), "are encoded as 'ros1' with a schema of kind 'ros1msg'"),
        ("cdr", ("ros2idl", "…"), "are encoded as 'cdr' with a schema of kind 'ros2idl'"),
        ("cdr", ("ros2msg", "no schema at all ]["), "the schema of topic '/a' cannot be read"),
        ("protobuf", ("protobuf", "\x01"), "the schema of topic '/a' cannot be read"),
        ("json", ("jsonschema", "{}"), "a message of topic '/a' cannot be decoded (JSONDecodeError"),
    ],
)
def test_what_cannot_be_decoded_is_refused(
    tmp_path: Path, encoding: str, schema: tuple[str, str], expected: str
) -> None:
    pytest.importorskip("mcap_ros2")
    pytest.importorskip("mcap_protobuf")
    path = save(tmp_path / "a.mcap", ("/a", 0, b"\0\1\0\0"), schema=schema, encoding=encoding)
    assert expected in refusal(lambda: read_one(path), naming=path)


def record(opcode: int, content: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(content)) + content


def chunk(size: int, packing: bytes, content: bytes) -> bytes:
    head = struct.pack("<QQQI", 0, 0, size, 0) + struct.pack("<I", len(packing)) + packing
    return record(6, head + struct.pack("<Q", len(content)) + content)


def zeros_by_zstd(size: int) -> bytes:
    return bytes(pytest.importorskip("zstandard").compress(bytes(size)))


def zeros_by_lz4(size: int) -> bytes:
    return bytes(pytest.importorskip("lz4.frame").compress(bytes(size)))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lambda: b"", "it holds no messages"),
        (lambda: record(0, b"abc"), "there are zeros"),
        (lambda: chunk(1 << 60, b"zstd", zeros_by_zstd(10)), "more than memory has"),
        (lambda: chunk(1 << 30, b"zstd", zeros_by_zstd(10)), "not what its size and checksum say"),
        (lambda: chunk(10, b"zstd", zeros_by_zstd(1 << 28)), "not what its size and checksum say"),
        (lambda: chunk(10, b"lz4", zeros_by_lz4(1 << 26)), "not what its size and checksum say"),
        (lambda: chunk(10, b"lz4", b"abcdefghijk"), "a record cannot be read"),
        (lambda: chunk(3, b"rar", b"abc"), "packed by 'rar'"),
        (lambda: chunk(9, b"", struct.pack("<BQ", 5, 1 << 62)), "it is damaged"),
        (lambda: record(3, struct.pack("<HI", 1, 0xFFFFFFFF)), "a record cannot be read"),
        (lambda: record(5, bytes(30)), "belongs to channel 0, which is not there"),
        (lambda: struct.pack("<BQ", 6, 1 << 62), "it holds no messages"),
    ],
)
def test_sizes_that_lie_allocate_nothing(tmp_path: Path, content: Callable[[], bytes], expected: str) -> None:
    path = write(tmp_path, "a.mcap", MAGIC + content())
    tracemalloc.start()
    assert expected in refusal(lambda: read_one(path), naming=path)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_messages_with_ever_new_fields_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a.mcap", *(("/a", at, {f"x{at}.{i}": 1 for i in range(500)}) for at in range(10)))
    assert "more than 4096 fields" in refusal(lambda: read_one(path), naming=path)


def test_a_file_that_is_cut_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    content = save(tmp_path / "a.mcap", *imu(range(0, 4000, 20)), use_chunking=True).read_bytes()
    index = content.rindex(b"\x0f\x04\0\0\0\0\0\0\0")  # where the data end, and the index begins
    cut = read_one(write(tmp_path, "b.mcap", content[: index // 2]))
    assert any("no whole record" in note for note in cut.notes)
    changed = bytearray(content)
    changed[index // 2] ^= 1
    path = write(tmp_path, "c.mcap", bytes(changed))
    assert "it is damaged" in refusal(lambda: read_one(path), naming=path)
