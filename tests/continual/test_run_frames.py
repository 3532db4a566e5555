"""Frames of decided windows: those of the whole recording, by the alignment of `units/boundaries.py`."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.continual import frames as run_frames
from rondo.continual.frames import RunFrames
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.units.boundaries import Boundaries, fit_boundaries

LENGTH, STEP = 32, 8
UNITS = (0, 1, 2, 3)


def windows_of(
    codes: list[int], seed: int, start: int = 0, length: int = LENGTH, step: int = STEP
) -> tuple[Windows, NDArray[np.int32]]:
    """Noise as loud as the unit of its window says, from the frame `start` on."""
    units = np.array(codes, dtype=np.int32)
    n_frames = length + step * (units.size - 1)
    rng = np.random.default_rng(seed)
    loud = np.repeat(units, step)
    loud = np.concatenate([np.full((length - step) // 2, loud[0]), loud, np.full(length, loud[-1])])[:n_frames]
    values = rng.normal(size=(start + n_frames, 2)) * (1 + np.concatenate([np.zeros(start), loud]))[:, None]
    return Windows(values.astype(np.float32), WindowGrid(length, step, len(values), ((start, len(values)),))), units


def spoken(frames: RunFrames, windows: Windows, units: NDArray[np.int32], lag: int = 0) -> list[Span]:
    """The frames of each window, where units are decided so many windows later."""
    spans: list[Span] = []
    contents = [window for batch in windows.batches() for window in batch]
    for number, start in enumerate(windows.grid.starts.tolist()):
        frames.see(contents[number], start)
        if number >= lag:
            spans += frames.push(int(units[number - lag]))
    for unit in units[max(0, units.size - lag) :]:
        spans += frames.push(int(unit))
    return spans + frames.end(windows.grid.n_frames)


def assert_is_batch(spans: list[Span], boundaries: Boundaries, windows: Windows, units: NDArray[np.int32]) -> None:
    assert len(spans) == len(windows)
    window_of_frame = np.repeat(np.arange(len(spans)), [stop - start for start, stop in spans])
    start = windows.grid.spans[0][0]
    npt.assert_array_equal(units[window_of_frame], units[boundaries.windows_of_frames(windows, units)[start:]])


@pytest.mark.parametrize(("length", "step"), [(LENGTH, STEP), (64, 2), (30, 30), (7, 3)])
@given(
    st.lists(st.tuples(st.sampled_from(UNITS), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(0, 99),
    st.integers(0, 5),
    st.sampled_from([0, 100]),
)
def test_with_an_endless_reach_frames_are_those_of_the_whole_recording(
    length: int, step: int, runs: list[tuple[int, int]], seed: int, lag: int, start: int
) -> None:
    windows, units = windows_of([unit for unit, n in runs for _ in range(n)], seed, start, length, step)
    boundaries = fit_boundaries([windows], [units], UNITS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_frames, "_REACH_LENGTHS", 1_000)
        assert_is_batch(spoken(RunFrames(boundaries, length, step), windows, units, lag), boundaries, windows, units)


@given(st.lists(st.tuples(st.sampled_from(UNITS), st.integers(1, 60)), min_size=1, max_size=8), st.integers(0, 99))
def test_spans_follow_on_each_other_and_no_window_waits_long(runs: list[tuple[int, int]], seed: int) -> None:
    windows, units = windows_of([unit for unit, n in runs for _ in range(n)], seed)
    frames = RunFrames(fit_boundaries([windows], [units], UNITS), LENGTH, STEP)
    most = 2 * run_frames._REACH_LENGTHS * LENGTH // STEP
    contents = [window for batch in windows.batches() for window in batch]
    spans: list[Span] = []
    for number, unit in enumerate(units.tolist()):
        frames.see(contents[number], number * STEP)
        spans += frames.push(unit)
        assert number + 1 - len(spans) <= 2 * most
        kept = frames.state()[0]["density"]
        assert len(kept) <= 3 * most * STEP // 2
    spans += frames.end(windows.grid.n_frames)
    assert spans[0][0] == 0 and spans[-1][1] == windows.grid.n_frames
    assert all(before[1] == after[0] for before, after in pairwise(spans))


@settings(max_examples=20)
@given(st.integers(0, 80), st.integers(0, 9))
def test_stopping_and_restoring_changes_nothing(stop: int, seed: int) -> None:
    windows, units = windows_of([0] * 20 + [1] * 5 + [2] * 30 + [0] * 3 + [1] * 22, seed)
    boundaries = fit_boundaries([windows], [units], UNITS)
    contents = [window for batch in windows.batches() for window in batch]
    whole, kept = RunFrames(boundaries, LENGTH, STEP), RunFrames(boundaries, LENGTH, STEP)
    for number, unit in enumerate(units.tolist()):
        if number == stop:
            tensors, plain = kept.state()
            kept = RunFrames(boundaries, LENGTH, STEP)
            kept.load(tensors, json.loads(json.dumps(plain)))
        for frames in (whole, kept):
            frames.see(contents[number], number * STEP)
        assert whole.push(unit) == kept.push(unit)
    assert whole.end(700) == kept.end(700)


def test_without_a_description_units_meet_half_way() -> None:
    windows, units = windows_of([0] * 6 + [1] * 6, 0)
    spans = spoken(RunFrames(None, LENGTH, STEP), windows, units)
    nearest = windows.grid.project(units, "centre")
    npt.assert_array_equal(np.repeat(units, [stop - start for start, stop in spans]), nearest)
