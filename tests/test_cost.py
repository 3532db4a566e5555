"""Cost estimates: they grow as the work does, and are near what was measured."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rondo.config.settings import resolve
from rondo.cost import Cost, cost_of_fit, expected_window_and_step
from rondo.data.recording import Recording
from tests.cli.running import waves

# CPU seconds and peak MB on one core, to which the coefficients were fitted; docs/results/evidence.md has a later run.
# Preset, settings, frames, channels, window, step.
ONE = {"windows.scales": 1}  # as it was measured
MEASURED = {
    "default, short": ("default", ONE, 30_000, 3, 75, 18, 3.6, 281),
    "default, many channels": ("default", ONE, 120_000, 24, 75, 18, 7.4, 360),
    "default, long": ("default", ONE, 360_000, 6, 75, 18, 11.5, 358),
    "ts2vec": ("default", {"encoder.name": "ts2vec"}, 15_000, 6, 75, 18, 29.8, 745),
    "time_mae, longer": ("default", {"encoder.name": "time_mae"}, 45_000, 6, 100, 50, 31.9, 590),
    "time_mae": ("default", {"encoder.name": "time_mae"}, 15_000, 6, 75, 18, 23.5, 564),
    "paper": ("paper", {}, 15_000, 6, 75, 18, 75.3, None),
    "paper, long": ("paper", {}, 360_000, 9, 200, 100, 140, None),
}


@pytest.mark.parametrize("case", MEASURED)
def test_near_what_was_measured(case: str) -> None:
    preset, settings, frames, channels, window, step, seconds, megabytes = MEASURED[case]
    cost = cost_of_fit(resolve(preset, overrides=settings), [frames], channels, window, step)
    assert cost.seconds == pytest.approx(seconds, rel=0.3)
    assert megabytes is None or cost.megabytes == pytest.approx(megabytes, rel=0.3)


def test_four_unit_windows_cost_four_fits_where_they_are_compared() -> None:
    def seconds(**settings: object) -> float:
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        found = cost_of_fit(resolve(overrides=overrides | {"evidence.surrogates": 0}), [360_000], 6, 75, 18).seconds
        assert found is not None
        return found

    one = seconds(windows__scales=1)
    assert 3 < seconds() / one < 4
    assert seconds(windows__length=75) == seconds(motifs__method="none") == one
    trained = cost_of_fit(resolve(overrides={"encoder.name": "ts2vec"}), [15_000], 6, 75, 18)
    assert trained == cost_of_fit(resolve(overrides={"encoder.name": "ts2vec", **ONE}), [15_000], 6, 75, 18)


def test_what_was_never_measured_is_said() -> None:
    cost = cost_of_fit(resolve(overrides={"encoder.name": "mantis"}), [1000], 3, 50, 10)
    assert cost.seconds is None
    assert "encoder mantis" in cost.sentence()
    assert re.findall(r"[\d.]+ [GMh]B?", Cost(7200.0, 2500.0).sentence()) == ["2 h", "2.5 GB"]


@pytest.mark.parametrize("rate", [None, 50.0])
def test_the_window_is_expected_as_a_fit_chooses_it(rate: float | None) -> None:
    values = waves(4000)
    values[:, 1] *= 1000  # channels are scaled first
    values[100, 0] = np.nan
    recording = Recording(values, rate)
    from rondo.data.scaling import Preprocessor
    from rondo.data.window_lengths import choose_scales

    config = resolve()
    signal = Preprocessor.fit([recording], config.preprocess).apply(recording)
    exact = choose_scales([signal], config)[:2]
    assert expected_window_and_step(config, [Recording(waves(90), rate), recording]) == pytest.approx(exact, rel=0.1)
    one_scale = resolve(overrides={"motifs.method": "none"})
    exact = choose_scales([signal], one_scale)[:2]
    assert expected_window_and_step(one_scale, [recording]) == pytest.approx(exact, rel=0.1)
