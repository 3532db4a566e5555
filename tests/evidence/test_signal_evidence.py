"""Evidence of the whole and of units: claimed where it was planted, not claimed in noise.

Closeness of windows: its definition by loops, and what it must not depend on.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from rondo import Rondo
from rondo.config.schema import PRESETS, resolve
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders import Representations
from rondo.evidence import signal as module
from rondo.evidence.signal import WindowAxis, signal_evidence, unit_labels
from rondo.evidence.verdicts import SIGNIFICANT, Evidence
from rondo.synthetic import StreamPlan, plant, structureless
from tests.naive_evidence import naive_closeness


def windows_and_labels(recording: Recording) -> tuple[Windows, Labels]:
    model = Rondo(window=75, settings={"motifs.method": "none", "evidence.surrogates": 0}).fit(recording)
    _, windows = model._windows_of(recording)
    return windows, model.unit_model_.timeline(windows).ids


def evidence_of(recording: Recording, seed: int = 0) -> Evidence:
    windows, labels = windows_and_labels(recording)
    return signal_evidence([windows], [labels], unit_labels(PRESETS["default"]), 19, np.random.default_rng(seed))


def two_entries(n_windows: int) -> Labels:
    return (np.arange(n_windows) // 10 % 2).astype(np.int32)


def alternating(statistics: Representations, axis: WindowAxis, rng: np.random.Generator) -> Labels:
    """Labels that cost nothing: two entries, ten windows at a time."""
    return two_entries(len(statistics))


def noise_windows(n_frames: int, seed: int = 0, spans: tuple[tuple[int, int], ...] = ()) -> Windows:
    values = structureless(n_frames, 3, seed=seed).values
    return Windows(values, WindowGrid(20, 5, n_frames, spans or ((0, n_frames),)))


def test_planted_structure_recurs() -> None:
    evidence = evidence_of(plant(n_frames=5_000, seed=1).recording)
    verdicts = [entry.verdict for entry in evidence.units.values()]
    assert evidence.recurs
    assert all(evidence.closeness > figures.max() for figures in evidence.by_chance.values())
    assert verdicts.count("recurs") >= 0.6 * len(verdicts)


def test_nothing_is_claimed_in_noise() -> None:
    evidences = [evidence_of(structureless(5_000, 4, seed=seed), seed) for seed in range(3)]
    assert [evidence.recurs for evidence in evidences] == [False] * 3
    assert all(entry.verdict != "recurs" for evidence in evidences for entry in evidence.units.values())


def test_what_occurs_once_is_not_called_chance() -> None:
    windows = noise_windows(1_000)
    labels = np.zeros(len(windows), np.int32)
    labels[50:60] = 7
    labels[100:120] = OTHER
    entries = signal_evidence([windows], [labels], alternating, 1, np.random.default_rng(0)).units
    assert set(entries) == {0, 7}
    assert (entries[7].verdict, entries[7].n_occurrences) == ("occurs once", 1)
    assert np.isnan(entries[7].p)
    assert entries[0].n_occurrences == 3
    assert entries[0].p >= SIGNIFICANT


def test_p_counts_surrogates_and_a_unit_is_never_surer_than_the_whole() -> None:
    windows = noise_windows(1_500)
    labels = [two_entries(len(windows))]
    evidence = signal_evidence([windows], labels, alternating, 9, np.random.default_rng(1))
    reached = [(figures >= evidence.closeness).sum() for figures in evidence.by_chance.values()]
    assert len(reached) == 3
    assert evidence.p == (1 + max(reached)) / 10
    assert all(entry.p >= evidence.p for entry in evidence.units.values())


def test_long_recordings_are_asked_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WINDOWS", 40)
    seen: list[int] = []

    def counting(statistics: Representations, axis: WindowAxis, rng: np.random.Generator) -> Labels:
        seen.append(len(statistics))
        return alternating(statistics, axis, rng)

    monkeypatch.setattr(module, "SIGNIFICANT", 1.0)  # or surrogates of noise would not be labelled
    windows = [noise_windows(2_000), noise_windows(1_000, 1, spans=((0, 400), (430, 1_000)))]
    labels = [two_entries(len(w)) for w in windows]
    labels[0][150:152] = labels[0][155:157] = 5  # between two stretches
    evidence = signal_evidence(windows, labels, counting, 2, np.random.default_rng(0))
    assert seen
    assert max(seen) <= 40
    assert evidence.units[5].verdict == "not tested"
    assert evidence.units[5].n_occurrences == 2


def test_surrogates_are_not_labelled_where_no_unit_can_pass() -> None:
    def refuse(statistics: Representations, axis: WindowAxis, rng: np.random.Generator) -> Labels:
        raise AssertionError("labelled")

    windows = noise_windows(1_500)
    labels = [two_entries(len(windows))]
    evidence = signal_evidence([windows], labels, refuse, 19, np.random.default_rng(1))
    assert {entry.p for entry in evidence.units.values()} == {evidence.p}


def test_a_part_holds_the_very_same_windows() -> None:
    windows = noise_windows(1_000, spans=((3, 400), (430, 1_000)))
    labels = np.arange(len(windows), dtype=np.int32)
    part, kept = module._part(windows, labels, 0.3)
    whole = np.concatenate(list(windows.batches()))
    assert 0 < len(part) < 0.35 * len(windows)
    assert_array_equal(np.concatenate(list(part.batches())), whole[kept])


def test_seeds_repeat() -> None:
    windows = noise_windows(800)
    labels = [two_entries(len(windows))]
    first, again = (signal_evidence([windows], labels, alternating, 3, np.random.default_rng(5)) for _ in range(2))
    for kind, figures in first.by_chance.items():
        assert_array_equal(figures, again.by_chance[kind])
    assert first.units == again.units


@pytest.mark.parametrize("n_frames", [20, 25, 60])
def test_recordings_of_few_windows_and_constant_ones_claim_nothing(n_frames: int) -> None:
    grid = WindowGrid(20, 5, n_frames, ((0, n_frames),))
    for values in (structureless(n_frames, 2).values, np.ones((n_frames, 2), np.float32)):
        windows = Windows(values, grid)
        labels = np.zeros(len(windows), np.int32)
        evidence = signal_evidence([windows], [labels], unit_labels(PRESETS["default"]), 3, np.random.default_rng(0))
        assert not evidence.recurs


def test_trained_ways_are_measured_by_the_cheap_one() -> None:
    windows = noise_windows(600)
    axis, statistics = WindowAxis.of([windows]), module._statistics([windows])
    cheap, paper, deep, few = (
        unit_labels(config)(statistics, axis, np.random.default_rng(3))
        for config in (
            resolve(),
            resolve("paper"),
            resolve(overrides={"units.mixture.kind": "deep_dpm"}),
            resolve(overrides={"units.mixture.component_cap": 1}),
        )
    )
    assert_array_equal(cheap, paper)
    assert_array_equal(cheap, deep)
    assert len(set(few.tolist())) == 1 < len(set(cheap.tolist()))


def test_passages_are_no_units_of_surrogates_either() -> None:
    windows = noise_windows(1_000)
    axis, statistics = WindowAxis.of([windows]), module._statistics([windows])
    short, long = (
        unit_labels(resolve(overrides={"units.persistence": n}))(statistics, axis, np.random.default_rng(3))
        for n in (0, 4)
    )
    assert len(set(long.tolist())) < len(set(short.tolist()))


def test_surrogates_are_labelled_as_the_recording_was() -> None:
    """But for the iterations of the mixture, which are fewer: the units are those that a fit finds."""
    windows, labels = windows_and_labels(plant(n_frames=4_000, seed=4).recording)
    again = unit_labels(PRESETS["default"])(
        module._statistics([windows]), WindowAxis.of([windows]), np.random.default_rng(0)
    )
    assert adjusted_rand_score(labels, again) > 0.8


def test_many_channels_are_asked_about_in_fewer_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_VALUES", 20 * 3 * 350)
    windows = noise_windows(4_000)
    assert module._share_asked([windows]) == pytest.approx(350 / len(windows))
    monkeypatch.setattr(module, "_MOST_VALUES", 1)
    assert module._share_asked([windows]) == pytest.approx(module._FEWEST_WINDOWS / len(windows))


def test_at_least_one_surrogate() -> None:
    windows = noise_windows(100)
    with pytest.raises(ValueError, match="at least 1 surrogate, got 0"):
        signal_evidence([windows], [np.zeros(len(windows), np.int32)], alternating, 0, np.random.default_rng(0))


def test_weak_structure_is_found_at_half_the_amplitude_in_noise() -> None:
    windows, labels = windows_and_labels(plant(StreamPlan(noise=0.5), n_frames=5_000, seed=2).recording)
    assert signal_evidence([windows], [labels], alternating, 19, np.random.default_rng(0)).recurs


def axis_of(spans: tuple[tuple[int, int], ...], length: int = 20, step: int = 5) -> WindowAxis:
    n_frames = spans[-1][1]
    return WindowAxis.of([Windows(np.zeros((n_frames, 1), np.float32), WindowGrid(length, step, n_frames, spans))])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), n_labels=st.integers(1, 4), cut=st.integers(60, 140))
def test_closeness_equals_its_definition(seed: int, n_labels: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    axis = axis_of(((0, cut), (cut, 200)))
    n_windows = len(axis.places)
    statistics = np.round(rng.standard_normal((n_windows, 2)), 1).astype(np.float32)  # with windows that are equal
    labels = np.repeat(rng.integers(-1, n_labels, n_windows), rng.integers(1, 4, n_windows))[:n_windows]
    naive_whole, naive_entries = naive_closeness(statistics, labels.tolist(), axis.spans, 4, module._SAME)
    assert axis.closeness(statistics) == pytest.approx(naive_whole, abs=1e-5)
    assert axis.entry_closeness(statistics, labels.astype(np.int32)) == pytest.approx(naive_entries, abs=1e-5)


def test_units_of_measurement_and_offsets_do_not_matter() -> None:
    axis, rng = axis_of(((0, 400),)), np.random.default_rng(0)
    statistics = rng.standard_normal((len(axis.places), 5)).astype(np.float32)
    assert axis.closeness(3 * statistics + 10_000) == pytest.approx(axis.closeness(statistics), abs=1e-3)


def test_what_comes_again_is_close_and_equal_windows_are_as_close_as_can_be() -> None:
    axis, rng = axis_of(((0, 400),)), np.random.default_rng(0)
    once = rng.standard_normal((len(axis.places), 5)).astype(np.float32)
    again = once.copy()
    half = len(once) // 2
    again[half : 2 * half] = again[:half]
    assert axis.closeness(again) > axis.closeness(once) + 1
    assert axis.closeness(np.tile(once[:11], (7, 1))) == pytest.approx(-np.log(module._SAME))


def test_windows_that_all_overlap_and_windows_that_are_all_equal_are_not_close() -> None:
    few = axis_of(((0, 30),))
    assert few.closeness(np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)) == 0.0
    many = axis_of(((0, 200),))
    equal = np.ones((len(many.places), 2), np.float32)
    assert many.closeness(equal) == 0.0
    assert many.entry_closeness(equal, np.arange(len(equal), dtype=np.int32) % 2) == {}


def test_the_median_of_many_windows_is_taken_from_some(monkeypatch: pytest.MonkeyPatch) -> None:
    axis, rng = axis_of(((0, 2_000),)), np.random.default_rng(0)
    statistics = rng.standard_normal((len(axis.places), 5)).astype(np.float32)
    from_some = axis.closeness(statistics)
    monkeypatch.setattr(module, "_ROWS", 10_000)
    assert axis.closeness(statistics) == pytest.approx(from_some, abs=0.02)
