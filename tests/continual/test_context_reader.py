"""Contexts in a stream: those of `predict`, some windows later, however the rows come."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.settings import ContinualConfig
from rondo.continual import contexts as context_reader
from rondo.continual import frames
from rondo.continual.contexts import ContextReader, MixCounts, is_part_of, reader_of
from rondo.continual.phrases import Motif, MotifReader
from rondo.continual.reading import Decision
from rondo.continual.stream import Stream
from rondo.data.labels import OTHER
from rondo.model.rondo import Rondo
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import ContextModel, LongWindows, Mixes
from rondo.units.viterbi import Timeline
from tests.continual.conftest import N_CONTEXT_FRAMES as N_FRAMES
from tests.motifs.planted_contexts import LENGTH, STEP, cut, planted

GRID = (LENGTH, STEP)
NEW_UNIT = 50


@pytest.fixture(scope="module")
def values(context_values: NDArray[np.float32]) -> NDArray[np.float32]:
    return context_values


@pytest.fixture(scope="module")
def model(context_model: Rondo) -> Rondo:
    return context_model


@pytest.fixture(scope="module")
def contexts(model: Rondo) -> ContextModel:
    motifs = model.motif_model_
    assert isinstance(motifs, ComposedMotifs) and motifs.contexts is not None and len(motifs.contexts.ids) > 1
    return motifs.contexts


def fed(stream: Stream, values: NDArray[np.float32], chunk: int | None = None) -> list[Decision]:
    cuts = [*range(0, len(values), chunk or len(values)), len(values)]
    reports = [stream.feed(values[start:stop]) for start, stop in pairwise(cuts)]
    return [decision for report in [*reports, stream.finish()] for decision in report.decisions]


def motif_track(decisions: list[Decision], n_frames: int) -> NDArray[np.int32]:
    motifs = np.full(n_frames, OTHER, np.int32)
    for own in decisions:
        motifs[own.start_frame : own.stop_frame] = own.motif
    return motifs


def read_units(reader: ContextReader, units: list[int]) -> list[list[Motif]]:
    """What becomes final with each window, then what the end brings; the unit of a window is told at once."""
    return [*(reader.push(unit) for unit in units), reader.boundary()]


def flat(final: list[list[Motif]]) -> list[Motif]:
    return [motif for some in final for motif in some]


# ---------------------------------------------------------------- as `predict` has it


def test_with_an_endless_look_ahead_it_is_predict(
    model: Rondo, values: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "_REACH_LENGTHS", 1_000)
    monkeypatch.setattr(context_reader, "_LAG", 10_000)
    own = Rondo()
    vars(own).update(vars(model))
    continual = model.config_.continual.model_copy(update={"lag": 10_000})
    own.config_ = model.config_.model_copy(update={"continual": continual})
    decisions = fed(own.stream(frozen=True), values)
    npt.assert_array_equal(motif_track(decisions, N_FRAMES), model.predict(values).motifs)


def test_of_known_units_it_reads_what_the_model_reads(
    contexts: ContextModel, values: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader by itself, and its scores too."""
    monkeypatch.setattr(context_reader, "_LAG", 10_000)
    _, timeline = cut(values, planted(N_FRAMES)[1])
    expected = contexts.timeline(timeline)
    final = flat(read_units(ContextReader(contexts, 99), timeline.ids.tolist()))
    npt.assert_array_equal([id for id, _ in final], expected.ids)
    npt.assert_allclose([score for _, score in final], expected.scores, rtol=1e-4)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(1, 90)), min_size=1, max_size=12))
def test_without_all_windows_at_hand_it_is_the_cheapest_path_some_windows_later(
    contexts: ContextModel, runs: list[tuple[int, int]]
) -> None:
    """The slow twin: every window is read with all windows until it is due."""
    known = (*contexts.unit_ids, OTHER)
    units = np.array([known[code % len(known)] for code, n in runs for _ in range(n)], np.int32)
    final = flat(read_units(ContextReader(contexts, 99), units.tolist()))
    assert len(final) == units.size
    for at in range(0, units.size, 17):
        seen = units[: at + context_reader._LAG + 1]
        read = contexts.timeline(Timeline(seen, np.zeros(seen.size), ((0, seen.size),)))
        assert final[at][0] == (OTHER if units[at] == OTHER else read.ids[at])


# ---------------------------------------------------------------- waiting and ending


def test_stretches_are_read_by_themselves(contexts: ContextModel, values: NDArray[np.float32]) -> None:
    _, timeline = cut(values, planted(N_FRAMES)[1])
    units = timeline.ids.tolist()
    alone = [flat(read_units(ContextReader(contexts, 99), units)) for _ in range(2)]
    reader = ContextReader(contexts, 99)
    again = [flat(read_units(reader, units)) for _ in range(2)]
    assert again == alone


# ---------------------------------------------------------------- units that came since


def test_a_promoted_unit_stands_for_itself_and_a_foreign_window_for_nothing(
    contexts: ContextModel, values: NDArray[np.float32]
) -> None:
    _, timeline = cut(values, planted(N_FRAMES)[1])
    ids = timeline.ids.copy()
    ids[600:640], ids[900:905] = NEW_UNIT, OTHER
    reader = ContextReader(contexts, next_id=99)
    assert reader.add_unit(NEW_UNIT) == 99 and reader.ids == (*contexts.ids, 99) and reader.next_id == 100
    final = flat(read_units(reader, ids.tolist()))
    assert set(final[600:640]) == {(99, 1.0)} and set(final[900:905]) == {(OTHER, 0.0)}
    known = np.delete(np.arange(len(ids)), np.r_[600:640, 900:905])
    assert {final[i][0] for i in known.tolist()} <= set(contexts.ids)
    read = reader.read(ids)
    assert {id for id, _ in read[600:640]} == {99} and set(read[900:905]) == {(OTHER, 0.0)}
    assert np.mean([one == other for (one, _), (other, _) in zip(read, final, strict=True)]) > 0.97
    assert reader.take_changes() == []


def test_a_restored_reader_knows_the_units_that_came(contexts: ContextModel, values: NDArray[np.float32]) -> None:
    reader = ContextReader(contexts, next_id=99)
    reader.add_unit(NEW_UNIT)
    tensors, plain = reader.state()
    again = ContextReader(contexts, next_id=99).restored(tensors, json.loads(json.dumps(plain)))
    assert (again.own, again.next_id, again.ids) == ({NEW_UNIT: 99}, 100, reader.ids)


# ---------------------------------------------------------------- who reads


def test_contexts_are_read_by_this_reader_and_all_else_by_phrases(model: Rondo) -> None:
    motifs = model.motif_model_
    assert isinstance(motifs, ComposedMotifs)
    reader = reader_of(motifs, ContinualConfig(), 1.0, GRID)
    assert isinstance(reader, ContextReader) and reader.next_id == max(motifs.ids) + 1
    assert isinstance(reader_of(motifs.showing("unit"), ContinualConfig(), 1.0, GRID), MotifReader)
    assert isinstance(reader_of(motifs.flat, ContinualConfig(), 1.0, GRID), MotifReader)


# ---------------------------------------------------------------- contexts that refine and grow


PAIRS = ((0, 1), (2, 3), (4, 5))  # the units of each context of `of_pairs`
FOREIGN = (0, 2, 4)  # a mix that none of them is


def of_pairs() -> ContextModel:
    """Three contexts of two units each."""
    windows = np.zeros((3, 6), np.int64)
    for row, pair in enumerate(PAIRS):
        windows[row, list(pair)] = 200
    first, follows = np.zeros((3, 6), np.int64), np.zeros((3, 6, 6), np.int64)
    return ContextModel(tuple(range(6)), LongWindows(12, 4), 0.25, Mixes(windows, first, follows))


def learning() -> ContextReader:
    return ContextReader(of_pairs(), 99, ContinualConfig(), half_life=1_200.0)


def visits(mixes: list[tuple[int, ...]], n_runs: int = 24) -> list[int]:
    """Stretches of runs of four windows, each of the units of one mix in turn."""
    return [mix[i % len(mix)] for mix in mixes for i in range(n_runs) for _ in range(4)]


WITH_NEW = [PAIRS[0], PAIRS[1], FOREIGN, PAIRS[2], FOREIGN, PAIRS[0], FOREIGN, PAIRS[1], FOREIGN, PAIRS[2]]


def test_a_mix_that_no_context_explains_and_that_comes_back_is_promoted_once() -> None:
    reader = learning()
    final = flat(read_units(reader, visits(WITH_NEW)))
    (change,) = [own for own in reader.take_changes() if own.kind != "refine"]
    assert (change.kind, change.id, reader.ids) == ("promote", 99, (0, 1, 2, 99))
    assert change.evidence["regions"] == 3 and change.evidence["support"] > 100
    assert {name for name in ("u0", "u2", "u4") if name in str(change.evidence["units"])} == {"u0", "u2", "u4"}
    ids = np.array([id for id, _ in final]).reshape(len(WITH_NEW), -1)
    assert not np.isin(99, ids[:8]) and np.mean(ids[8] == 99) > 0.9  # what was said before it came stays
    for row, mix in ((0, 0), (1, 1), (3, 2), (5, 0), (7, 1), (9, 2)):
        assert np.mean(ids[row] == mix) > 0.9
    again = np.array([id for id, _ in reader.read(np.array(visits([FOREIGN]), np.int32))])
    assert (again == 99).all()


def test_two_visits_are_not_enough() -> None:
    reader = learning()
    read_units(reader, visits(WITH_NEW[:5]))
    assert not [change for change in reader.take_changes() if change.kind != "refine"]


def test_a_promoted_unit_belongs_to_the_context_that_grew_with_it() -> None:
    reader = learning()
    assert reader.add_unit(6) == 99
    new = (6, 0)
    final = flat(read_units(reader, visits([PAIRS[0], new, PAIRS[1], new, PAIRS[2], new, PAIRS[1], new, PAIRS[0]])))
    units = np.array(visits([new]))
    ids = np.array([id for id, _ in final]).reshape(9, -1)
    assert (ids[1][units == 6] == 99).all()  # by itself, as long as no context holds it
    assert np.mean(ids[7] == 100) > 0.9 and reader.ids == (0, 1, 2, 99, 100)


def test_mixes_follow_what_is_labelled() -> None:
    reader = learning()
    read_units(reader, visits([(0, 0, 0, 1)] * 12))
    before, after = of_pairs().log_shares[0], reader.mixes.logs[0]
    assert after[0] > before[0] + 0.1 and after[1] < before[1] - 0.1
    kinds = [(change.kind, change.id) for change in reader.take_changes()]
    assert kinds and set(kinds) == {("refine", 0)}


def test_what_a_known_context_explains_nearly_as_well_becomes_part_of_it() -> None:
    mixes = MixCounts(np.array([[100, 100, 0, 0], [0, 0, 100, 100]]), 0.25)
    like, unlike = np.array([70, 40, 0, 0]), np.array([50, 0, 50, 0])
    (row, little), (_, much) = mixes.nearest(like, 4), mixes.nearest(unlike, 4)
    assert row == 0 and is_part_of(little, 3) and not is_part_of(much, 3)
    mixes.add_unit()
    with_new = np.array([70, 40, 0, 0, 60])  # the last unit came since the fit: no fitted context takes it up
    assert not is_part_of(mixes.nearest(with_new, 4)[1], 3)
    mixes.join(0, with_new, 4)
    npt.assert_array_equal(mixes.counts[0], [170, 140, 0, 0, 0])


@pytest.mark.parametrize("at", [790])
def test_a_reader_that_learns_goes_on_from_its_state(at: int) -> None:
    units = visits(WITH_NEW)
    plain = learning()
    expected = read_units(plain, units)
    first = learning()
    found = [first.push(unit) for unit in units[:at]]
    changes = first.take_changes()
    tensors, about = first.state()
    second = learning().restored({name: own.copy() for name, own in tensors.items()}, json.loads(json.dumps(about)))
    assert found + read_units(second, units[at:]) == expected
    assert changes + second.take_changes() == plain.take_changes()
