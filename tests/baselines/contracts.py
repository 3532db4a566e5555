"""What every baseline must do, whatever it is: each contract is a function that takes a built baseline.

They use small planted recordings. A new baseline joins `TINY` in `test_contracts.py`, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.baselines import Baseline, label_recording
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.errors import InputError
from tests.contracts import planted

Contract = Callable[[Baseline], None]


def labels_of(baseline: Baseline, values: NDArray[np.float32], seed: int = 0) -> Labels:
    return label_recording(Recording(values, id="walk"), baseline, np.random.default_rng(seed))


def refusal(baseline: Baseline, values: NDArray[np.float32]) -> str:
    with pytest.raises(InputError) as caught:
        labels_of(baseline, values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def every_frame_has_a_label(baseline: Baseline) -> None:
    for n_frames, n_channels in ((300, 3), (301, 1), (97, 2)):
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


def same_seed_same_labels(baseline: Baseline) -> None:
    npt.assert_array_equal(labels_of(baseline, planted(), seed=3), labels_of(baseline, planted(), seed=3))


def global_randomness_is_neither_used_nor_disturbed(baseline: Baseline) -> None:
    import torch

    labels = labels_of(baseline, planted())
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    numpy_before, torch_before = np.random.get_state()[1].copy(), torch.random.get_rng_state()  # noqa: NPY002
    npt.assert_array_equal(labels_of(baseline, planted()), labels)
    npt.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    assert torch.equal(torch.random.get_rng_state(), torch_before)


def input_and_settings_are_left_alone(baseline: Baseline) -> None:
    values = planted()
    before, config = values.copy(), baseline.config.model_dump()
    labels_of(baseline, values)
    npt.assert_array_equal(values, before)
    assert baseline.config.model_dump() == config


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
    """What stands in a channel while another is silent for long cannot change a label."""
    values = planted(400)
    values[150:200, 0] = np.nan
    changed = values.copy()
    changed[150:200, 1:] = np.nan
    labels = labels_of(baseline, values)
    npt.assert_array_equal(labels == OTHER, np.isnan(values[:, 0]))
    npt.assert_array_equal(labels_of(baseline, changed), labels)


CONTRACTS: tuple[Contract, ...] = (
    every_frame_has_a_label,
    every_row_has_a_label_where_rows_are_missing,
    states_are_numbered_as_they_appear,
    same_seed_same_labels,
    global_randomness_is_neither_used_nor_disturbed,
    input_and_settings_are_left_alone,
    channel_scale_and_offset_do_not_matter,
    a_constant_channel_does_no_harm,
    constant_recordings_are_refused,
    short_recordings_are_refused,
    gaps_are_other_and_never_seen,
)
