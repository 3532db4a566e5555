"""What a person sees at once, and noise: the verdicts of whole fits."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from rondo.evidence.signal import alike_test, surrogate_p
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.model.rondo import Rondo
from tests.benchmark_scripts import imported

SEED = 500  # of every simulation; none of them chose a constant


def made(simulation: str, name: str) -> Any:
    with imported("sources") as sources:
        rng = np.random.default_rng(SEED)
        return sources.PLAIN[name](rng) if simulation == "plain" else sources.noise_case(name, 6_000, SEED)


@functools.cache
def fitted(name: str, window: int | None = None) -> tuple[Evidence, dict[int, EntryEvidence]]:
    """The evidence of a plain case, and the entry of the unit that most frames of each class have."""
    case = made("plain", name)
    (recording,), (classes,) = case.recordings, case.truth
    model = Rondo(window, seed=0).fit(recording)
    units = np.asarray(model.predict(recording).units)
    most = {}
    for own in np.unique(classes).tolist():
        ids, counts = np.unique(units[classes == own], return_counts=True)
        most[own] = model.evidence_.units[int(ids[counts.argmax()])]
    return model.evidence_, most


def test_the_sleep_of_seven_nights_recurs_clearly() -> None:
    evidence, unit_of = fitted("seven nights and a nap")
    assert evidence.recurs
    asleep = unit_of[1]
    assert asleep.verdict == "recurs clearly" and 7 <= asleep.n_visits <= 10 and asleep.recognised == 1


def test_a_fault_that_occurs_twice_recurs_clearly_as_the_modes_of_the_machine_do() -> None:
    evidence, unit_of = fitted("a fault that occurs twice")
    assert evidence.recurs and all(entry.comes_back for entry in unit_of.values())
    assert unit_of[3].verdict == "recurs clearly" and unit_of[3].n_visits == 2 and unit_of[3].margin > 1
    assert all(entry.n_visits > 5 for mode, entry in unit_of.items() if mode != 3)


def test_sets_of_barbell_repetitions_come_back() -> None:
    evidence, unit_of = fitted("barbell repetitions")
    assert evidence.recurs and unit_of[0].verdict == "recurs clearly" and unit_of[1].comes_back
    assert unit_of[0].n_visits >= 5  # rest before, between and after five sets


def test_an_open_valve_comes_back() -> None:
    evidence, unit_of = fitted("a valve, open 9 times")
    assert evidence.recurs and all(entry.comes_back for entry in unit_of.values())


def test_shutdowns_that_slow_change_would_make_too_are_counted_but_not_claimed() -> None:
    evidence, unit_of = fitted("machine temperature, 4 shutdowns", window=137)  # half a shutdown, in frames
    assert not evidence.recurs
    assert {entry.verdict for entry in evidence.units.values()} <= {"not shown", "occurs once"}
    assert unit_of[1].n_visits == 4


@pytest.mark.parametrize("name", ["AR(1)", "1/f", "low-passed", "random walk, 1 channel", "wandering loudness, common"])
def test_nothing_is_claimed_in_noise(name: str) -> None:
    evidence = Rondo(seed=0).fit(made("noise", name).recordings).evidence_
    assert not evidence.recurs
    every = (*evidence.units.values(), *evidence.motifs.values(), *evidence.unshown.values())
    assert {entry.verdict for entry in every} <= {"not shown", "occurs once"}


def test_noise_that_is_loud_in_all_channels_at_once_passes_no_more_without_its_loudness() -> None:
    """One that every kind of surrogate lets through, in windows of the suggested length."""
    with imported("sources") as sources:
        (recording,) = sources.noise_case("wandering loudness, common", 6_000, 1001).recordings
    model = Rondo(seed=0, settings={"evidence.surrogates": 0, "windows.scales": 1}).fit(recording)
    windows = model._windows_of(recording)[1]
    labels = model.unit_model_.timeline(windows).labels
    found = alike_test([windows], [labels], 7, np.random.default_rng(0))
    assert all(surrogate_p(found.closeness, figures) <= 0.03 for figures in found.by_chance.values())
    assert len(found.by_chance) == 3 and found.p > 0.1
