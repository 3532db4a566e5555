"""What holds for every format: a sound file is read; cut anywhere, damaged or of another kind it is refused in one line
or gives the beginning of what it held."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl
import pytest

from rondo.checks.formats import (
    Sample,
    a_picture_is_no_recording,
    cut_anywhere_it_is_refused_or_gives_its_beginning,
    flipped_bits_and_other_files_are_refused_or_read,
    reading_twice_gives_the_same,
)
from rondo.data.recording import Recording
from rondo.files.read import read_recording, suffixes
from rondo.files.reading import TEXT_SUFFIXES
from tests.corpus import programs
from tests.formats.reading import write

VALUES = np.round(np.random.default_rng(7).normal(size=(60, 3)), 3)
TRIED_IN_A_CHILD = (".c3d", ".mat", ".xlsx", ".xlsm", ".parquet")  # each reading starts a process
READ_AS_FAR_AS_WHOLE = (*TEXT_SUFFIXES, ".cwa", ".mcap")  # where the recorder was stopped


def _array_bytes(suffix: str) -> bytes:
    buffer = io.BytesIO()
    if suffix == ".npy":
        np.save(buffer, VALUES)
    elif suffix == ".npz":
        np.savez(buffer, X=VALUES, rate=50.0, channels=np.array(["a", "b", "c"]), time=np.arange(60.0))
    elif suffix == ".parquet":
        pl.DataFrame(VALUES, schema=["x", "y", "z"]).write_parquet(buffer)
    else:
        with h5py.File(buffer, "w") as file:
            file["X"], file["rate"] = VALUES, 50.0
    return buffer.getvalue()


def _text_bytes(suffix: str) -> bytes:
    table = pl.DataFrame(VALUES, schema=["x", "y", "z"])
    text = table.write_ndjson() if suffix in (".jsonl", ".ndjson") else table.write_csv()
    return text.encode()


def _by(module: str, made: Callable[[Any, Path], object]) -> Callable[[Path], object]:
    """By the tools of another test module, which skips where its library is missing."""
    return lambda path: made(import_module(f"tests.formats.{module}"), path)


def _corpus(name: str) -> Callable[[Path], object]:
    return lambda path: programs.WRITERS[name](path, 60)


SAMPLES: dict[str, Callable[[Path], object]] = {
    **{suffix: lambda path: path.write_bytes(_text_bytes(path.suffix)) for suffix in TEXT_SUFFIXES},
    **{
        suffix: lambda path: path.write_bytes(_array_bytes(path.suffix))
        for suffix in (".npy", ".npz", ".parquet", ".h5", ".hdf5")
    },
    ".slp": _by("test_pose_files", lambda tests, path: tests.slp(path)),
    ".nwb": _by("test_pose_files", lambda tests, path: tests.nwb(path)),
    ".nc": _by("test_pose_files", lambda tests, path: tests.movement(path)),
    ".edf": _by("test_edf", lambda tests, path: tests.save_edf(path, {"EEG": (100, tests.wave(100))})),
    ".bdf": _by("test_edf", lambda tests, path: tests.save_edf(path, {"EEG": (100, tests.wave(100))})),
    ".c3d": _by("test_c3d", lambda tests, path: tests.save_c3d(path, ("A", "B"), ("Fz",))),
    ".xdf": _by("test_xdf", lambda tests, path: tests.save_xdf(path, tests.SIGNAL)),
    ".xlsx": _corpus("run.xlsx"),
    ".xlsm": _corpus("run.xlsx"),
    ".mat": _corpus("matlab.mat"),
    ".fit": _corpus("ride.fit"),
    ".gpx": _corpus("walk.gpx"),
    ".agd": _by("test_actigraph", lambda tests, path: tests.save_epochs(path)),
    ".gt3x": _by("test_actigraph", lambda tests, path: tests.save_seconds(path, 50)),
    ".cwa": _by("test_cwa", lambda tests, path: write(path.parent, path.name, tests.seconds_of(30))),
    ".hea": _by("test_wfdb", lambda tests, path: tests.save_two(path)),
    ".mcap": _by("test_mcap", lambda tests, path: tests.save(path, *tests.imu(range(0, 4000, 20)))),
}


@cache
def sound(suffix: str, folder: Path) -> tuple[Path, bytes, Recording]:
    path = folder / f"sound{suffix}"
    try:
        SAMPLES[suffix](path)
    except ImportError as error:
        pytest.skip(f"needs {error.name}")
    return path, path.read_bytes(), read_recording(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@pytest.fixture(autouse=True)
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the trial in a child where damage of these kinds only raises: hundreds of children would take minutes."""
    monkeypatch.setattr("rondo.formats.hdf5.refuse_fatal", lambda *_: None)


def sample_of(suffix: str, folder: Path) -> Sample:
    """A file that every check writes over; few tries where each reading starts a process."""
    path, content, whole = sound(suffix, folder)
    return Sample(
        path, content, whole, n_tries=3 if suffix in TRIED_IN_A_CHILD else 40, n_unsure=suffix in TEXT_SUFFIXES
    )


def test_every_format_has_a_sample() -> None:
    assert set(SAMPLES) == set(suffixes())


@pytest.mark.promise
@pytest.mark.parametrize(
    "suffix", [suffix for suffix in SAMPLES if suffix != ".hea"]
)  # a header and samples: test_wfdb
def test_cut_short_anywhere(suffix: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    n_read = cut_anywhere_it_is_refused_or_gives_its_beginning(sample_of(suffix, folder))
    assert (n_read > 0) == (suffix in READ_AS_FAR_AS_WHOLE)
    assert capfd.readouterr().out == ""  # where pyedflib would complain


@pytest.mark.parametrize("suffix", SAMPLES)
def test_flipped_bits_and_other_files(suffix: str, folder: Path) -> None:
    for check in (
        reading_twice_gives_the_same,
        flipped_bits_and_other_files_are_refused_or_read,
        a_picture_is_no_recording,
    ):
        check(sample_of(suffix, folder))
