"""Evidence of recurrence: claimed where it was planted, not claimed in noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rondo import Rondo
from rondo.config import PRESETS, resolve
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.synthetic import StreamPlan, plant, structureless
from rondo.data.windows import WindowGrid, Windows
from rondo.motifs import evidence as module
from rondo.motifs.evidence import SIGNIFICANT, Evidence, recurrence_evidence, unit_labels
from tests.naive_evidence import naive_closeness


def windows_and_labels(recording: Recording) -> tuple[Windows, Labels]:
    model = Rondo(window=75, settings={"motifs.method": "none"}).fit(recording)
    _, windows = model._windows_of(recording)
    return windows, model.unit_model_.timeline(windows).ids


def evidence_of(recording: Recording, seed: int = 0) -> Evidence:
    windows, labels = windows_and_labels(recording)
    return recurrence_evidence([windows], [labels], unit_labels(PRESETS["default"]), 19, np.random.default_rng(seed))


def alternating(windows: Sequence[Windows], rng: np.random.Generator) -> list[Labels]:
    """Labels that cost nothing: two entries, ten windows at a time."""
    return [(np.arange(len(w)) // 10 % 2).astype(np.int32) for w in windows]


def noise_windows(n_frames: int, seed: int = 0, spans: tuple[tuple[int, int], ...] = ()) -> Windows:
    values = structureless(n_frames, 3, seed=seed).values
    return Windows(values, WindowGrid(20, 5, n_frames, spans or ((0, n_frames),)))


def test_planted_structure_recurs() -> None:
    evidence = evidence_of(plant(n_frames=5_000, seed=1).recording)
    verdicts = [entry.verdict for entry in evidence.entries.values()]
    assert evidence.recurs
    assert evidence.closeness > evidence.of_signal_surrogates.max()
    assert verdicts.count("recurs") >= 0.6 * len(verdicts)


def test_nothing_is_claimed_in_noise() -> None:
    evidences = [evidence_of(structureless(5_000, 4, seed=seed), seed) for seed in range(3)]
    assert [evidence.recurs for evidence in evidences] == [False] * 3
    assert all(entry.verdict != "recurs" for evidence in evidences for entry in evidence.entries.values())


def test_what_occurs_once_is_not_called_chance() -> None:
    windows = noise_windows(1_000)
    labels = np.zeros(len(windows), np.int32)
    labels[50:60] = 7
    labels[100:120] = OTHER
    entries = recurrence_evidence([windows], [labels], alternating, 1, np.random.default_rng(0)).entries
    assert set(entries) == {0, 7}
    assert (entries[7].verdict, entries[7].n_occurrences) == ("occurs once", 1)
    assert np.isnan(entries[7].p)
    assert entries[0].n_occurrences == 3
    assert entries[0].p >= SIGNIFICANT


def test_p_counts_surrogates_and_a_unit_is_never_surer_than_the_whole() -> None:
    windows = noise_windows(1_500)
    labels = alternating([windows], np.random.default_rng(0))
    evidence = recurrence_evidence([windows], labels, alternating, 9, np.random.default_rng(1))
    reached = [
        (by_chance >= evidence.closeness).sum()
        for by_chance in (evidence.of_signal_surrogates, evidence.of_statistics_surrogates)
    ]
    assert evidence.p == (1 + max(reached)) / 10
    assert all(entry.p >= evidence.p for entry in evidence.entries.values())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), n_labels=st.integers(1, 4), cut=st.integers(60, 140))
def test_closeness_equals_its_definition(seed: int, n_labels: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    windows = noise_windows(200, seed, spans=((0, cut), (cut, 200)))
    statistics = np.round(rng.standard_normal((len(windows), 2)), 1).astype(np.float32)  # with windows that are equal
    labels = np.repeat(rng.integers(-1, n_labels, len(windows)), rng.integers(1, 4, len(windows)))[: len(windows)]
    axis = module._Axis.of([windows])
    whole, entries = axis.closeness(statistics, labels.astype(np.int32))
    naive_whole, naive_entries = naive_closeness(statistics, labels.tolist(), axis.spans, 4, module._SAME)
    assert whole == pytest.approx(naive_whole, abs=1e-6)
    assert entries == pytest.approx(naive_entries, abs=1e-6)


def test_long_recordings_are_asked_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WINDOWS", 40)
    seen: list[int] = []

    def counting(windows: Sequence[Windows], rng: np.random.Generator) -> list[Labels]:
        seen.append(sum(map(len, windows)))
        return alternating(windows, rng)

    monkeypatch.setattr(module, "SIGNIFICANT", 1.0)  # or surrogates of noise would not be labelled
    windows = [noise_windows(2_000), noise_windows(1_000, 1, spans=((0, 400), (430, 1_000)))]
    labels = alternating(windows, np.random.default_rng(0))
    labels[0][150:152] = labels[0][155:157] = 5  # between two stretches
    evidence = recurrence_evidence(windows, labels, counting, 2, np.random.default_rng(0))
    assert seen
    assert max(seen) <= 40
    assert evidence.entries[5].verdict == "not tested"
    assert evidence.entries[5].n_occurrences == 2


def test_surrogates_are_not_labelled_where_no_unit_can_pass() -> None:
    def refuse(windows: Sequence[Windows], rng: np.random.Generator) -> list[Labels]:
        raise AssertionError("labelled")

    windows = noise_windows(1_500)
    labels = alternating([windows], np.random.default_rng(0))
    evidence = recurrence_evidence([windows], labels, refuse, 19, np.random.default_rng(1))
    assert {entry.p for entry in evidence.entries.values()} == {evidence.p}


def test_a_part_holds_the_very_same_windows() -> None:
    windows = noise_windows(1_000, spans=((3, 400), (430, 1_000)))
    labels = np.arange(len(windows), dtype=np.int32)
    part, kept = module._part(windows, labels, 0.3)
    whole = np.concatenate(list(windows.batches()))
    assert 0 < len(part) < 0.35 * len(windows)
    assert_array_equal(np.concatenate(list(part.batches())), whole[kept])


def test_seeds_repeat() -> None:
    windows = noise_windows(800)
    labels = alternating([windows], np.random.default_rng(0))
    first, again = (recurrence_evidence([windows], labels, alternating, 3, np.random.default_rng(5)) for _ in range(2))
    assert_array_equal(first.of_signal_surrogates, again.of_signal_surrogates)
    assert first.entries == again.entries


@pytest.mark.parametrize("n_frames", [20, 25, 60])
def test_recordings_of_few_windows_and_constant_ones_claim_nothing(n_frames: int) -> None:
    grid = WindowGrid(20, 5, n_frames, ((0, n_frames),))
    for values in (structureless(n_frames, 2).values, np.ones((n_frames, 2), np.float32)):
        windows = Windows(values, grid)
        labels = np.zeros(len(windows), np.int32)
        evidence = recurrence_evidence(
            [windows], [labels], unit_labels(PRESETS["default"]), 3, np.random.default_rng(0)
        )
        assert not evidence.recurs


def test_trained_ways_are_measured_by_the_cheap_one() -> None:
    windows = noise_windows(600)
    cheap, paper = (
        unit_labels(config)([windows], np.random.default_rng(3))[0] for config in (resolve(), resolve("paper"))
    )
    assert_array_equal(cheap, paper)


def test_at_least_one_surrogate() -> None:
    windows = noise_windows(100)
    with pytest.raises(ValueError, match="at least 1 surrogate, got 0"):
        recurrence_evidence([windows], [np.zeros(len(windows), np.int32)], alternating, 0, np.random.default_rng(0))


def test_weak_structure_is_found_at_half_the_amplitude_in_noise() -> None:
    windows, labels = windows_and_labels(plant(StreamPlan(noise=0.5), n_frames=5_000, seed=2).recording)
    assert recurrence_evidence([windows], [labels], alternating, 19, np.random.default_rng(0)).recurs
