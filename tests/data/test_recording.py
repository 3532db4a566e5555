"""Recording: what it keeps, what it refuses, and that it copies nothing it need not copy."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rondo.data.recording import Recording
from rondo.errors import RecordingError


def test_keeps_what_it_was_given() -> None:
    recording = Recording([[1, 2], [3, 4], [5, 6]], rate=10, channels=["x", "y"], id="a", notes=["as it came"])
    npt.assert_array_equal(recording.values, np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32))
    assert recording.values.dtype == np.float32
    assert (recording.n_frames, recording.n_channels, recording.rate) == (3, 2, 10.0)
    assert (recording.channels, recording.id, recording.notes) == (("x", "y"), "a", ("as it came",))
    npt.assert_allclose(recording.times_s, [0, 0.1, 0.2])
    assert repr(recording) == "Recording('a', 3 frames x 2 channels, 10 Hz)"


def test_float32_is_neither_copied_nor_locked_and_ours_is_read_only() -> None:
    values = np.zeros((4, 3), dtype=np.float32)
    recording = Recording(values)
    assert np.shares_memory(recording.values, values)
    values[0, 0] = 1.0  # the caller may go on using its own array
    with pytest.raises(ValueError, match="read-only"):
        recording.values[0, 0] = 2.0
    with pytest.raises(FrozenInstanceError):
        recording.rate = 3.0  # type: ignore[misc]


def test_one_dimension_is_one_channel_and_names_are_made_up() -> None:
    recording = Recording([1.0, np.nan, 3.0])
    assert recording.values.shape == (3, 1)
    assert recording.channels == ("ch0",)
    assert recording.rate is None
    assert recording.times_s is None


@pytest.mark.parametrize(
    ("values", "settings", "says"),
    [
        (np.zeros((0, 2)), {}, "it is empty, 0 frames x 2 channels"),
        (np.float64(1), {}, "got 0"),
        (np.zeros((2, 2, 2)), {}, "expected 2 dimensions"),
        ([[1.0], [1.0, 2.0]], {}, "unequal length"),
        ([["a"]], {}, "expected numbers"),
        (np.array([[object()]]), {}, "object"),
        ([[np.nan, np.nan]], {}, "all 2 values are NaN"),
        ([[0.0, 0.0], [0.0, -np.inf]], {"channels": ["x", "y"]}, "frame 1, channel 'y'"),
        ([[1e39]], {}, "beyond float32"),
        ([[1.0, 2.0]], {"channels": ["x"]}, "1 channel names for 2 channels"),
        ([[1.0, 2.0]], {"channels": ["x", "x"]}, "'x' stands twice"),
        ([1.0], {"rate": 0}, "positive number of Hz, got 0"),
        ([1.0], {"rate": -5.0}, "positive number"),
        ([1.0], {"rate": np.nan}, "positive number"),
        ([1.0], {"rate": np.inf}, "positive number"),
        ([1.0], {"rate": "fast"}, "positive number of Hz, got 'fast'"),
        ([1.0, 2.0], {"timestamps_s": [0.0]}, "for 2 frames"),
        ([1.0, 2.0], {"timestamps_s": [0.0, np.nan]}, "frame 1 is missing"),
        ([1.0, 2.0], {"timestamps_s": np.array(["2024-01-01", "NaT"], "M8[s]")}, "frame 1 is missing"),
        ([1.0, 2.0], {"timestamps_s": ["a", "b"]}, "seconds or datetime64"),
        ([1.0, 2.0, 3.0], {"timestamps_s": [0.0, 2.0, 2.0]}, "frame 2 (2 s) repeats"),
        ([1.0, 2.0, 3.0], {"timestamps_s": [0.0, 2.0, 1.0]}, "frame 2 (1 s) is earlier"),
    ],
)
def test_refuses_in_one_line_that_names_the_recording(values: Any, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(RecordingError) as caught:
        Recording(values, id="day1", **settings)
    message = str(caught.value)
    assert says in message
    assert message.startswith("recording 'day1': ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("times", "rate"),
    [
        (np.arange(50) / 20, 20.0),
        (np.floor(np.arange(3000) * 1000 / 30) / 1000, 30.0),  # a clock that counts whole milliseconds
        (1.7e9 + np.arange(20_000) / 100, 100.0),  # a clock that counts from 1970
        (np.concatenate([np.arange(50), 1000 + np.arange(50)]) / 20, 20.0),  # a long gap
        (np.array([0.0, 1.0, 101.0]), 1 / 50.5),  # nothing usual about these steps
    ],
)
def test_rate_from_timestamps(times: np.ndarray, rate: float) -> None:
    recording = Recording(np.zeros(times.size), timestamps_s=times)
    npt.assert_allclose(recording.rate, rate, rtol=2e-5)
    npt.assert_array_equal(recording.times_s, times)


def test_a_clock_that_jitters_does_not_speed_up_the_rate() -> None:
    """As packets of a wireless sensor: rows arrive late, then several at once; the long steps make up for the short."""
    rng = np.random.default_rng(0)
    times = np.sort(np.arange(20_000) / 32 + rng.gamma(1.0, 0.02, 20_000))
    npt.assert_allclose(Recording(np.zeros(20_000), timestamps_s=times).rate, 32, rtol=0.01)
    gappy = np.concatenate([times[:9000], times[9000:] + 60])
    npt.assert_allclose(Recording(np.zeros(20_000), timestamps_s=gappy).rate, 32, rtol=0.01)


def test_a_given_rate_wins_and_datetimes_are_seconds() -> None:
    moments = np.array(["1970-01-01T00:00:01.5", "1970-01-01T00:00:02"], "datetime64[ns]")
    recording = Recording([1.0, 2.0], timestamps_s=moments)
    npt.assert_array_equal(recording.timestamps_s, [1.5, 2.0])
    assert recording.rate == 2.0
    assert Recording([1.0, 2.0], rate=7, timestamps_s=moments).rate == 7.0
    assert Recording([1.0], timestamps_s=[4.0]).rate is None


@given(
    hnp.arrays(
        st.sampled_from(["f2", "f4", "f8", "g", ">f8", "i1", "i4", "?"]),
        hnp.array_shapes(min_dims=1, max_dims=2, max_side=6),
    )
)
def test_values_are_the_float32_of_the_input_or_refused(values: np.ndarray) -> None:
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32).reshape(len(values), -1)
    usable = not np.isinf(expected).any() and not np.isnan(expected).all()
    if usable:
        for given_ in (values, np.asfortranarray(values)):
            kept = Recording(given_).values
            npt.assert_array_equal(kept, expected)
            assert kept.dtype == np.float32 and kept.flags.c_contiguous
    else:
        with pytest.raises(RecordingError):
            Recording(values)
