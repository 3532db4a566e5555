"""Recordings in which nothing can be shown to recur: one line that says what is needed."""

from __future__ import annotations

import numpy as np
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.data.window_lengths import refuse_too_short, too_few_windows
from rondo.errors import RecordingError


@pytest.mark.parametrize("n_frames", [2, 19])
def test_fewer_frames_than_windows_are_refused(n_frames: int) -> None:
    values = np.random.default_rng(0).normal(size=(n_frames, 2))
    with pytest.raises(RecordingError, match=rf"{n_frames} frames .* 160 frames"):
        rondo.discover(values, rate=10)


def test_many_short_recordings_count_together() -> None:
    refuse_too_short([Recording([[0.0], [1.0]])] * 10)
    assert too_few_windows([8] * 25, 8) == ""
    assert "only 5 windows of 8 frames" in too_few_windows([15] * 5, 8)


def test_a_window_too_long_is_noted() -> None:
    values = np.random.default_rng(0).normal(size=(300, 2))
    result = rondo.discover(values, rate=10, window=60)
    notes = " ".join(result.summary.recordings[0].notes)
    assert "short: only 5 windows of 60" in notes
    assert "record 1200 frames or more" in notes
