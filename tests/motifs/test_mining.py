"""Phrases that come back are found: cycles, gestures between rests, programs; chance is not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest

from rondo.config.settings import ComposedMotifsConfig
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.motifs import mining
from rondo.motifs.discover import fit_phrases
from rondo.motifs.mining import Miner, _candidates, _stripped
from rondo.motifs.model import MotifModel
from rondo.units.viterbi import Timeline
from tests.motifs.sequences import first_of, independent_runs, timeline_of
from tests.naive_motifs import speak

PHRASES = [[1, 2, 3], [4, 5, 6, 7], [2, 8, 5]]  # 2 and 5 are shared, in other company


def fitted(n_units: int, *lines: Timeline, seed: int = 0) -> MotifModel:
    return fit_phrases(lines, range(n_units), ComposedMotifsConfig(), np.random.default_rng(seed))


def found(model: MotifModel) -> dict[str, int]:
    """The composition of each motif, and how often it occurs."""
    return {model.composition(id): n for id, n in model.occurrences.items()}


def test_a_fixed_cycle_is_one_motif_that_begins_where_the_recording_does() -> None:
    line = timeline_of([0, 1, 2, 3, 4] * 40)
    model = fitted(5, line)
    assert found(model) == {"u0 u1 u2 u3 u4": 40}
    assert model.timeline(line).begins.sum() == 40
    assert model.standing_units == ()
    assert model.p_values == {0: 0.01}


def test_gestures_between_rests_are_motifs_and_the_rest_stands() -> None:
    gestures = [[1, 2, 3], [4, 5], [6, 7, 8]]
    runs, truth = speak(gestures, separator=0, n_phrases=100, rng=np.random.default_rng(0))
    model = fitted(9, timeline_of(runs))
    assert set(found(model)) == {"u0", "u1 u2 u3", "u4 u5", "u6 u7 u8"}
    assert model.standing_units == (0,)
    assert found(model)["u0"] == 100
    assert adjusted_rand(Overlap.of(np.array(truth), model.timeline(timeline_of(runs)).ids[::2])) == 1.0


@pytest.mark.parametrize("apart", [False, True])
def test_a_program_that_ran_three_times_is_found(apart: bool) -> None:
    """30 units in a row, two of them repeated, in one recording or in three."""
    program = [*range(10), 8, 9, *range(10, 30)]
    lines = [timeline_of(program)] * 3 if apart else [timeline_of(program * 3)]
    model = fitted(30, *lines)
    ((composition, n),) = found(model).items()
    assert n == 3
    assert composition.startswith("u0 u1 u2")
    assert composition.endswith("u28 u29")


@pytest.mark.parametrize("seed", [0])
def test_motifs_that_share_units_are_told_apart(seed: int) -> None:
    runs, truth = speak(PHRASES, separator=0, n_phrases=80, rng=np.random.default_rng(seed))
    model = fitted(9, timeline_of(runs))
    assert set(found(model)) == {"u0", "u1 u2 u3", "u4 u5 u6 u7", "u2 u8 u5"}
    assert adjusted_rand(Overlap.of(np.array(truth), model.timeline(timeline_of(runs)).ids[::2])) >= 0.98


def test_phrases_are_found_where_units_are_missing() -> None:
    rng = np.random.default_rng(3)
    runs, truth = speak(PHRASES, separator=0, n_phrases=150, rng=rng)
    kept = rng.random(len(runs)) > 0.05
    kept &= np.diff(np.where(kept, runs, -1), prepend=-1) != 0
    units, truth = np.array(runs)[kept], np.array(truth)[kept]
    distinct = np.diff(units, prepend=-1) != 0
    units, truth = units[distinct], truth[distinct]
    model = fitted(9, timeline_of(units))
    assert adjusted_rand(Overlap.of(truth, model.timeline(timeline_of(units)).ids[::2])) >= 0.9
    assert model.standing_units == (0,)


def test_nothing_depends_on_the_seed_but_p() -> None:
    runs, _ = speak(PHRASES, separator=0, n_phrases=40, rng=np.random.default_rng(2))
    one, other = (fitted(9, timeline_of(runs), seed=seed) for seed in (0, 1))
    assert one.lexicon is not None
    assert other.lexicon is not None
    assert one.lexicon.phrases == other.lexicon.phrases
    npt.assert_array_equal(one.timeline(timeline_of(runs)).ids, other.timeline(timeline_of(runs)).ids)


def test_what_is_not_in_a_motif_stays_a_unit() -> None:
    """1 2 3 comes back 20 times; between its occurrences 4 .. 9 come in any order: the motif is claimed, no other."""
    rng = np.random.default_rng(0)
    runs = [unit for _ in range(20) for unit in (1, 2, 3, *rng.permutation([4, 5, 6, 7, 8, 9])[:4].tolist())]
    model = fitted(10, timeline_of(runs))
    assert [model.composition(id) for id in model.p_values] == ["u1 u2 u3"]
    assert set(model.standing_units) == {4, 5, 6, 7, 8, 9}


@pytest.mark.parametrize(
    ("n_units", "n_lines"), [(5, 4), *(pytest.param(n_units, 20, marks=pytest.mark.slow) for n_units in (3, 5, 9))]
)
def test_runs_in_any_order_hold_no_motif(n_units: int, n_lines: int) -> None:
    claimed = [fitted(n_units, timeline_of(independent_runs(150, n_units, seed))).composed for seed in range(n_lines)]
    assert sum(claimed) <= n_lines / 5  # of 20 lines 1 is expected; 5 or more come by chance once in 400 times


def test_a_unit_that_wavers_with_another_is_no_motif() -> None:
    rng = np.random.default_rng(1)
    runs: list[int] = []
    for _ in range(40):
        at = int(rng.integers(2))
        runs += [(at + i) % 2 for i in range(int(rng.integers(3, 9)))] + [int(rng.integers(2, 6))]
    assert not fitted(6, timeline_of(runs)).composed


def test_each_step_of_the_search_shortens_the_description() -> None:
    runs, _ = speak(PHRASES, separator=0, n_phrases=60, rng=np.random.default_rng(4))
    miner = Miner(np.array(runs), first_of(len(runs)), 9)
    assert miner.best().total < miner.described([(4, 5, 6, 7)]).total < miner.described(()).total


def test_descriptions_that_are_not_remembered_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    units = np.random.default_rng(0).integers(0, 4, 300)
    units = units[np.diff(units, prepend=-1) != 0]
    first = np.arange(units.size) == 0
    remembered = Miner(units, first, 4).best()
    monkeypatch.setattr(mining, "_TOKENS_REMEMBERED", 0)
    again = Miner(units, first, 4).best()
    assert again.lexicon.phrases == remembered.lexicon.phrases
    assert again.tokens.same_tokens(remembered.tokens)
    assert again.total == remembered.total


def test_a_unit_is_stripped_from_the_ends_of_a_phrase_alone() -> None:
    expected = {(7, 1, 7, 2, 7, 7): (1, 7, 2), (1, 7): (1,), (7, 1): (1,), (7, 7): (), (): (), (1, 2): (1, 2)}
    assert {phrase: _stripped(phrase, 7) for phrase in expected} == expected


@pytest.mark.parametrize("seed", range(3))
def test_candidates_come_back_and_do_not_go_round(seed: int) -> None:
    units = np.random.default_rng(seed).integers(0, 3, 200)
    line = [*units[np.diff(units, prepend=-1) != 0].tolist(), *[0, 1, 2] * 5]
    places: dict[tuple[int, ...], list[int]] = {}
    for start in range(len(line) - 1):
        for stop in range(start + 2, len(line) + 1):
            phrase = tuple(line[start:stop])
            if phrase[:2] in pairwise(phrase[1:]):
                break
            places.setdefault(phrase, []).append(start)
    apart: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for phrase, starts in places.items():
        for start in starts if len(starts) >= 3 else ():
            if phrase not in apart or start >= apart[phrase][-1][1]:
                apart.setdefault(phrase, []).append((start, start + len(phrase)))
    phrases, *where = _candidates(np.array(line), first_of(len(line)), 3)
    expected = {(phrase, *place) for phrase, own in apart.items() for place in own}
    assert {(phrases[i], start, stop) for i, start, stop in np.transpose(where).tolist()} == expected
