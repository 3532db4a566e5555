"""WFDB records: samples packed by hand as signal(5) describes them, and records that the package `wfdb` wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import RecordingError
from rondo.files.inputs import RecordingFile
from tests.formats.reading import read_one, refusal, write
from tests.systems import needs_posix

A, B = 995, -1011  # two samples of 12 bits
EXAMPLES = {
    8: (bytes([5, 0xFB, 0x80]), [100 + 5, 100, -28]),  # differences to 100
    16: (bytes([0xE3, 0x03, 0x0D, 0xFC, 0, 0x80]), [A, B, None]),
    24: (bytes([0xE3, 0x03, 0, 0x0D, 0xFC, 0xFF, 0, 0, 0x80]), [A, B, None]),
    32: (bytes([0xE3, 0x03, 0, 0, 0x0D, 0xFC, 0xFF, 0xFF, 0, 0, 0, 0x80]), [A, B, None]),
    61: (bytes([0x03, 0xE3, 0xFC, 0x0D, 0x80, 0]), [A, B, None]),
    80: (bytes([128 + 5, 128 - 5, 0]), [5, -5, None]),
    160: (bytes([0xE3, 0x83, 0x0D, 0x7C, 0, 0]), [A, B, None]),
    212: (bytes([0xE3, 0xC3, 0x0D, 0x00, 0x08]), [A, B, None]),
    310: (bytes([0x0A, 0, 0xF6, 0x07 | 0x80]), [5, -5, None]),  # 5 << 1, -5 << 1, and -512 by its highest bit
    311: (bytes([0x05, 0xEC, 0x0F, 0x20]), [5, -5, None]),
}  # fmt: skip


def save(folder: Path, *lines: str, **files: bytes) -> Path:
    for name, content in files.items():
        write(folder, f"{name}.dat", content)
    return write(folder, "r.hea", "# a remark\n" + "\n".join(lines) + "\n# another\n")


def save_two(path: Path) -> None:
    """Two signals without a number of frames, in `sound.dat` beside their header."""
    write(path.parent, f"{path.stem}.dat", bytes(range(1, 241)))
    names = ("x", "y")
    lines = [f"{path.stem} 2 50", *(f"{path.stem}.dat 212 200/mV 12 0 0 0 0 {name}" for name in names)]
    write(path.parent, path.name, "\n".join(lines) + "\n")


@pytest.mark.parametrize("format", EXAMPLES)
def test_samples_of_every_format(tmp_path: Path, format: int) -> None:
    content, expected = EXAMPLES[format]
    path = save(tmp_path, "r 1 50 3", f"r.dat {format} 10(5)/g 12 0 100 0 0 x", r=content)
    recording = read_one(path)
    assert (recording.id, recording.channels, recording.rate) == ("r", ("x",), 50.0)
    npt.assert_allclose(recording.values[:, 0], [np.nan if n is None else (n - 5) / 10 for n in expected], rtol=1e-6)


def test_frames_of_several_files_rates_skews_and_defaults(tmp_path: Path) -> None:
    words = np.arange(12, dtype="<i2")
    path = save(
        tmp_path,
        "r 3 10/25(0) 4 10:30:00 14/11/2026",
        "a.dat 16x2+4 1/mV 12 0 0 0 0 fast one",
        "a.dat 16:1+4 2",
        "b.dat 16",
        a=b"head" + words.tobytes(),
        b=np.array([200, 400, 600, 800], "<i2").tobytes(),
    )  # fmt: skip
    slow = read_one(path, rate=10)
    assert slow.channels == ("ch1", "ch2")
    npt.assert_array_equal(slow.values[:, 0], [2.5, 4, 5.5, np.nan])  # a frame earlier: what precedes frame 0 is gone
    npt.assert_array_equal(slow.values[:, 1], [1, 2, 3, 4])  # a gain of 200 where none is given
    fast = read_one(path, rate=20)
    npt.assert_array_equal(fast.values[:, 0], [0, 1, 3, 4, 6, 7, 9, 10])
    assert ["left out: ch1, ch2" in note for note in fast.notes] == [True]
    assert "20 Hz: fast one; 10 Hz" in refusal(lambda: read_one(path), naming=path)
    alone = read_one(path, leave_out=["fast one"])
    assert alone.times_s is not None and alone.times_s[0] == 1794652200.0 and alone.rate == 10.0


def test_what_is_no_signal_is_left_out(tmp_path: Path) -> None:
    lines = ("r.dat 16 1/mV 12 0 0 0 0 x", "r.dat 16 1/mV 12 0 0 0 0 label", "~ 0 1/mV 12 0 0 0 0 absent")
    recording = read_one(save(tmp_path, "r 3", *lines, r=np.arange(8, dtype="<i2").tobytes()))
    assert (recording.channels, recording.rate, recording.n_frames) == (("x",), 250.0, 4)
    assert all(
        word in note
        for word, note in zip(
            ("holds labels; --keep-column 'label'", "channel 'absent' left out"), recording.notes, strict=True
        )
    )


def test_a_wrong_checksum_is_noted(tmp_path: Path) -> None:
    for checksum, notes in ((6, ()), (7, ("channel 'x': its checksum is another; the file may be damaged",))):
        path = save(tmp_path, "r 1 50 4", f"r.dat 16 1 12 0 0 {checksum} 0 x", r=np.arange(4, dtype="<i2").tobytes())
        assert read_one(path).notes == notes


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("",), "it is no WFDB header"),
        (("x,y",), "it is no WFDB header"),
        (("r/2 1 50", "a 10", "b 10"), "it is a record of 2 segments"),
        (("r 2 50", "r.dat 16"), "announces 2 signals, 1 lines follow"),
        (("r 1 50", "r.dat"), "is not that of a signal"),
        (("r 1 50", "r.dat 516"), "format 516 (compressed by FLAC)"),
        (("r 1 50", "r.dat 99"), "format 99 (unknown)"),
        (("r 1 50 9999999999999", "r.dat 16"), "'r.dat' is truncated: 4 of 9999999999999 frames"),
        (("r 1 50", "r.dat 16x99999999999"), "it is empty, 0 frames"),
        (("r 1 50", "../r.dat 16"), "only files in its own folder are read"),
        (("r 1 50", "/etc/passwd 16"), "only files in its own folder are read"),
        (("r 1 50", ".. 16"), "only files in its own folder are read"),
        (("r 1 50", "other.dat 16"), "'other.dat', which is not in the same folder"),
        (("r 3 50", "r.dat 16", "s.dat 16", "r.dat 16"), "do not follow each other"),
        (("r 2 50", "r.dat 16", "r.dat 212"), "different formats"),
        (("r 1 0", "r.dat 16"), "the rate must be a positive number"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, lines: tuple[str, ...], expected: str) -> None:
    path = save(tmp_path, *lines, r=bytes(8), s=bytes(8))
    assert expected in refusal(lambda: read_one(path), naming=path)


@needs_posix
def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    secret = write(tmp_path, "secret", bytes(8))
    (inner / "r.dat").symlink_to(secret)
    path = save(inner, "r 1 50", "r.dat 16")
    assert "a link to elsewhere" in refusal(lambda: read_one(path), naming=path)


def test_samples_that_are_cut(tmp_path: Path) -> None:
    """Refused where the header knows how many there are, else read as far as they go."""
    lines = ("r.dat 212 200/mV 12 0 0 0 0 x", "r.dat 212 200/mV 12 0 0 0 0 y")
    content = bytes(range(1, 241))
    whole = read_one(save(tmp_path, "r 2 50", *lines, r=content))
    for n_bytes in range(12, 240, 12):
        found = read_one(save(tmp_path, "r 2 50", *lines, r=content[:n_bytes]))
        npt.assert_array_equal(found.values, whole.values[: n_bytes // 3])
        path = save(tmp_path, "r 2 50 80", *lines, r=content[:n_bytes])
        assert "is truncated" in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]


def test_a_header_that_is_cut_is_refused_or_noted(tmp_path: Path) -> None:
    path = save(tmp_path, "r 1 50 4", "r.dat 16 1/mV 12 0 0 0 0 x", r=bytes(range(8)))
    content = path.read_bytes()
    for part in range(20):
        path.write_bytes(content[: len(content) * part // 20])
        try:
            recording = read_one(path)
        except RecordingError as error:
            assert "\n" not in str(error)
        else:
            assert "header ends within" in "\n".join(recording.notes)


def test_the_samples_beside_it_are_named(tmp_path: Path) -> None:
    path = save(tmp_path, "r 2 50 4", "r.dat 16", "r.dat 16", r=bytes(range(16)))
    data = tmp_path / "r.dat"
    assert "name its header, r.hea" in refusal(lambda: read_one(data), naming=data)
    assert read_one(path).n_frames == 4
    assert RecordingFile(str(path), "r").expected()[:2] == (4, 2)


@pytest.mark.parametrize("fmt", ["80", "212", "16", "24", "32"])
def test_as_the_package_wfdb_reads_what_it_wrote(tmp_path: Path, fmt: str) -> None:
    wfdb = pytest.importorskip("wfdb", reason="needs wfdb, which reads and writes WFDB records")
    signals = np.random.default_rng(0).normal(size=(300, 3))
    signals[40:50, 1] = np.nan
    wfdb.wrsamp(
        "r", fs=125, units=["mV", "g", "mV"], sig_name=["I", "acc", "V5"], p_signal=signals, fmt=[fmt] * 3,
        write_dir=str(tmp_path),
    )  # fmt: skip
    expected = wfdb.rdrecord(str(tmp_path / "r"))
    recording = read_one(tmp_path / "r.hea")
    assert (recording.channels, recording.rate, recording.notes) == (("I", "acc", "V5"), 125.0, ())
    npt.assert_allclose(recording.values, expected.p_signal, rtol=1e-6, atol=1e-7)
    assert np.isnan(recording.values[40:50, 1]).all()
