from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.data.signal import Signal
from rondo_bench.baselines.baseline import in_order_of_appearance
from rondo_bench.baselines.clap import CLaP, CLaPConfig, merged
from tests import naive_clap as naive
from tests.bench.baselines.gait import CLASPY, KINDS, LENGTHS, gait
from tests.bench.baselines.signals import signal_of

QUICK = CLaPConfig(n_kernels=200)
Array = NDArray[np.float64]


def predicted(signal: Signal, config: CLaPConfig = QUICK) -> NDArray[np.int32]:
    return CLaP(config).fit_predict(signal, np.random.default_rng(0))


def right(labels: NDArray[np.int32], truth: NDArray[np.int64]) -> float:
    return float((in_order_of_appearance(labels) == truth).mean())


TRUTH = np.repeat(KINDS, LENGTHS)


@pytest.mark.parametrize("n_channels", [1, 2])
def test_what_recurs_is_found_again(n_channels: int) -> None:
    assert right(predicted(signal_of(gait(n_channels, 0))), TRUTH) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("n_channels", "seed"), [(1, 0), (2, 1)])  # with (3, 0) it hangs on the draw of kernels
def test_states_are_those_of_claspy(n_channels: int, seed: int) -> None:
    labels = predicted(signal_of(gait(n_channels, seed)), CLaPConfig())
    recorded = CLASPY[n_channels, seed]
    segments = np.diff([0, *recorded.changes, len(labels)])
    npt.assert_array_equal(in_order_of_appearance(labels), np.repeat(recorded.states, segments))


def test_gaps_are_closed_up_and_never_seen() -> None:
    values = gait(2, 0)
    holed = np.insert(values, 600, np.full((50, 2), 1e6), axis=0)
    labels = predicted(signal_of(holed, ((0, 600), (650, 1980))))
    assert (labels[600:650] == OTHER).all()
    npt.assert_array_equal(np.delete(labels, np.s_[600:650]), predicted(signal_of(values)))


def test_downsampling_gives_a_state_to_each_frame_still() -> None:
    values = np.repeat(gait(2, 0), 3, axis=0)[:-1]  # the last block is short
    labels = predicted(signal_of(values), QUICK.model_copy(update={"downsample": 3}))
    assert right(labels, np.repeat(TRUTH, 3)[:-1]) > 0.97


@pytest.mark.slow
@given(st.integers(1, 6), st.integers(0, 999), st.sampled_from([0.2, 0.5, 0.9]))
@settings(max_examples=25)
def test_merging_is_that_of_relabelling(n_segments: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(n_segments), rng.integers(0, n_segments, 40)])
    guess = np.where(rng.random(truth.size) < share, truth, rng.integers(0, n_segments, truth.size))
    confusion = np.zeros((n_segments, n_segments), dtype=np.int64)
    np.add.at(confusion, (truth, guess), 1)
    npt.assert_array_equal(
        in_order_of_appearance(merged(confusion)), in_order_of_appearance(naive.merged(truth, guess))
    )
