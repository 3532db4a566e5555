"""Columns that may be something else than they seem: read in one way in every format, with a note."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.files.read import expected_size, find_recordings
from rondo.files.reading import Reading
from tests.formats.reading import from_frame, read_one, refusal, write

N = 3000
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
CODES = np.repeat(RNG.integers(0, 4, N // 150), 150)


def with_column(name: str, values: NDArray[np.float64]) -> Recording:
    return from_frame(pl.DataFrame({"x": X, name: values}), Reading(rate=50))


def smoothed(values: NDArray[np.float64], width: int = 9) -> NDArray[np.float64]:
    return np.convolve(values, np.ones(width) / width, "same")


LABELS = {
    "halves": np.where(CODES % 2 == 0, 0.25, 0.75),
    "quarters": 0.25 + CODES / 4,
    "smoothed": smoothed(CODES.astype(float)),
    "whole": CODES.astype(float),
}
SIGNALS = {
    "noise": RNG.normal(size=N),
    "walk": np.cumsum(RNG.normal(size=N)),
    "temperature in steps": np.round(20 + 3 * np.sin(np.arange(N) / 400) * 4) / 4,
    "at rest": np.where(np.arange(N) % 700 < 400, 0.0, RNG.normal(size=N)),
}


@pytest.mark.parametrize("name", LABELS)
def test_what_may_be_labels_is_kept_with_a_note(name: str) -> None:
    recording = with_column("phase", LABELS[name])
    assert recording.channels == ("x", "phase")
    assert ["if these are labels" in note for note in recording.notes] == [True]


@pytest.mark.parametrize("name", SIGNALS)
def test_what_moves_as_a_signal_has_no_note(name: str) -> None:
    assert with_column("signal", SIGNALS[name]).notes == ()


# ------------------------------------------------------------ truth


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
@pytest.mark.parametrize("n_rows", [40, 3000])
def test_true_and_false_are_left_out_of_every_text_and_may_be_kept(
    tmp_path: Path, words: tuple[str, str], n_rows: int
) -> None:
    flags = RNG.random(n_rows) < 0.5
    rows = list(zip(X.tolist(), flags.tolist(), strict=False))
    write(tmp_path, "a.csv", "x,on\n" + "".join(f"{x},{words[0] if on else words[1]}\n" for x, on in rows))
    write(tmp_path, "a.jsonl", "".join(json.dumps({"x": x, "on": on}) + "\n" for x, on in rows))
    for name in ("a.csv", "a.jsonl"):
        recording = read_one(tmp_path / name, rate=50)
        assert recording.channels == ("x",) and "'on' left out" in " ".join(recording.notes)
        recording = read_one(tmp_path / name, rate=50, keep=["on"])
        assert recording.channels == ("x", "on")
        npt.assert_array_equal(recording.values[:, 1], flags)


def test_a_word_among_numbers_is_still_a_fault(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "x,y\n" + "1,2\n" * 100 + "true,2\n")
    assert "line 102" in refusal(lambda: read_one(path, rate=50), naming=path)


# ------------------------------------------------------------ thousands, minutes


def test_points_between_thousands_are_noted(tmp_path: Path) -> None:
    numbers = RNG.integers(-20_000, 20_000, 400)
    numbers[::3] = RNG.integers(-999, 999, numbers[::3].size)
    cells = [f"{number:,}".replace(",", ".") for number in numbers.tolist()]
    decimals = [f"{x:.3f}" for x in X[:400]]
    write(tmp_path, "a.csv", "a;b\n" + "".join(f"{a};{b}\n" for a, b in zip(cells, decimals, strict=True)))
    recording = read_one(tmp_path / "a.csv", rate=50)
    assert ["thousands" in note for note in recording.notes] == [True]
    assert "column 'a'" in recording.notes[0]


@pytest.mark.parametrize(
    ("name", "hertz", "is_noted"),
    [("time", 3000, True), ("t", 6000, True), ("time_s", 3000, False), ("time", 50, False), ("time", 2000, False),
     ("time", 44100, False)],
)  # fmt: skip
def test_a_clock_that_may_count_minutes_is_noted(tmp_path: Path, name: str, hertz: int, is_noted: bool) -> None:
    pl.DataFrame({name: np.arange(500) / hertz, "x": X[:500]}).write_csv(tmp_path / "a.csv")
    recording = read_one(tmp_path / "a.csv")
    assert recording.rate == pytest.approx(hertz)
    assert any("counts minutes" in note for note in recording.notes) == is_noted


# ------------------------------------------------------------ files that are odd


def test_an_archive_of_an_unknown_version_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=X)
    content = bytearray(path.read_bytes())
    place = content.index(b"PK\x01\x02")
    struct.pack_into("<H", content, place + 6, 99)  # the version that is needed to read it
    path.write_bytes(content)
    assert "damaged" in refusal(lambda: read_one(path), naming=path)
    assert expected_size(path).n_bytes > 0


@pytest.mark.parametrize("target", ["x.csv", "gone.csv"])
def test_a_link_that_leads_nowhere_is_called_so(tmp_path: Path, target: str) -> None:
    (tmp_path / "x.csv").symlink_to(tmp_path / target)
    said = refusal(lambda: find_recordings([tmp_path / "x.csv"]), naming=tmp_path)
    assert "link" in said and "did you mean" not in said
