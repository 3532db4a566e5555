"""Signals scaled, channels chosen, axes shared: against plain numpy and scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.errors import InputError, SettingError
from tests import naive_preprocess as naive
from tests.systems import needs_posix

NAN = float("nan")


def noise(n_frames: int, n_channels: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(n_frames, n_channels)).astype(np.float32)


def refusal(action: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(InputError) as caught:
        action(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------- channels and scaling


def test_channels_come_in_the_order_asked_for() -> None:
    first = Recording(noise(30, 3, seed=1), channels=("x", "y", "z"))
    other = Recording(noise(30, 3, seed=2), channels=("z", "w", "x"))
    preprocessor = Preprocessor.fit([first, other], PreprocessConfig(channels=("z", "x"), scaling="none"))
    for recording in (first, other):
        signal = preprocessor.apply(recording)
        assert signal.channels == ("z", "x")
        for c, name in enumerate(("z", "x")):
            npt.assert_array_equal(signal.values[:, c], recording.values[:, recording.channels.index(name)])


def test_channels_that_do_not_exist_are_refused() -> None:
    recording = Recording(noise(9, 2), channels=("x", "y"), id="a")
    says = refusal(Preprocessor.fit, [recording], PreprocessConfig(channels=("x", "yy")))
    assert "preprocess.channels names 'yy'" in says and "it has 'x', 'y'" in says
    says = refusal(Preprocessor.fit, [recording], PreprocessConfig(channels=("x", "x")))
    assert "preprocess.channels names 'x' twice" in says
    other = Recording(noise(9, 2), channels=("x", "w"), id="b")
    expected = "recording 'b' lacks the channel 'y'; expected 'x', 'y', it has 'x', 'w'; leave this recording out, "
    expected += "or give its columns the same names"
    assert refusal(Preprocessor.fit, [recording, other], PreprocessConfig()) == expected
    assert refusal(Preprocessor.fit([recording], PreprocessConfig()).apply, other) == expected


@pytest.mark.parametrize("scaling", ["channel", "global", "none"])
@pytest.mark.parametrize("statistics", ["recording", "dataset"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**16), n=st.integers(5, 60))
def test_scaling_is_that_of_the_twin(scaling: Any, statistics: Any, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    spread, offset = rng.uniform(0.1, 10, 3), rng.uniform(-50, 50, 3)
    recordings = [Recording(rng.normal(size=(n + extra, 3)) * spread + offset) for extra in (0, 7)]
    preprocessor = Preprocessor.fit(recordings, PreprocessConfig(scaling=scaling, statistics=statistics))
    pooled = np.concatenate([recording.values for recording in recordings]).astype(np.float64)
    for recording in recordings:
        values = recording.values.astype(np.float64)
        expected = naive.standardised(values, pooled if statistics == "dataset" else values, scaling)
        signal = preprocessor.apply(recording)
        assert signal.values.dtype == np.float32
        npt.assert_allclose(signal.values, expected, rtol=1e-5, atol=1e-5)


def test_statistics_leave_holes_out_and_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    values = noise(400, 2) * 3 + 8
    holed = values.copy()
    holed[100:200, 0] = NAN
    recording = Recording(holed)
    whole = Preprocessor.fit([recording], PreprocessConfig(max_gap=5, dropouts="cut")).apply(recording)
    present = np.delete(values, np.arange(100, 200), axis=0).astype(np.float64)
    expected = (present - present.mean(axis=0)) / present.std(axis=0)
    npt.assert_allclose(np.delete(whole.values, np.arange(100, 200), axis=0), expected, rtol=1e-5, atol=1e-5)
    for module in ("scaling", "signal", "preparation", "moments", "gaps"):
        monkeypatch.setattr(f"rondo.data.{module}.BLOCK", 7)
    small = Preprocessor.fit([recording], PreprocessConfig(max_gap=5, dropouts="cut")).apply(recording)
    npt.assert_allclose(small.values, whole.values, rtol=1e-6, atol=1e-6)
    assert small.spans == whole.spans == ((0, 100), (200, 400))


@pytest.mark.parametrize("offset", [1e4, -1e4, 1e5])
def test_a_small_spread_on_a_large_offset_is_still_standardised(offset: float) -> None:
    recording = Recording(noise(200_000, 2) + np.float32(offset))
    values = Preprocessor.fit([recording], PreprocessConfig()).apply(recording).values.astype(np.float64)
    npt.assert_allclose(values.mean(axis=0), 0, atol=1e-5)
    npt.assert_allclose(values.std(axis=0), 1, atol=1e-5)


@pytest.mark.parametrize("unit", [1e-9, 1e-30, 1e30])
def test_the_unit_of_a_channel_does_not_matter(unit: float) -> None:
    values = noise(500, 2)
    plain, scaled = Recording(values), Recording(values * np.float32(unit))
    config = PreprocessConfig()
    expected = Preprocessor.fit([plain], config).apply(plain)
    signal = Preprocessor.fit([scaled], config).apply(scaled)
    npt.assert_allclose(signal.values, expected.values, rtol=1e-4, atol=1e-5)
    assert signal.notes == ()


@pytest.mark.parametrize("statistics", ["recording", "dataset"])
@pytest.mark.parametrize("scaling", ["channel", "global"])
def test_constant_channels_become_zero_and_are_noted(statistics: Any, scaling: Any) -> None:
    values = noise(300, 3)
    values[:, 1] = 12345.678
    recording = Recording(values, channels=("x", "battery", "z"))
    config = PreprocessConfig(scaling=scaling, statistics=statistics)
    signal = Preprocessor.fit([recording], config).apply(recording)
    assert not signal.values[:, 1].any()
    assert [note.partition(": ")[2] for note in signal.notes] == ["'battery'"]
    others = Recording(values[:, [0, 2]], channels=("x", "z"))
    alone = Preprocessor.fit([others], config).apply(others)  # and they do not touch the scale of the rest
    npt.assert_allclose(signal.values[:, [0, 2]], alone.values, rtol=1e-6)


@pytest.mark.parametrize("statistics", ["recording", "dataset"])
def test_a_recording_of_nothing_but_constants_is_refused(statistics: Any) -> None:
    recording = Recording(np.full((100, 2), 0.1), id="off")

    def run() -> None:
        Preprocessor.fit([recording], PreprocessConfig(statistics=statistics)).apply(recording)

    assert "recording 'off': every channel" in refusal(run)


def test_one_recording_of_constants_is_fine_where_the_data_set_varies() -> None:
    moving, still = Recording(noise(100, 2)), Recording(np.full((100, 2), 3.0))
    preprocessor = Preprocessor.fit([moving, still], PreprocessConfig(statistics="dataset"))
    assert np.ptp(preprocessor.apply(still).values) < 3
    assert preprocessor.apply(still).notes == ()


# ---------------------------------------------------------------- PCA


@pytest.mark.parametrize("scaling", ["channel", "global", "none"])
@pytest.mark.parametrize("statistics", ["recording", "dataset"])
def test_axes_are_those_of_scikit_learn(scaling: Any, statistics: Any) -> None:
    rng = np.random.default_rng(5)
    recordings = [Recording(rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) + 20) for n in (300, 400)]
    config = PreprocessConfig(scaling=scaling, statistics=statistics)
    scaled = [Preprocessor.fit(recordings, config).apply(recording).values for recording in recordings]
    reference = PCA(3).fit(np.concatenate(scaled).astype(np.float64))
    preprocessor = Preprocessor.fit(recordings, config.model_copy(update={"pca_components": 3}))
    axes = preprocessor.components
    npt.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    npt.assert_allclose(np.abs((axes * reference.components_).sum(axis=1)), 1, atol=1e-6)
    for recording, values in zip(recordings, scaled, strict=True):
        signal = preprocessor.apply(recording)
        assert signal.channels == ("pc0", "pc1", "pc2")
        npt.assert_allclose(signal.values, values @ axes.T, rtol=1e-3, atol=1e-3)


def test_signs_of_axes_repeat_and_too_many_are_refused() -> None:
    recording = Recording(noise(100, 4))
    axes = Preprocessor.fit([recording], PreprocessConfig(pca_components=4)).components
    assert (axes[np.arange(4), np.abs(axes).argmax(axis=1)] > 0).all()
    with pytest.raises(SettingError, match="pca_components = 5"):
        Preprocessor.fit([recording], PreprocessConfig(pca_components=5))


# ---------------------------------------------------------------- manners


@pytest.mark.parametrize("changes", [{}, {"scaling": "none"}, {"pca_components": 1}, {"statistics": "dataset"}])
def test_inputs_are_never_changed(changes: dict[str, Any]) -> None:
    values = noise(60, 2)
    values[10:12, 0] = NAN
    times = np.arange(60) / 10 + np.where(np.arange(60) > 30, 0.17, 0)
    before = values.copy(), times.copy()
    recording = Recording(values, timestamps_s=times)
    Preprocessor.fit([recording], PreprocessConfig(**changes)).apply(recording)
    npt.assert_array_equal(values, before[0])
    npt.assert_array_equal(times, before[1])
    npt.assert_array_equal(recording.values, before[0])


MEMORY = """
import resource, sys
import numpy as np
from rondo.config.settings import PreprocessConfig
from rondo.data.scaling import Preprocessor
from rondo.data.recording import Recording

n_frames, n_channels = int(sys.argv[1]), int(sys.argv[2])
values = np.random.default_rng(0).standard_normal((n_frames, n_channels), dtype=np.float32)
values[1000:1010, 0] = np.nan
times = np.arange(n_frames) / 100
times[n_frames // 2 :] += 0.013
recording = Recording(values, rate=100, timestamps_s=times)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
signal = Preprocessor.fit([recording], PreprocessConfig()).apply(recording)
assert signal.frame_of_row is not None
print((peak() - before) / values.nbytes)
"""


@pytest.mark.slow
@needs_posix
def test_memory_stays_near_two_recordings() -> None:
    arguments = [sys.executable, "-c", MEMORY, "600000", "30"]
    finished = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert float(finished.stdout) < 2.6
