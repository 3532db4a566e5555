"""What every baseline must do, whatever it is: each contract is a function that takes a built baseline.

They use small planted recordings. A new baseline joins `TINY`, nothing else. Contracts that cost much run for three
methods alone: a network, one of windows, and one of frames.
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

from rondo.config.overrides import changed
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.preparation import GAP_FRAMES
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.errors import InputError, SettingError
from rondo_bench.baselines.baseline import (
    Baseline,
    FittedBaseline,
    ReadingBaseline,
    baseline_names,
    build_baseline,
    label_recording,
)
from tests.contracts import planted

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


def every_frame_has_a_label(baseline: Baseline) -> None:
    for n_frames, n_channels in ((151, 1), (97, 3)):
        labels = labels_of(baseline, planted(n_frames, n_channels))
        assert labels.shape == (n_frames,)
        assert labels.dtype == np.int32
        assert (labels >= 0).all()


def every_row_has_a_label_where_rows_are_missing(baseline: Baseline) -> None:
    values, times = np.delete(planted(), [100, 101, 200], axis=0), np.delete(np.arange(300.0), [100, 101, 200])
    recording = Recording(values, id="walk", timestamps_s=times)
    labels = label_recording(recording, baseline, np.random.default_rng(0))
    assert labels.shape == (297,)
    assert (labels >= 0).all()


def states_are_numbered_as_they_appear(baseline: Baseline) -> None:
    labels = labels_of(baseline, planted(600))
    newest = np.maximum.accumulate(labels)
    assert labels[0] == 0
    assert newest[-1] >= 1  # else nothing was tested
    assert set(np.diff(newest).tolist()) <= {0, 1}


def the_same_seed_gives_the_same_labels_and_all_else_is_left_alone(baseline: Baseline) -> None:
    """Global sources of randomness, the input and the settings."""
    import torch

    values, config = planted(200), baseline.config.model_dump()
    labels = labels_of(baseline, values)
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    numpy_before, torch_before = np.random.get_state()[1].copy(), torch.random.get_rng_state()  # noqa: NPY002
    npt.assert_array_equal(labels_of(baseline, planted(200)), labels)
    npt.assert_array_equal(values, planted(200))
    assert baseline.config.model_dump() == config
    npt.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    assert torch.equal(torch.random.get_rng_state(), torch_before)


def channel_scale_and_offset_do_not_matter(baseline: Baseline) -> None:
    """Powers of two, and offsets that float32 holds exactly, so that the prepared signals are equal to the last bit."""
    values = np.round(planted() * 64) / 64
    changed = values * np.float32([4, 0.5, 64]) + np.float32([0, -8, 16])
    npt.assert_array_equal(labels_of(baseline, changed), labels_of(baseline, values))


def a_constant_channel_does_no_harm(baseline: Baseline) -> None:
    values = planted(300, 4)
    values[:, 2] = 7.5
    assert (labels_of(baseline, values) >= 0).all()


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


def labels_or_refusal(baseline: Baseline, values: NDArray[np.float32]) -> Labels | None:
    """A label for each frame, or one line that names the recording: nothing else may come of any recording."""
    try:
        labels = labels_of(baseline, values)
    except InputError as error:
        assert "\n" not in str(error)
        assert "recording 'walk'" in str(error)
        return None
    assert labels.shape == (len(values),)
    assert labels.dtype == np.int32
    assert labels.min() >= OTHER
    assert labels.max() >= 0
    return labels


def many_channels_do_no_harm(baseline: Baseline) -> None:
    """More than frames in a window, so that covariances of windows are singular."""
    labels_or_refusal(baseline, planted(150, 60))


def a_channel_twice_does_no_harm(baseline: Baseline) -> None:
    """A covariance of all frames that is singular to the last bit."""
    values = planted(300, 3)
    assert labels_or_refusal(baseline, values[:, [0, 1, 1, 2]]) is not None


def a_still_half_does_no_harm(baseline: Baseline) -> None:
    """A sensor laid aside: half of the windows are all the same, and have no spread."""
    values = planted(600, 3)
    values[300:] = values[300]
    labels_or_refusal(baseline, values)


def bursts_of_missing_values_do_no_harm(baseline: Baseline) -> None:
    """A radio that drops frames in bursts: stretches of every length, some too short for a window."""
    values = planted(600, 3)
    rng = np.random.default_rng(0)
    for start in rng.integers(100, 600, size=12):
        values[start : start + int(rng.integers(1, 40))] = np.nan
    labels = labels_or_refusal(baseline, values)
    assert labels is not None
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
    every_frame_has_a_label,
    the_same_seed_gives_the_same_labels_and_all_else_is_left_alone,
    constant_recordings_are_refused,
    short_recordings_are_refused,
    gaps_are_other_and_never_seen,
)
AT_CORNERS: tuple[Contract, ...] = (
    every_row_has_a_label_where_rows_are_missing,
    states_are_numbered_as_they_appear,
    channel_scale_and_offset_do_not_matter,
    a_constant_channel_does_no_harm,
    many_channels_do_no_harm,
    a_channel_twice_does_no_harm,
    a_still_half_does_no_harm,
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
