"""At which scale a fit looks: four unit windows are compared where no length is given, and the rate plays no part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rondo
from rondo import Recording, Rondo
from rondo.data.window_lengths import WindowScales
from rondo.model import attempts, fit
from rondo.synthetic import plant

FREE = {"evidence.surrogates": 0}


@pytest.fixture(scope="module")
def recording() -> Recording:
    return plant(n_frames=8_000, seed=3).recording


def scales_of(model: Rondo) -> WindowScales:
    return WindowScales(model.window_length_frames_, model.step_frames_, model.motif_window_frames_)


def tried(monkeypatch: pytest.MonkeyPatch, recording: Recording, **given: Any) -> list[int]:
    """The unit windows of the fits that a fit makes."""
    lengths = []
    original = fit._attempt

    def counted(config: Any, scales: WindowScales, *rest: Any) -> Any:
        lengths.append(scales.unit_frames)
        return original(config, scales, *rest)

    monkeypatch.setattr(fit, "_attempt", counted)
    Rondo(**({"settings": FREE} | given)).fit(recording)
    return lengths


def test_four_unit_windows_are_tried_where_lengths_are_left_to_the_data(
    monkeypatch: pytest.MonkeyPatch, recording: Recording
) -> None:
    suggested, *others = tried(monkeypatch, recording)
    assert others == [round(factor * suggested) for factor in (0.5, 0.7, 1.4)]


def test_all_have_the_same_motif_window(monkeypatch: pytest.MonkeyPatch, recording: Recording) -> None:
    first = WindowScales(40, 10, 160)
    assert attempts._others(first, 10_000) == [(20, 5, 160), (28, 7, 160), (56, 14, 160)]
    assert attempts._others(first, 900) == [(20, 5, 160), (28, 7, 160), (45, 11, 160)], "20 windows in the longest span"
    assert attempts._others(WindowScales(8, 2, 32), 10_000) == [(11, 2, 32)], (
        "none is shorter than 8 frames, none twice"
    )


@pytest.mark.parametrize(
    "given",
    [
        {"window": 40},
        {"step": 10},
        {"motif_window": 200},
        {"settings": FREE | {"windows.scales": 1}},
        {"settings": FREE | {"motifs.method": "none"}},
    ],
)
def test_a_length_that_was_given_is_the_only_one(
    monkeypatch: pytest.MonkeyPatch, recording: Recording, given: dict[str, Any]
) -> None:
    assert len(tried(monkeypatch, recording, **given)) == 1


def test_the_scale_that_the_others_agree_with_is_taken(recording: Recording) -> None:
    model = Rondo(settings=FREE).fit(recording)
    alone = Rondo(settings=FREE | {"windows.scales": 1}).fit(recording)
    if scales_of(model) == scales_of(alone):
        assert np.array_equal(model.predict(recording).motifs, alone.predict(recording).motifs)
    unit, step, motif = scales_of(model)
    given = Rondo(window=unit, step=step, motif_window=motif, settings=FREE).fit(recording)
    assert np.array_equal(model.predict(recording).motifs, given.predict(recording).motifs)


class Stub:
    """An attempt that labels as it was told."""

    tells_all_between_rests = False

    def __init__(self, labels: list[int], unit: int) -> None:
        self.scales, self._labels = WindowScales(unit, 2, 4 * unit), np.array(labels * 20)

    def labels(self) -> np.ndarray:
        return self._labels

    @property
    def tells_nothing(self) -> bool:
        return np.unique(self._labels).size < 2


AGREED, ODD, ONE = [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0] * 6


@pytest.mark.parametrize(
    ("by_unit", "chosen"),
    [
        ({40: AGREED, 20: AGREED, 28: AGREED, 56: ODD}, 40),  # as well as others: the suggested one
        ({40: ODD, 20: AGREED, 28: AGREED, 56: AGREED}, 20),
        ({40: AGREED, 20: ODD, 28: ODD[1:] + ODD[:1], 56: ODD}, 20),  # the same labels with other ids agree too
        ({40: ONE, 20: ONE, 28: ONE, 56: ONE, 10: AGREED}, 10),  # a closer look, until there is something
        ({40: ONE, 20: ONE, 28: ONE, 56: ONE, 10: ONE, 8: ONE}, 8),
    ],
)
def test_the_choice(by_unit: dict[int, list[int]], chosen: int) -> None:
    looks = {unit: Stub(labels, unit) for unit, labels in by_unit.items()}
    config = rondo.config.settings.resolve()
    best = attempts.best_attempt(looks[40], config, 10_000, lambda scales: looks[scales.unit_frames])  # type: ignore
    assert best is looks[chosen]


@pytest.mark.parametrize("rate", [50.0 / 20, 50_000.0, None])
def test_the_rate_that_is_declared_changes_no_label(recording: Recording, rate: float | None) -> None:
    model = Rondo(settings=FREE)
    other = Recording(recording.values, rate, recording.channels, recording.id)
    assert np.array_equal(model.fit_predict(other).motifs, Rondo(settings=FREE).fit_predict(recording).motifs)


def test_another_scale_is_noted() -> None:
    first, other = WindowScales(40, 10, 160), WindowScales(28, 7, 160)
    assert attempts.scale_note(first, first, 50.0) == []
    (note,) = attempts.scale_note(first, other, 50.0)
    assert "0.56 s" in note and "3.2 s" in note and "0.7 times" in note and "--fast" in note
    (note,) = attempts.scale_note(first, other, None)
    assert "28 frames" in note and "160 frames" in note


def test_a_program_of_many_states_has_as_many_units() -> None:
    rng = np.random.default_rng(1)
    levels, rounds = rng.normal(size=(36, 10)), 8
    values = np.repeat(np.tile(levels, (rounds, 1)), 40, axis=0)
    values = values + rng.normal(0, 0.15, values.shape)
    model = Rondo(window=20, motif_window=80, settings=FREE).fit(Recording(values, 10.0))
    assert 30 <= len(model.units_) <= 40
