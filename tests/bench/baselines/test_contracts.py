"""What every baseline must do, whatever it is: the checks of every method, and contracts that take a built baseline.

They use small planted recordings. A new baseline joins `TINY`, nothing else. What costs much runs for three methods
alone: a network, one of windows, and one of frames.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray
from pydantic import BaseModel

from rondo.checks import methods as checks
from rondo.checks.encoders import planted
from rondo.config.overrides import changed
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.preparation import GAP_FRAMES
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.errors import InputError, SettingError
from rondo.methods import find_method
from rondo_bench.baselines.baseline import (
    Baseline,
    FittedBaseline,
    ReadingBaseline,
    baseline_names,
    build_baseline,
    label_recording,
)

Contract = Callable[[Baseline], None]
Kind = TypeVar("Kind", bound=Baseline)


def labels_of(baseline: Baseline, values: NDArray[np.float32], seed: int = 0) -> Labels:
    return label_recording(Recording(values, id="walk"), baseline, np.random.default_rng(seed))


def cutting(baseline: Kind) -> Kind:
    """The baseline, to which dropouts of channels are boundaries."""
    config = changed(baseline.config, overrides={"preprocess.dropouts": "cut"})
    return replace(baseline, config=config)  # type: ignore[type-var]


def refusal(baseline: Baseline, values: NDArray[np.float32]) -> str:
    with pytest.raises(InputError) as caught:
        labels_of(baseline, values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def states_are_numbered_as_they_appear(baseline: Baseline) -> None:
    labels = labels_of(baseline, planted(600))
    newest = np.maximum.accumulate(labels)
    assert labels[0] == 0
    assert newest[-1] >= 1  # else nothing was tested
    assert set(np.diff(newest).tolist()) <= {0, 1}


def channel_scale_and_offset_do_not_matter(baseline: Baseline) -> None:
    """Powers of two, and offsets that float32 holds exactly, so that the prepared signals are equal to the last bit."""
    values = np.round(planted() * 64) / 64
    changed = values * np.float32([4, 0.5, 64]) + np.float32([0, -8, 16])
    npt.assert_array_equal(labels_of(baseline, changed), labels_of(baseline, values))


def constant_recordings_are_refused(baseline: Baseline) -> None:
    assert "recording 'walk'" in refusal(baseline, np.full((300, 3), 0.1, dtype=np.float32))


def short_recordings_are_refused(baseline: Baseline) -> None:
    message = refusal(baseline, planted(6))
    assert "recording 'walk'" in message
    assert "6" in message


def gaps_are_other_and_never_seen(baseline: Baseline) -> None:
    """What stands in a channel while the others are silent for long cannot change a label, where that is a boundary."""
    baseline = cutting(baseline)
    values = planted(260)
    values[110:160, :-1] = np.nan
    changed = values.copy()
    changed[110:160] = np.nan
    labels = labels_of(baseline, values)
    npt.assert_array_equal(labels == OTHER, np.isnan(values[:, 0]))
    npt.assert_array_equal(labels_of(baseline, changed), labels)


def bursts_of_missing_values_do_no_harm(baseline: Baseline) -> None:
    """A radio that drops frames in bursts: stretches of every length, some too short for a window."""
    values = planted(600, 3)
    rng = np.random.default_rng(0)
    for start in rng.integers(100, 600, size=12):
        values[start : start + int(rng.integers(1, 40))] = np.nan
    labels = labels_of(baseline, values)
    long_gaps = gaps_of(values)
    npt.assert_array_equal(labels[long_gaps], OTHER)


def gaps_of(values: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Frames in runs of missing values too long to be mended."""
    runs = runs_of(np.isnan(values[:, 0]).astype(np.int32))
    long = (runs.ids == 1) & (runs.lengths > GAP_FRAMES)
    return np.repeat(long, runs.lengths)


def signal_of(baseline: Baseline, values: NDArray[np.float32]) -> Signal:
    recording = Recording(values, id="walk")
    return Preprocessor.fit([recording], baseline.config.preprocess).apply(recording)


def fitted_to(baseline: ReadingBaseline, values: NDArray[np.float32]) -> FittedBaseline:
    return baseline.fit(signal_of(baseline, values), np.random.default_rng(0))


def reading_what_was_learned_gives_the_same_labels(baseline: ReadingBaseline) -> None:
    signal = signal_of(baseline, planted())
    at_once = baseline.fit_predict(signal, np.random.default_rng(0))
    npt.assert_array_equal(baseline.fit(signal, np.random.default_rng(0)).predict(signal), at_once)


def another_recording_may_be_shorter(baseline: ReadingBaseline) -> None:
    fitted = fitted_to(baseline, planted(400))
    learned = set(fitted.predict(signal_of(baseline, planted(400))).tolist())
    for n_frames in (90, 31):
        labels = fitted.predict(signal_of(baseline, planted(400)[100 : 100 + n_frames]))
        assert labels.shape == (n_frames,)
        assert labels.dtype == np.int32
        assert (labels >= 0).all()
    assert len(learned) > 1  # else nothing was tested


def gaps_of_another_recording_are_never_seen(baseline: ReadingBaseline) -> None:
    baseline = cutting(baseline)
    fitted = fitted_to(baseline, planted(400))
    values = planted(400, seed=1)
    values[150:200, :-1] = np.nan
    changed = values.copy()
    changed[150:200] = np.nan
    labels = fitted.predict(signal_of(baseline, values))
    npt.assert_array_equal(labels == OTHER, np.isnan(values[:, 0]))
    npt.assert_array_equal(fitted.predict(signal_of(baseline, changed)), labels)


ReadingContract = Callable[[ReadingBaseline], None]
READING_CONTRACTS: tuple[ReadingContract, ...] = (
    reading_what_was_learned_gives_the_same_labels,
    another_recording_may_be_shorter,
    gaps_of_another_recording_are_never_seen,
)
CONTRACTS: tuple[Contract, ...] = (
    constant_recordings_are_refused,
    short_recordings_are_refused,
    gaps_are_other_and_never_seen,
)
AT_CORNERS: tuple[Contract, ...] = (
    states_are_numbered_as_they_appear,
    channel_scale_and_offset_do_not_matter,
    bursts_of_missing_values_do_no_harm,
)


TINY: dict[str, dict[str, Any]] = {
    "time2state": {"windows.length": 16, "windows.step": 4, "hidden_dim": 6, "depth": 3, "pooled_dim": 8, "n_steps": 2},
    "e2usd": {"windows.length": 16, "windows.step": 4, "pooled_dim": 8, "n_groups": 4, "n_steps": 2},
    "compile": {"sequence_length": 50, "hidden_dim": 8, "latent_dim": 4, "n_steps": 2},
    "autoplait": {"float_bits": 4, "max_states": 2, "n_seeds": 4},
    # Every point may found a cluster, so that nothing is noise, of which the contracts know nothing.
    "denstream": {"windows.length": 16, "windows.step": 4, "core_weight": 1, "potential_share": 1},
    "dbstream": {"windows.length": 16, "windows.step": 4, "minimum_weight": 1},
    # Every split is a change point: the planted streams are too short for the test of them.
    "clap": {"window": 10, "significance": 1.0, "n_kernels": 100},
    "ticc": {"n_states": 4, "switch_cost": 20, "n_iterations": 8, "sparsity": 1.0},
    "kmeans": {"windows.length": 16, "windows.step": 4, "n_states": 4, "n_starts": 2},
    "hdbscan": {"windows.length": 16, "windows.step": 4, "min_cluster_size": 2, "noise": "nearest"},
}

READERS = ("time2state", "e2usd", "compile", "ticc", "kmeans")


AKIN = {"time2state": "e2usd", "dbstream": "denstream", "hdbscan": "kmeans"}  # they share most of their code
EVERY = [pytest.param(name, marks=[pytest.mark.slow] if name in AKIN else []) for name in baseline_names()]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("check", checks.ALWAYS, ids=lambda check: check.__name__)
def test_check(name: str, check: checks.Check) -> None:
    check(checks.Tried(find_method(name), TINY[name]))  # asserts


@pytest.mark.parametrize("name", ["e2usd", "clap", "ticc"])
@pytest.mark.parametrize("check", checks.AT_CORNERS, ids=lambda check: check.__name__)
def test_check_at_corners(name: str, check: checks.Check) -> None:
    check(checks.Tried(find_method(name), TINY[name]))  # asserts


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(name: str, contract: Contract) -> None:
    contract(build_baseline(name, TINY[name]))  # asserts


@pytest.mark.parametrize("name", ["e2usd", "clap", "ticc"])
@pytest.mark.parametrize("contract", AT_CORNERS, ids=lambda contract: contract.__name__)
def test_contract_at_corners(name: str, contract: Contract) -> None:
    contract(build_baseline(name, TINY[name]))  # asserts


@pytest.mark.parametrize("name", ["e2usd", "ticc"])
@pytest.mark.parametrize("contract", READING_CONTRACTS, ids=lambda contract: contract.__name__)
def test_reading_contract(name: str, contract: ReadingContract) -> None:
    baseline = build_baseline(name, TINY[name])
    assert isinstance(baseline, ReadingBaseline)
    contract(baseline)  # asserts


def test_every_method_that_can_read_keeps_the_contracts() -> None:
    assert {name for name in baseline_names() if isinstance(build_baseline(name), ReadingBaseline)} == set(READERS)


@pytest.mark.parametrize("name", baseline_names())
def test_every_default_says_where_it_comes_from(name: str) -> None:
    def check(settings: Any) -> None:
        for field_name, field in type(settings).model_fields.items():
            value = getattr(settings, field_name)
            if isinstance(value, BaseModel):
                check(value)
            else:
                assert (field.description or "").startswith(("original: ", "paper: ", "ours: ")), field_name

    check(build_baseline(name).config)


def test_an_unknown_method_is_refused_with_a_hint() -> None:
    with pytest.raises(SettingError, match=r"'time2sate'.*'time2state'"):
        build_baseline("time2sate")
    with pytest.raises(SettingError, match=r"'xyz'.*time2state"):
        build_baseline("xyz")


def test_an_unknown_setting_is_refused_with_a_hint() -> None:
    with pytest.raises(SettingError, match=r"'n_step'.*'n_steps'"):
        build_baseline("time2state", {"n_step": 3})
    with pytest.raises(SettingError, match=r"^setting 'windows\.length'"):
        build_baseline("time2state", {"windows.length": "two"})


def test_building_a_method_brings_no_heavy_library() -> None:
    code = (
        "import sys, rondo_bench.baselines as b; [b.build_baseline(name) for name in b.baseline_names()];"
        "print(sorted({'torch', 'sklearn', 'polars', 'pandas', 'scipy.signal'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"
