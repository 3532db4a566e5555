"""MATLAB files: version 5 written by scipy, version 7.3 as MATLAB lays it out in HDF5, written by h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.testing as npt
import pytest
import scipy.io

from rondo import memory
from tests.formats.reading import VALUES, read_one, refusal, write

LONG = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


def cell(*texts: str) -> np.ndarray:
    found = np.empty((1, len(texts)), dtype=object)
    found[0] = texts
    return found


def save_5(path: Path, **variables: Any) -> Path:
    scipy.io.savemat(path, variables, do_compression=True)
    return path


def save_73(path: Path, **variables: Any) -> Path:
    """Axes reversed, the class in an attribute, cells as references into #refs#, 512 bytes before all else."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            array = np.atleast_2d(value)
            if array.dtype == object:
                items = [file.create_dataset(f"#refs#/{name}{i}", data=_codes(text)) for i, text in enumerate(array[0])]
                file.create_dataset(name, data=np.array([[item.ref] for item in items], dtype=h5py.ref_dtype))
                kind = "cell"
            else:
                file[name] = array.T
                kind = {"float64": "double", "float32": "single", "bool": "logical"}.get(str(array.dtype), "int64")
            file[name].attrs["MATLAB_class"] = np.bytes_(kind)
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Nov 16 2026 HDF5 schema 1.00 .".ljust(124)
    with path.open("r+b") as file:
        file.write(head + b"\x00\x02IM")
    return path


def _codes(text: str) -> np.ndarray:
    return np.array([[ord(letter)] for letter in text], dtype=np.uint16)


BOTH = pytest.mark.parametrize("save", [save_5, save_73])


@BOTH
def test_the_only_array_with_its_rate_and_channels(tmp_path: Path, save: Any) -> None:
    path = save(tmp_path / "day.mat", acc=LONG, Fs=50.0, channels=cell("x", "y", "z"), labels=np.arange(40))
    recording = read_one(path)
    npt.assert_array_equal(recording.values, LONG)
    assert (recording.id, recording.rate, recording.channels) == ("day", 50.0, ("x", "y", "z"))
    assert recording.notes == ()


@BOTH
def test_signals_in_rows_are_turned_and_t_is_the_clock(tmp_path: Path, save: Any) -> None:
    path = save(tmp_path / "day.mat", data=LONG.T, t=np.arange(40)[None] / 8)
    recording = read_one(path)
    npt.assert_array_equal(recording.values, LONG)
    assert recording.rate == pytest.approx(8)
    assert ["array 'data' is 3 x 40" in note for note in recording.notes] == [True]
    one = read_one(save(tmp_path / "one.mat", emg=LONG[:, :1].T))
    npt.assert_array_equal(one.values, LONG[:, :1])
    assert one.notes == ()


@BOTH
def test_several_are_named_and_a_key_chooses(tmp_path: Path, save: Any) -> None:
    path = save(tmp_path / "day.mat", a=LONG, b=VALUES, names=cell("x"))
    assert "holds 2 arrays: a (40, 3), b (3, 2)" in refusal(lambda: read_one(path), naming=path)
    npt.assert_array_equal(read_one(path, key="b").values, VALUES)
    message = refusal(lambda: read_one(path, key="names"), naming=path)
    assert "no array 'names'" in message


def test_structs_are_not_loaded(tmp_path: Path) -> None:
    path = save_5(tmp_path / "day.mat", EEG={"data": LONG, "srate": 256})
    message = refusal(lambda: read_one(path), naming=path)
    assert "numbers, only: EEG (struct)" in message


def test_one_that_does_not_fit_is_refused_before_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_5(tmp_path / "day.mat", a=np.zeros((200_000, 2)))
    monkeypatch.setattr(memory, "free_bytes", lambda: 260_000_000)
    assert "200000 frames of 2 channels need" in refusal(lambda: read_one(path), naming=path)


def test_numbers_that_lie_in_another_file_are_not_read(tmp_path: Path) -> None:
    np.arange(80.0).tofile(tmp_path / "secret.bin")
    path = save_73(tmp_path / "day.mat", a=LONG)
    with h5py.File(path, "r+") as file:
        del file["a"]
        file.create_dataset("a", (2, 40), dtype="f8", external=[(str(tmp_path / "secret.bin"), 0, h5py.h5f.UNLIMITED)])
        file["a"].attrs["MATLAB_class"] = np.bytes_("double")
        file["b"] = h5py.ExternalLink("other.h5", "/X")
    assert "dataset 'a' lie" in refusal(lambda: read_one(path), naming=path)


def test_a_file_that_ends_the_library_is_one_line(tmp_path: Path) -> None:
    """Untried, some of these end the process: scipy trusts what an element says of itself."""
    whole = np.frombuffer(save_5(tmp_path / "a.mat", a=LONG).read_bytes(), dtype=np.uint8)
    rng = np.random.default_rng(3)
    for _ in range(2):
        damaged = whole.copy()
        damaged[rng.integers(128, whole.size, 3)] ^= np.uint8(255)
        path = write(tmp_path, "bad.mat", damaged.tobytes())
        refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]
