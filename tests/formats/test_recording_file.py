"""Files that are described before they are read: sizes from headers, patterns, and what changes when a file does."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rondo import memory
from rondo.errors import RecordingError
from rondo.files.inputs import ExpectedSize, RecordingFile, recording_files
from rondo.files.reading import Reading
from rondo.memory import needed, workers_that_fit
from rondo.store.locations import states_of


def test_a_file_is_read_where_it_is_sent(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(6, 2))
    (file,) = pickle.loads(pickle.dumps(recording_files([tmp_path], Reading(rate=5.0))))
    recording = file.read()
    assert (recording.id, recording.rate, recording.source) == ("a", 5.0, str(tmp_path / "a.npy"))
    assert recording.values.shape == (6, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_sizes_are_those_in_memory_and_come_from_headers(tmp_path: Path, dtype: type) -> None:
    values = np.ones((50, 3), dtype)
    np.save(tmp_path / "a.npy", values)
    np.savez_compressed(tmp_path / "b.npz", X=values, Y=values[:, :1])
    pl.DataFrame(values, schema=["x", "y", "z"]).write_parquet(tmp_path / "c.parquet")
    for file in recording_files([tmp_path]):
        assert file.expected() == ExpectedSize(50, 3, 600)
    assert RecordingFile(str(tmp_path / "b.npz"), "b", Reading(key="Y")).expected().n_bytes == 200


def test_where_no_header_tells_the_size_of_the_file_does(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "1.5,2.5\n" * 100)
    assert RecordingFile(str(tmp_path / "a.csv"), "a").expected() == ExpectedSize(None, None, 804)
    (tmp_path / "b.npy").write_bytes(b"damaged")
    assert RecordingFile(str(tmp_path / "b.npy"), "b").expected().n_frames is None
    assert RecordingFile(str(tmp_path / "gone.npy"), "gone").expected().n_bytes == 0
    (tmp_path / "c.parquet").write_bytes(b"PAR1 damaged PAR1")
    assert RecordingFile(str(tmp_path / "c.parquet"), "c").expected().n_frames is None


def test_patterns_name_files_in_order(tmp_path: Path) -> None:
    for name in ("b1.npy", "a1.npy", "a2.npy"):
        np.save(tmp_path / name, np.ones((3, 1)))
    found = recording_files([str(tmp_path / "a*.npy"), tmp_path / "b1.npy"])
    assert [file.id for file in found] == ["a1", "a2", "b1"]
    with pytest.raises(RecordingError, match="pattern matches no file"):
        recording_files([str(tmp_path / "c*.npy")])


def test_the_state_of_a_file_changes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 1)))
    (before,) = states_of([path]).values()
    assert [before] == list(states_of([path]).values()) and before.size == path.stat().st_size
    os.utime(path, ns=(1, 1))
    assert [before] != list(states_of([path]).values())
    with pytest.raises(RecordingError, match="gone"):
        states_of([tmp_path / "gone"])


def test_what_is_free_is_the_least_that_anybody_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    2000 kB\n")
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "current").write_text("500000\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CGROUPS", ((tmp_path / "max", tmp_path / "current"),))
    assert memory.free_bytes() == 2000 * 1024
    (tmp_path / "max").write_text("1500000\n")
    assert memory.free_bytes() == 1_000_000
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "gone")
    monkeypatch.setattr(memory, "_CGROUPS", ())
    assert memory.free_bytes() is None


def test_workers_are_as_many_as_have_room() -> None:
    size = ExpectedSize(1_000_000, 9, 36_000_000)
    assert needed(size) == 6 * 36_000_000 + 100_000_000
    assert workers_that_fit(8, [size], None) == 8
    assert workers_that_fit(8, [size], 2_000_000_000) == 3
    assert workers_that_fit(8, [size], 100) == 1
