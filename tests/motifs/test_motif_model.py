"""Phrases, the phrase book, and what fit_phrases claims."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from rondo.config.schema import PhraseMotifsConfig
from rondo.data.labels import OTHER
from rondo.motifs.discover import _sample, fit_phrases, flat_motifs
from rondo.motifs.model import MotifModel, UnitRuns
from rondo.motifs.phrases import content_distances, content_of, group_phrases, recurring
from rondo.units.timeline import Timeline
from tests.naive_motifs import speak

PHRASES = [[1, 2, 3], [4, 1, 5], [2, 6]]


def timeline(runs: list[int], durations: np.ndarray | None = None) -> Timeline:
    """A unit timeline with these runs, two windows each unless told otherwise."""
    ids = np.repeat(np.array(runs, dtype=np.int32), 2 if durations is None else durations)
    return Timeline(ids, np.full(ids.size, 0.5), ((0, ids.size),))


def planted(seed: int = 0, n_phrases: int = 150) -> tuple[Timeline, np.ndarray]:
    rng = np.random.default_rng(seed)
    runs, truth = speak(PHRASES, separator=0, n_phrases=n_phrases, rng=rng)
    durations = rng.integers(1, 5, len(runs))
    return timeline(runs, durations), np.repeat(truth, durations)


def fitted(seed: int = 0) -> tuple[MotifModel, Timeline, np.ndarray]:
    line, truth = planted(seed)
    model = fit_phrases([line], tuple(range(7)), PhraseMotifsConfig(), np.random.default_rng(0))
    return model, line, truth


def test_planted_motifs_get_one_id_each_by_first_appearance() -> None:
    model, line, truth = fitted()
    labels = model.timeline(line)
    assert model.grammar is not None
    assert model.evidence > 5
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


@pytest.mark.parametrize("seed", range(6))
def test_no_composition_is_claimed_where_there_is_none(seed: int) -> None:
    """Runs from a plain first-order chain, and runs drawn at random, give flat models."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(6, 0.5), 6) * (1 - np.eye(6))
    table /= table.sum(axis=1, keepdims=True)
    chain = [0]
    for _ in range(250):
        chain.append(int(rng.choice(6, p=table[chain[-1]])))
    random = [0]
    for _ in range(250):
        random.append(int(rng.choice([unit for unit in range(6) if unit != random[-1]])))
    for runs in (chain, random):
        model = fit_phrases([timeline(runs)], tuple(range(6)), PhraseMotifsConfig(), rng)
        assert model.grammar is None
        npt.assert_array_equal(model.timeline(timeline(runs)).ids, timeline(runs).ids)


def test_without_motifs_every_unit_is_its_own() -> None:
    line = timeline([3, 1, 3, 2])
    model = flat_motifs(UnitRuns.of([line]), (1, 2, 3))
    npt.assert_array_equal(model.timeline(line).ids, line.ids)
    assert model.composition(3) == "u3"


@pytest.mark.parametrize("runs", [[0], [0, 1], [0, 1, 0], [2, 1, 0, 2, 1, 0, 2, 1, 0]])
def test_few_runs_are_no_trouble(runs: list[int]) -> None:
    line = timeline(runs)
    model = fit_phrases([line], tuple(range(3)), PhraseMotifsConfig(), np.random.default_rng(0))
    assert model.timeline(line).ids.size == line.ids.size
    assert (model.timeline(line).ids != OTHER).all()


@pytest.mark.parametrize("flat", [True, False])
def test_restored_model_reads_the_same(flat: bool) -> None:
    model, line, _ = fitted()
    if flat:
        model = flat_motifs(UnitRuns.of([line]), tuple(range(7)))
    again = MotifModel.restore(model.tensors())
    assert again.usages == model.usages
    assert again.evidence == model.evidence
    npt.assert_array_equal(again.timeline(line).ids, model.timeline(line).ids)
    npt.assert_array_equal(again.timeline(line).scores, model.timeline(line).scores)


def test_a_new_phrase_takes_the_nearest_motif_or_falls_apart() -> None:
    model, _, _ = fitted()
    known = model.timeline(timeline([0, 1, 2, 3, 0])).ids
    assert len(set(known[2:8])) == 1
    strange = model.timeline(timeline([0, 3, 6, 5, 4, 0])).ids  # recurs nowhere
    assert strange.size == 12
    assert set(strange.tolist()) <= set(model.ids) | {OTHER}


def test_fitting_reads_what_reading_reads() -> None:
    """Counts in the phrase book are those of the timeline: every occurrence is a usage of its motif."""
    model, line, _ = fitted()
    labels = model.timeline(line)
    occurrences = np.bincount(labels.ids[labels.begins], minlength=len(model.ids))
    for id in model.ids:
        counted = sum(usage.count for usage in model.usages if usage.motif == id)
        assert 0 < counted <= occurrences[id]
    assert sum(usage.count for usage in model.usages) >= 0.95 * labels.begins.sum()


def test_no_windows_no_motifs() -> None:
    model, _, _ = fitted()
    empty = Timeline(np.zeros(0, np.int32), np.zeros(0), ())
    assert model.timeline(empty).ids.size == 0


def test_runs_never_cross_spans() -> None:
    line = Timeline(np.array([1, 1, 1, 1], np.int32), np.zeros(4), ((0, 2), (2, 4)))
    runs = UnitRuns.of([line, line])
    assert runs.units.tolist() == [1, 1, 1, 1]
    assert runs.first.all()
    assert runs.starts.tolist() == [0, 2, 0, 2]


@pytest.mark.parametrize("n_runs", [2000, 2001, 2150, 9000])
def test_sampled_stretches_begin_like_spans(n_runs: int) -> None:
    codes = np.arange(n_runs)
    first = np.zeros(n_runs, dtype=np.bool_)
    first[0] = True
    chosen, opened = _sample(codes, first)
    assert chosen.size <= 2000
    jumps = np.flatnonzero(np.diff(chosen) != 1) + 1
    assert opened[jumps].all()
    assert opened[0]
    assert not first[1:].any()  # the caller's flags are left alone


def test_recurring_contents() -> None:
    phrases = [(1, 2, 3), (1, 2, 3), (1, 3), (7, 8), (5,), (7, 9)]
    groups = recurring(phrases, [0, 0, 0, 0, 0, 1], cut=0.5)
    assert groups[content_of((1, 2, 3), 0)] == groups[content_of((1, 3), 0)]
    assert content_of((7, 8), 0) not in groups  # occurs once
    assert content_of((7, 9), 1) not in groups
    assert all(len(units) > 1 for _, units in groups)
    assert content_distances([(0, (1, 2))], [(1, (1, 2)), (0, (1, 2))]).tolist() == [[1.0, 0.0]]


def test_very_many_phrases_are_cut_to_the_most_frequent() -> None:
    phrases = [(i, i + 1, i + 2) for i in range(600)] + [(0, 1, 2)] * 5
    groups = group_phrases(phrases, [0.5])[0]
    assert len(groups) == 400
    assert (0, 1, 2) in groups
