"""Recording -> Signal: every rule of the module's docstring, against twins that go row by row."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from rondo.checks.rounding import assert_equal_but_for_rounding
from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal, regularise, spectrum
from rondo.errors import InputError
from tests import naive_preprocess as naive

NAN = float("nan")


def raw(recording: Recording, **changes: Any) -> Signal:
    """The signal before scaling."""
    return regularise(recording, recording.channels, PreprocessConfig(scaling="none", **changes))


def noise(n_frames: int, n_channels: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(n_frames, n_channels)).astype(np.float32)


def refusal(action: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(InputError) as caught:
        action(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("shape, most", [((8, 1), 1024), ((900, 3), 64), ((901, 2), 33), ((5_000, 4), 1024)])
def test_the_spectrum_is_that_of_welch(shape: tuple[int, int], most: int) -> None:
    from scipy.signal import welch

    values = noise(*shape).cumsum(axis=0, dtype=np.float32) + np.float32(3)
    frequency, power = welch(values.astype(np.float64), axis=0, nperseg=min(most, shape[0] // 2))
    found = spectrum(values, most)
    assert_equal_but_for_rounding(found[0], frequency[1:])
    assert_equal_but_for_rounding(found[1], power.sum(axis=1)[1:])


# ---------------------------------------------------------------- missing values


@st.composite
def holed_columns(draw: st.DrawFn) -> NDArray[np.float32]:
    """Alternating runs of numbers and of NaN, one to nine long, beginning with either."""
    runs = draw(st.lists(st.integers(1, 9), min_size=1, max_size=8))
    absent_first = draw(st.booleans())
    flags = np.repeat((np.arange(len(runs)) + absent_first) % 2 == 1, runs)
    assume(not flags.all())
    column = np.array(draw(st.lists(st.integers(-50, 50), min_size=flags.size, max_size=flags.size)), np.float32)
    column[flags] = NAN
    return column


@given(st.lists(holed_columns(), min_size=1, max_size=3), st.integers(1, 9))
def test_short_runs_are_interpolated_and_long_ones_become_holes(
    columns: list[NDArray[np.float32]], max_gap: int
) -> None:
    n = min(column.size for column in columns)
    values = np.stack([column[:n] for column in columns], axis=1)
    assume(not np.isnan(values).all(axis=0).any())
    twins = [naive.filled(values[:, c].tolist(), range(n), max_gap) for c in range(values.shape[1])]
    expected = naive.spans_of([not any(lost[i] for _, lost in twins) for i in range(n)])
    recording = Recording(values)
    if not expected:
        assert "no frame has all" in refusal(raw, recording, max_gap=max_gap, dropouts="cut")
        return
    signal = raw(recording, max_gap=max_gap, dropouts="cut")
    npt.assert_allclose(signal.values, np.stack([filled for filled, _ in twins], axis=1), rtol=1e-6, atol=1e-5)
    assert list(signal.spans) == expected
    n_lost = sum(any(lost[i] for _, lost in twins) for i in range(n))
    n_filled = int(np.isnan(values).sum()) - sum(sum(lost) for _, lost in twins)
    frames = "1 frame " if max_gap == 1 else f"{max_gap} frames "
    lost = f"{n_lost} rows lie" if n_lost > 1 else "1 row lies"
    assert any(f"{lost} in gaps longer than {frames}" in note for note in signal.notes) == (n_lost > 0)
    missing = f"{n_filled} missing values" if n_filled > 1 else "1 missing value"
    assert any(f"{missing} interpolated" in note for note in signal.notes) == (n_filled > 0)


@given(holed_columns(), st.integers(1, 12), st.data())
def test_interpolation_follows_the_clock_and_not_the_row_number(
    column: NDArray[np.float32], max_gap: int, data: st.DataObject
) -> None:
    steps = data.draw(st.lists(st.sampled_from([0.75, 1.0, 1.25]), min_size=column.size, max_size=column.size))
    clock = np.cumsum(steps) - steps[0]
    recording = Recording(column, rate=4, timestamps_s=clock / 4)
    filled, lost = naive.filled(column.tolist(), clock.tolist(), max_gap)
    assume(not all(lost))
    signal = raw(recording, max_gap=max_gap)
    npt.assert_allclose(signal.values[:, 0], filled, rtol=1e-5, atol=1e-4)
    assert list(signal.spans) == naive.spans_of([not flag for flag in lost])


def test_a_complete_recording_is_neither_copied_nor_noted() -> None:
    recording = Recording(noise(50, 3), rate=10, notes=["from the reader"])
    signal = raw(recording)
    assert np.shares_memory(signal.values, recording.values)
    assert signal.notes == ("from the reader",)
    assert signal.spans == ((0, 50),)
    assert signal.frame_of_row is None


@pytest.mark.parametrize("n_rows", [3, 200])
def test_a_silent_channel_is_named(n_rows: int) -> None:
    values = noise(n_rows, 3)
    values[:, 1] = NAN
    says = refusal(raw, Recording(values, channels=("x", "hr", "z"), id="day1"), dropouts="cut")
    assert "no values at all" in says
    kept = Preprocessor.fit([Recording(values, channels=("x", "hr", "z"))], PreprocessConfig(channels=("z", "x")))
    assert kept.channels == ("z", "x")


def test_a_slow_channel_among_fast_ones_is_repaired_quickly() -> None:
    """A heart rate that comes with every 11th of 3 million frames: as many runs of NaN as beats."""
    n_frames = 3_000_000
    values = np.ones((n_frames, 2), dtype=np.float32)
    whole = Recording(values.copy(), rate=100)
    values[:, 1] = NAN
    values[::11, 1] = np.arange(0, n_frames, 11)
    slow = Recording(values, rate=100)
    started = time.process_time()
    raw(whole)
    without_runs_s, started = time.process_time() - started, time.process_time()
    signal = raw(slow)
    assert time.process_time() - started < 20 * without_runs_s  # 3 were measured; a loop over the runs takes 80
    npt.assert_allclose(signal.values[:2_000_000, 1], np.arange(2_000_000), rtol=1e-6)
    assert signal.spans == ((0, n_frames),)


# ---------------------------------------------------------------- time


@given(st.integers(2, 60), st.floats(0, 0.49), st.integers(0, 2**16), st.sampled_from([0.5, 30.0, 100.0]))
def test_jitter_below_half_a_period_leaves_rows_as_they_are(n: int, jitter: float, seed: int, rate: float) -> None:
    shifts = np.random.default_rng(seed).uniform(-jitter, jitter, n)
    recording = Recording(noise(n, 2), rate=rate, timestamps_s=1_700_000_000 + (np.arange(n) + shifts) / rate)
    signal = raw(recording)
    assert np.shares_memory(signal.values, recording.values)
    assert (signal.frame_of_row, signal.spans, signal.notes) == (None, ((0, n),), ())
    assert signal.to_rows(np.arange(n)).tolist() == list(range(n))


@st.composite
def irregular(draw: st.DrawFn) -> tuple[Recording, NDArray[np.float64]]:
    """Rows at uneven places of the frame axis (eighths of a frame, exact in float64), and these places."""
    steps = draw(st.lists(st.integers(1, 60), min_size=1, max_size=40))
    clock = np.cumsum([0, *steps]) / 8
    numbers = st.integers(-20, 20).map(float)
    values = draw(hnp.arrays(np.float32, (clock.size, 2), elements=numbers))
    return Recording(values, rate=8, timestamps_s=100 + clock / 8), clock


@given(irregular(), st.integers(1, 6))
def test_irregular_rows_are_interpolated_onto_the_grid(
    given: tuple[Recording, NDArray[np.float64]], max_gap: int
) -> None:
    recording, clock = given
    signal = raw(recording, max_gap=max_gap)
    jumps = [i for i in range(1, clock.size) if round(clock[i] - clock[i - 1]) - 1 > max_gap]
    edges = [0, *jumps, clock.size]
    assert any(f"{len(jumps)} jump{'s' * (len(jumps) > 1)} in time" in note for note in signal.notes) == bool(jumps)
    assert len(signal.spans) == len(edges) - 1
    if signal.frame_of_row is None:
        npt.assert_array_equal(signal.values, recording.values)
        assert list(signal.spans) == list(pairwise(edges))
        return
    assert any("rows interpolated onto" in note for note in signal.notes)
    for (first, stop), a, b in zip(signal.spans, edges[:-1], edges[1:], strict=True):
        own = (clock[a:b] - clock[a]).tolist()
        assert stop - first == round(own[-1]) + 1
        for c in range(2):
            column = recording.values[a:b, c].tolist()
            expected = [naive.interpolated(frame, own, column) for frame in range(stop - first)]
            npt.assert_allclose(signal.values[first:stop, c], expected, rtol=1e-5, atol=1e-4)
        nearest = [min(range(stop - first), key=lambda frame, at=at: abs(frame - at)) for at in own]
        got = signal.frame_of_row[a:b] - first
        assert all(abs(at - frame) <= abs(at - best) for at, frame, best in zip(own, got, nearest, strict=True))


@given(irregular(), st.data())
def test_labels_of_rows_survive_the_grid_and_back(
    given: tuple[Recording, NDArray[np.float64]], data: st.DataObject
) -> None:
    signal = raw(given[0], max_gap=3)
    assert signal.n_rows == given[0].n_frames
    frame_of_row = np.arange(signal.n_rows) if signal.frame_of_row is None else signal.frame_of_row
    assert (np.diff(frame_of_row) >= 0).all()
    label_of_frame = st.lists(st.integers(0, 3), min_size=signal.n_frames, max_size=signal.n_frames)
    row_labels = np.array(data.draw(label_of_frame))[frame_of_row]  # rows that share a frame share a label
    per_frame = np.full(signal.n_frames, -1)
    per_frame[frame_of_row] = row_labels
    npt.assert_array_equal(signal.to_rows(per_frame), row_labels)


@pytest.mark.parametrize(
    ("rate", "max_gap", "frames"),
    [(None, "auto", 25), (100.0, "auto", 50), (1.0, "auto", 1), (None, 7, 7), (10.0, "2s", 20), (10.0, "500ms", 5)],
)
def test_what_max_gap_means(rate: float | None, max_gap: int | str, frames: int) -> None:
    def spans(n_missing: int) -> int:
        column = np.ones(200, dtype=np.float32)
        column[50 : 50 + n_missing] = NAN
        return len(raw(Recording(column, rate=rate), max_gap=max_gap).spans)

    assert (spans(frames), spans(frames + 1)) == (1, 2)


def test_a_gap_in_seconds_needs_a_rate() -> None:
    says = refusal(raw, Recording(noise(9, 1)), max_gap="2s")
    assert "preprocess.max_gap = '2s'" in says


def test_rows_too_sparse_for_a_grid_are_refused_before_memory_runs_out() -> None:
    times = np.concatenate([np.arange(5) * 1e-4, 1 + np.arange(100_000) * 0.4])
    says = refusal(raw, Recording(np.arange(times.size), rate=10_000, timestamps_s=times, id="events"))
    assert "'events': its 100005 rows" in says


def test_a_single_row_with_a_timestamp_is_a_signal() -> None:
    signal = raw(Recording([[1.0, 2.0]], timestamps_s=[5.0]))
    assert (signal.n_frames, signal.spans) == (1, ((0, 1),))


def test_a_sensor_slower_than_the_others_is_no_gap() -> None:
    """A heart rate each second beside 100 Hz; where it stops for long, there is a gap after all."""
    n = 4000
    heart = np.full(n, np.nan)
    heart[::100] = 60 + np.arange(40)
    heart[2000:3000] = np.nan
    wave = np.sin(np.arange(n) / 9)
    recording = Recording(np.stack([wave, heart], axis=1), rate=100, channels=("wave", "heart"))
    cut = PreprocessConfig(dropouts="cut")
    signal = regularise(recording, recording.channels, cut)
    assert signal.spans == ((0, 1901), (3000, 4000))
    npt.assert_allclose(signal.values[:1901, 1], 60 + np.arange(1901) / 100, rtol=1e-5)
    assert any("'heart'" in note and "every 100 rows" in note for note in signal.notes)
    bursts = np.where(np.arange(n) % 500 < 20, wave, np.nan)  # no slow sensor, but one that is mostly off
    broken = Recording(np.stack([wave, bursts], axis=1), rate=100)
    assert len(regularise(broken, broken.channels, cut).spans) == 8
