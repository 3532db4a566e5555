"""Labels, ids, counters and flags by name and values; sensors with unlucky names stay; the way back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import Column, choose_columns, no_signal_by_values, signals_of
from rondo.files.read import read_recording
from rondo.files.reading import Reading
from tests.formats.reading import from_frame, read_one, write

N = 3000
RNG = np.random.default_rng(0)
WAVE = np.sin(np.arange(N) / 9)


def marks(*places: int, rows: int = 1) -> np.ndarray:
    column = np.zeros(N)
    for place in places:
        column[place : place + rows] = 1
    return column


NO_SIGNALS = {
    "anomaly": marks(400, 1900, rows=200),
    "is_anomaly": marks(*range(50, N, 97)),
    "changepoint": marks(400, 600, 1900, 2100),
    "Change Point": marks(1500),
    "fault": marks(2500, rows=500),
    "Machine failure": marks(2999),
    "outlier": np.where(RNG.random(N) < 0.02, -1, 1),
    "cluster": np.repeat(RNG.integers(0, 8, N // 50), 50),
    "unit number": np.repeat(np.arange(1, 11), N // 10),
    "engine_id": np.full(N, 7),
    "machineID": np.repeat([4, 2, 9], N // 3),
    "sample index": np.arange(N) % 256,
    "time_cycles": np.concatenate([np.arange(1, 201) for _ in range(15)]),
    "PacketCounter": np.delete(np.arange(N + 30), np.arange(0, N, 100))[:N],
    "valid": marks(10, rows=2000),
}
SIGNALS = {
    "fault": 0.3 * WAVE,  # a current
    "anomaly": np.cumsum(RNG.normal(size=N)),  # of a temperature, in degrees
    "unit": RNG.integers(0, 200, N),
    "engine": np.tile(marks(0, rows=100)[:300], 10),  # runs, stands, runs
    "index": 100 + np.cumsum(RNG.normal(size=N)),
    "counter": RNG.poisson(3, N),  # of particles
    "sample": RNG.integers(-2000, 2000, N),
    "frame": WAVE,
    "pump": marks(400, 1900, rows=200),
    "cluster": RNG.integers(0, 500, N),
    "event": RNG.poisson(2, N),
    "cycle": np.repeat(np.arange(100), 30),  # of a charger: it does not count rows
    "state_of_charge": np.repeat(np.arange(100), 30),
    "gear": np.repeat(RNG.integers(1, 6, N // 50), 50),
    "step": np.repeat(np.arange(300), 10),
}


def beside_a_wave(name: str, column: np.ndarray) -> Recording:
    return Recording(np.stack([WAVE, column], axis=1), rate=50, channels=["wave", name])


@pytest.mark.parametrize("name", NO_SIGNALS)
def test_what_is_no_signal_is_left_out_with_the_way_back(name: str) -> None:
    recording = beside_a_wave(name, NO_SIGNALS[name])
    found = signals_of(recording)
    assert found.channels == ("wave",)
    assert f"; --keep-column {name!r} keeps it" in found.notes[-1]
    assert signals_of(recording, Reading(keep=name)).channels == ("wave", name)
    assert signals_of(Recording(NO_SIGNALS[name], channels=[name])).channels == (name,)  # all there is


@pytest.mark.parametrize("name", SIGNALS)
def test_sensors_with_unlucky_names_stay(name: str) -> None:
    found = signals_of(beside_a_wave(name, SIGNALS[name]), rules=(no_signal_by_values,))
    assert found.channels == ("wave", name)
    assert found.notes == ()


def test_actigraphy_in_a_column_activity_is_a_signal(tmp_path: Path) -> None:
    counts = RNG.integers(0, 900, N)
    rows = "".join(f"{i},{counts[i]},{20 + i % 3}\n" for i in range(N))
    found = read_recording(write(tmp_path, "a.csv", "time,Activity,light\n" + rows))
    assert found.channels == ("Activity", "light")
    assert any("column 'Activity' kept" in note for note in found.notes)
    table = pl.DataFrame({"time": np.arange(N), "Activity": counts, "light": 20 + np.arange(N) % 3})
    assert from_frame(table).channels == ("Activity", "light")


@pytest.mark.parametrize("name", ["label", "subject"])
def test_plain_labels_are_kept_on_request_only(tmp_path: Path, name: str) -> None:
    rows = "".join(f"{i},{WAVE[i]},{i // 500}\n" for i in range(N))
    path = write(tmp_path, "a.csv", f"time,wave,{name}\n" + rows)
    assert read_recording(path).channels == ("wave",)
    assert read_one(path, keep=[name]).channels == ("wave", name)
    kept = rondo.read(path, Reading(keep=name))
    assert isinstance(kept, Recording)
    assert kept.channels == ("wave", name)
    assert not any("long runs" in note for note in kept.notes)


def test_wishes_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"no column 'z'"):
        choose_columns([Column("x"), Column("y")], Reading(keep=["z"]))
    with pytest.raises(RecordingError, match=r"'x' .*left out .*kept"):
        Reading(leave_out=["x"], keep=["x"])
    only = write(tmp_path, "a.csv", "time,label\n" + "".join(f"{i},{i // 10}\n" for i in range(40)))
    with pytest.raises(RecordingError, match=r"no channel .*--keep-column 'label'"):
        read_recording(only)
    assert read_one(only, keep=["label"]).channels == ("label",)
