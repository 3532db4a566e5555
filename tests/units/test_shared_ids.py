"""Studies of people whose files hold one activity each: the note comes, and ids that mean two things are named."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rondo.data.moments import ChannelMoments
from rondo.data.recording import Recording
from rondo.data.survey import ONE_EACH, hold_one_each
from rondo.data.windows import WindowGrid, Windows
from rondo.model.rondo import Rondo
from rondo.run.findings import shared_ids_sentence
from rondo.synthetic.streams import PlantedStream, plant_subjects
from rondo.units.shared_ids import Doubt, shared_ids

SETTINGS: dict[str, Any] = {"evidence.surrogates": 0}
LEAST = 600  # rows of an exercise
GRID = WindowGrid(1, 1, 60, ((0, 60),))


@pytest.fixture(scope="module")
def people() -> list[PlantedStream]:
    """Each with an own gain and offset of every channel."""
    return plant_subjects(n_subjects=2, n_frames=15_000, seed=3)


@pytest.fixture(scope="module")
def exercises(people: list[PlantedStream]) -> list[Recording]:
    """The rows of each unit of each person as a file."""
    return [
        Recording(own.recording.values[own.unit_truth == kind], 50, own.recording.channels, f"person{person}_{kind}")
        for person, own in enumerate(people)
        for kind in np.unique(own.unit_truth[own.unit_truth >= 0])
        if np.sum(own.unit_truth == kind) >= LEAST
    ]


@pytest.mark.slow
def test_files_of_one_exercise_each_are_noted(exercises: list[Recording]) -> None:
    assert ONE_EACH in Rondo(window=75, settings=SETTINGS).fit_predict(exercises)[0].notes


def test_an_id_that_two_people_use_for_two_things_is_named() -> None:
    """Windows of one frame, which are their own representations."""
    at = {"low": [0.0, 5.0, 9.0], "high": [0.1, 9.1, 5.1]}  # unit 1 of one is unit 2 of the other
    labels = np.repeat(np.arange(3, dtype=np.int32), 20)
    rng = np.random.default_rng(0)
    windows = [
        Windows((np.array(own)[labels][:, None] + 0.1 * rng.normal(size=(60, 1))).astype(np.float32), GRID)
        for own in at.values()
    ]
    units: Any = SimpleNamespace(
        places=None,
        encoder=SimpleNamespace(encode=lambda few: few.values),
        at_home=lambda rows, place: rows,
    )
    found = shared_ids(units, windows, [labels, labels], list(at))
    assert found is not None and (found.n_shared, found.n_alike) == (3, 1)
    assert found.doubts == (Doubt(1, "low", "high", 2), Doubt(2, "low", "high", 1))
    assert re.findall(r"u\d of \w+", shared_ids_sentence(found.as_json()))[:2] == ["u1 of low", "u2 of high"]
    assert shared_ids(units, windows, [labels, labels], ["low", "low"]) is None


@pytest.mark.slow
def test_with_the_documented_settings_there_is_no_note(exercises: list[Recording]) -> None:
    settings = SETTINGS | {"preprocess.statistics": "dataset"}
    result = Rondo(window=75, settings=settings).fit_predict(exercises, group_by="person")
    assert ONE_EACH not in result[0].notes
    assert not any("may not mean" in sentence for sentence in result.findings)


@pytest.mark.slow
def test_people_who_do_everything_share_their_ids(people: list[PlantedStream]) -> None:
    model = Rondo(window=75, settings=SETTINGS)
    result = model.fit_predict([own.recording for own in people])
    shared = model.provenance_["shared_ids"]
    assert shared["n_alike"] == shared["n_shared"] > 5 and not shared["doubts"]
    assert ONE_EACH not in result[0].notes
    assert not any("may not mean" in sentence for sentence in result.findings)


@pytest.mark.parametrize(
    ("within", "between", "is_noted"), [(0.2, 1.0, True), (1.2, 1.0, False), (0.2, 0.0, False), (0.7, 0.3, False)]
)
def test_a_note_needs_recordings_that_vary_little_and_differ(within: float, between: float, is_noted: bool) -> None:
    rng = np.random.default_rng(0)
    levels = [rng.normal(scale=within, size=(200, 4)) for _ in range(6)]
    deviations = np.exp(between * np.array([-1.0, 1, -1, 1, -1, 1]))
    moments = [ChannelMoments(100, np.zeros(4), np.full(4, 100 * own**2)) for own in deviations]
    assert hold_one_each(levels, moments) is is_noted


def test_one_recording_and_constant_channels_give_no_note() -> None:
    level, still = np.zeros((10, 2)), ChannelMoments(10, np.zeros(2), np.zeros(2))
    assert not hold_one_each([level], [still]) and not hold_one_each([level, level], [still, still])
