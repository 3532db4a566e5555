"""Windows of a stream: those of the batch path's grid, in any chunks, stopped and restored anywhere."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig
from rondo.data.preparation import Preparation, Prepared
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.windows import StreamWindow, Windower, WindowGrid, Windows
from rondo.errors import ModelError, SettingError
from tests import naive_windows as naive
from tests.data.test_preparation import MODEL, nasty

Span = tuple[int, int]


def frames_of(n_frames: int) -> NDArray[np.float32]:
    """Values that tell their frame and their channel."""
    return np.stack([np.arange(n_frames), np.arange(n_frames) + 0.5], axis=1).astype(np.float32)


def chunks_of(spans: list[Span], sizes: list[int]) -> list[Prepared]:
    """The frames of these spans in chunks of these sizes, over and over."""
    values = frames_of(spans[-1][1])
    chunks, n_given = [], 0
    for start, stop in spans:
        first = start
        while first < stop:
            end = min(stop, first + sizes[n_given % len(sizes)])
            chunks.append(Prepared(values[first:end], first == start, first, None))
            first, n_given = end, n_given + 1
    return chunks


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    """Some stretches, touching or apart."""
    edge, found = draw(st.integers(0, 5)), []
    for _ in range(draw(st.integers(1, 4))):
        stop = edge + draw(st.integers(1, 30))
        found.append((edge, stop))
        edge = stop + draw(st.sampled_from([0, 1, 9]))
    return found


def given_out(windower: Windower, chunks: list[Prepared]) -> list[StreamWindow]:
    return [window for own in chunks for window in windower.push(own.values, own.first_frame, begins=own.begins)]


def same(some: list[StreamWindow], other: list[StreamWindow]) -> bool:
    return len(some) == len(other) and all(
        np.array_equal(a.values, b.values) and a.start_frame == b.start_frame for a, b in zip(some, other, strict=True)
    )


sizes = st.lists(st.integers(1, 40), min_size=1, max_size=4)


@given(spans=spans(), sizes=sizes, length=st.integers(1, 12), data=st.data())
def test_windows_are_those_of_the_grid(spans: list[Span], sizes: list[int], length: int, data: Any) -> None:
    step = data.draw(st.integers(1, length))
    windows = given_out(Windower(length, step, 2), chunks_of(spans, sizes))
    grid = WindowGrid(length, step, spans[-1][1], tuple(spans))
    assert [window.start_frame for window in windows] == grid.starts.tolist() == naive.starts(length, step, spans)
    batch = [window for part in Windows(frames_of(spans[-1][1]), grid).batches(3) for window in part]
    for window, expected in zip(windows, batch, strict=True):
        npt.assert_array_equal(window.values, expected)
        assert window.values.dtype == np.float32 and window.values.flags.c_contiguous


@given(spans=spans(), sizes=sizes, length=st.integers(1, 12), share=st.floats(0, 1))
def test_stopping_and_restoring_changes_nothing(spans: list[Span], sizes: list[int], length: int, share: float) -> None:
    chunks, step = chunks_of(spans, sizes), (length + 1) // 2
    stop = round(share * len(chunks))
    first = Windower(length, step, 2)
    before = given_out(first, chunks[:stop])
    tensors, plain = first.state()
    second = Windower.restore(tensors, json.loads(json.dumps(plain)))
    after = given_out(second, chunks[stop:])
    whole = Windower(length, step, 2)
    assert same(before + after, given_out(whole, chunks))
    npt.assert_array_equal(second.state()[0]["kept"], whole.state()[0]["kept"])
    assert second.state()[1] == whole.state()[1]


def test_windows_are_the_callers_own_and_little_is_kept() -> None:
    windower = Windower(8, 3, 2)
    chunks = chunks_of([(0, 500)], [1, 50])
    found = given_out(windower, chunks)
    last = found[-1].values.copy()
    for window in found:
        window.values[:] = -1  # writing into one must not reach another, nor what is kept
        assert (window.values == -1).all()
    kept = windower.state()[0]["kept"]
    assert len(kept) < 8 and not (kept == -1).any()
    npt.assert_array_equal(given_out(Windower(8, 3, 2), chunks)[-1].values, last)


def test_rows_to_windows_is_the_batch_path() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(900, 3)).astype(np.float32)
    values[100:103, 1] = np.nan
    values[300:340] = np.nan  # a boundary
    values[700:740, 2] = np.nan  # predicted from the other channels
    times = np.arange(900) / 64.0
    times[600:] += 3600
    model = Preprocessor.fit([Recording(values[:100], rate=64.0)], PreprocessConfig(statistics="dataset", max_gap=5))
    signal = model.apply(Recording(values, 64.0, timestamps_s=times))
    grid = WindowGrid(32, 10, signal.n_frames, signal.spans)
    batch = np.concatenate(list(Windows(signal.values, grid).batches()))
    for n_rows in (1, 100, 900):
        frames, windower = Preparation(model.row_plan(64.0)), Windower(32, 10, 3)
        prepared = [
            part
            for row in range(0, 900, n_rows)
            for part in frames.push(values[row : row + n_rows], times[row : row + n_rows])
        ]
        prepared = [part._replace(values=model.seen_by_model(part.values)) for part in prepared + frames.finish()]
        windows = given_out(windower, prepared)
        assert [window.start_frame for window in windows] == grid.starts.tolist()
        npt.assert_array_equal(np.stack([window.values for window in windows]).view(np.uint32), batch.view(np.uint32))
        assert sum(part.begins for part in prepared) == len(signal.spans) == 3


@given(stream=nasty(), length=st.integers(1, 9))
def test_events_of_the_input_stand_between_the_same_windows_in_any_chunks(stream: Any, length: int) -> None:
    values, times, cuts = stream

    def told(edges: list[int]) -> list[Any]:
        frames, windower, found = Preparation(MODEL.row_plan(50.0)), Windower(length, length, 2), []
        for start, stop in pairwise(edges):
            for part in frames.push(values[start:stop], None if times is None else times[start:stop]):
                if part.begins:
                    found += [*frames.take_events(part.first_frame + 1), part.first_frame]
                for window in windower.push(part.values, part.first_frame, begins=part.begins):
                    found += [*frames.take_events(window.start_frame + length), window.start_frame]
            found += frames.take_events()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rondo.data.input_events._QUIET_ROWS", 4)
        assert told([0, *sorted(cuts), len(values)]) == told([0, len(values)])


def test_what_no_grid_can_be_is_refused() -> None:
    with pytest.raises(SettingError, match="frames between windows"):
        Windower(4, 5, 2)
    with pytest.raises(ModelError, match="fewer than 4 frames"):
        Windower.restore({"kept": np.zeros((4, 2), np.float32)}, Windower(4, 2, 2).state()[1])
