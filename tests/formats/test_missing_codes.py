"""Codes of missing values: found where programs write them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.files.missing import missing_codes, with_codes_missing
from rondo.files.read import read_recording
from rondo.files.reading import Reading
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from tests.formats.reading import read_one, write

N = 2000
RNG = np.random.default_rng(1)
NOISE = RNG.normal(size=N).astype(np.float32)


def with_code(values: np.ndarray, code: float, share: float = 0.05) -> np.ndarray:
    return np.where(RNG.random(N) < share, code, values).astype(np.float32)


CODES = {
    "a gas, one decimal": (with_code(np.round(np.abs(NOISE) * 2, 1) + 0.1, -200), -200.0),
    "nitrogen oxides": (with_code(np.round(RNG.gamma(2, 120, N)) + 2, -200), -200.0),
    "a temperature": (with_code(15 + 8 * NOISE, -999), -999.0),
    "a pressure": (with_code(1013 + 9 * NOISE, 9999), 9999.0),
    "a well log": (with_code(2.3 + 0.1 * NOISE, -999.25), -999.25),
    "a fill value of netCDF": (with_code(NOISE, 9.96921e36), float(np.float32(9.96921e36))),
    "most of the time": (with_code(np.abs(NOISE), -200, share=0.4), -200.0),
}
NO_CODES = {
    "clipped at the end of its range": np.clip(300 * NOISE, -200, 200),
    "clipped from below at a code": np.maximum(-150 + 40 * NOISE, -200),
    "an integer that rests at its end": np.where(np.arange(N) % 500 < 100, 9999, 9999 - np.arange(N) % 500),
    "a switch": np.where(np.arange(N) % 500 < 100, -200.0, 0.0),
    "levels": np.repeat(RNG.choice([-999, 0, 10, 20], N // 20), 20),
    "pulses of 5 V": np.where(np.arange(N) % 97 == 0, 5, 0.01 * NOISE),
    "one spike": np.where(np.arange(N) == 77, -999, NOISE),
    "constant": np.full(N, -200.0),
    "noise": NOISE,
    "whole numbers": RNG.integers(-1000, 1000, N),
}


@pytest.mark.parametrize("what", CODES)
def test_a_code_is_found_said_and_made_missing(what: str) -> None:
    column, code = CODES[what]
    (found,) = missing_codes(column)
    assert found.code == code
    assert found.n_rows == int((column == np.float32(code)).sum())
    recording = Recording(np.stack([NOISE, column], axis=1), rate=1, channels=["a", "b"])
    repaired = with_codes_missing(recording, Reading())
    assert np.array_equal(np.isnan(repaired.values[:, 1]), column == np.float32(code))
    assert np.array_equal(repaired.values[:, 0], NOISE)
    assert "'b' read as missing" in repaired.notes[-1]
    assert with_codes_missing(recording, Reading(keep="b")) is recording


def test_two_codes_in_one_channel() -> None:
    column = with_code(with_code(np.abs(NOISE), -200), -999)
    assert sorted(found.code for found in missing_codes(column)) == [-999.0, -200.0]


@pytest.mark.parametrize("what", NO_CODES)
def test_what_is_no_code(what: str) -> None:
    assert missing_codes(np.asarray(NO_CODES[what], np.float32)) == []


def test_a_channel_that_is_mostly_code_is_left_out() -> None:
    column = with_code(np.abs(NOISE), -200, share=0.9)
    found = with_codes_missing(Recording(np.stack([NOISE, column], axis=1), channels=["a", "b"]), Reading())
    assert found.channels == ("a",)
    assert "column 'b' left out: " in found.notes[-1]


def test_a_file_and_the_way_back(tmp_path: Path) -> None:
    column = CODES["nitrogen oxides"][0]
    rows = "".join(f"{i},{NOISE[i]},{column[i]}\n" for i in range(N))
    path = write(tmp_path, "air.csv", "Time,T,NOx(GT)\n" + rows)
    found = read_recording(path)
    assert found.channels == ("T", "NOx(GT)")  # a temperature: it does not rise as a clock does
    assert np.isnan(found.values[:, 1]).any()
    assert not np.isnan(read_one(path, keep=["NOx(GT)"]).values).any()


@pytest.mark.parametrize("seed", range(5))
def test_planted_streams_have_none(seed: int) -> None:
    values = np.asarray(plant(StreamPlan(), seed=seed).recording.values)
    assert not any(missing_codes(column) for column in values.T)


@pytest.mark.data
@pytest.mark.slow
def test_no_recording_at_hand_has_any(data_dir: Path) -> None:
    for path in sorted(data_dir.glob("*/*.npz")):
        with np.load(path, allow_pickle=False) as stored:
            values = np.asarray(stored["X"], np.float32) if "X" in stored.files else np.zeros((2, 1), np.float32)
        for column in values.reshape(len(values), -1).T:
            assert missing_codes(column) == [], path.name
