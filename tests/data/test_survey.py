"""Surveys say about recordings what a fit needs, and merged ones say it about the data set."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.config.settings import PreprocessConfig, resolve
from rondo.data.moments import ChannelMoments
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor, surveys_of
from rondo.data.signal import Signal
from rondo.data.survey import Survey
from rondo.data.window_lengths import choose_scales
from rondo.model.fit import plan_fit
from tests.cli.running import waves


def recordings(n: int = 3, rate: float | None = 50.0) -> list[Recording]:
    found = []
    for i in range(n):
        values = waves(800 + 300 * i, 4, seed=i) * (i + 1) + 5 * i
        values[100:180] = np.nan
        found.append(Recording(values, rate, id=f"r{i}"))
    return found


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.sampled_from([0.0, 1e6]), st.booleans())
def test_joined_moments_are_those_of_all_frames(lengths: list[int], offset: float, products: bool) -> None:
    rng = np.random.default_rng(len(lengths))
    parts = [(rng.normal(size=(n, 3)) + offset).astype(np.float32) for n in lengths]
    signals = [Signal("s", own, None, ("x", "y", "z"), ((0, len(own)),), len(own)) for own in parts]
    joined = ChannelMoments.joined((ChannelMoments.of(own, products=products) for own in signals), 3, products=products)
    whole = np.concatenate(parts).astype(np.float64)
    centred = whole - whole.mean(axis=0)
    assert joined.count == len(whole)
    npt.assert_allclose(joined.mean, whole.mean(axis=0), rtol=1e-12)
    npt.assert_allclose(joined.scatter, centred.T @ centred if products else (centred**2).sum(axis=0), atol=1e-6)
    npt.assert_allclose(joined.squares, (centred**2).sum(axis=0), atol=1e-6)


@pytest.mark.parametrize("statistics", ["recording", "dataset"])
@pytest.mark.parametrize("scaling", ["channel", "global", "none"])
def test_axes_from_surveys_are_those_of_the_scaled_signals(statistics: Any, scaling: Any) -> None:
    config = PreprocessConfig(statistics=statistics, scaling=scaling, pca_components=3)
    fitted = Preprocessor.fit(recordings(), config)
    without = Preprocessor.fit(recordings(), config.model_copy(update={"pca_components": 0}))
    usable = []
    for recording in recordings():
        signal = without.apply(recording)
        usable += [signal.values[start:stop].astype(np.float64) for start, stop in signal.spans]
    values, vectors = np.linalg.eigh(np.cov(np.concatenate(usable).T))
    expected = vectors[:, ::-1][:, :3].T
    assert values.min() > 0
    npt.assert_allclose(np.abs(np.sum(fitted.components * expected, axis=1)), 1.0, atol=1e-6)


def test_a_survey_comes_back_from_json_to_the_last_digit() -> None:
    for survey in surveys_of(recordings(), PreprocessConfig(pca_components=2))[1]:
        back = Survey.from_json(json.loads(json.dumps(survey.as_json())))
        apart = {"moments": None, "deviations": None, "relations": None}
        assert vars(back) | apart == vars(survey) | apart
        assert survey.relations is not None and back.relations is not None
        npt.assert_array_equal(back.relations.correlations, survey.relations.correlations)
        npt.assert_array_equal(back.moments.mean, survey.moments.mean)
        npt.assert_array_equal(back.moments.scatter, survey.moments.scatter)


@pytest.mark.parametrize("rate", [50.0, 4.0, None])
def test_scales_from_surveys_are_those_of_the_signals(rate: float | None) -> None:
    given_ = recordings(rate=rate)
    config = resolve()
    channels, surveys = surveys_of(given_, config.preprocess)
    asked: list[str] = []

    def read(id: str) -> Recording:
        asked.append(id)
        return next(own for own in given_ if own.id == id)

    plan = plan_fit(channels, surveys, config, read)
    fitted = Preprocessor.fit(given_, config.preprocess)
    assert plan.scales == choose_scales([fitted.apply(own) for own in given_], config)
    assert set(asked) == (set() if rate == 50.0 else {"r2"})  # only the longest is read again, and only for its period
    assert plan.stretches == tuple(survey.spans for survey in surveys)


def test_part_of_a_signal_is_scaled_by_the_moments_of_the_whole() -> None:
    (recording,) = recordings(1)
    config = PreprocessConfig()
    channels, (survey,) = surveys_of([recording], config)
    fitted = Preprocessor.of_surveys(channels, [survey], config)
    whole = fitted.apply(recording)
    raw = Preprocessor.fit([recording], config.model_copy(update={"scaling": "none"})).apply(recording)
    part = Signal("r0", raw.values[200:300], 50.0, channels.names, ((0, 100),), 100)
    npt.assert_array_equal(fitted.seen(part, survey.moments).values, whole.values[200:300])
