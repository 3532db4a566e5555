"""Channels that wrap are noted; those that move, rest or switch are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.data.wraps import wrap_notes

ROWS = np.arange(2_000)
SWEEP = np.cumsum(np.random.default_rng(0).normal(2, 5, ROWS.size))


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
    (note,) = wrap_notes(Recording(np.column_stack([values, SWEEP]), 50, channels=("yaw", "pitch")), ("yaw", "pitch"))
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
    assert wrap_notes(Recording(np.column_stack([values, SWEEP]), 50, channels=("x", "y")), ("x", "y")) == []


def test_channels_that_are_left_out_are_not_looked_at() -> None:
    recording = Recording(np.column_stack([SWEEP % 360, SWEEP]), 50, channels=("yaw", "pitch"))
    assert wrap_notes(recording, ("pitch",)) == []
