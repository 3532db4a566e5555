"""How the tests call `rondo`: in this process, because a fresh one spends seconds on imports."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from rondo.cli.main import run


class Outcome(NamedTuple):
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """A `rondo` that returns its outcome; file descriptors are caught, so that native code cannot hide a line."""

    def rondo(*arguments: object) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            run([str(argument) for argument in arguments])
        written = capfd.readouterr()
        assert isinstance(stopped.value.code, int)
        return Outcome(stopped.value.code, written.out, written.err)

    return rondo


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file under a folder with its content, hidden ones too; None for folders and links."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
    }


def waves(n_frames: int = 1500, n_channels: int = 2, seed: int = 0) -> NDArray[np.float32]:
    """Three kinds of waves in turn, with noise: small, and enough to find units in."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_frames) // 150 % 3
    phase = np.cumsum(np.array([0.1, 0.4, 0.9])[kind])
    strength = np.array([2.0, 0.5, 1.0])[kind]
    clean = [strength * np.sin(phase + channel) + kind * channel for channel in range(n_channels)]
    return np.asarray(np.stack(clean, axis=1) + 0.05 * rng.normal(size=(n_frames, n_channels)), dtype=np.float32)


def write_csv(path: Path, values: NDArray[np.floating], times: NDArray[np.floating] | None = None) -> Path:
    """A csv with channels a, b, ... and perhaps a column `time`; NaN is an empty cell."""
    columns = {} if times is None else {"time": times}
    columns |= {chr(ord("a") + i): column for i, column in enumerate(np.asarray(values, np.float64).T)}
    pl.DataFrame(columns).fill_nan(None).write_csv(path)
    return path


def call(*arguments: object) -> Outcome:
    """The same for fixtures that live longer than a test: what goes through Python's own streams is caught."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        run([str(argument) for argument in arguments])
    assert isinstance(stopped.value.code, int)
    return Outcome(stopped.value.code, out.getvalue(), err.getvalue())


def refused(done: Outcome, *words: str) -> None:
    """With one line of error, perhaps after notes, in which each of the words stands."""
    said = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert (done.code, done.out, len(said)) == (2, "", 1), done.err
    assert all(word in said[0] for word in words), said[0]


def refused_alone(outcome: Outcome, message: str) -> None:
    """With one line of error, and nothing else."""
    refused(outcome, message)
    assert outcome.err.count("\n") == 1


def without_wall_clock(folder: Path) -> dict[str, bytes | None]:
    """What a stream has written, apart from the files that tell when."""
    hidden = ("checkpoint", "health.json")
    return {name: content for name, content in tree(folder).items() if not name.startswith(hidden)}
