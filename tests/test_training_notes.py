"""Limits of ours on the paper's training are named where they apply, and can be lifted."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from rondo.config.schema import resolve
from rondo.errors import RondoWarning
from rondo.model import Rondo
from rondo.synthetic import plant

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
        return " ".join(
            Rondo.from_config(config).fit_predict(plant(n_frames=3000, seed=0).recording).labellings[0].notes
        )


def test_a_floor_of_steps_and_a_sample_of_items_are_named() -> None:
    said = notes_with(motifs__items_per_epoch=10)
    assert "the autoencoder was trained for 40 epochs instead of 10" in said
    assert "saw a sample of 10 of " in said


def test_without_limits_nothing_is_said() -> None:
    said = notes_with(motifs__items_per_epoch=0, units__mixture__autoencoder_least_steps=0)
    assert "epochs instead" not in said and "sample" not in said
