"""Limits of ours on the paper's training are named where they apply, and can be lifted."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from rondo.config.settings import resolve
from rondo.errors import RondoWarning
from rondo.model.folder import from_config
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant
from tests.cli.running import call
from tests.many.sets import assert_same_run, write_set

pytest.importorskip("torch")

SMALL = {
    "windows.length": 50,
    "windows.step": 25,
    "encoder.name": "summary_stats",
    "units.init_epochs": 2,
    "units.max_rounds": 0,
    "motifs.epochs": 1,
    "motifs.lengths": (2, 3),
    "evidence.surrogates": 0,
    "device": "cpu",
}


def notes_with(**changes: Any) -> str:
    config = resolve("paper", overrides=SMALL | {name.replace("__", "."): value for name, value in changes.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)
        return " ".join(from_config(Rondo, config).fit_predict(plant(n_frames=3000, seed=0).recording)[0].notes)


@pytest.mark.slow
def test_limits_are_named_where_they_apply() -> None:
    notes = notes_with(motifs__items_per_epoch=10)
    assert "40 epochs instead of 10" in notes and "sample of 10" in notes
    notes = notes_with(motifs__items_per_epoch=0, units__mixture__autoencoder_least_steps=0)
    assert "epochs instead" not in notes and "sample" not in notes


LIMITED = [
    part
    for name, value in (SMALL | {"motifs.items_per_epoch": 10, "motifs.lengths": "[2, 3]"}).items()
    for part in ("--set", f"{name}={value}")
]


@pytest.mark.slow
def test_a_fit_file_by_file_prints_the_notes_of_one_in_memory(tmp_path: Path) -> None:
    files = write_set(tmp_path / "files", n_files=2)
    asked = ("discover", files, "--rate", 50, "--preset", "paper", *LIMITED)
    in_memory = call(*asked, "--out", tmp_path / "memory")
    by_file = call(*asked, "--out", tmp_path / "by_file", "--engine", "serial")
    for done in (in_memory, by_file):
        assert done.code == 0, done.err
        assert done.err.count("epochs instead of 10") == done.err.count("a sample of 10") == 1
    assert_same_run(tmp_path / "memory", tmp_path / "by_file")
