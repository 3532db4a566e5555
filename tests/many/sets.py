"""Small sets of files, and what their runs left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rondo.many import tasks
from rondo.run.labelling import Labelling
from rondo.store.model_file import load
from tests.cli.running import waves

QUICK = ("--window", "40", "--step", "20", "--set", "evidence.surrogates=0")
RATE = ("--rate", "50")


def write_set(folder: Path, n_files: int = 6, n_frames: int = 900, n_channels: int = 4) -> Path:
    """Recordings of different lengths, one with a hole."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n_files):
        values = waves(n_frames + 90 * i, n_channels, seed=i)
        if i == 1:
            values[300:380] = np.nan
        np.save(folder / f"day{i}.npy", values)
    return folder


def left_by(run: Path) -> dict[str, object]:
    """What a run folder says, apart from how its files are laid out inside."""
    found: dict[str, object] = {}
    for path in sorted(path for path in run.rglob("*") if path.is_file()):
        name = path.relative_to(run).as_posix()
        if path.suffix == ".lock":  # empty, and left only by a kill between the last two steps of a run that is whole
            continue
        if path.suffix == ".parquet":
            found[name] = pl.read_parquet(path).rows()
        elif path.suffix == ".npz":
            with np.load(path) as stored:
                found[name] = {key: stored[key].tobytes() for key in stored.files}
        elif path.name == "tensors.safetensors":
            found[name] = {key: tensor.tobytes() for key, tensor in load(path.parent).tensors.items()}
        else:
            found[name] = path.read_bytes()
    return found


def assert_same_run(one: Path, other: Path) -> None:
    """Two folders hold the same run, to the bit."""
    first, second = left_by(one), left_by(other)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


class Pulled(BaseException):
    """The plug is pulled."""


class Labeller:
    """`label_one` of tasks that keeps the ids of recordings, and pulls the plug after so many."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stop_after: int) -> None:
        self.read: list[str] = []
        self.stop_after: int | None = stop_after
        real = tasks.label_one

        def label_one(*task: Any, **how: Any) -> Labelling:
            if len(self.read) == self.stop_after:
                raise Pulled
            self.read.append(task[1].id)
            return real(*task, **how)

        monkeypatch.setattr(tasks, "label_one", label_one)
