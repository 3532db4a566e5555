"""Rows in chunks: the frames of the whole recording bit for bit, in any chunks, stopped and restored anywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig
from rondo.data.input_events import InputEvent
from rondo.data.known_channels import SoundBounds
from rondo.data.preparation import Preparation, Prepared, RowPlan
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal, plan_of, regularise
from rondo.data.windows import Windower, WindowGrid, Windows
from rondo.errors import InputError, RecordingError
from tests import naive_preparation as naive

NAN = float("nan")
CONFIG = PreprocessConfig(statistics="dataset", max_gap=3)

Values = NDArray[np.float32]
Times = NDArray[np.float64]


def noise(n_frames: int, n_channels: int = 2, seed: int = 0) -> Values:
    return (np.random.default_rng(seed).normal(size=(n_frames, n_channels)) * 3 + 8).astype(np.float32)


def fitted(config: PreprocessConfig = CONFIG, n_channels: int = 2) -> Preprocessor:
    return Preprocessor.fit([Recording(noise(50, n_channels, seed=99), rate=4.0)], config)


MODEL = fitted()
BOUNDS = MODEL.bounds or SoundBounds((), (), ())
STILL = replace(MODEL, bounds=BOUNDS._replace(still_rows=(6.0, 6.0)))  # stuck after 6 equal values
PLAIN = fitted(PreprocessConfig(scaling="none", max_gap=3, dropouts="cut"))


def begun(model: Preprocessor, rate: float | None) -> Preparation:
    """Of a stream that is about to come."""
    return Preparation(model.row_plan(rate))


def fed(
    frames: Preparation, values: Values, times: Times | None = None, cuts: list[int] | None = None, *, ends: bool = True
) -> tuple[list[Prepared], list[InputEvent]]:
    """Everything a stream gives when it comes in these chunks; by default in one."""
    prepared: list[Prepared] = []
    events: list[InputEvent] = []
    edges = [0, *sorted(cuts or []), len(values)]
    for start, stop in pairwise(edges):
        n_given_out = prepared[-1].first_frame + len(prepared[-1].values) if prepared else 0
        prepared += frames.push(values[start:stop], None if times is None else times[start:stop])
        told = frames.take_events()
        assert all(event.frame >= n_given_out for event in told)
        events += told
    prepared += frames.finish() if ends else []
    return prepared, events + frames.take_events()


def stretches(prepared: list[Prepared]) -> list[tuple[int, Values]]:
    """First frame and values of each contiguous stretch; frames within one must follow on each other."""
    found: list[tuple[int, list[Values]]] = []
    for part in prepared:
        if part.begins:
            found.append((part.first_frame, []))
        first, own = found[-1]
        assert part.first_frame == first + sum(map(len, own))
        assert part.values.dtype == np.float32 and len(part.values)
        own.append(part.values)
    return [(first, np.concatenate(own)) for first, own in found]


def frame_by_frame(prepared: list[Prepared]) -> list[tuple[Any, ...]]:
    """What each frame says of itself, whichever chunk it came in; rows only where they count one by one."""
    return [
        (part.first_frame + i, part.begins and i == 0, row.tobytes())
        for part in prepared
        for i, row in enumerate(part.values)
    ]


def assert_is_batch(prepared: list[Prepared], signal: Signal) -> None:
    found = stretches(prepared)
    assert tuple((first, first + len(values)) for first, values in found) == signal.spans
    for (start, stop), (_, values) in zip(signal.spans, found, strict=True):
        npt.assert_array_equal(values.view(np.uint32), np.ascontiguousarray(signal.values[start:stop]).view(np.uint32))


def batch(model: Preprocessor, values: Values, rate: float | None, times: Times | None = None) -> Signal:
    """The whole recording at once, of those that are not refused; dropouts are filled by what the model knows."""
    try:
        recording = Recording(values, rate, timestamps_s=times)
        plan = plan_of(recording, model.channels, model.config)
        return regularise(recording, model.channels, model.config, replace(plan, relations=model.relations))
    except RecordingError:
        assume(False)
        raise


@st.composite
def streams(draw: st.DrawFn, most_rows: int = 60) -> tuple[Values, list[int], np.random.Generator]:
    """Rows with bursts of NaN in either channel, and where chunks are cut."""
    n_rows = draw(st.integers(1, most_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    values = noise(n_rows, seed=draw(st.integers(0, 3)))
    for _ in range(draw(st.integers(0, 4))):
        start, length = draw(st.integers(0, n_rows - 1)), draw(st.sampled_from([1, 2, 3, 4, 5, 12]))
        values[start : start + length, draw(st.sampled_from([0, 1]))] = NAN
    cuts = draw(st.one_of(st.just(list(range(1, n_rows))), st.lists(st.integers(0, n_rows), max_size=6)))
    return values, cuts, rng


def steady(rng: np.random.Generator, n_rows: int, kind: str, rate: float) -> Times:
    """Timestamps of rows that are frames: regular, drifting, jittering, mildly or up to half a period."""
    steps = np.ones(n_rows)
    if kind == "drift":
        steps[:] = rng.uniform(0.6, 1.4)
    clock = np.cumsum(steps)
    if kind == "mild jitter":
        clock += rng.uniform(-0.24, 0.24, n_rows)
    if kind == "jitter":
        clock += rng.uniform(-0.49, 0.49, n_rows)
    return np.asarray(1.7e9 + clock / rate)


# ---------------------------------------------------------------- stream equals batch


@pytest.mark.parametrize(
    "kind", ["no clock", "regular", "drift", "mild jitter", "jitter", "missing rows", "never fits"]
)
@given(stream=streams(), jumps=st.lists(st.tuples(st.integers(1, 59), st.integers(5, 10**6)), max_size=3))
def test_frames_are_those_of_the_batch_path(kind: str, stream: Any, jumps: Any) -> None:
    values, cuts, rng = stream
    n_rows, rate, times = len(values), 64.0, None
    if kind == "missing rows":
        times = np.cumsum(rng.choice([1, 1, 2, 4], n_rows)) / rate
    elif kind == "never fits":
        assume(n_rows > 1)
        steps = rng.uniform(0.05, 2.5, n_rows)
        steps[1] = 2.2  # seen at once: the only row before is that of frame 0 in both paths
        times = np.cumsum(steps) / rate
    elif kind != "no clock":
        times = steady(rng, n_rows, kind, rate)
        for row, n_frames in jumps:
            times[row:] += n_frames / rate
    prepared, _ = fed(begun(MODEL, rate), values, times, cuts)
    signal = batch(MODEL, values, rate, times)
    if "jitter" in kind:
        assume(signal.frame_of_row is None)  # two jitters beside a jump may make up a step that does not fit
    assert_is_batch(prepared, signal)
    if signal.frame_of_row is None:
        clock = np.arange(n_rows) / rate if times is None else times
        for part in prepared:
            assert part.time_s == pytest.approx(clock[part.first_frame], rel=1e-15)
    if times is None:
        assert all(part.time_s is None for part in fed(begun(MODEL, None), values)[0])


@given(stream=streams(40), how=st.sampled_from(["irregular", "drift, then a hole", "jitter, then a hole"]))
def test_frames_are_those_of_the_slow_twin(stream: Any, how: str) -> None:
    values, cuts, rng = stream
    n_rows = len(values)
    steps = rng.uniform(0.05, 2.0, n_rows) if how == "irregular" else np.full(n_rows, 1.1)
    if how == "jitter, then a hole":
        steps = np.diff(np.arange(n_rows) + rng.uniform(-0.4, 0.4, n_rows), prepend=-1)
    if how != "irregular":
        steps[n_rows // 2 :: 20] += 2
    steps[n_rows // 3 :: 17] += rng.choice([0, 6])
    times = np.cumsum(steps) / 8.0
    prepared, _ = fed(begun(PLAIN, 8.0), values, times, cuts)
    expected = naive.stretches(values.tolist(), ((times - times[0]) * 8.0).tolist(), max_gap=3)
    found = stretches(prepared)
    assert [(first, len(own)) for first, own in found] == [(own[0][0], len(own)) for own in expected]
    for (_, own), twin in zip(found, expected, strict=True):
        npt.assert_allclose(own, np.array([row for _, row in twin]), rtol=1e-5, atol=1e-5)


@given(stream=streams(), n_again=st.integers(0, 8), back=st.floats(0, 20))
def test_rows_that_are_not_later_are_skipped_as_if_they_had_not_come(stream: Any, n_again: int, back: float) -> None:
    values, cuts, rng = stream
    times = steady(rng, len(values), "mild jitter", rate=100.0)
    for row in rng.integers(0, len(values), n_again):
        times[row] = rng.choice(
            [times[max(0, row - 1)], times[row] - back, times[row] + back, 9e18, NAN, np.inf, -np.inf]
        )
    kept = naive.kept_rows(times.tolist(), 100.0, 3)
    assume(kept)
    prepared, events = fed(begun(MODEL, 100.0), values, times, cuts)
    clean, _ = fed(begun(MODEL, 100.0), values[kept], times[kept])
    assert frame_by_frame(prepared) == frame_by_frame(clean)
    assert sum(int(event.evidence["rows"]) for event in events if event.kind == "skip") == len(values) - len(kept)


@pytest.mark.parametrize("n_axes", [0, 20])
def test_what_the_model_sees_does_not_depend_on_chunks_and_is_that_of_the_batch_path(n_axes: int) -> None:
    model = fitted(PreprocessConfig(statistics="dataset", pca_components=n_axes), n_channels=45)
    values = noise(400, 45)
    single = np.concatenate([model.seen_by_model(values[i : i + 1]) for i in range(400)])
    for seen in (model.seen_by_model(values), model.apply(Recording(values)).values):
        npt.assert_array_equal(seen.view(np.uint32), single.view(np.uint32))
    assert single.shape == (400, n_axes or 45) and not np.shares_memory(model.seen_by_model(values), values)


# ---------------------------------------------------------------- chunks, and stopping anywhere


@st.composite
def nasty(draw: st.DrawFn) -> tuple[Values, Times | None, list[int]]:
    """Rows with everything that may happen to them, and where chunks are cut."""
    values, cuts, rng = draw(streams())
    n_rows = len(values)
    if draw(st.booleans()):
        values[rng.integers(n_rows), 0] = np.inf
    for _ in range(draw(st.integers(0, 4))):  # far outside, or standing still
        row, where = rng.integers(n_rows), [0, 1] if draw(st.booleans()) else [0]
        bad = rng.choice([65_535.0, values[row, 0]])
        values[row : row + draw(st.sampled_from([1, 2, 4, 9, 30])), where] = bad
    if draw(st.integers(0, 4)) == 0:
        return values, None, cuts
    kind = draw(st.sampled_from(["regular", "drift", "mild jitter", "jitter"]))
    times = steady(rng, n_rows, kind, rate=50.0)
    for _ in range(draw(st.integers(0, 3))):
        row = draw(st.integers(0, n_rows - 1))
        times[row:] += draw(st.sampled_from([0.04, 0.06, 0.1, 3600.0, -0.05, -1.0]))
    for row in rng.integers(0, n_rows, draw(st.integers(0, 3))):
        times[row] = rng.choice([times[max(0, row - 1)], NAN, times[row] + 0.03, times[row] + 7.0, 9e18])
    return values, times, cuts


@pytest.mark.slow
@given(stream=nasty(), most_behind=st.sampled_from([1_000, 4]))
def test_chunks_do_not_matter(stream: Any, most_behind: int) -> None:
    values, times, cuts = stream
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rondo.data.admission.MOST_ROWS_BEHIND", most_behind)
        patch.setattr("rondo.data.input_events._QUIET_ROWS", most_behind)
        patch.setattr("rondo.data.input_events._LONGEST_SPELL_ROWS", 7 if most_behind == 4 else 10_000)
        one, some = begun(STILL, 50.0), begun(STILL, 50.0)
        whole, whole_events = fed(one, values, times, ends=False)
        parts, part_events = fed(some, values, times, cuts, ends=False)
        assert frame_by_frame(parts) == frame_by_frame(whole)
        assert part_events == whole_events
        assert [event.frame for event in whole_events] == sorted(event.frame for event in whole_events)
        assert same_state(one.state(), some.state())
        assert frame_by_frame(one.finish()) == frame_by_frame(some.finish())
        assert one.take_events() == some.take_events()


@st.composite
def anything(draw: st.DrawFn) -> tuple[Values, Times | None]:
    """A long recording with gaps, jumps, jitter, missing rows and a slow sensor."""
    n_rows = draw(st.integers(2, 2_500))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    values = noise(n_rows, 3, seed=draw(st.integers(0, 3)))
    if draw(st.booleans()):
        values[np.arange(n_rows) % draw(st.sampled_from([5, 9, 40])) > 0, 2] = NAN
    for start in rng.integers(0, n_rows, draw(st.integers(0, 8))):
        values[start : start + rng.choice([1, 3, 4, 30]), rng.integers(3)] = NAN
    kind = draw(st.sampled_from(["none", "regular", "drift", "mild jitter", "jitter", "missing rows", "irregular"]))
    if kind == "none":
        return values, None
    if kind == "missing rows":
        times = np.sort(rng.choice(2 * n_rows, n_rows, replace=False)) / 50.0
    elif kind == "irregular":
        times = np.cumsum(rng.uniform(0.05, 2.5, n_rows)) / 50.0
    else:
        times = steady(rng, n_rows, kind, rate=50.0)
    for row in rng.integers(0, n_rows, draw(st.integers(0, 3))):
        times[row:] += rng.choice([0.05, 0.1, 0.3, 3600.0])
    return values, times


def in_chunks(plan: RowPlan, values: Values, times: Times | None, n_rows: int) -> tuple[list[Any], list[int]]:
    """A stream in chunks of so many rows: start and content of every window, and the frame of every row."""
    preparation, windower, windows, told = Preparation(plan), Windower(20, 7, values.shape[1]), [], []
    preparation.tell_places(lambda *places: told.append(places))
    parts = []
    for row in range(0, len(values), n_rows):
        own = slice(row, row + n_rows)
        parts += preparation.push(values[own], None if times is None else times[own])
    for part in parts + preparation.finish():
        pushed = windower.push(part.values, part.first_frame, begins=part.begins)
        windows += [(window.start_frame, window.values.tobytes()) for window in pushed]
    numbers, frames, lost = (np.concatenate([part[i] for part in told]) for i in range(3))
    npt.assert_array_equal(numbers, np.arange(len(values)))
    boundaries = [event for event in preparation.take_events() if event.evidence["rule"] == "boundary"]
    assert lost.any() == any(event.evidence["cause"] == "missing values" for event in boundaries)
    return windows, frames.tolist()


@pytest.mark.slow
@settings(max_examples=25)
@given(anything())
def test_chunks_of_1_7_1000_and_all_rows_give_windows_and_frames_of_the_whole_recording(stream: Any) -> None:
    values, times = stream
    recording = Recording(values, 50.0, timestamps_s=times)
    try:
        plan = plan_of(recording, recording.channels, CONFIG)
        signal = regularise(recording, recording.channels, CONFIG, plan)
    except RecordingError:
        assume(False)
    grid = WindowGrid(20, 7, signal.n_frames, signal.spans)
    batches = (window for batch in Windows(signal.values, grid).batches() for window in batch)
    windows = [
        (start, np.ascontiguousarray(w).tobytes()) for start, w in zip(grid.starts.tolist(), batches, strict=True)
    ]
    frames = list(range(len(values))) if signal.frame_of_row is None else signal.frame_of_row.tolist()
    for n_rows in (1, 7, 1_000, len(values)):
        assert in_chunks(plan, values, times, n_rows) == (windows, frames)


def test_a_row_that_was_given_out_is_continued_as_it_began() -> None:
    """Channel 0 has no value before row 2 of its piece; row 0 is given out while channel 1 still waits."""
    rows = np.array([[NAN, 1.0], [NAN, NAN], [5.0, NAN], [6.0, 2.0]], np.float32)
    for cuts in ([], [1, 2, 3]):
        prepared, _ = fed(begun(PLAIN, None), rows, cuts=cuts)
        npt.assert_allclose(stretches(prepared)[0][1], [[5, 1], [5, 4 / 3], [5, 5 / 3], [6, 2]], rtol=1e-6)


def test_a_sensor_slower_than_the_others_can_be_streamed() -> None:
    """A heart rate each second beside 100 Hz: the model knows its spacing, and a longer silence is a gap after all."""
    n_rows = 3_000
    values = np.stack([np.sin(np.arange(n_rows) / 9), np.full(n_rows, NAN)], axis=1).astype(np.float32)
    values[::100, 1] = 60 + np.arange(30)
    recording = Recording(values, rate=100)
    model = Preprocessor.fit([recording], PreprocessConfig(dropouts="cut"))
    assert model.spacing == (0, 100)
    day2 = values.copy()
    day2[1_000:1_500, 1] = NAN
    prepared, events = fed(begun(model, 100.0), day2, cuts=list(range(0, n_rows, 37)))
    assert_is_batch(prepared, batch(model, day2, 100.0))
    assert [(first, first + len(own)) for first, own in stretches(prepared)] == [(0, 901), (1_500, 3_000)]
    assert [event.evidence["rule"] for event in events if event.evidence["rule"] != "bridged"] == [
        "boundary",
        "resumed",
    ]
    without = replace(model, spacing=(0, 0))
    assert sum(len(part.values) for part in fed(begun(without, 100.0), day2)[0]) < 50


def same_state(some: Any, other: Any) -> bool:
    tensors_are_same = some[0].keys() == other[0].keys() and all(
        some[0][name].dtype == other[0][name].dtype and np.array_equal(some[0][name], other[0][name], equal_nan=True)
        for name in some[0]
    )
    return tensors_are_same and json.dumps(some[1]) == json.dumps(other[1])


def test_a_fault_that_waits_for_its_gap_to_end_is_stored() -> None:
    values = noise(12)
    values[5:9, 0] = values[5, 0]
    model = replace(STILL, bounds=BOUNDS._replace(still_rows=(3.0, 3.0)))
    whole, first = begun(model, 50.0), begun(model, 50.0)
    whole.push(values[:8])
    first.push(values[:8])
    assert first.gaps.n_held == 1
    second = Preparation.restore(model.row_plan(50.0), *first.state())
    for frames in (whole, second):
        frames.push(values[8:])
    events = second.take_events()
    assert [event.evidence["rule"] for event in events if "channel" in event.evidence] == ["stuck"]
    assert events == whole.take_events()


@given(stream=nasty(), share=st.floats(0, 1))
def test_stopping_and_restoring_changes_nothing(stream: Any, share: float) -> None:
    values, times, _ = stream
    stop = round(share * len(values))
    whole = begun(MODEL, 50.0)
    expected = whole.push(values, times) + whole.finish()
    first = begun(MODEL, 50.0)
    before = first.push(values[:stop], None if times is None else times[:stop])
    tensors, plain = first.state()
    second = Preparation.restore(MODEL.row_plan(50.0), tensors, json.loads(json.dumps(plain, allow_nan=False)))
    assert same_state(second.state(), (tensors, plain))
    after = second.push(values[stop:], None if times is None else times[stop:]) + second.finish()
    assert frame_by_frame(before + after) == frame_by_frame(expected)
    assert second.take_events() == whole.take_events()  # those not taken before the stop came along


def test_what_is_kept_is_small_and_its_own() -> None:
    values = noise(3_000)
    values[:1_000:7, 0] = NAN
    times = np.cumsum(np.random.default_rng(0).uniform(0.4, 1.9, 3_000)) / 50.0
    frames = begun(PLAIN, 50.0)
    sizes = []
    for start in range(0, 3_000, 100):
        chunk = values[start : start + 100].copy()
        frames.push(chunk, times[start : start + 100])
        frames.take_events()
        tensors, plain = frames.state()
        sizes.append(sum(tensor.nbytes for tensor in tensors.values()) + len(json.dumps(plain)))
        twin = Preparation.restore(PLAIN.row_plan(50.0), tensors, plain)
        chunk[:] = 0
        assert same_state(frames.state(), twin.state())
    assert max(sizes) < 1_500


# ---------------------------------------------------------------- the rules, one by one


def test_a_short_burst_is_held_back_until_it_ends_and_a_long_one_only_until_it_is_long() -> None:
    frames = begun(PLAIN, None)
    rows = np.array(
        [[1.0, 1.0], [NAN, 2], [NAN, 3], [4, 4], [NAN, 5], [NAN, 6], [NAN, 7], [NAN, 8], [NAN, 9], [10, 10]]
    )
    given_out = []
    n_held = []
    for row in rows.astype(np.float32):
        given_out.append([part.values.tolist() for part in frames.push(row[None])])
        n_held.append(frames.gaps.n_held)
    assert given_out[:4] == [[[[1, 1]]], [], [], [[[2, 2], [3, 3], [4, 4]]]]
    assert given_out[4:] == [[], [], [], [], [], [[[10, 10]]]]
    assert n_held == [0, 1, 2, 0, 1, 2, 3, 0, 0, 0]
    told = [(event.kind, event.frame, dict(event.evidence)) for event in frames.take_events()]
    assert told == [
        ("gap", 4, {"rule": "boundary", "cause": "missing values", "first_row": 4}),
        ("gap", 9, {"rule": "resumed", "cause": "missing values", "rows": 5}),
    ]
    assert frames.finish() == []
    bridged = {"rule": "bridged", "cause": "missing values", "rows": 2, "first_row": 1, "first_frame": 1}
    assert [(event.frame, event.evidence) for event in frames.take_events()] == [(10, bridged)]


@pytest.mark.parametrize(("step", "fits"), [(0.45, False), (0.55, True), (1.45, True), (1.55, False)])
def test_on_a_clock_that_drifts_a_step_must_be_near_one(step: float, fits: bool) -> None:
    steps = np.full(12, 1.2)
    steps[8] = step
    _, events = fed(begun(PLAIN, 1.0), noise(12), np.cumsum(steps))
    gridded = [event.evidence["first_row"] for event in events if event.evidence["rule"] == "gridded"]
    assert gridded == ([] if fits else [8])


def test_a_gap_of_hours_is_a_boundary_and_a_short_one_is_bridged() -> None:
    frames = begun(PLAIN, 2.0)
    prepared, events = fed(frames, noise(5), np.array([0, 0.5, 1.5, 2.0, 7202.0]))
    assert [(part.begins, part.first_frame, len(part.values), part.time_s) for part in prepared] == [
        (True, 0, 2, 0.0),
        (False, 2, 3, 1.0),
        (True, 5, 1, 7202.0),
    ]
    told = [(event.frame, event.time_s, dict(event.evidence)) for event in events]
    assert told == [
        (3, 1.5, {"rule": "gridded", "first_row": 2}),
        (5, 2.0, {"rule": "bridged", "cause": "missing rows", "frames": 1, "first_row": 2, "first_frame": 3}),
        (5, 7202.0, {"rule": "boundary", "cause": "time jumps", "seconds": 7200.0}),
    ]


def test_rows_of_the_past_are_skipped_and_told_together() -> None:
    times = np.array([1.0, 1.5, 1.5, 0.5, NAN, 2.0, 2.5, 2.5])
    prepared, events = fed(begun(PLAIN, 2.0), noise(8), times)
    assert [(part.begins, part.first_frame, len(part.values)) for part in prepared] == [(True, 0, 4)]
    told = [(event.kind, event.frame, event.time_s, event.evidence["rows"]) for event in events]
    assert told == [("skip", 4, 2.5, 3), ("skip", 4, 2.5, 1)]


def test_what_is_bridged_is_told_by_the_spell() -> None:
    values = noise(40_000)
    values[[500, 590, 690, 791, 2_000], 0] = NAN
    values[5_000:25_000:2, 1] = NAN
    frames = begun(PLAIN, None)
    _, events = fed(frames, values, cuts=list(range(0, 40_000, 77)))
    told = [(event.frame, event.evidence["first_frame"], event.evidence["rows"]) for event in events]
    assert told == [
        (791, 500, 3),  # the last of them is at 690: 100 sound rows later it is over
        (892, 791, 1),
        (2_101, 2_000, 1),
        (15_000, 5_000, 5_000),  # told in between, as it does not end
        (25_000 - 2 + 101, 15_000, 5_000),
    ]


def test_a_fault_is_over_after_a_hundred_sound_rows() -> None:
    values = noise(500)
    values[100, 0] = values[200, 0] = values[302, 0] = 1e6
    _, events = fed(begun(STILL, None), values, cuts=[150, 301, 303])
    told = [(event.frame, event.evidence.get("rows")) for event in events if event.evidence["rule"] == "outside"]
    assert told == [(100, None), (301, 2), (302, None), (403, 1)]


def test_a_clock_that_was_set_back_is_believed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondo.data.admission.MOST_ROWS_BEHIND", 5)
    times = np.concatenate([np.arange(100, 110), np.arange(0, 20)]) / 2.0
    prepared, events = fed(begun(PLAIN, 2.0), noise(30), times)
    assert [(part.begins, part.first_frame, len(part.values), part.time_s) for part in prepared] == [
        (True, 0, 10, 50.0),
        (True, 10, 15, 2.5),
    ]
    told = [(event.kind, event.frame, event.time_s, event.evidence["cause"]) for event in events]
    assert told[0][:3] == ("gap", 10, 2.5) and "clock" in told[0][3]
    assert told[1][:3] == ("skip", 25, 9.5) and events[1].evidence["rows"] == 5
    holed, _ = fed(begun(PLAIN, 2.0), noise(29), np.delete(times, 22))  # a row is missing after it: the grid is new
    assert [(first, len(own)) for first, own in stretches(holed)] == [(0, 10), (10, 15)]


def refusal(action: Any, *arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        action(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_used_is_refused_in_one_line_and_changes_nothing() -> None:
    frames = begun(MODEL, 4.0)
    frames.push(noise(5), np.arange(5) / 4.0)
    before = frames.state()
    says = refusal(frames.push, noise(3, 4), np.arange(3) + 9.0)
    assert "shape (3, 4) at row 5" in says
    assert "timestamps end at row 5" in refusal(frames.push, noise(3))
    assert "shape (2,) for 3 rows" in refusal(frames.push, noise(3), np.arange(2) + 9.0)
    assert same_state(frames.state(), before)
    assert len(frames.push(noise(3), np.arange(5, 8) / 4.0)) == 1
    assert frames.push(np.zeros((0, 2), np.float32)) == []


def test_the_scale_is_that_of_the_model_even_where_recordings_have_their_own() -> None:
    own = fitted(PreprocessConfig(max_gap=3))
    assert own.config.statistics == "recording"
    values = noise(30) * 7
    npt.assert_array_equal(own.seen_by_model(values), MODEL.seen_by_model(values))
