"""Recordings that hold one activity each are told from those that hold many, without labels."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

import rondo
from rondo.cli.main import app
from rondo.config.settings import PreprocessConfig
from rondo.data.levels import ONE_EACH, hold_one_each, note_on_levels, part_deviations
from rondo.data.recording import Recording
from rondo.data.scaling import surveys_of
from rondo.data.signal import Signal
from rondo.data.survey import Survey
from rondo.result import Result

STRENGTHS = (0.05, 0.3, 1.0, 3.0)  # of resting, standing about, walking and running


def activity(strength: float, n_frames: int, rng: np.random.Generator) -> np.ndarray:
    wave = np.sin(np.arange(n_frames) * 0.3)[:, None] * [1.0, 0.5, 0.2]
    return strength * (wave + 0.3 * rng.normal(size=(n_frames, 3)))


def of_one_each(n: int = 8) -> list[Recording]:
    rng = np.random.default_rng(0)
    return [Recording(activity(STRENGTHS[i % 4], 600, rng), 50, id=f"r{i}") for i in range(n)]


def of_many_each(n: int = 8) -> list[Recording]:
    """The same activities, all in each recording, in another order."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(np.repeat(STRENGTHS, 5)) for _ in range(n)]
    return [
        Recording(np.concatenate([activity(s, 100, rng) for s in order]), 50, id=f"r{i}")
        for i, order in enumerate(orders)
    ]


def deviations(recordings: list[Recording]) -> list[np.ndarray]:
    return [survey.deviations for survey in surveys_of(recordings, PreprocessConfig())[1]]


def test_one_activity_each_is_told_from_many() -> None:
    assert hold_one_each(deviations(of_one_each()))
    assert not hold_one_each(deviations(of_many_each()))
    assert not hold_one_each(deviations(of_one_each(1)))  # alone, it has nobody to differ from
    same = [Recording(one.values / one.values.std(), 50, id=one.id) for one in of_one_each()]
    assert not hold_one_each(deviations(same))


def test_parts_hold_as_many_usable_frames_each() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(100, 2)).astype(np.float32)
    values[30:60] = 1e6  # no span holds it
    found = part_deviations(Signal("s", values, 50.0, ("x", "y"), ((0, 30), (60, 100)), 100))
    usable = np.concatenate([values[:30], values[60:]]).astype(np.float64)
    edges = (0, 17, 35, 52, 70)
    expected = [usable[start:stop].std(axis=0) for start, stop in pairwise(edges)]
    npt.assert_allclose(found, expected, rtol=1e-9)
    assert part_deviations(Signal("s", values, 50.0, ("x", "y"), ((0, 12),), 100)).shape == (0, 2)


@pytest.mark.parametrize("n_frames", [600, 12])
def test_surveys_keep_them(n_frames: int) -> None:
    values = np.random.default_rng(2).normal(size=(n_frames, 3))
    survey = surveys_of([Recording(values, 50)], PreprocessConfig())[1][0]
    again = Survey.from_json(json.loads(json.dumps(survey.as_json())))
    npt.assert_array_equal(again.deviations, survey.deviations)
    assert again.deviations.shape == (4 if n_frames > 12 else 0, 3)


def test_what_is_said_depends_on_the_settings() -> None:
    told = deviations(of_one_each())
    config = PreprocessConfig()
    assert note_on_levels(told, config, has_own_places=False) == ONE_EACH
    assert "units.places=false" in note_on_levels(told, config, has_own_places=True)
    for update in ({"statistics": "dataset"}, {"scaling": "none"}):
        assert note_on_levels(told, config.model_copy(update=update), has_own_places=True) == ""


@pytest.mark.slow
@pytest.mark.parametrize("engine", [[], ["--engine", "serial"]])
def test_discover_says_so(tmp_path: Path, engine: list[str]) -> None:
    for one in of_one_each(4):
        np.save(tmp_path / f"{one.id}.npy", one.values)
    paths = [str(path) for path in sorted(tmp_path.glob("*.npy"))]
    quick = ["--rate", "50", "--set", "evidence.surrogates=0"]
    outcome = CliRunner().invoke(app, ["discover", *paths, "--out", str(tmp_path / "run"), *quick, *engine])
    assert outcome.exit_code == 0, outcome.output
    assert ONE_EACH in outcome.output
    assert any(ONE_EACH in note for note in Result.load(tmp_path / "run").summary.recordings[0].notes)
    remedy = ["--set", "preprocess.statistics=dataset", "--set", "units.places=false"]
    outcome = CliRunner().invoke(app, ["discover", *paths, "--out", str(tmp_path / "again"), *quick, *engine, *remedy])
    assert ONE_EACH not in outcome.output


@pytest.mark.slow
def test_the_remedy_tells_activities_apart() -> None:
    recordings = of_one_each(8)
    truth = np.concatenate([np.full(own.n_frames, i % 4) for i, own in enumerate(recordings)])

    def agreement(settings: dict[str, object]) -> float:
        found = rondo.discover(recordings, settings={"evidence.surrogates": 0} | settings, window="1s")
        return float(adjusted_rand_score(truth, np.concatenate([own.units for own in found])))

    assert agreement({"preprocess.statistics": "dataset", "units.places": False}) > agreement({}) + 0.2


@pytest.mark.parametrize("method", ["direct"])
def test_units_without_places_are_noted_too(method: str) -> None:
    settings = {"evidence.surrogates": 0, "units.method": method}
    found = rondo.discover(of_one_each(4), settings=settings, window="1s")
    assert any(note.startswith(ONE_EACH) for note in found.recordings[0].notes)
