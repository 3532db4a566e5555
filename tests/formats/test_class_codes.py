"""Labels without a name: columns that jump as codes do are left out, those that move as sensors do are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.data.recording import Recording
from rondo.files.columns import signals_of
from rondo.files.read import read_recording
from tests.formats.reading import write

N = 6000
WAVE = np.sin(np.arange(N) / 9).astype(np.float32)


def held(values: object, rows: int = 100) -> np.ndarray:
    """Each value for as many rows, N in all."""
    return np.resize(np.repeat(np.asarray(values, np.float32), rows), N)


def read(column: np.ndarray, name: str = "ch1") -> Recording:
    return signals_of(Recording(np.stack([WAVE, column], axis=1), channels=["ch0", name]))


LABELS = {
    "arbitrary codes": held([0, 17, 4, 0, 2, 17, 4]),
    "background between classes": held([0, 1, 0, 2, 0, 3, 0, 1]),
    "in the order of a protocol": held([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    "many classes": held(np.random.default_rng(0).permutation(40)),
    "short runs": held([5, 1, 3, 2, 5, 2], rows=30),
    "missing where nobody labelled": np.where(np.arange(N) % 700 < 300, np.nan, held([3, 1, 7, 2])),
}
SENSORS = {
    "a switch": held([0, 1]),
    "a gear": held([1, 2, 3, 4, 5, 4, 3, 2]),
    "a battery": np.floor(np.linspace(99, 60, N)),
    "whole degrees": np.round(20 + 4 * np.sin(np.arange(N) / 700)),
    "a heart rate, once a second": held(np.round(80 + 25 * np.sin(np.arange(60) / 5) + np.arange(60) % 4)),
    "counts of rare events": np.where(np.arange(N) % 97 == 0, 1 + np.arange(N) // 97 % 5, 0),
    "halves": held([0.5, 17, 4, 0, 2]),
    "fast": held([0, 17, 4, 0, 2], rows=8),
    "constant": np.ones(N),
}


@pytest.mark.parametrize("what", LABELS)
def test_codes_are_left_out_without_a_name_and_warned_of_with_one(what: str) -> None:
    recording = read(LABELS[what])
    npt.assert_array_equal(recording.values, WAVE[:, None])
    assert recording.channels == ("ch0",)
    assert "column 'ch1' left out" in recording.notes[0]
    named = read(LABELS[what], name="stage")
    assert named.channels == ("ch0", "stage") and "--label-column 'stage'" in named.notes[0]


@pytest.mark.parametrize("name", ["Var2", "V2", "1", "Unnamed: 1", "Column1"])
def test_names_that_programs_give_are_none(name: str) -> None:
    assert read(LABELS["arbitrary codes"], name).channels == ("ch0",)


WARNED_OF = ("a switch", "a gear", "whole degrees", "halves")


@pytest.mark.parametrize("what", SENSORS)
def test_what_moves_as_a_sensor_is_kept(what: str) -> None:
    recording = read(SENSORS[what])
    assert recording.channels == ("ch0", "ch1")
    assert ("--label-column 'ch1'" in " ".join(recording.notes)) == (what in WARNED_OF)


def test_a_table_of_codes_alone_is_kept() -> None:
    codes = np.stack([held([0, 17, 4, 0, 2]), held([3, 1, 9])], axis=1)
    recording = signals_of(Recording(codes))
    assert recording.channels == ("ch0", "ch1")
    assert len(recording.notes) == 2


SAVED: dict[str, Callable[[Path, np.ndarray], None]] = {
    "a.csv": lambda path, values: pl.DataFrame(values).write_csv(path, include_header=False),
    "a.npy": lambda path, values: np.save(path, values),
    "a.npz": lambda path, values: np.savez(path, X=values),
}


@pytest.mark.parametrize("name", SAVED)
def test_files_without_names(tmp_path: Path, name: str) -> None:
    SAVED[name](tmp_path / name, np.stack([WAVE, LABELS["arbitrary codes"], -WAVE], axis=1))
    recording = read_recording(tmp_path / name)
    assert recording.channels == ("ch0", "ch2")
    assert any("column 'ch1' left out" in note for note in recording.notes)


def test_a_header_line_takes_a_column_back(tmp_path: Path) -> None:
    rows = [f"{i / 50},{WAVE[i]},{code:g}" for i, code in enumerate(LABELS["arbitrary codes"])]
    bare = read_recording(write(tmp_path, "a.csv", "\n".join(rows)))
    assert (bare.channels, bare.rate) == (("ch1",), 50.0)
    named = read_recording(write(tmp_path, "b.csv", "\n".join(["time,wave,mode", *rows])))
    assert named.channels == ("wave", "mode")
