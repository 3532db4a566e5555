"""Fitted again with other seeds, and on halves: what is compared with what."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.config.settings import resolve
from rondo.data.recording import Recording
from rondo.model.folder import config_of
from rondo.model.rondo import Rondo
from rondo.stability import over_halves, over_seeds
from tests.cli.running import waves

SETTINGS = resolve(overrides={"windows.length": 50})
RECORDINGS = [Recording(waves(seed=0), id="one"), Recording(waves(1600, seed=1), id="two")]


@pytest.mark.slow
def test_plain_waves_are_found_again_by_every_seed_and_in_both_halves() -> None:
    told: list[str] = []
    model, levels = over_seeds(RECORDINGS, SETTINGS, 3, lambda what, done, total: told.append(what))
    assert told == ["seed 1", "seed 2", "seed 3"]
    assert (model.window_length_frames_, model.config_.seed, model.config_.evidence.surrogates) == (50, 0, 99)
    assert len(levels.units.entries) == len(model.unit_model_.ids)
    assert len(levels.units.n_entries_of_others) == 2
    assert levels.units.share_stable > 0.9
    halves = over_halves(RECORDINGS, model)
    assert [entry.id for entry in halves.units.entries] == [entry.id for entry in levels.units.entries]
    assert halves.units.share_stable > 0.8


def test_what_changes_in_the_middle_is_not_found_in_both_halves() -> None:
    rng = np.random.default_rng(0)
    before = np.sin(np.arange(1500) * 0.1)
    after = 0.4 * np.sin(np.arange(1500) * 0.9)
    track = np.concatenate([before, after])[:, None] + 0.05 * rng.normal(size=(3000, 1))
    recordings = [Recording(track)]
    settings = resolve(overrides={"windows.length": 50, "preprocess.scaling": "none"})
    model, _ = over_seeds(recordings, settings, 2)
    assert over_halves(recordings, model).units.share_stable < 0.7


@pytest.mark.slow
def test_every_seed_and_both_halves_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[tuple[int, int | str, list[np.ndarray]]] = []
    real = Rondo.fit

    def fit(self: Rondo, recordings: list[Recording], **_: object) -> Rondo:
        config = config_of(self)
        fitted.append((config.seed, config.windows.length, [recording.values for recording in recordings]))
        return real(self, recordings)

    monkeypatch.setattr(Rondo, "fit", fit)
    settings = resolve(overrides={"seed": 4})  # and a window that Rondo chooses
    model, _ = over_seeds(RECORDINGS, settings, 3)
    over_halves(RECORDINGS, model)
    window = model.window_length_frames_
    assert [(seed, length) for seed, length, _ in fitted] == [
        (4, "auto"), (5, window), (6, window), (4, window), (4, window)
    ]  # fmt: skip
    for number, recording in enumerate(RECORDINGS):
        halves = [values[number] for _, _, values in fitted[3:]]
        np.testing.assert_array_equal(np.concatenate(halves), recording.values)
        assert [half.shape[0] for half in halves] == [recording.n_frames // 2] * 2
