"""Channels that drift, are skewed or wrap are noted; those that move, rest or switch are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from rondo.data.doubtful import doubtful_notes
from rondo.data.recording import Recording

ROWS = np.arange(2_000)
SWEEP = np.cumsum(np.random.default_rng(0).normal(2, 5, ROWS.size))


def notes_on(recording: Recording, channels: Sequence[str], word: str) -> list[str]:
    return [note for note in doubtful_notes(recording, channels) if word in note]


def test_drift_and_skew_are_named() -> None:
    values = np.random.default_rng(0).normal(size=(2_000, 4))
    assert doubtful_notes(Recording(values + 1e3, 50), ("ch1", "ch3")) == []
    values[:, 1] += np.linspace(0, 20, len(values))
    values[:, 3] = np.exp(2 * values[:, 3])
    recording = Recording(values, 50)
    (drifts,), (skewed,) = (notes_on(recording, recording.channels, word) for word in ("drift", "logarithm"))
    assert "'ch1'" in drifts and "'ch3'" not in drifts
    assert "'ch3'" in skewed and "'ch1'" not in skewed


@pytest.mark.parametrize(
    ("values", "period"),
    [
        (SWEEP % 360, "360"),
        (SWEEP % 360 - 180, "360"),
        (np.deg2rad(SWEEP) % (2 * np.pi), "6.28319"),
        (np.rint(100 * np.sin(ROWS / 9) * 1.5).astype(np.int64).astype(np.int8), "256"),
        (np.rint(100 * np.sin(ROWS / 9)).astype(np.int64).astype(np.uint16), "65536"),
    ],
)
def test_a_channel_that_wraps_is_noted(values: NDArray[np.generic], period: str) -> None:
    recording = Recording(np.column_stack([values, SWEEP]), 50, channels=("yaw", "pitch"))
    (note,) = notes_on(recording, recording.channels, "unwrap")
    assert "'yaw'" in note and f"period={period})" in note


@pytest.mark.parametrize(
    "values",
    [
        SWEEP,
        180 + 179.5 * np.sin(ROWS / 50),  # a turn, without a jump
        np.where(ROWS % 200 < 100, 0.0, 5.0),
        np.where(ROWS == 700, 255, ROWS % 7),  # one spike
        SWEEP % 100,
        np.full(ROWS.size, np.nan),
    ],
)
def test_other_channels_are_not(values: NDArray[np.generic]) -> None:
    assert notes_on(Recording(np.column_stack([values, SWEEP]), 50), ("ch0", "ch1"), "unwrap") == []


def test_channels_that_are_left_out_are_not_looked_at() -> None:
    recording = Recording(np.column_stack([SWEEP % 360, SWEEP]), 50, channels=("yaw", "pitch"))
    assert notes_on(recording, ("pitch",), "yaw") == []
