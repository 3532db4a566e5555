"""Contexts: what is described, what is found, what is read where there is little, and what a folder keeps."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score

from rondo.config.settings import SlowUnitsConfig
from rondo.data.windows import WindowGrid, Windows
from rondo.motifs.contexts import (
    CHANGE_NATS,
    ContextModel,
    LongWindows,
    Mixes,
    fit_contexts,
    log_shares,
    medoid,
    persistence,
    settled,
    unit_shares,
)
from rondo.units.viterbi import Timeline
from tests import naive_units
from tests.motifs.planted_contexts import LENGTH, LONG, STEP, UNIT_FRAMES, cut, middles, planted

WIDE = LongWindows.of(LONG, (LENGTH, STEP))


def fitted(n_frames: int = 12_000, seed: int = 0, unit_ids: tuple[int, ...] = (0, 1, 2)) -> ContextModel | None:
    values, units, _ = planted(n_frames, seed)
    windows, timeline = cut(values, np.array(unit_ids)[units])
    return fit_contexts([windows], [timeline], unit_ids, WIDE, SlowUnitsConfig(), np.random.default_rng(0))


@pytest.fixture(scope="module")
def model() -> ContextModel:
    found = fitted()
    assert found is not None
    return found


# ---------------------------------------------------------------- what a long window is


@given(st.integers(1, 40), st.integers(1, 10), st.integers(0, 300))
def test_long_windows_are_the_same_counted_in_frames_and_in_windows(length: int, step: int, long: int) -> None:
    step = min(step, length)
    wide = LongWindows.of(long, (length, step))
    windows = Windows(np.zeros((400, 1), np.float32), cut_grid(length, step))
    grid = wide.grid(windows.grid)
    assert wide.n_covered >= 2 and wide.n_apart >= 1
    first = wide.first_covered(windows.grid.window_spans)
    npt.assert_array_equal(grid.starts, windows.grid.starts[first])
    npt.assert_array_equal(
        grid.starts + grid.length_frames, windows.grid.starts[first + wide.n_covered - 1] + windows.grid.length_frames
    )
    assert wide.spans(windows.grid.window_spans) == tuple(span for span in grid.window_spans if span[1] > span[0])


def cut_grid(length: int, step: int) -> WindowGrid:
    return WindowGrid(length, step, 400, ((0, 250), (250, 290), (290, 400)))


@given(st.data())
def test_shares_are_counted(data: st.DataObject) -> None:
    n_units, n_covered = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 8))
    codes = data.draw(st.lists(st.integers(-1, n_units - 1), min_size=n_covered, max_size=40))
    first = data.draw(st.lists(st.integers(0, len(codes) - n_covered), max_size=6))
    expected = np.zeros((len(first), n_units))
    for row, begin in enumerate(first):
        for code in codes[begin : begin + n_covered]:
            if code >= 0:  # a unit that is not known belongs to none
                expected[row, code] += 1 / n_covered
    shares = unit_shares(np.array(codes), np.array(first, np.int64), n_covered, n_units)
    npt.assert_allclose(shares, np.sqrt(expected), atol=1e-12)


def test_what_lasts_persists_and_what_alternates_does_not() -> None:
    lasting = np.repeat([1.0, -1.0], 50)[:, None]
    assert persistence(lasting, ((0, 100),), 2) > 0.9
    assert persistence(lasting, ((0, 50), (50, 100)), 2) > 0.95  # nothing is compared across the end of a span
    assert persistence(np.tile([1.0, -1.0], 50)[:, None], ((0, 100),), 1) < -0.9
    assert persistence(np.zeros((10, 2)), ((0, 10),), 2) == 0.0


# ---------------------------------------------------------------- how units are read


def slowly_read(units: list[int], logs: NDArray[np.float64], weight: float) -> float:
    """What the cheapest of all sequences of contexts costs."""
    return min(
        sum(-weight * logs[context, unit] if unit >= 0 else 0.0 for context, unit in zip(path, units, strict=True))
        + CHANGE_NATS * sum(one != other for one, other in pairwise(path))
        for path in product(range(len(logs)), repeat=len(units))
    )


@given(st.data())
def test_the_reading_is_the_cheapest_of_all(data: st.DataObject) -> None:
    n_contexts, n_units = data.draw(st.integers(2, 3)), data.draw(st.integers(2, 4))
    windows = data.draw(arrays(np.int64, (n_contexts, n_units), elements=st.integers(0, 400)))
    weight = data.draw(st.sampled_from([0.25, 1.0, 3.0]))  # 3: changes pay off in a few windows
    units = data.draw(st.lists(st.integers(-1, n_units - 1), min_size=1, max_size=7))
    follows = np.zeros((n_contexts, n_units, n_units), np.int64)
    model = ContextModel(tuple(range(n_units)), WIDE, weight, Mixes(windows, 0 * windows, follows))
    read = model.timeline(Timeline(np.array(units, np.int32), np.zeros(len(units)), ((0, len(units)),))).ids.tolist()
    logs = log_shares(windows, weight)
    cost = sum(-weight * logs[context, unit] if unit >= 0 else 0.0 for context, unit in zip(read, units, strict=True))
    cost += CHANGE_NATS * sum(one != other for one, other in pairwise(read))
    assert cost == pytest.approx(slowly_read(units, logs, weight))


def test_a_score_is_the_share_over_the_largest_there_is(model: ContextModel) -> None:
    _, timeline = cut(*planted(4_000, seed=6)[:2])
    read = model.timeline(timeline)
    shares = np.exp(model.log_shares)
    expected = [
        shares[c, u] / shares[:, u].max() for c, u in zip(read.ids.tolist(), timeline.ids.tolist(), strict=True)
    ]
    npt.assert_allclose(read.scores, expected)


# ---------------------------------------------------------------- what is found


@pytest.mark.parametrize("seed", [0])
def test_planted_contexts_are_found_and_units_alone_do_not_tell_them(seed: int) -> None:
    model = fitted(seed=seed)
    assert model is not None
    values, units, truth = planted(seed=seed)
    windows, timeline = cut(values, units)
    read = model.timeline(timeline)
    own = truth[middles(windows)]
    assert adjusted_mutual_info_score(own, read.ids) > 0.8
    assert adjusted_mutual_info_score(own, timeline.ids) < 0.5
    assert len(model.ids) == 3 and read.ids.dtype == np.int32
    assert (read.scores > 0).all() and (read.scores <= 1).all()
    npt.assert_array_equal(read.begins, np.append(True, np.diff(read.ids) != 0))


def test_too_few_long_windows_or_units_make_no_contexts() -> None:
    assert fitted(n_frames=800) is None
    values, units, _ = planted()
    windows, timeline = cut(values, 0 * units)
    assert fit_contexts([windows], [timeline], (0,), WIDE, SlowUnitsConfig(), np.random.default_rng(0)) is None


def test_unit_ids_need_not_be_columns(model: ContextModel) -> None:
    other = fitted(unit_ids=(3, 10, 40))
    assert other is not None and other.unit_ids == (3, 10, 40)
    npt.assert_array_equal(other.mixes.follows, model.mixes.follows)
    units = np.array([40, 3, 10, 11, 99, -1], np.int32)
    read = other.timeline(Timeline(units, np.zeros(6), ((0, 6),)))
    assert (read.scores[3:] == 1).all() and (read.scores[:3] < 1).any()  # units that are in no context


def test_several_recordings_have_one_vocabulary() -> None:
    each = [planted(6_000, seed) for seed in (3, 4)]
    windows, timelines = zip(*(cut(values, units) for values, units, _ in each), strict=True)
    model = fit_contexts(windows, timelines, (0, 1, 2), WIDE, SlowUnitsConfig(), np.random.default_rng(0))
    assert model is not None
    read = np.concatenate([model.timeline(line).ids for line in timelines])
    truth = np.concatenate([own[2][middles(w)] for own, w in zip(each, windows, strict=True)])
    assert adjusted_mutual_info_score(truth, read) > 0.85
    counts = model.occurrences(timelines)
    assert set(counts) == set(model.ids) and sum(counts.values()) == int(np.count_nonzero(np.diff(read)) + 1) + (
        read[len(windows[0]) - 1] == read[len(windows[0])]
    )


def test_the_order_within_a_context_is_told_where_there_is_one() -> None:
    """Of two contexts one goes round, u0 u1 u2, and one has u2 u3 u4 in any order."""
    rng = np.random.default_rng(0)
    units: list[int] = []
    for i in range(30):
        any_order = np.concatenate([rng.permutation([2, 3, 4]) for _ in range(5)])
        units += any_order.tolist() if i % 2 else [0, 1, 2] * 5
    of_frame = np.repeat(units, UNIT_FRAMES)
    values = 2 * np.eye(5)[of_frame] + 0.1 * rng.normal(size=(of_frame.size, 5))
    windows, timeline = cut(values.astype(np.float32), of_frame)
    model = fit_contexts([windows], [timeline], range(5), WIDE, SlowUnitsConfig(), np.random.default_rng(0))
    assert model is not None
    told = [model.composition(id) for id in model.ids]
    rounds = [line for line in told if {"u0", "u1"} <= {part.split()[0] for part in line.split(", ")}]
    assert rounds and all(re.search("; mostly u. → u. → u., [456] times per occurrence", line) for line in rounds), told
    for line in rounds:
        assert re.search("u0 → u1 → u2|u1 → u2 → u0|u2 → u0 → u1", line), told
    others = [line for line in told if line.count("%") > 2 and line not in rounds]
    assert others and all("; no fixed order, u" in line for line in others), told


# ---------------------------------------------------------------- where there is little


def test_a_span_too_short_for_a_long_window_has_the_context_of_its_units(model: ContextModel) -> None:
    values, units, _ = planted(3_000, seed=5)
    short = LONG // 2
    units[3_000 - short :] = np.repeat([0, 2], short // 2)
    windows, timeline = cut(values, units, spans=((0, 3_000 - short), (3_000 - short, 3_000)))
    read = model.timeline(timeline)
    start, stop = windows.grid.window_spans[1]
    assert WIDE.n_in((start, stop)) == 0 < stop - start
    without = model.mixes.windows / model.mixes.windows.sum(axis=1, keepdims=True)
    assert set(read.ids[start:stop].tolist()) == {model.ids[int(without[:, 1].argmin())]}  # the mix without unit 1
    assert read.begins[start]
    alone = model.timeline(cut(values[: 3_000 - short], units[: 3_000 - short])[1])
    npt.assert_array_equal(read.ids[:start], alone.ids)


# ---------------------------------------------------------------- what is kept and said


def test_saved_and_loaded_it_is_the_same(model: ContextModel) -> None:
    tensors = model.tensors()
    again = ContextModel.restore({name: tensor.copy() for name, tensor in tensors.items()})
    assert (again.ids, again.unit_ids, again.windows) == (model.ids, model.unit_ids, model.windows)
    restored = again.tensors()
    assert set(restored) == set(tensors)
    for name, tensor in tensors.items():
        npt.assert_array_equal(restored[name], tensor, err_msg=name)
    values, units, _ = planted(4_000, seed=6)
    _, timeline = cut(values, units)
    one, other = model.timeline(timeline), again.timeline(timeline)
    npt.assert_array_equal(one.ids, other.ids)
    npt.assert_array_equal(one.scores, other.scores)
    npt.assert_array_equal(one.begins, other.begins)


def test_damaged_contexts_are_refused(model: ContextModel) -> None:
    with pytest.raises(ValueError, match="expected"):
        ContextModel.restore(model.tensors() | {"mixes.follows": np.zeros((1, 4, 3), np.int64)})


def test_a_context_is_told_by_the_shares_of_its_units(model: ContextModel) -> None:
    counts = np.array([[5, 35, 60], [20, 30, 50], [92, 5, 3]])
    told = replace(model, unit_ids=(0, 4, 7), mixes=model.mixes._replace(windows=counts))
    first, second, third = (told.composition(id) for id in model.ids)
    assert first.startswith("u7 60%, u4 35%; u7 ")  # until nine tenths are told
    assert second.startswith("u7 50%, u4 30%, u0 20%; ")
    assert third == "u0 92%"


# ---------------------------------------------------------------- which of several readings is taken


@pytest.mark.parametrize("seed", [0])
def test_the_reading_taken_agrees_best_with_all_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 200)
    readings = [np.where(rng.random(200) < noise, rng.integers(0, 5, 200), truth) for noise in rng.random(5)]
    sums = [sum(adjusted_mutual_info_score(one, other) for other in readings) for one in readings]
    assert medoid(readings) == int(np.argmax(np.round(sums, 9)))
    assert medoid([readings[0], truth, truth + 7]) == 1  # ids are names; of equals the first


# ---------------------------------------------------------------- runs instead of windows


@pytest.mark.parametrize("seed", range(2))
def test_reading_runs_gives_the_contexts_of_windows(seed: int) -> None:
    """Against a slow twin that reads every window."""
    rng = np.random.default_rng(seed)
    spans = [(0, 150), (150, 151), (151, 400)]
    mixes = np.array([[6, 3, 1, 0], [0, 1, 4, 5]])
    truth = np.repeat(rng.integers(0, 2, 10), 40)
    codes = np.repeat([rng.choice(4, p=mixes[truth[at]] / 10) for at in range(0, 400, 4)], 4)
    counts, path = mixes.astype(np.int64), np.zeros(0, np.int64)
    for _ in range(20):
        costs = -0.5 * log_shares(counts[counts.sum(axis=1) > 0], 0.5)[:, codes].T
        read = np.concatenate([naive_units.viterbi(costs[a:b], CHANGE_NATS) for a, b in spans])
        if np.array_equal(read, path):
            break
        path, counts = read, np.zeros((read.max() + 1, 4), np.int64)
        np.add.at(counts, (path, codes), 1)
    names = list(dict.fromkeys(path.tolist()))
    assert settled(mixes, codes, spans, 0.5).tolist() == [names.index(context) for context in path.tolist()]
