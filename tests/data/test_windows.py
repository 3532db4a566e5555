"""Windows against their frame-by-frame twins, whole and in chunks, and how far perfect window labels carry."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data import windows as windows_module
from rondo.data.preparation import Preparation, Prepared
from rondo.data.windows import Projection, Span, StreamWindow, Windower, WindowGrid, Windows
from rondo.errors import ModelError, SettingError
from rondo.metrics.scores import evaluate
from tests import naive_windows as naive
from tests.data.test_preparation import MODEL, nasty

RULES: tuple[Projection, ...] = ("vote", "centre", "start")
RULE = st.sampled_from(RULES)


@st.composite
def grids(draw: st.DrawFn) -> WindowGrid:
    """Any length and step; spans with holes, too short for a window, touching each other, or none at all."""
    length = draw(st.integers(1, 12))
    step = draw(st.integers(1, length))
    pieces = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=5))
    spans, at = [], 0
    for hole, width in pieces:
        spans.append((at + hole, at + hole + width))
        at += hole + width
    return WindowGrid(length, step, at + draw(st.integers(0, 4)), tuple(spans))


def labels_for(grid: WindowGrid, n_labels: int = 4) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(-1, n_labels - 2), min_size=grid.n_windows, max_size=grid.n_windows)


def frame_track(grid: WindowGrid, labels: list[int], rule: Projection) -> list[int]:
    return naive.project(labels, grid.length_frames, grid.step_frames, grid.n_frames, grid.spans, rule)


# ---------------------------------------------------------------- the grid


@given(grids())
def test_starts_and_window_spans_are_those_of_the_twin(grid: WindowGrid) -> None:
    length, step, spans = grid.length_frames, grid.step_frames, grid.spans
    assert grid.starts.tolist() == naive.starts(length, step, spans)
    assert list(grid.window_spans) == naive.window_spans(length, step, spans)
    assert grid.n_windows == len(grid.starts) == sum(b - a for a, b in grid.window_spans)


@pytest.mark.parametrize(
    ("length", "step", "says"),
    [
        (0, 1, "windows.length and windows.step must be at least 1 frame, got 0 and 1"),
        (4, 0, "windows.length and windows.step must be at least 1 frame, got 4 and 0"),
        (-3, -3, "windows.length and windows.step must be at least 1 frame, got -3 and -3"),
        (4, 5, r"windows.step \(5 frames\) is longer than windows.length \(4 frames\)"),
    ],
)
def test_a_grid_that_would_skip_frames_is_refused(length: int, step: int, says: str) -> None:
    with pytest.raises(SettingError, match=says) as caught:
        WindowGrid(length, step, 100, ((0, 100),))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spans", [((0, 101),), ((-1, 5),), ((5, 3),), ((0, 6), (5, 9)), ((5, 9), (0, 3))])
def test_spans_that_overlap_or_leave_the_recording_are_refused(spans: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="in order"):
        WindowGrid(4, 2, 100, spans)


# ---------------------------------------------------------------- windows -> frames


@pytest.mark.parametrize("rule", RULES)
@given(data=st.data(), grid=grids())
def test_projection_is_that_of_the_twin(rule: Projection, data: st.DataObject, grid: WindowGrid) -> None:
    labels = data.draw(labels_for(grid))
    projected = grid.project(labels, rule)
    assert projected.dtype == np.int32
    assert projected.tolist() == frame_track(grid, labels, rule)


@given(data=st.data(), grid=grids(), cells=st.integers(1, 9))
def test_votes_do_not_depend_on_the_size_of_a_block(data: st.DataObject, grid: WindowGrid, cells: int) -> None:
    labels = data.draw(labels_for(grid))
    whole = grid.project(labels, "vote")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_module, "_CELLS_PER_BLOCK", cells)
        npt.assert_array_equal(grid.project(labels, "vote"), whole)


def test_ties_go_to_the_nearest_centre_and_else_to_the_smallest_label() -> None:
    grid = WindowGrid(length_frames=4, step_frames=2, n_frames=6, spans=((0, 6),))
    assert grid.project([9, 2]).tolist() == [9, 9, 9, 2, 2, 2]  # frames 2 and 3 are covered once by each
    many = WindowGrid(length_frames=5, step_frames=1, n_frames=9, spans=((0, 9),))
    assert many.project([8, 8, 4, 2, 2])[4] == 2  # 8 and 2 have two votes each, the nearest window says 4


@given(st.data(), grids())
def test_spread_is_that_of_the_twin(data: st.DataObject, grid: WindowGrid) -> None:
    number = st.floats(-8, 8, width=32)
    scores = data.draw(st.lists(number, min_size=grid.n_windows, max_size=grid.n_windows))
    expected = naive.spread(scores, grid.length_frames, grid.step_frames, grid.n_frames, grid.spans)
    spread = grid.spread(scores)
    assert spread.dtype == np.float32
    assert spread.tolist() == expected


@pytest.mark.parametrize("labels", [[1, 2], [1, 2, 3, 4], [[1, 2, 3]], 5])
def test_labels_that_are_not_one_per_window_are_refused(labels: Any) -> None:
    grid = WindowGrid(4, 2, 8, ((0, 8),))
    for method in (grid.project, grid.spread):
        with pytest.raises(ValueError, match="each of 3 windows"):
            method(labels)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="one of the rules"):
        WindowGrid(4, 2, 8, ((0, 8),)).project([1, 2, 3], "median")  # type: ignore[arg-type]


def test_labels_handed_over_are_not_changed() -> None:
    labels = np.array([2, 1, 2], dtype=np.int32)
    labels.flags.writeable = False
    track = WindowGrid(4, 2, 8, ((0, 8),)).project(labels)
    track[:] = 0  # and what comes back is the caller's own
    assert labels.tolist() == [2, 1, 2]


@pytest.mark.parametrize("rule", RULES)
def test_memory_is_that_of_the_answer(rule: Projection) -> None:
    grid = WindowGrid(256, 50, 1_000_000, ((0, 1_000_000),))
    labels = np.random.default_rng(0).integers(0, 500, grid.n_windows)
    tracemalloc.start()
    track = grid.project(labels, rule)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * track.nbytes + (64 << 20)  # one block of 4096 cells x 500 labels is below 64 MB


# ---------------------------------------------------------------- window contents


@given(grids(), st.integers(1, 3), st.integers(1, 7))
def test_batches_hold_every_window_in_order(grid: WindowGrid, n_channels: int, per_batch: int) -> None:
    values = np.arange(grid.n_frames * n_channels, dtype=np.float32).reshape(-1, n_channels)
    values.flags.writeable = False
    batches = list(Windows(values, grid).batches(per_batch))
    assert all(0 < len(batch) <= per_batch for batch in batches)
    assert all(len(batch) == per_batch for batch in batches[:-1])
    seen = [window.tolist() for batch in batches for window in batch]
    assert seen == [values[start : start + grid.length_frames].T.tolist() for start in grid.starts]


def test_a_batch_is_a_copy_and_windows_know_their_size() -> None:
    grid = WindowGrid(4, 2, 11, ((0, 7), (7, 11)))
    windows = Windows(np.zeros((11, 3), dtype=np.float32), grid)
    assert (len(windows), windows.n_channels) == (3, 3)
    (batch,) = windows.batches()
    assert batch.shape == (3, 3, 4)
    batch += 1
    assert not windows.values.any()


# ---------------------------------------------------------------- windows of a stream


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


# ---------------------------------------------------------------- what perfect window labels can reach


def majority_classes(classes: np.ndarray[Any, Any], grid: WindowGrid) -> list[int]:
    return [int(np.bincount(classes[s : s + grid.length_frames]).argmax()) for s in grid.starts]


def ceiling(folder: Path, length: int, step: int, rule: Projection) -> dict[str, float]:
    """Scores of windows that know their most frequent class."""
    pairs = {}
    for path in sorted(folder.glob("*.npz")):
        classes = np.unique(np.load(path)["y"], return_inverse=True)[1]
        grid = WindowGrid(length, step, classes.size, ((0, classes.size),))
        pairs[path.stem] = (classes, grid.project(majority_classes(classes, grid), rule))
    average = evaluate(pairs).average
    return {"mof": average.mof, "f1_50": average.f1_50, "edit": average.edit}


@pytest.mark.data
@pytest.mark.parametrize(
    ("data_set", "length", "step", "rule", "expected"),
    [
        ("MoCap", 256, 50, "vote", {"mof": 98.642, "f1_50": 100.0, "edit": 100.0}),
        ("MoCap", 256, 50, "centre", {"mof": 98.642, "f1_50": 100.0, "edit": 100.0}),
        ("MoCap", 256, 50, "start", {"mof": 89.745, "f1_50": 98.148, "edit": 100.0}),
        ("ActRecTut", 90, 30, "vote", {"mof": 95.346}),
        ("ActRecTut", 90, 30, "start", {"mof": 87.986}),
    ],
)
def test_ceilings(
    data_dir: Path, data_set: str, length: int, step: int, rule: Projection, expected: dict[str, float]
) -> None:
    reached = ceiling(data_dir / data_set, length, step, rule)
    assert {name: reached[name] for name in expected} == pytest.approx(expected, abs=1e-3)
