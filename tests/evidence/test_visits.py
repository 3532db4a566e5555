"""Visits of entries and how well they are known again: the definition by loops, and what a person would expect."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.arrays import Floats
from rondo.config.settings import resolve
from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.base import build_encoder
from rondo.evidence import visits as module
from rondo.evidence.verdicts import EntryEvidence, Reason
from rondo.evidence.visits import Grade, Sample, Visits, graded, grades_of, held_out
from tests.naive_evidence import naive_margins, naive_visits


def labels_of(runs: list[tuple[int, int]]) -> Labels:
    """From (label, number of windows)."""
    return np.repeat([label for label, _ in runs], [n for _, n in runs]).astype(np.int32)


def random_labels(rng: np.random.Generator, n: int, n_labels: int) -> Labels:
    return np.repeat(rng.integers(-1, n_labels, n), rng.integers(1, 7, n))[:n].astype(np.int32)


def points_of(labels: Labels, distance: float, seed: int = 0, n_dims: int = 4) -> Floats:
    """Noise around a centre for each label, as far from the others as said, in its deviations."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((labels.size, n_dims)) + distance * np.eye(n_dims)[labels % n_dims]


def grades(labels: Labels, points: Floats, apart: int = 4) -> dict[int, Grade]:
    visits = Visits.of(labels, ((0, labels.size),), apart)
    sample = Sample.of(visits, labels, apart // 2)
    return held_out(points[sample.windows], sample, visits)


def test_short_absences_end_no_visit_and_spans_do() -> None:
    labels = labels_of([(3, 5), (4, 2), (3, 5), (4, 3), (3, 1), (OTHER, 4), (3, 2)])
    visits = Visits.of(labels, ((0, 14), (14, 22)), apart=3)
    assert visits.entries.tolist() == [3, 3, 3, 4, 4, 4]
    assert visits.starts.tolist() == [0, 15, 20, 5, 12, 14]
    assert visits.stops.tolist() == [12, 16, 22, 7, 14, 15]
    assert Visits.of(np.full(9, OTHER, np.int32), ((0, 9),), 3).entries.size == 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**16), n_labels=st.integers(2, 4), cut=st.integers(40, 80), apart=st.integers(1, 6))
def test_visits_and_margins_equal_their_definition(seed: int, n_labels: int, cut: int, apart: int) -> None:
    rng = np.random.default_rng(seed)
    labels = random_labels(rng, 120, n_labels)
    spans: tuple[Span, ...] = ((0, cut), (cut, 120))
    visits = Visits.of(labels, spans, apart)
    expected = naive_visits(labels.tolist(), spans, apart)
    found: dict[int, list[list[int]]] = {}
    for entry, start, stop in zip(*(column.tolist() for column in visits), strict=True):
        found.setdefault(entry, []).append([start, stop])
    assert found == expected
    if len(found) < 2:
        return
    sample = Sample.of(visits, labels, apart // 2)
    points = rng.standard_normal((120, 3))
    own = np.unique(visits.entries, return_inverse=True)[1][sample.visits]
    white = np.zeros((120, 3))
    white[sample.windows] = module._whitened(points[sample.windows], own)
    sampled: dict[tuple[int, int], list[int]] = {}
    for window, visit in zip(*(column.tolist() for column in sample), strict=True):
        first = int(np.searchsorted(visits.entries, visits.entries[visit]))
        sampled.setdefault((int(visits.entries[visit]), visit - first), []).append(window)
    margins = naive_margins(white, expected, sampled)
    graded_entries = held_out(points[sample.windows], sample, visits)
    assert {id: grade.n_visits for id, grade in graded_entries.items()} == {id: len(v) for id, v in expected.items()}
    assert {id for id, grade in graded_entries.items() if not math.isnan(grade.margin)} == set(margins)
    for id, (each, like) in margins.items():
        assert graded_entries[id].margin == pytest.approx(np.mean(each), abs=1e-6)
        assert graded_entries[id].recognised == pytest.approx(np.mean(np.array(each) > 0))
        assert graded_entries[id].like == like


def test_whitening_leaves_the_covariance_within_entries_near_the_identity() -> None:
    rng, own = np.random.default_rng(0), np.arange(4000) % 3
    points = rng.standard_normal((4000, 3)) * [10, 1, 0.1] + 5 * np.eye(3)[own]
    white = module._whitened(points, own)
    within = white - np.stack([white[own == k].mean(axis=0) for k in range(3)])[own]
    assert np.linalg.eigvalsh(np.cov(within.T))[1:] == pytest.approx([0.2, 1.0], abs=0.25)  # the ridge holds back
    assert np.linalg.eigvalsh(np.cov(within.T))[2] <= 1.0


def test_what_lies_apart_is_recognised_and_what_overlaps_is_like_the_other() -> None:
    labels = labels_of([(0, 9), (1, 9), (2, 9), (3, 9)] * 6)
    apart = grades(labels, points_of(labels, 8.0))
    assert all(grade.n_visits == 6 and grade.recognised == 1 and grade.margin > 0.5 for grade in apart.values())
    blurred = points_of(labels, 8.0)
    blurred[labels == 3] -= 8.0 * (np.eye(4)[3] - np.eye(4)[2])
    found = grades(labels, blurred)
    assert (found[2].like, found[3].like) == (3, 2)
    assert max(found[2].margin, found[3].margin) < 0.2 < min(found[0].margin, found[1].margin)


def test_a_visit_is_not_compared_with_its_own_centre() -> None:
    """Entries whose visits differ from each other as much as from other entries are not recognised."""
    rng = np.random.default_rng(0)
    labels = labels_of([(0, 9), (1, 9)] * 60)
    each_visit = np.repeat(rng.standard_normal((120, 6)), 9, axis=0)
    found = grades(labels, 20 * each_visit + rng.standard_normal((labels.size, 6)))
    assert all(grade.margin < 0.1 for grade in found.values())


def test_one_visit_and_one_entry_have_no_margin() -> None:
    once = grades(labels_of([(0, 9), (1, 9), (0, 9)]), np.random.default_rng(0).standard_normal((27, 3)))
    assert once[1] == Grade(1) and once[0].n_visits == 2 and math.isnan(once[1].margin)
    alone = grades(labels_of([(0, 9), (OTHER, 9), (0, 9)]), np.random.default_rng(0).standard_normal((27, 3)))
    assert alone == {0: Grade(2)}


def test_windows_are_sampled_inside_visits_and_their_number_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WINDOWS", 64)
    labels = labels_of([(0, 20), (1, 20)] * 200)
    visits = Visits.of(labels, ((0, labels.size),), 4)
    sample = Sample.of(visits, labels, 2)
    assert sample.windows.size <= 2 * 64
    assert (sample.windows >= visits.starts[sample.visits] + 2).all()
    assert (sample.windows < visits.stops[sample.visits] - 2).all()
    assert (np.diff(sample.visits) >= 0).all()
    short = labels_of([(0, 3), (1, 20), (0, 3), (1, 20)])
    own = Sample.of(Visits.of(short, ((0, short.size),), 4), short, 2)
    assert own.windows[own.visits < 2].tolist() == [1, 24]  # the middle ones


def test_grades_of_windows_are_those_of_their_representations_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    windows = [
        Windows(rng.standard_normal((n, 2)).astype(np.float32), WindowGrid(20, 5, n, ((0, n),))) for n in (400, 300)
    ]
    labels = [np.arange(len(w), dtype=np.int32) // 12 % 3 for w in windows]
    encoder = build_encoder(resolve().encoder).fit(windows)
    whole = grades_of(windows, labels, encoder)
    monkeypatch.setattr(module, "_BATCH_VALUES", 130)
    parts = grades_of(windows, labels, encoder)
    joined = np.concatenate(labels)
    visits = Visits.of(joined, ((0, len(labels[0])), (len(labels[0]), joined.size)), 4)
    sample = Sample.of(visits, joined, 2)
    every = np.concatenate([encoder.encode(w) for w in windows])
    expected = held_out(every[sample.windows], sample, visits)
    for found in (whole, parts):
        assert found.keys() == expected.keys()
        for id, grade in found.items():
            assert grade == pytest.approx(expected[id], abs=1e-4)
    assert grades_of(windows, [np.full_like(own, OTHER) for own in labels], encoder) == {}


ENTRY = EntryEvidence(0.01, 1.5, 4, "not tested", Reason("order"))


@pytest.mark.parametrize(
    ("grade", "closer", "verdict"),
    [
        (Grade(4, 1.0, 0.5, 7), math.nan, "recurs clearly"),
        (Grade(4, 1.0, module.CLEAR, 7), math.nan, "recurs clearly"),
        (Grade(4, 1.0, 0.1, 7), math.nan, "recurs faintly"),
        (Grade(4, 1.0, 0.1, 7), 0.8, "recurs clearly"),
        (Grade(4, 1.0, 0.4, 7), -9.0, "recurs faintly"),  # closeness counts for a quarter of 1 at most
        (Grade(3, 2 / 3, 0.5, 7), math.nan, "recurs clearly"),
        (Grade(4, 0.5, 0.5, 7), math.nan, "blurred"),
        (Grade(4, 1.0, -0.1, 7), math.nan, "blurred"),
        (Grade(2), math.nan, "recurs faintly"),  # no other entry
        (Grade(1), math.nan, "occurs once"),
    ],
)
def test_the_verdict_comes_from_the_grade_where_the_recording_recurs(grade: Grade, closer: float, verdict: str) -> None:
    found = graded(ENTRY, grade, True, closer)
    assert found.verdict == verdict
    assert found.reason == (ENTRY.reason if found.comes_back else Reason())
    assert (found.n_visits, found.like) == (grade.n_visits, grade.like)
    for passed, other in ((False, "not shown"), (None, "not tested")):
        assert graded(ENTRY, grade, passed, closer).verdict == ("occurs once" if grade.n_visits == 1 else other)
    assert graded(ENTRY._replace(p=0.2), grade, True, closer).reason == Reason()
    assert graded(ENTRY._replace(p=module.SIGNIFICANT), grade, True, closer).reason == found.reason
