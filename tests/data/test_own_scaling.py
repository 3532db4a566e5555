"""Whose statistics a recording gets: its own where it varies enough or fits far better so, else typical ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.data.own_scaling import Choice, log_deviations, log_spread, thinned, variety_of
from rondo.data.recording import Recording
from rondo.data.scaling import Typical
from rondo.data.windows import WindowGrid, Windows
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import PlantedStream, plant

QUICK: dict[str, Any] = {"evidence.surrogates": 0}
NEAR, FAR = np.full(50, 0.5), np.full(50, 2.0)


@pytest.fixture(scope="module")
def planted() -> PlantedStream:
    return plant(n_frames=30_000, seed=1)


@pytest.fixture(scope="module")
def model(planted: PlantedStream) -> Rondo:
    return Rondo(settings=QUICK).fit(planted.recording)


def like(recording: Recording, values: NDArray[np.floating], id: str = "new") -> Recording:
    return Recording(values.astype(np.float32), recording.rate, recording.channels, id)


def windows_of(values: NDArray[np.floating], length: int = 20, step: int = 5) -> Windows:
    return Windows(values.astype(np.float32), WindowGrid(length, step, len(values), ((0, len(values)),)))


@pytest.mark.slow
def test_recordings_of_one_unit_each_are_read_as_that_unit(model: Rondo, planted: PlantedStream) -> None:
    recording, truth = planted.recording, planted.unit_truth
    whole = model.predict(recording).units
    kinds = np.unique(truth[truth >= 0])
    assert len(kinds) == 8
    for kind in kinds:
        rows = truth == kind
        expected = np.bincount(whole[rows & (whole != OTHER)]).argmax()
        alone = model.predict(like(recording, recording.values[rows]))[0]
        assert np.mean(alone.units == expected) > 0.95, kind
        assert sum("% as much as" in note for note in alone.notes) == 1


@pytest.mark.slow
def test_gain_and_offset_of_a_recording_of_many_units_are_removed(model: Rondo, planted: PlantedStream) -> None:
    recording = planted.recording
    gains = np.linspace(0.2, 5, recording.n_channels)
    moved = model.predict(like(recording, recording.values * gains + 10 * gains))[0]
    assert np.mean(moved.units == model.predict(recording).units) > 0.99
    assert not any("as much as" in note for note in moved.notes)


def test_a_model_of_an_earlier_version_scales_every_recording_by_itself(model: Rondo, planted: PlantedStream) -> None:
    recording = planted.recording
    alone = like(recording, recording.values[planted.unit_truth == 0])
    older = Rondo()
    vars(older).update(vars(model) | {"preprocessor_": replace(model.preprocessor_, typical=None)})
    own = label_one(model, alone, was_fitted=True).units
    npt.assert_array_equal(label_one(older, alone).units, own)
    assert not np.array_equal(label_one(model, alone).units, own)
    assert older.stream().scaling is None


@pytest.mark.parametrize("changed", [{"preprocess.statistics": "dataset"}, {"preprocess.scaling": "none"}])
def test_nothing_is_chosen_where_settings_say_how_to_scale(changed: dict[str, str], planted: PlantedStream) -> None:
    part = like(planted.recording, planted.recording.values[:6_000])
    fitted = Rondo(window=75, settings=QUICK | changed).fit(part)
    assert fitted.preprocessor_.typical is None
    scaling = fitted.stream().scaling
    assert scaling is not None and scaling.statistics == "model"


def test_typical_statistics_are_in_the_model_folder(model: Rondo, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    stored, typical = Rondo.load(tmp_path / "model").preprocessor_.typical, model.preprocessor_.typical
    assert stored is not None and typical is not None
    for name in Typical._fields:
        npt.assert_array_equal(getattr(stored, name), getattr(typical, name))


def test_typical_is_the_mean_of_means_and_the_root_mean_square_of_deviations(planted: PlantedStream) -> None:
    each = [planted.recording.values[:3_000], 3 * planted.recording.values[3_000:5_000] + 7]
    fitted = Rondo(window=75, settings=QUICK).fit([like(planted.recording, v, str(i)) for i, v in enumerate(each)])
    typical = fitted.preprocessor_.typical
    assert typical is not None
    npt.assert_allclose(typical.mean, np.mean([v.mean(axis=0, dtype=np.float64) for v in each], axis=0), rtol=1e-5)
    squares = np.mean([v.var(axis=0, dtype=np.float64) for v in each], axis=0)
    npt.assert_allclose(typical.scale, np.sqrt(squares), rtol=1e-5)


def test_own_statistics_need_variety_or_a_far_better_fit() -> None:
    assert Choice.of(1.0, FAR, NEAR, 100).is_own
    assert not Choice.of(0.1, FAR, NEAR, 100).is_own  # one activity
    assert Choice.of(0.3, FAR, NEAR, 100).is_own  # it fits far better
    assert Choice.of(1.0, 0.9 * NEAR, NEAR, 100).is_own  # as varied as those fitted: both fit alike
    assert not Choice.of(1.0, NEAR, FAR, 100).is_own
    assert not Choice.of(0.8, 1.05 * NEAR, NEAR, 5).is_own  # too short to tell


def test_the_evidence_is_what_the_formula_says() -> None:
    for variety, n_lengths, share in ((0.5, 30, 0.5 / (0.6 * 1.5)), (0.6, 1e9, 1.0), (3.0, 30, 1 / (0.6 * 1.5))):
        assert Choice.of(variety, FAR, NEAR, n_lengths).evidence == pytest.approx(4 * share)
    assert Choice.of(0.6, 2 * FAR, NEAR, 1e9).evidence == pytest.approx(3.5 / 0.5)  # strangeness is cut
    assert Choice.of(0.61, NEAR, NEAR, 1e9).is_own and not Choice.of(0.59, NEAR, NEAR, 1e9).is_own


def test_a_stream_with_its_own_statistics_keeps_them_until_the_evidence_is_clear() -> None:
    for better, kept in ((0.55, True), (0.4, False)):
        assert not Choice.of(1.0, better * NEAR, NEAR, 1_000).is_own
        assert Choice.of(1.0, better * NEAR, NEAR, 1_000, was_own=True).is_own is kept


def test_variety_knows_no_gain_and_no_offset() -> None:
    rng = np.random.default_rng(0)
    loudness = np.repeat(rng.uniform(0.1, 2, (40, 3)), 50, axis=0)
    values = loudness * rng.normal(size=loudness.shape)
    typical = Typical(np.zeros(3), np.ones(3), log_spread(windows_of(values)))
    assert variety_of(windows_of(values), typical) == pytest.approx(1.0)
    assert variety_of(windows_of(5 * values - 3), typical) == pytest.approx(1.0, abs=1e-3)
    assert variety_of(windows_of(rng.normal(size=values.shape)), typical) < 0.3


def test_where_nothing_varied_in_the_fitted_recordings_any_recording_varies_as_much() -> None:
    still = Typical(np.zeros(2), np.ones(2), np.zeros(2))
    values = (np.random.default_rng(0).normal(size=(400, 2)) * [0.5, 0]).astype(np.float32)
    assert variety_of(windows_of(values), still) == 1.0
    windows, usual = windows_of(values, length=40, step=40), np.maximum(values.std(axis=0), 1e-9)
    shares = [window.std(axis=0) / usual for window in values.reshape(10, 40, 2)]
    npt.assert_allclose(log_deviations(windows), np.log(np.maximum(shares, 1e-3)), atol=1e-5)


def test_a_thousand_windows_at_most_are_compared() -> None:
    values = np.arange(50_000, dtype=np.float32)[:, None]
    few = thinned(windows_of(values))
    assert 900 <= len(few) <= 1_000
    contents = np.concatenate([*few.batches()])[:, 0]
    npt.assert_array_equal(np.diff(contents, axis=1), 1)  # each is a window of the signal
    assert contents[0, 0] == 0 and contents[-1, -1] > 49_500
