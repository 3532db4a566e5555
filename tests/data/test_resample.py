"""Another sampling rate: known waves stay what they are, gaps do not leak, and labels find their rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording
from rondo.data.resample import resample_recording, resample_signal
from rondo.data.signal import regularise
from rondo.errors import RecordingError

RATES = (25.0, 31.25, 50.0, 99.0, 128.0, 200.0)


def sine(n_frames: int, rate: float, hertz: float = 1.0) -> NDArray[np.float64]:
    return np.sin(2 * np.pi * hertz * np.arange(n_frames) / rate)


@pytest.mark.parametrize("rate", RATES)
def test_a_wave_of_one_hertz_stays_one(rate: float) -> None:
    resampled = resample_recording(Recording(sine(3_000, 100), 100), rate)
    assert resampled.rate == rate
    assert resampled.n_frames == int(np.floor(30 * rate + 0.5))
    npt.assert_allclose(resampled.values[:, 0], sine(resampled.n_frames, rate), atol=2e-3)


def test_what_the_lower_rate_cannot_hold_does_not_come_back_slower() -> None:
    """40 Hz read at 50 Hz without a filter would be a wave of 10 Hz, as strong as it was."""
    fast = Recording(sine(3_000, 100, hertz=40), 100)
    assert np.abs(resample_recording(fast, 50).values[20:-20]).max() < 2e-3
    assert np.abs(fast.values[::2]).max() > 0.9


@pytest.mark.parametrize("rate", RATES)
def test_constants_and_lines_are_exact_up_to_the_ends(rate: float) -> None:
    """A constant channel must stay one: it is scaled by its spread, and any ripple would be all of that."""
    values = np.stack([np.full(500, 7.0), 1e6 + np.arange(500.0)], axis=1)
    resampled = resample_recording(Recording(values, 100), rate).values
    assert np.ptp(resampled[:, 0]) == 0
    npt.assert_allclose(resampled[:, 1], 1e6 + np.arange(len(resampled)) * 100 / rate, rtol=1e-7)


def test_the_same_rate_is_the_same_object() -> None:
    recording = Recording(sine(100, 100), 100)
    assert resample_recording(recording, 100) is recording


@pytest.mark.parametrize(
    ("rate", "target", "says"),
    [(None, 50, "no sampling rate"), (100, 0, "positive"), (1, 50, "too far"), (1e6, 50, "too far")],
)
def test_what_cannot_be_resampled_is_refused(rate: float | None, target: float, says: str) -> None:
    with pytest.raises(RecordingError, match=says) as caught:
        resample_recording(Recording(sine(100, 100), rate, id="day1"), target)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rate", [50.0, 160.0])
def test_a_gap_stays_a_gap_and_what_is_beyond_it_does_not_matter(rate: float) -> None:
    values = np.stack([sine(2_000, 100), sine(2_000, 100, hertz=2)], axis=1)
    values[700:900] = np.nan  # 2 s
    other = values.copy()
    other[900:] += 50.0
    first, second = (resample_recording(Recording(x, 100), rate).values for x in (values, other))
    lost = np.isnan(first).any(axis=1)
    npt.assert_array_equal(np.flatnonzero(np.diff(lost)) + 1, [7 * rate, 9 * rate])
    npt.assert_array_equal(first[: int(7 * rate)], second[: int(7 * rate)])
    assert np.isfinite(first[int(9 * rate) :]).all()


def test_jumps_in_time_are_kept_and_short_ones_are_mended() -> None:
    times = np.concatenate([np.arange(300), np.arange(800, 1_000), np.arange(1_002, 1_200)]) / 100
    recording = Recording(np.sin(2 * np.pi * times), None, timestamps_s=times)
    assert recording.rate == 100
    for rate in (25.0, 130.0):
        resampled = resample_recording(recording, rate)
        seconds = resampled.timestamps_s
        assert seconds is not None
        assert resampled.n_frames == int(np.floor(7 * rate + 0.5))
        assert ((seconds < 3.0) | (seconds >= 8.0)).all()
        npt.assert_allclose(resampled.values[:, 0], np.sin(2 * np.pi * seconds), atol=5e-2)
        signal = regularise(resampled, resampled.channels, PreprocessConfig())
        assert [stop - start for start, stop in signal.spans] == [round(3 * rate), round(7 * rate) - round(3 * rate)]


@pytest.mark.slow
@given(
    st.integers(1, 400),
    st.sampled_from([(100.0, 30.0), (100.0, 99.0), (100.0, 130.0), (100.0, 300.0), (44.1, 48.0)]),
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=4),
)
def test_every_row_finds_the_frame_nearest_in_its_own_stretch(
    n_frames: int, rates: tuple[float, float], holes: list[tuple[int, int]]
) -> None:
    """The slow way: measure the distance of every old frame to every new one of its stretch."""
    values = np.zeros((n_frames, 1))
    for start, length in holes:
        values[start : start + length] = np.nan
    if np.isnan(values).all():
        return
    before, after = rates
    signal = regularise(Recording(values, before), ("ch0",), PreprocessConfig(max_gap=1))
    try:
        resampled = resample_signal(signal, after)
    except RecordingError as error:
        assert "long enough" in str(error)
        return
    frame_of = resampled.frame_of_row
    assert frame_of is not None
    assert (np.diff(frame_of) >= 0).all()
    ratio = Fraction(after).limit_denominator(10) / Fraction(before).limit_denominator(10)
    for start, stop in signal.spans:
        own = next((span for span in resampled.spans if span[0] == int(start * ratio + Fraction(1, 2))), None)
        if own is None:
            assert stop - start < 2 / ratio
            continue
        assert abs(own[0] - start * ratio) <= 0.5
        positions = [start + (j - own[0]) / ratio for j in range(*own)]
        for row in range(start, stop):
            distances = [abs(position - row) for position in positions]
            assert distances[int(frame_of[row]) - own[0]] == min(distances)
