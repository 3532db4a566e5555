"""ActiGraph's .gt3x, byte for byte as the maker describes it, and against the maker's own reader where it is there; its
.agd, written by SQLite with the tables that ActiLife makes."""

from __future__ import annotations

import json
import logging
import sqlite3
import struct
import tracemalloc
import zipfile
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

BEGAN = 1794643200  # 2026-11-14 08:00:00
EXAMPLE = bytes.fromhex("006008EBD007009EBF007008EBF0")  # of LogRecords/Activity.md, with what it means below
EXAMPLE_XYZ = [[8, 6, -323], [9, 7, -321], [8, 7, -321]]


def record(kind: int, second: int, payload: bytes) -> bytes:
    body = struct.pack("<BBIH", 0x1E, kind, second, len(payload)) + payload
    checksum = 0
    for byte in body:
        checksum ^= byte
    return body + bytes([checksum ^ 0xFF])


def words(samples: Sequence[Sequence[int]]) -> bytes:
    return np.array(samples, "<i2").tobytes()


def save(path: Path, log: bytes, name: str = "log.bin", *, info: str = "", **others: str) -> Path:
    about = (
        info or "Serial Number: TAS1\nFirmware: 1.7.2\nSample Rate: 3\nAcceleration Scale: 256.0\nTimeZone: -05:00:00\n"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("info.txt", about)
        archive.writestr(name, log)
        for other, content in others.items():
            archive.writestr(other.replace("_", "."), content)
    return path


def save_seconds(path: Path, n: int) -> Path:
    return save(path, b"".join(record(0, BEGAN + i, EXAMPLE) for i in range(n)))


def test_a_second_per_record_in_both_packings(tmp_path: Path) -> None:
    second = [[1, -2, 300], [256, 0, -256], [-8, 5, 2047]]
    log = record(6, BEGAN, b"{}") + record(0, BEGAN, EXAMPLE) + record(5, BEGAN, b"\x00\x00") + bytes(5)
    log += record(0, BEGAN + 1, b"\x01") + record(26, BEGAN + 1, words(second)) + record(2, BEGAN + 2, b"\x10\x10")
    recording = read_one(save(tmp_path / "p1.gt3x", log))
    assert (recording.id, recording.channels, recording.notes) == ("p1", ("acc_x", "acc_y", "acc_z"), ())
    npt.assert_array_equal(recording.values, np.array(EXAMPLE_XYZ + second, np.float32) / 256)
    npt.assert_allclose(recording.times_s, BEGAN + np.arange(6) / 3, atol=1e-6)  # type: ignore[arg-type]
    assert recording.rate == pytest.approx(3)
    given = read_one(tmp_path / "p1.gt3x", rate=30, leave_out=["acc_y"])
    assert (given.rate, given.channels) == (30.0, ("acc_x", "acc_z"))


def test_idle_sleep_is_a_gap(tmp_path: Path) -> None:
    log = b"".join(record(0, BEGAN + i, EXAMPLE) for i in range(3)) + record(3, BEGAN + 3, b"\x08")
    log += record(3, BEGAN + 63, b"\x09") + b"".join(record(0, BEGAN + i, EXAMPLE) for i in (63, 64))
    recording = read_one(save(tmp_path / "a.gt3x", log))
    assert ["idle sleep mode: 1 gap, 60" in note for note in recording.notes] == [True]
    assert recording.times_s is not None
    assert (recording.n_frames, recording.times_s[9] - recording.times_s[0]) == (15, 63.0)


def test_the_scale_of_parameters_of_info_and_of_the_kind_of_device(tmp_path: Path) -> None:
    parameters = bytes.fromhex("0000310000004 00C".replace(" ", "")) + bytes.fromhex("0000370000005009")  # 320 LSB/g
    told = save(tmp_path / "a.gt3x", record(21, BEGAN, parameters) + record(0, BEGAN, EXAMPLE))
    npt.assert_allclose(read_one(told).values[0], np.array([8, 6, -323]) / 320, rtol=1e-6)
    plain = "Serial Number: {}1\nSample Rate: 3\nFirmware: {}\n"
    for serial, firmware, expected in (
        ("NEO", "3.0.0", np.array([8, 6, -323]) / 341),
        ("MOS", "1.5.0", np.array([8, 6, -323]) / 256),
        ("MOS", "1.6.0", np.array([6, -8, -323]) / 256),  # which stored its axes turned
    ):
        path = save(tmp_path / "b.gt3x", record(0, BEGAN, EXAMPLE), info=plain.format(serial, firmware))
        npt.assert_allclose(read_one(path).values[0], expected, rtol=1e-6)


def test_the_older_format_without_records(tmp_path: Path) -> None:
    info = "Serial Number: NEO1\nSample Rate: 30\nFirmware: 2.5.0\nStart Date: 639302400000000000\n"
    path = save(tmp_path / "a.gt3x", EXAMPLE, "activity.bin", info=info)
    recording = read_one(path)
    npt.assert_allclose(recording.values, np.array(EXAMPLE_XYZ) / 341, rtol=1e-6)
    assert recording.times_s is not None and recording.times_s[0] == 1794643200.0


def test_damaged_records_are_left_out_with_a_note(tmp_path: Path) -> None:
    records = [record(0, BEGAN + i, EXAMPLE) for i in range(6)]
    wrong, torn = bytearray(records[1]), bytearray(records[3])
    wrong[12] ^= 1
    torn[6] = 200  # the size, so that the next records cannot be found by it
    log = records[0] + bytes(wrong) + records[2] + bytes(torn) + records[4] + records[4] + records[5][:9]
    recording = read_one(save(tmp_path / "a.gt3x", log))
    assert recording.times_s is not None
    assert sorted({int(time) - BEGAN for time in recording.times_s}) == [0, 2, 4]
    npt.assert_array_equal(recording.values, np.array(EXAMPLE_XYZ * 3, np.float32) / 256)
    words = ("1 record has a wrong checksum", "32 bytes of its log", "1 record")
    assert all(word in note for word, note in zip(words, recording.notes, strict=True))


def test_what_is_no_archive_of_an_actigraph_is_refused(tmp_path: Path) -> None:
    sound = record(0, BEGAN, EXAMPLE)
    uncalibrated = json.dumps({"isCalibrated": False, "calibrationMethod": 2})
    for path, expected in (
        (write(tmp_path, "a.gt3x", b"x,y\n1,2\n"), "no ActiGraph archive"),
        (save(tmp_path / "b.gt3x", sound, "other.bin"), "holds no log.bin"),
        (save(tmp_path / "c.gt3x", record(2, BEGAN, b"\x00\x00")), "no activity records"),
        (save(tmp_path / "d.gt3x", sound, info="Serial Number: XYZ\nSample Rate: 30\n"), "tells the scale"),
        (save(tmp_path / "e.gt3x", sound, info="Serial Number: NEO\n"), "no usable 'Sample Rate'"),
        (save(tmp_path / "f.gt3x", sound, calibration_json=uncalibrated), "not calibrated"),
        (save(tmp_path / "g.gt3x", b""), "no activity records"),
    ):
        assert expected in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]


def test_a_false_size_allocates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "a.gt3x", bytes(50_000_000))  # zeros, which take 50 kB packed
    monkeypatch.setattr("rondo.memory.free_bytes", lambda: 400_000_000)
    tracemalloc.start()
    assert "are free" in refusal(lambda: read_one(path), naming=path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_as_the_makers_reader_reads_it(tmp_path: Path) -> None:
    reader = pytest.importorskip("pygt3x.reader", reason="needs pygt3x, the reader of the maker")
    rng = np.random.default_rng(0)
    log = b"".join(record(26, BEGAN + i, words(rng.integers(-2048, 2048, (4, 3)))) for i in range(4))
    log += b"".join(record(0, BEGAN + 10 + i, rng.bytes(18)) for i in range(4))
    path = save(tmp_path / "a.gt3x", log, info="Serial Number: TAS1\nSample Rate: 4\nAcceleration Scale: 256.0\n")
    logging.disable(logging.CRITICAL)
    with reader.FileReader(str(path)) as opened:
        table = opened.to_pandas()
    logging.disable(logging.NOTSET)
    recording = read_one(path)
    npt.assert_allclose(recording.values, table[["X", "Y", "Z"]], atol=1e-6)
    npt.assert_allclose(recording.times_s, table.index, atol=1e-6)  # type: ignore[arg-type]


TICKS = (datetime(2026, 11, 14, 8) - datetime(1, 1, 1)).days * 864_000_000_000 + 8 * 36_000_000_000


def save_agd(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
    return path


def save_epochs(path: Path) -> Path:
    rows = [f"INSERT INTO data VALUES ({TICKS + i * 100_000_000}, {i}, {i % 3}, NULL)" for i in range(30)]
    table = "CREATE TABLE data (dataTimestamp INTEGER, axis1 INTEGER, axis2 INTEGER, lux INTEGER)"
    return save_agd(path, table, *rows)


def test_epochs_are_frames(tmp_path: Path) -> None:
    recording = read_one(save_epochs(tmp_path / "p1.agd"))
    assert (recording.id, recording.channels[:2]) == ("p1", ("axis1", "axis2"))
    assert recording.rate is not None and round(recording.rate, 6) == 0.1
    npt.assert_array_equal(recording.values[:, 1], [i % 3 for i in range(30)])
    assert recording.times_s is not None and recording.times_s[0] == 1794643200.0


def test_epochs_are_put_in_the_order_of_time_and_silence_is_a_gap(tmp_path: Path) -> None:
    """With the tables of ActiLife 6, of which only `data` is read."""
    places = [3, 0, 1, 2, 10, 11]
    rows = [f"INSERT INTO data VALUES ({TICKS + i * 600_000_000}, {i}.0, {60 * (i % 2)})" for i in places]
    recording = read_one(
        save_agd(
            tmp_path / "p1.agd",
            "CREATE TABLE settings (settingID INTEGER PRIMARY KEY, settingName TEXT, settingValue TEXT)",
            "INSERT INTO settings VALUES (1, 'epochlength', '60')",
            "CREATE TABLE sleep (sleepID INTEGER PRIMARY KEY, inBedTimestamp INTEGER, outBedTimestamp INTEGER)",
            "CREATE TABLE data (dataTimestamp INTEGER, axis1 REAL, inclineOff REAL)",
            "CREATE INDEX IX_dataTimestamp ON data (dataTimestamp)",
            *rows,
        )
    )
    assert recording.channels == ("axis1", "inclineOff") and recording.rate == pytest.approx(1 / 60)
    npt.assert_array_equal(recording.values[:, 0], sorted(places))
    assert recording.times_s is not None and recording.times_s[-1] - recording.times_s[0] == 660


def test_what_is_no_table_of_epochs_is_refused(tmp_path: Path) -> None:
    view = save_agd(tmp_path / "v.agd", "CREATE TABLE a (x)", "CREATE VIEW data AS SELECT 1 AS dataTimestamp FROM a")
    assert "holds no table 'data'" in refusal(lambda: read_one(view), naming=view)
    empty = save_agd(tmp_path / "e.agd", "CREATE TABLE data (dataTimestamp INTEGER, axis1 INTEGER)")
    assert "table 'data' is empty" in refusal(lambda: read_one(empty), naming=empty)
    other = write(tmp_path, "o.agd", b"x,y\n1,2\n")
    assert "no ActiGraph database" in refusal(lambda: read_one(other), naming=other)
