"""`rondo discover` on files as devices and robots store them, from the file to the folder of the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tests.cli.running import Command, waves
from tests.formats import test_actigraph, test_cwa
from tests.formats.reading import write

N_SECONDS = 30
QUICK = ("--set", "evidence.surrogates=0")


def in_counts(values: NDArray[np.float32]) -> NDArray[np.int16]:
    """(N_SECONDS, 50, 3), a thousand counts for 1."""
    return (1000 * values[: 50 * N_SECONDS, :3]).round().astype("<i2").reshape(N_SECONDS, 50, 3)


def cwa(folder: Path, counts: NDArray[np.int16]) -> Path:
    blocks = [test_cwa.block(i, second.tobytes(), 50, second=i) for i, second in enumerate(counts)]
    return write(folder, "day.cwa", test_cwa.HEADER + b"".join(blocks))


def gt3x(folder: Path, counts: NDArray[np.int16]) -> Path:
    records = [test_actigraph.record(26, test_actigraph.BEGAN + i, second.tobytes()) for i, second in enumerate(counts)]
    info = "Serial Number: TAS1\nSample Rate: 50\nAcceleration Scale: 256.0\n"
    return test_actigraph.save(folder / "day.gt3x", b"".join(records), info=info)


def wfdb(folder: Path, counts: NDArray[np.int16]) -> Path:
    write(folder, "day.dat", counts.tobytes())
    lines = [f"day.dat 16 200/g 16 0 0 0 0 {axis}" for axis in "xyz"]
    return write(folder, "day.hea", "\n".join([f"day 3 50 {counts.size // 3}", *lines]) + "\n")


def mcap(folder: Path, counts: NDArray[np.int16]) -> Path:
    from tests.formats import test_mcap  # skips where mcap is not there

    rows = counts.reshape(-1, 3).tolist()
    messages = [("/imu", 20 * i, {"acc": dict(zip("xyz", row, strict=True))}) for i, row in enumerate(rows)]
    return test_mcap.save(folder / "day.mcap", *messages, chunk_size=1 << 16)


@pytest.mark.parametrize("store", [cwa, *(pytest.param(store, marks=pytest.mark.slow) for store in (gt3x, wfdb, mcap))])
def test_from_the_file_to_the_run(
    rondo: Command, tmp_path: Path, store: Callable[[Path, NDArray[np.int16]], Path]
) -> None:
    path = store(tmp_path, in_counts(waves(50 * N_SECONDS, 3)))
    done = rondo("discover", path, "--out", tmp_path / "run", "--window", "2s", *QUICK)
    assert done.code == 0, done.err
    (recording,) = json.loads((tmp_path / "run" / "summary.json").read_text())["recordings"]
    assert recording["id"] == "day"
    segments = pl.read_csv(tmp_path / "run" / "segments.csv")
    assert segments.filter(pl.col("level") == "unit")["end_frame"].max() == 50 * N_SECONDS
