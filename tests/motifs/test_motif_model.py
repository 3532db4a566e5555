"""What fit_phrases claims, and what its model reads, keeps and gives back."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.testing as npt
import pytest

from rondo.config.settings import ComposedMotifsConfig
from rondo.data.labels import OTHER
from rondo.motifs.base import UnitRuns
from rondo.motifs.discover import fit_phrases, flat_motifs
from rondo.motifs.mining import sampled
from rondo.motifs.model import MotifModel
from rondo.units.viterbi import Timeline
from tests.naive_motifs import speak

PHRASES = [[1, 2, 3], [4, 1, 5], [2, 6]]


def timeline(runs: list[int], durations: np.ndarray | None = None) -> Timeline:
    """A unit timeline with these runs, two windows each unless told otherwise."""
    ids = np.repeat(np.array(runs, dtype=np.int32), 2 if durations is None else durations)
    return Timeline(ids, np.full(ids.size, 0.5), ((0, ids.size),))


def planted(seed: int = 0, n_phrases: int = 100) -> tuple[Timeline, np.ndarray]:
    rng = np.random.default_rng(seed)
    runs, truth = speak(PHRASES, separator=0, n_phrases=n_phrases, rng=rng)
    durations = rng.integers(1, 5, len(runs))
    return timeline(runs, durations), np.repeat(truth, durations)


@cache
def fitted() -> tuple[MotifModel, Timeline, np.ndarray]:
    line, truth = planted()
    model = fit_phrases([line], tuple(range(7)), ComposedMotifsConfig(), np.random.default_rng(0))
    return model, line, truth


def test_planted_motifs_get_one_id_each_by_first_appearance() -> None:
    model, line, truth = fitted()
    labels = model.timeline(line)
    assert model.composed
    assert model.gain_per_run > 0.1
    first = [int(np.flatnonzero(labels.ids == id)[0]) for id in model.ids]
    assert first == sorted(first)
    assert model.ids == tuple(range(len(model.ids)))
    for motif in range(4):  # each true motif, the separator among them, is one label
        own, counts = np.unique(labels.ids[truth == motif], return_counts=True)
        assert counts.max() / counts.sum() > 0.95, (motif, own, counts)
    assert {model.composition(id) for id in model.ids} >= {"u1 u2 u3", "u4 u1 u5", "u2 u6", "u0"}


def test_occurrences_begin_where_phrases_begin() -> None:
    model, line, truth = fitted()
    begins = model.timeline(line).begins
    changes = np.flatnonzero(np.diff(truth, prepend=-1))
    assert begins[changes].mean() > 0.95
    assert ((model.timeline(line).scores > 0) & (model.timeline(line).scores <= 1 + 1e-12)).all()


@pytest.mark.parametrize("runs", [[0], [0, 1], [0, 1, 0], [2, 1, 0, 2, 1, 0, 2, 1, 0]])
def test_few_runs_are_no_trouble(runs: list[int]) -> None:
    line = timeline(runs)
    model = fit_phrases([line], tuple(range(3)), ComposedMotifsConfig(), np.random.default_rng(0))
    assert model.timeline(line).ids.size == line.ids.size
    assert (model.timeline(line).ids != OTHER).all()


@pytest.mark.parametrize("flat", [True, False])
def test_restored_model_reads_the_same(flat: bool) -> None:
    model, line, _ = fitted()
    if flat:
        model = flat_motifs(UnitRuns.of([line]), tuple(range(7)))
    again = MotifModel.restore(model.tensors())
    assert again.usages == model.usages
    assert again.gain_per_run == model.gain_per_run
    assert again.p_values == model.p_values
    assert again.composed == model.composed
    assert [again.composition(id) for id in again.ids] == [model.composition(id) for id in model.ids]
    npt.assert_array_equal(again.timeline(line).ids, model.timeline(line).ids)
    npt.assert_array_equal(again.timeline(line).scores, model.timeline(line).scores)


def test_fitting_reads_what_reading_reads() -> None:
    """Counts in the phrase book are those of the timeline: every occurrence is a usage of its motif."""
    model, line, _ = fitted()
    labels = model.timeline(line)
    occurrences = np.bincount(labels.ids[labels.begins], minlength=len(model.ids))
    assert model.occurrences == dict(enumerate(occurrences.tolist()))


def test_phrases_of_several_units_are_known_and_counted_apart_from_units_alone() -> None:
    model, line, _ = fitted()
    assert {phrase for phrase, _ in model.known_phrases} >= {(1, 2, 3), (4, 1, 5), (2, 6)}
    assert all(len(phrase) > 1 and phrase in model.phrase_book()[motif] for phrase, motif in model.known_phrases)
    assert model.standing_units == (0,)
    runs = UnitRuns.of([line]).units
    n_alone = sum(usage.count for usage in model.usages if len(usage.phrase) == 1)
    assert model.share_in_phrases == pytest.approx(1 - n_alone / runs.size, abs=0.01)  # occurrences may lack a unit


def test_where_there_is_no_window_there_is_no_occurrence() -> None:
    read = fitted()[0].timeline(Timeline(np.zeros(0, np.int32), np.zeros(0), ()))
    assert read.ids.size == read.scores.size == read.begins.size == 0


def test_runs_never_cross_spans() -> None:
    line = Timeline(np.array([1, 1, 1, 1], np.int32), np.zeros(4), ((0, 2), (2, 4)))
    runs = UnitRuns.of([line, line])
    assert runs.units.tolist() == [1, 1, 1, 1]
    assert runs.first.all()
    assert runs.starts.tolist() == [0, 2, 0, 2]


@pytest.mark.parametrize("n_runs", [2000, 2150, 9000])
def test_sampled_stretches_begin_like_spans(n_runs: int) -> None:
    codes = np.arange(n_runs)
    first = np.zeros(n_runs, dtype=np.bool_)
    first[0] = True
    chosen, opened = sampled(codes, first, 2000, 200)
    assert chosen.size <= 2000
    jumps = np.flatnonzero(np.diff(chosen) != 1) + 1
    assert opened[jumps].all()
    assert opened[0]
    assert not first[1:].any()  # the caller's flags are left alone
