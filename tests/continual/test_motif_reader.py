from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.config import GrammarMotifsConfig
from rondo.continual import motif_reader as module
from rondo.continual.motif_reader import Motif, MotifReader
from rondo.data.labels import OTHER
from rondo.motifs.discover import fit_grammar, flat_motifs
from rondo.motifs.model import MotifModel, UnitRuns
from rondo.units.timeline import Timeline

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
    model = fit_grammar([timeline(phrases(120))], UNITS, GrammarMotifsConfig(), np.random.default_rng(0))
    assert model.composed
    return model


@pytest.fixture(scope="module")
def flat() -> MotifModel:
    return flat_motifs(UnitRuns.of([timeline(list(UNITS))]), UNITS)


def pushed(reader: MotifReader, units: list[int]) -> list[Motif]:
    motifs = [motif for unit in units for motif in reader.push(unit)]
    return motifs + reader.boundary()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*UNITS, 20, OTHER]), max_size=150))
def test_every_window_gets_one_motif_and_flat_ones_are_the_units(flat: MotifModel, units: list[int]) -> None:
    reader = MotifReader(flat)
    own = reader.add_unit(20)
    assert own not in flat.ids
    motifs = [motif for motif, _ in pushed(reader, units)]
    assert motifs == [own if unit == 20 else unit for unit in units]


def test_a_stream_of_phrases_is_read_as_all_at_once(grammar: MotifModel) -> None:
    units = phrases(25, seed=5)
    read = [motif for motif, _ in pushed(MotifReader(grammar), units)]
    whole = grammar.timeline(timeline(units)).ids.tolist()
    assert np.mean(np.array(read) == np.array(whole)) > 0.95


def test_a_window_waits_for_two_more_units(grammar: MotifModel) -> None:
    reader = MotifReader(grammar)
    assert reader.push(0) == reader.push(0) == reader.push(1) == reader.push(1) == []
    assert len(reader.push(2)) == 2


def test_no_window_waits_for_ever(flat: MotifModel) -> None:
    reader = MotifReader(flat)
    final = [len(reader.push(3)) for _ in range(500)]
    assert sum(final) == 500 - module._MOST_WAITING
    assert len(reader.past) <= module._CONTEXT + module._MOST_WAITING + 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*UNITS, 20, OTHER]), max_size=60), st.integers(0, 60))
def test_stopping_anywhere_changes_nothing(grammar: MotifModel, units: list[int], stop: int) -> None:
    plain, kept = MotifReader(grammar), MotifReader(grammar)
    for reader in (plain, kept):
        reader.add_unit(20)
    for number, unit in enumerate(units):
        if number == stop:
            kept = MotifReader.restore(grammar, json.loads(json.dumps(kept.state())))
        assert plain.push(unit) == kept.push(unit)
    assert plain.boundary() == kept.boundary()
