"""Stored arrays: every number type and order, what describes them, and that nothing is unpickled."""

from __future__ import annotations

import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.testing as npt
import pytest

from rondo import memory
from rondo.errors import MissingExtraError
from rondo.files.inputs import RecordingFile
from tests.formats.reading import VALUES, read_one, refusal, save_array, save_h5


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i2", "u1", "i8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_number_type(tmp_path: Path, suffix: str, dtype: str, order: Any) -> None:
    array = np.asarray(np.random.default_rng(0).integers(0, 2, (50, 3)), dtype=dtype, order=order)
    save_array(tmp_path / f"a{suffix}", array)
    recording = read_one(tmp_path / f"a{suffix}", rate=10)
    npt.assert_array_equal(recording.values, array.astype(np.float32))
    assert (recording.channels, recording.rate) == (("ch0", "ch1", "ch2"), 10.0)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block_bytes", [1, 8, 100, 1000])
def test_the_block_size_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, order: Any, block_bytes: int
) -> None:
    array = np.asarray(np.random.default_rng(1).normal(size=(61, 5)), order=order)
    save_array(tmp_path / f"a{suffix}", array)
    if suffix == ".h5":
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("X", data=array, chunks=(7, 2), compression="gzip")
    monkeypatch.setattr("rondo.files.arrays.BLOCK_BYTES", block_bytes)
    whole = read_one(tmp_path / f"a{suffix}")
    npt.assert_array_equal(whole.values, array.astype(np.float32))
    part = read_one(tmp_path / f"a{suffix}", leave_out=["ch0", "ch3"])
    npt.assert_array_equal(part.values, array[:, [1, 2, 4]].astype(np.float32))
    assert part.channels == ("ch1", "ch2", "ch4")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_archives_describe_their_array(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    save = np.savez if suffix == ".npz" else save_h5
    names = np.array(["acc", "gyr"], dtype="S")
    arrays = {"X": VALUES, "Z": VALUES[:, :1], "rate": 40.0, "channels": names, "y": np.arange(3)}
    save(path, **arrays)
    recording = read_one(path)
    npt.assert_array_equal(recording.values, VALUES)
    assert (recording.rate, recording.channels, recording.notes) == (40.0, ("acc", "gyr"), ())
    other = read_one(path, rate=20, leave_out=["gyr"])
    assert (other.rate, other.channels) == (20.0, ("acc",))
    assert ["file's own rate of 40" in note for note in other.notes] == [True]
    assert "'channels' holds 2 names for 1" in refusal(lambda: read_one(path, key="Z"), naming=path)
    save(path, Z=VALUES[:, :1], time=np.array([1.7e12, 1.7e12 + 10, 1.7e12 + 20]))
    timed = read_one(path, key="Z")
    npt.assert_allclose(timed.rate, 100, rtol=1e-4)
    assert ["clock 'time' read" in note for note in timed.notes] == [True]
    assert read_one(path, key="Z", rate=5).timestamps_s is None
    save(path, X=np.arange(6.0).reshape(3, 2), channels=np.array(["t", "x"], dtype="S"))
    npt.assert_array_equal(read_one(path).timestamps_s, [0, 2, 4])


def test_hdf5_groups_and_attributes(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["rate"] = 8
        file["session/left"] = VALUES
        file["session/left"].attrs["channels"] = ["x", "y"]
        file["session/left"].attrs["rate"] = 16
        file["flat"] = np.arange(5)
    left = read_one(tmp_path / "a.h5", key="/session/left")
    assert (left.channels, left.rate) == (("x", "y"), 16.0)
    assert read_one(tmp_path / "a.h5", key="flat").values.shape == (5, 1)
    said = refusal(lambda: read_one(tmp_path / "a.h5"), naming=tmp_path / "a.h5")
    assert "flat (5,), session/left (3, 2)" in said


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_the_only_array_is_read_under_any_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    save: dict[str, Callable[..., None]] = {".npz": np.savez, ".h5": save_h5}
    save[suffix](path, imu=VALUES, fs=np.array(20.0), labels=np.arange(3), names=np.array([b"a"]))
    found = read_one(path)
    npt.assert_array_equal(found.values, VALUES)
    assert found.rate == 20.0
    save[suffix](path, imu=VALUES, more=VALUES, rate=5)
    said = refusal(lambda: read_one(path), naming=path)
    assert "imu (3, 2), more (3, 2)" in said
    save[suffix](path, cube=np.zeros((2, 2, 2)), rate=5)
    said = refusal(lambda: read_one(path), naming=path)
    assert "only: cube, rate" in said


def test_a_packed_array_is_known_by_its_header_whatever_its_name(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", zeros=np.zeros((100_000, 10)))
    assert RecordingFile(str(tmp_path / "a.npz"), "a").expected().n_bytes == 4_000_000


def test_an_hdf5_file_that_holds_more_than_fits_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("X", (1_000_000_000, 4), dtype="f8", chunks=(1000, 4), compression="gzip")
    monkeypatch.setattr(memory, "free_bytes", lambda: 8_000_000_000)
    said = refusal(lambda: read_one(tmp_path / "a.h5"), naming=tmp_path / "a.h5")
    assert "need about 196 GB" in said


def test_what_an_hdf5_file_names_elsewhere_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    np.arange(6.0).tofile(secret)
    save_h5(tmp_path / "other.h5", X=VALUES)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["link"] = h5py.ExternalLink("other.h5", "/")
        file["soft"] = h5py.SoftLink("/nowhere")
        file.create_dataset("X", (3, 2), dtype="f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
        layout = h5py.VirtualLayout((3, 2), dtype="f4")
        layout[:] = h5py.VirtualSource("other.h5", "X", (3, 2))
        file.create_virtual_dataset("virtual", layout)
        file["inside"] = VALUES
        file.create_dataset("time", (3,), dtype="f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
    for key in (None, "X", "virtual"):
        said = refusal(lambda key=key: read_one(path, key=key), naming=path)  # type: ignore[misc]
        assert f"numbers of dataset '{key or 'X'}' lie" in said
    assert "'link' leads to another" in refusal(lambda: read_one(path, key="link/X"), naming=path)
    assert "no array 'soft'" in refusal(lambda: read_one(path, key="soft"), naming=path)
    said = refusal(lambda: read_one(path, key="inside"), naming=path)
    assert "numbers of dataset 'time'" in said


def test_hdf5_without_h5py_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_h5(tmp_path / "a.h5", X=VALUES)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"'h5py': pip install 'rondo-ts\[io\]'"):
        read_one(tmp_path / "a.h5")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.float64(3), "0 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions (2, 2, 2)"),
        (np.zeros((5, 0)), "is empty: 5 frames x 0 channels"),
        (np.zeros((0, 5)), "is empty: 0 frames x 5 channels"),
        (np.array([[1 + 2j]]), "complex128, not numbers"),
        (np.array([b"ab"]), "not numbers"),
        (np.zeros(3, dtype=[("x", "f4")]), "not numbers"),
        (np.array([[1.0, np.inf]]), "frame 0, channel 'ch1'"),
        (np.full((3, 2), np.nan), "all 6 values are NaN"),
        (np.array([[1e300]]), "beyond float32"),
    ],
)
def test_arrays_that_are_no_recording(tmp_path: Path, suffix: str, array: np.ndarray, says: str) -> None:
    path = tmp_path / f"bad{suffix}"
    save_array(path, array)
    assert says in refusal(lambda: read_one(path), naming=path)


class Trap:
    """Unpickling one would create the file named in `spring`."""

    def __init__(self, spring: str) -> None:
        self.spring = spring

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.spring, "w")


@pytest.mark.parametrize("key", ["X", "rate", "channels", "time"])
def test_pickles_are_never_opened(tmp_path: Path, key: str) -> None:
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(str(sprung))], dtype=object)
    np.savez(tmp_path / "a.npz", **({"X": VALUES} | {key: trap}))
    np.save(tmp_path / "b.npy", trap)
    (tmp_path / "c.npy").write_bytes(pickle.dumps(Trap(str(sprung))))
    for name in ("a.npz", "b.npy", "c.npy"):
        refusal(lambda name=name: read_one(tmp_path / name), naming=tmp_path / name)
    assert not sprung.exists()
    pickle.loads(pickle.dumps(Trap(str(sprung)))).close()
    assert sprung.exists(), "the trap must be able to spring, or the test shows nothing"


def test_other_arrays_in_an_archive_are_not_even_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=VALUES)
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("y.npy", b"no array at all")
    npt.assert_array_equal(read_one(tmp_path / "a.npz").values, VALUES)
    said = refusal(lambda: read_one(tmp_path / "a.npz", key="yy"), naming=tmp_path / "a.npz")
    assert "no array 'yy'" in said


def test_headers_must_agree_with_the_bytes_that_follow(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((30, 2)))
    sound = (tmp_path / "a.npy").read_bytes()
    for damaged in (
        sound + b"\0",
        sound[:-1],
        sound.replace(b"(30, 2), ", b"(300000000000, 2), ").replace(b" " * 10, b"", 1),
    ):
        (tmp_path / "a.npy").write_bytes(damaged)
        said = refusal(lambda: read_one(tmp_path / "a.npy"), naming=tmp_path)
        assert "takes" in said
        assert "bytes, but" in said


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_flipped_bit_in_an_archive_is_found_by_its_checksum(tmp_path: Path, dtype: Any) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.full((500, 4), 7.0, dtype=dtype))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert "Bad CRC-32" in refusal(lambda: read_one(path), naming=path)


def test_names_inside_a_file_do_not_break_the_line(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{"two\nlines": VALUES, "b": VALUES})
    assert "two lines (3, 2), b (3, 2)" in refusal(lambda: read_one(tmp_path / "a.npz"), naming=tmp_path)
