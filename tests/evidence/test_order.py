"""Order, place and spacing of units: claimed where they were planted, not where chance has them."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.evidence.order import _successive, family_p, ids_in, order_test, place_test, spacing_test
from rondo.model.rondo import Rondo
from rondo.motifs.base import UnitRuns


def test_runs_end_with_their_span_and_other_is_no_unit() -> None:
    first, second = np.array([3, 3, OTHER, 3, 3], np.int32), np.array([3, 5, 5], np.int32)
    found = UnitRuns.of_labels([(first, ((0, 4), (4, 5))), (second, ((0, 3),))])
    assert found.units.tolist() == [3, OTHER, 3, 3, 3, 5]
    assert found.starts.tolist() == [0, 2, 3, 4, 0, 1]
    assert found.first.tolist() == [True, False, False, True, True, False]
    assert ids_in(found) == [3, 5]
    assert [places.tolist() for places in _successive(found, 3)] == [[0], [2]]  # not over the end of a span
    assert ids_in(UnitRuns.of_labels([])) == []


@pytest.mark.slow
def test_p_over_a_family_is_uniform_however_figures_are_scaled() -> None:
    rng, p = np.random.default_rng(0), []
    for _ in range(600):
        draws = rng.normal(size=(40, 5)) * [1, 10, 100, 1, 1] + [0, 5, 0, 0, 0]
        p.append(family_p(draws[0], draws[1:]).min())
    for level in (0.05, 0.25):
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=0.05)


# ---------------------------------------------------------------- order


def of_sequence(units: list[int]) -> UnitRuns:
    return UnitRuns.of_labels([(np.array(units, np.int32), ((0, len(units)),))])


def walk(n: int, n_units: int, seed: int, forward: float = 0.5) -> list[int]:
    """A walk on a ring of units: as slow change passes through them; with `forward` 0.5 it is reversible."""
    steps = np.where(np.random.default_rng(seed).random(n) < forward, 1, -1)
    return (np.cumsum(steps) % n_units).tolist()


def test_a_cycle_passes() -> None:
    found = order_test(of_sequence([0, 1, 2] * 15), np.random.default_rng(0))
    assert set(found.p) == {0, 1, 2}
    assert max(found.p.values()) <= 0.01


def test_there_and_back_is_no_order() -> None:
    assert order_test(of_sequence([0, 1, 0, 2] * 15), np.random.default_rng(0)).p == {}


@pytest.mark.slow
def test_p_of_order_is_conservative_on_a_reversible_walk_and_small_where_it_has_a_direction() -> None:
    rng = np.random.default_rng(1)
    reversible = [min(order_test(of_sequence(walk(150, 5, seed)), rng).p.values(), default=1.0) for seed in range(150)]
    assert np.mean(np.array(reversible) <= 0.05) <= 0.1
    directed = [min(order_test(of_sequence(walk(150, 5, seed, 0.8)), rng).p.values()) for seed in range(20)]
    assert np.mean(np.array(directed) <= 0.05) >= 0.9


def test_ways_do_not_cross_spans() -> None:
    labels = np.array([0, 1, 2] * 15, np.int32)
    spans = [(i, i + 3) for i in range(0, 45, 3)]
    assert order_test(UnitRuns.of_labels([(labels, spans)]), np.random.default_rng(0)).p == {}


# ---------------------------------------------------------------- place


def tracks_with(first: list[int], lengths: list[int]) -> list[Labels]:
    """Unit 1 from a window on, unit 0 before."""
    return [(np.arange(n) >= at).astype(np.int32) for at, n in zip(first, lengths, strict=True)]


def test_what_ends_every_recording_passes() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(30, 60, 20).tolist()
    found, where = place_test(tracks_with([n - 8 for n in lengths], lengths), rng)
    assert max(found.p.values()) <= 0.01
    assert found.seen[1] == 20
    assert where == {0: "start", 1: "end"}


def test_four_recordings_are_too_few() -> None:
    found, where = place_test(tracks_with([20] * 4, [30] * 4), np.random.default_rng(0))
    assert (found.p, where) == ({}, {})


@pytest.mark.slow
def test_p_of_place_is_conservative_where_place_is_random() -> None:
    rng, p = np.random.default_rng(1), []
    for _ in range(100):
        tracks = []
        for n in rng.integers(30, 60, 8):
            track = np.repeat(rng.integers(0, 3, 30), rng.integers(2, 9, 30))[:n].astype(np.int32)
            tracks.append(np.roll(track, rng.integers(0, n)))
        p.append(min(place_test(tracks, rng)[0].p.values()))
    assert np.mean(np.array(p) <= 0.05) <= 0.12


def engines(seed: int, n: int = 20) -> list[Recording]:
    """Files from start to failure: degradation begins at a random time of life."""
    rng, files = np.random.default_rng(seed), []
    direction = rng.standard_normal(6)
    for i in range(n):
        n_frames = int(rng.integers(130, 260))
        begins = int(rng.uniform(0.4, 0.7) * n_frames)
        worn = np.clip((np.arange(n_frames) - begins) / (n_frames - begins), 0, 1) ** 1.5
        values = rng.standard_normal((n_frames, 6)) + 5 * worn[:, None] * direction
        files.append(Recording(values.astype(np.float32), rate=1.0, id=f"engine{i}"))
    return files


@pytest.mark.parametrize("seed", [1])
def test_the_end_of_life_of_engines_recurs(seed: int) -> None:
    evidence = Rondo(settings={"motifs.method": "none"}).fit(engines(seed)).evidence_
    ends = [entry.reason for entry in evidence.units.values() if entry.reason.kind == "end"]
    assert evidence.recurs and ends
    assert max(reason.figure for reason in ends) >= 18
    assert ends[0].in_words().startswith("at the end of ") and ends[0].in_words().endswith(" of 20 recordings")


# ---------------------------------------------------------------- spacing


def with_onsets(onsets: list[int], n_windows: int) -> UnitRuns:
    labels = np.zeros(n_windows, np.int32)
    for onset in onsets:
        labels[onset : onset + 3] = 1
    return UnitRuns.of_labels([(labels, ((0, n_windows),))])


def fridge(seed: int) -> Recording:
    """A day, one value a minute: cycles of 29 to 38 min that begin about every 150 min."""
    rng = np.random.default_rng(seed)
    power, at = 0.1 * rng.standard_normal(1440), int(rng.integers(0, 90))
    while at < 1440:
        power[at : at + rng.integers(29, 39)] += 1.0
        at += int(rng.normal(150, 5))
    return Recording(power[:, None].astype(np.float32), rate=1 / 60)


def test_regular_onsets_pass_and_two_that_were_missed_are_forgiven() -> None:
    onsets = list(range(5, 300, 30))
    found = spacing_test(with_onsets(onsets, 310))
    assert found.p[1] < 1e-4
    assert found.seen[1] == 30
    assert spacing_test(with_onsets(onsets[:3] + onsets[4:], 310)).p[1] < 0.01


def test_fewer_than_four_intervals_are_not_judged() -> None:
    assert 1 not in spacing_test(with_onsets([5, 35, 65, 95], 110)).p


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "n"), [(1.0, 12), (4.0, 8), (4.0, 100)])
def test_p_of_spacing_is_conservative_on_irregular_onsets(shape: float, n: int) -> None:
    rng = np.random.default_rng(n)
    p = []
    for _ in range(300):
        intervals = np.maximum(4, np.round(rng.gamma(shape, 100 / shape, n))).astype(int)
        onsets = np.cumsum(intervals).tolist()
        p.append(spacing_test(with_onsets(onsets, onsets[-1] + 5)).p[1])
    assert np.mean(np.array(p) <= 0.05) <= 0.08


def test_a_fridge_that_cycles_nine_times_recurs() -> None:
    evidence = Rondo(window="20min", settings={"motifs.method": "none"}).fit(fridge(0)).evidence_
    shown = [entry for entry in evidence.units.values() if entry.verdict == "recurs clearly"]
    assert evidence.recurs and shown
    spaced = [entry.reason for entry in shown if entry.reason.kind == "spacing"]
    assert spaced
    assert spaced[0].figure == pytest.approx(150, abs=10)
    assert "regular intervals of about 2" in spaced[0].in_words(1 / 60)
