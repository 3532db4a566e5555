from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.config.settings import ComposedMotifsConfig, ContinualConfig
from rondo.continual import phrases as module
from rondo.continual.phrases import Motif, MotifReader
from rondo.data.labels import OTHER
from rondo.motifs.discover import fit_phrases, flat_motifs
from rondo.motifs.model import MotifModel, UnitRuns
from rondo.units.viterbi import Timeline

UNITS = tuple(range(9))
REST, PHRASES = 0, ((1, 2, 3), (4, 5, 6, 7), (2, 8, 5))  # the middle of one is the end of another


def timeline(units: list[int]) -> Timeline:
    ids = np.array(units, dtype=np.int32)
    return Timeline(ids, np.zeros(ids.size), ((0, ids.size),))


def phrases(n: int, seed: int = 0) -> list[int]:
    rng = np.random.default_rng(seed)
    runs = [unit for _ in range(n) for unit in (REST, *PHRASES[rng.integers(3)])]
    return np.repeat(runs, rng.integers(2, 6, len(runs))).tolist()


@pytest.fixture(scope="module")
def grammar() -> MotifModel:
    model = fit_phrases([timeline(phrases(120))], UNITS, ComposedMotifsConfig(), np.random.default_rng(0))
    assert model.composed
    return model


@pytest.fixture(scope="module")
def flat() -> MotifModel:
    return flat_motifs(UnitRuns.of([timeline(list(UNITS))]), UNITS)


def begun(model: MotifModel) -> MotifReader:
    return MotifReader(model, ContinualConfig(), half_life=500.0, passage=4, next_id=max(model.ids) + 1)


def lasting(*units: int, windows: int = 4) -> list[int]:
    return np.repeat(units, windows).tolist()


def pushed(reader: MotifReader, units: list[int]) -> list[Motif]:
    motifs = [motif for unit in units for motif in reader.push(unit)]
    return motifs + reader.boundary()


@given(st.lists(st.sampled_from([*UNITS, 20, OTHER]), max_size=150))
def test_every_window_gets_one_motif_and_flat_ones_are_the_units(flat: MotifModel, units: list[int]) -> None:
    reader = begun(flat)
    own = reader.add_unit(20)
    assert own not in flat.ids
    motifs = [motif for motif, _ in pushed(reader, units)]
    assert motifs == [own if unit == 20 else unit for unit in units]


def test_a_stream_of_phrases_is_read_as_all_at_once(grammar: MotifModel) -> None:
    units = phrases(25, seed=5)
    read = [motif for motif, _ in pushed(begun(grammar), units)]
    whole = grammar.timeline(timeline(units)).ids.tolist()
    assert np.mean(np.array(read) == np.array(whole)) > 0.95


def test_where_no_unit_stands_for_itself_a_window_waits_for_two_more(flat: MotifModel) -> None:
    reader = begun(flat)
    assert not reader.standing
    assert reader.push(0) == reader.push(0) == reader.push(1) == reader.push(1) == []
    assert len(reader.push(2)) == 2


def test_no_window_waits_for_ever(flat: MotifModel) -> None:
    reader = begun(flat)
    final = [len(reader.push(3)) for _ in range(500)]
    assert sum(final) == 500 - module._MOST_WAITING
    assert len(reader.past) <= module._CONTEXT + module._MOST_WAITING + 1


@given(st.lists(st.sampled_from([*UNITS, 20, OTHER]), max_size=60), st.integers(0, 60))
def test_stopping_anywhere_changes_nothing(grammar: MotifModel, units: list[int], stop: int) -> None:
    plain, kept = begun(grammar), begun(grammar)
    for reader in (plain, kept):
        reader.add_unit(20)
    for number, unit in enumerate(units * 3):
        if number == stop:
            kept = begun(grammar).restored(*json.loads(json.dumps(kept.state())))
        assert plain.push(unit) == kept.push(unit)
        assert plain.take_changes() == kept.take_changes()
    assert plain.boundary() == kept.boundary()
    assert plain.state() == kept.state()


# ---------------------------------------------------------------- phrases

NEW = (1, 8, 7)


def test_a_phrase_is_read_when_it_has_ended(grammar: MotifModel) -> None:
    assert grammar.standing_units == (REST,)
    reader = begun(grammar)
    assert not any(reader.push(unit) for unit in lasting(REST))
    assert len(reader.push(1)) == 4
    assert not any(reader.push(unit) for unit in lasting(1, 2, 3)[1:])
    read = reader.push(REST)
    assert len(read) == 12 and len({motif for motif, _ in read}) == 1


def test_passages_within_a_phrase_belong_to_it(grammar: MotifModel) -> None:
    plain, bridged = lasting(REST, 4, 5, 6, 7, REST), lasting(REST, 4, OTHER, 5, 6, OTHER, 7, REST)
    expected = {motif for motif, _ in pushed(begun(grammar), plain)}
    assert {motif for motif, _ in pushed(begun(grammar), bridged)} == expected
    assert OTHER not in expected


def test_a_phrase_that_recurs_becomes_a_motif_and_one_that_does_not_is_forgotten(grammar: MotifModel) -> None:
    reader = begun(grammar)
    for unit in lasting(REST, 3, 8, 6, REST):  # once
        reader.push(unit)
    assert not reader.take_changes()
    occurrence = lasting(REST, *NEW, REST, 1, 2, 3)
    for _ in range(2):
        pushed(reader, occurrence)
    assert not reader.take_changes() and len(reader.buffer.clusters) == 2
    third = [motif for motif, _ in pushed(reader, occurrence)]
    (change,) = reader.take_changes()
    assert (change.kind, change.evidence["units"]) == ("promote", "u1 u8 u7")
    assert change.id not in grammar.ids
    assert third[4:16] == [change.id] * 12  # the occurrence that was missing is read with it
    for _ in range(300):
        pushed(reader, occurrence)
    pushed(reader, lasting(REST, 6, 2, 8, 4, REST))  # something new again: time to look through the buffer
    assert [own.kind for own in reader.take_changes()] == ["expire"]
    assert len(reader.buffer.clusters) == 1


def test_a_known_unit_left_out_or_a_new_one_taken_in_is_the_same_motif(grammar: MotifModel) -> None:
    reader = begun(grammar)
    reader.add_unit(20)
    occurrence = lasting(REST, 1, 20, 7, 8, REST, 1, 2, 3)
    for _ in range(3):
        pushed(reader, occurrence)
    (change,) = reader.take_changes()
    for other in ((1, 20, 7), (1, OTHER, 20, 7, 8), (1, 20, 7, 8, 5)):
        read = [motif for motif, _ in pushed(reader, lasting(REST, *other, REST))]
        assert set(read[4:-4]) == {change.id}


def test_reading_anew_learns_nothing(grammar: MotifModel) -> None:
    reader = begun(grammar)
    for _ in range(3):
        pushed(reader, lasting(REST, *NEW, REST, 1, 2, 3))
    (change,) = reader.take_changes()
    before = json.dumps(reader.state())
    units = lasting(REST, *NEW, REST, 3, 8, 6, REST, 4, 5, 6, 7)
    read = [motif for motif, _ in reader.read(np.array(units, dtype=np.int32))]
    assert read[4:16] == [change.id] * 12
    assert json.dumps(reader.state()) == before
    assert read == [motif for motif, _ in pushed(reader, units)]
