"""Contexts in a stream: those of `predict`, a few long windows later, however the rows come."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo import Rondo
from rondo.config.schema import ContinualConfig
from rondo.continual import context_reader, run_frames
from rondo.continual.context_reader import ContextReader, reader_of
from rondo.continual.motif_reader import Motif, MotifReader
from rondo.continual.reading import Decision
from rondo.continual.stream import Stream
from rondo.data.labels import OTHER
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import ContextModel, at_unit_boundaries
from tests.motifs.planted_contexts import LENGTH, LONG, STEP, cut, planted

N_FRAMES = LENGTH + STEP * 1_996  # the last long window ends with the recording
GRID = (LENGTH, STEP)
NEW_UNIT = 50


@pytest.fixture(scope="module")
def values() -> NDArray[np.float32]:
    return planted(N_FRAMES)[0]


@pytest.fixture(scope="module")
def model(values: NDArray[np.float32]) -> Rondo:
    settings = {"evidence.surrogates": 0, "motifs.window": LONG}
    found = Rondo(window=LENGTH, step=STEP, settings=settings).fit(values)
    assert isinstance(found.motif_model_, ComposedMotifs)
    found.motif_model_ = found.motif_model_.showing("context")
    return found


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


def read_units(reader: ContextReader, values: NDArray[np.float32], units: list[int]) -> list[list[Motif]]:
    """What becomes final with each window, then what the end brings; the unit of a window is told at once."""
    windows, _ = cut(values, np.zeros(len(values), np.int64))
    final = []
    for start, unit in zip(windows.grid.starts.tolist(), units, strict=True):
        reader.see(np.ascontiguousarray(values[start : start + LENGTH].T), start)
        final.append(reader.push(unit))
    return [*final, reader.boundary(len(values))]


def flat(final: list[list[Motif]]) -> list[Motif]:
    return [motif for some in final for motif in some]


# ---------------------------------------------------------------- however the rows come


@pytest.mark.parametrize("frozen", [True, False])
def test_chunks_do_not_matter(model: Rondo, values: NDArray[np.float32], frozen: bool) -> None:
    some = values[:4_000].copy()
    some[2_500:2_700] = np.nan  # a boundary
    whole = fed(model.stream(frozen=frozen), some)
    assert len({own.motif for own in whole}) > 2
    for chunk in (1, 7, 1_000):
        assert fed(model.stream(frozen=frozen), some, chunk) == whole, chunk


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("at", [0, 10, 1_203, 2_600, 3_999])
def test_stopped_and_restored_it_goes_on_as_if_nothing_had_been(
    model: Rondo, values: NDArray[np.float32], frozen: bool, at: int
) -> None:
    some = values[:4_000].copy()
    some[2_500:2_700] = np.nan
    plain = model.stream(frozen=frozen)
    expected = [plain.feed(some[:at]), plain.feed(some[at:]), plain.finish()]
    first = model.stream(frozen=frozen)
    found = [first.feed(some[:at])]
    tensors, about = first.state()
    copied: dict[str, Any] = {name: tensor.copy() for name, tensor in tensors.items()}
    second = Stream.restore(model.stream(frozen=frozen), copied, json.loads(json.dumps(about)))
    found += [second.feed(some[at:]), second.finish()]
    assert found == expected


# ---------------------------------------------------------------- as `predict` has it


def test_it_labels_as_predict_does(model: Rondo, values: NDArray[np.float32]) -> None:
    expected = model.predict(values).motifs
    assert len(np.unique(expected)) > 2
    motifs = motif_track(fed(model.stream(frozen=True), values), N_FRAMES)
    assert np.mean(motifs == expected) > 0.97


def test_with_an_endless_look_ahead_it_is_predict(
    model: Rondo, values: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_frames, "_REACH_LENGTHS", 1_000)
    monkeypatch.setattr(context_reader, "_REACH_LENGTHS", 1_000)
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
    monkeypatch.setattr(context_reader, "_REACH_LENGTHS", 1_000)
    monkeypatch.setattr(context_reader, "_LAG", 10_000)
    windows, timeline = cut(values, planted(N_FRAMES)[1])
    expected = contexts.timeline(timeline, windows)
    final = flat(read_units(ContextReader(contexts, GRID, 99), values, timeline.ids.tolist()))
    npt.assert_array_equal([id for id, _ in final], expected.ids)
    npt.assert_allclose([score for _, score in final], expected.scores, rtol=1e-4)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 12)), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=40),
)
def test_what_was_said_is_what_would_have_been_said_with_all_windows_at_hand(
    contexts: ContextModel, context_runs: list[tuple[int, int]], unit_runs: list[tuple[int, int]]
) -> None:
    """A window is final once no boundary near it can move, and what is forgotten is not needed any more."""
    drawn = [contexts.ids[code % len(contexts.ids)] for code, n in context_runs for _ in range(n)]
    units = [contexts.unit_ids[code] for code, n in unit_runs for _ in range(n)]
    units = (units * len(drawn))[: len(drawn)]
    reader = ContextReader(contexts, GRID, 99)
    reader._n_costed = len(drawn)  # the costs of all long windows are known
    final: list[Motif] = []
    for context, unit in zip(drawn, units, strict=True):
        reader._units.append(unit)
        reader._drawn.append((context, 0.5))
        final += reader._settled(ended=False)
        assert len(reader._units) <= 7 * reader.reach + 1
    final += reader._settled(ended=True)
    expected = at_unit_boundaries(np.array(drawn, np.int32), np.array(units), reader.reach)
    assert [id for id, _ in final] == expected.tolist()


# ---------------------------------------------------------------- waiting and ending


def test_no_window_waits_for_long(contexts: ContextModel, values: NDArray[np.float32]) -> None:
    units = planted(N_FRAMES)[1]
    _, timeline = cut(values, units)
    reader = ContextReader(contexts, GRID, 99)
    n_pushed = np.arange(1, len(timeline.ids) + 1)
    final = read_units(reader, values, timeline.ids.tolist())
    n_final = np.cumsum([len(some) for some in final[:-1]])
    long = contexts.windows
    most = long.n_covered + long.n_apart * (context_reader._LAG + 1)
    most += 4 * context_reader._REACH_LENGTHS * (long.n_covered + 2 * long.n_apart) + 3 * reader.reach
    assert (n_pushed - n_final).max() <= most < len(timeline.ids) / 4
    assert len(flat(final)) == len(timeline.ids)


def test_a_stretch_too_short_for_a_long_window_has_the_context_of_its_units(
    contexts: ContextModel, values: NDArray[np.float32]
) -> None:
    reader = ContextReader(contexts, GRID, 99)
    short = values[: LENGTH + 4 * STEP]
    for units in ([0] * 5, [0, 0, 1, 1, 1], [2, 2, 2, 1, 1]):
        final = flat(read_units(reader, short, units))
        assert final == [(contexts.likeliest(contexts.codes(np.array(units))), 1.0)] * 5
    assert reader.boundary(0) == []  # nothing waits


def test_stretches_are_read_by_themselves(contexts: ContextModel, values: NDArray[np.float32]) -> None:
    _, timeline = cut(values, planted(N_FRAMES)[1])
    units = timeline.ids.tolist()
    alone = [flat(read_units(ContextReader(contexts, GRID, 99), values, units)) for _ in range(2)]
    reader = ContextReader(contexts, GRID, 99)
    again = [flat(read_units(reader, values, units)) for _ in range(2)]
    assert again == alone


# ---------------------------------------------------------------- units that came since


def test_a_promoted_unit_stands_for_itself_and_a_foreign_window_for_nothing(
    contexts: ContextModel, values: NDArray[np.float32]
) -> None:
    windows, timeline = cut(values, planted(N_FRAMES)[1])
    ids = timeline.ids.copy()
    ids[600:640], ids[900:905] = NEW_UNIT, OTHER
    reader = ContextReader(contexts, GRID, next_id=99)
    assert reader.add_unit(NEW_UNIT) == 99 and reader.ids == (*contexts.ids, 99) and reader.next_id == 100
    final = flat(read_units(reader, values, ids.tolist()))
    assert set(final[600:640]) == {(99, 1.0)} and set(final[900:905]) == {(OTHER, 0.0)}
    known = np.delete(np.arange(len(ids)), np.r_[600:640, 900:905])
    assert {final[i][0] for i in known.tolist()} <= set(contexts.ids)
    read = reader.read(replace(timeline, ids=ids), windows)
    assert set(read.ids[600:640].tolist()) == {99} and set(read.ids[900:905].tolist()) == {OTHER}
    assert (read.scores[900:905] == 0).all()
    assert np.mean(read.ids == [id for id, _ in final]) > 0.97
    assert reader.take_changes() == []


def test_a_restored_reader_knows_the_units_that_came(contexts: ContextModel, values: NDArray[np.float32]) -> None:
    reader = ContextReader(contexts, GRID, next_id=99)
    reader.add_unit(NEW_UNIT)
    tensors, plain = reader.state()
    again = ContextReader(contexts, GRID, next_id=99).restored(tensors, json.loads(json.dumps(plain)))
    assert (again.own, again.next_id, again.ids) == ({NEW_UNIT: 99}, 100, reader.ids)


# ---------------------------------------------------------------- who reads


def test_contexts_are_read_by_this_reader_and_all_else_by_phrases(model: Rondo) -> None:
    motifs = model.motif_model_
    assert isinstance(motifs, ComposedMotifs)
    reader = reader_of(motifs, ContinualConfig(), 1.0, GRID)
    assert isinstance(reader, ContextReader) and reader.next_id == max(motifs.ids) + 1
    assert isinstance(reader_of(motifs.showing("unit"), ContinualConfig(), 1.0, GRID), MotifReader)
    assert isinstance(reader_of(motifs.flat, ContinualConfig(), 1.0, GRID), MotifReader)
