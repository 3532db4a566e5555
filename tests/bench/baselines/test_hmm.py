from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.errors import ModelError, RecordingError
from rondo.metrics.scores import evaluate
from rondo_bench.baselines import hmm_scans
from rondo_bench.baselines.hmm import HMM, HMMConfig, Steps, estimated_seconds
from rondo_bench.baselines.hmm_scans import most_probable_path, posterior
from tests import naive_hmm as naive
from tests.contracts import planted

TINY = HMMConfig(n_states=3, frames_per_step=2, self_transitions=5, n_iterations=6)


def signal_of(values: NDArray[np.float32], spans: tuple[Span, ...] | None = None) -> Signal:
    n_frames, n_channels = values.shape
    names = tuple(f"c{i}" for i in range(n_channels))
    return Signal("walk", values, None, names, spans or ((0, n_frames),), n_frames)


def chain(
    n_steps: int, memory: float, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Log emissions, beginnings, initial and transition probabilities; `memory` makes states last."""
    rng = np.random.default_rng(seed)
    begins = np.isin(np.arange(n_steps), [0, 1, 40, 64, 130])
    transitions = rng.dirichlet(np.ones(3), size=3) + memory * np.eye(3)
    emissions = rng.normal(size=(n_steps, 3)) * (0.05 if memory else 2.0)
    return emissions, begins, rng.dirichlet(np.ones(3)), transitions / transitions.sum(axis=1, keepdims=True)


# 500: a state lasts for longer than a block, and observations say next to nothing
@pytest.mark.parametrize("memory", [0.0, 500.0])
@pytest.mark.parametrize("shortest", [1, 7, 64, 1000])
def test_blocks_change_nothing(memory: float, shortest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hmm_scans, "_SHORTEST", shortest)
    given_ = chain(203, memory)
    ours = posterior(*given_)
    states, moves, likelihood = naive.posterior(*given_)
    npt.assert_allclose(ours.states, states, atol=1e-8)
    npt.assert_allclose(ours.moves, moves, atol=1e-6)
    npt.assert_allclose(ours.log_likelihood, likelihood, rtol=1e-9)
    emissions, begins, initial, transitions = given_
    path = most_probable_path(*given_).tolist()
    assert len(path) == 203
    for first, stop in naive.stretches(begins):
        part = emissions[first:stop]
        npt.assert_allclose(
            naive.path_score(path[first:stop], part, initial, transitions),
            naive.best_score(part, initial, transitions),
            rtol=1e-9,
        )


def test_steps_are_means_that_cross_no_gap() -> None:
    values = np.arange(20, dtype=np.float32)[:, None]
    steps = Steps.of(signal_of(values, ((0, 7), (10, 11), (12, 18))), 3)
    assert steps.values[:, 0].tolist() == [1, 4, 6, 10, 13, 16]
    assert steps.begins.tolist() == [True, False, False, True, True, False]
    assert steps.starts.tolist() == [0, 3, 6, 10, 12, 15]
    assert steps.stops.tolist() == [3, 6, 7, 11, 15, 18]


def test_learning_never_lowers_the_likelihood_without_a_prior() -> None:
    signal = signal_of(planted(400))
    steps = Steps.of(signal, 2)
    likelihoods = []
    for n_iterations in range(1, 8):
        config = TINY.model_copy(update={"n_iterations": n_iterations, "self_transitions": 0.0, "tolerance": 1e-12})
        fitted = HMM(config).fit(signal, np.random.default_rng(0))
        emissions = fitted.log_emissions(steps.values)
        likelihoods.append(posterior(emissions, steps.begins, fitted.initial, fitted.transitions).log_likelihood)
    gains = np.diff(likelihoods)
    assert (gains > -1.0).all()  # one observation at the recording's variance, and a few moves, are prior
    assert likelihoods[-1] > likelihoods[0] + 20


def test_parameters_are_those_of_the_frames_that_a_state_holds() -> None:
    fitted = HMM(TINY).fit(signal_of(planted(100)), np.random.default_rng(0))
    steps = Steps.of(signal_of(planted(100), ((0, 50), (60, 100))), 2)
    held = np.arange(len(steps.values)) // 7 % 2  # the third state holds nothing
    moves = np.array([[30.0, 4, 0], [5, 20, 0], [0, 0, 0]])
    spread = np.array([1.0, 2, 3])
    better = fitted.improved(steps, np.eye(3)[held], moves, spread, self_transitions=5)
    for k in (0, 1):
        own = steps.values[held == k]
        npt.assert_allclose(better.means[k], own.mean(axis=0))
        squares = ((own - own.mean(axis=0)) ** 2).sum(axis=0)
        npt.assert_allclose(better.variances[k], (squares + spread) / (len(own) + 1))
    npt.assert_allclose(better.means[2], fitted.means[2])
    npt.assert_allclose(better.variances[2], spread)
    npt.assert_allclose(better.transitions[1], np.array([5.001, 25.001, 0.001]) / 30.003)
    firsts = np.bincount(held[[0, 25]], minlength=3)
    npt.assert_allclose(better.initial, (firsts + 0.001) / 2.003)


def test_states_that_last_are_found_again() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2, 0, 2, 1], 200)
    values = (np.eye(3)[truth] * 3 + rng.normal(size=(1200, 3))).astype(np.float32)
    labels = HMM(TINY).fit_predict(signal_of(values), np.random.default_rng(1))
    assert evaluate({"walk": (truth, labels)}).average.ari > 97


def test_the_prior_makes_states_last() -> None:
    values = planted(1000)
    switches = [
        int((np.diff(HMM(config).fit_predict(signal_of(values), np.random.default_rng(0))) != 0).sum())
        for config in (TINY, TINY.model_copy(update={"self_transitions": 1e5}))
    ]
    assert switches[1] < switches[0]


def test_emissions_are_gaussian() -> None:
    fitted = HMM(TINY).fit(signal_of(planted(100)), np.random.default_rng(0))
    values = planted(5, seed=3).astype(float)
    for t, k in ((0, 0), (3, 2)):
        spread = fitted.variances[k]
        expected = -0.5 * (((values[t] - fitted.means[k]) ** 2) / spread + np.log(2 * np.pi * spread)).sum()
        npt.assert_allclose(fitted.log_emissions(values)[t, k], expected)


def test_gaps_are_other() -> None:
    labels = HMM(TINY).fit_predict(signal_of(planted(100), ((0, 61), (80, 81), (90, 95))), np.random.default_rng(0))
    known = np.r_[0:61, 80, 90:95]
    assert (labels[known] >= 0).all()
    assert (np.delete(labels, known) == OTHER).all()


def test_too_few_steps_and_damaged_tensors_are_refused() -> None:
    with pytest.raises(RecordingError, match=r"recording 'walk': hmm learns 3 states .* 4 frames make only 2"):
        HMM(TINY).fit(signal_of(planted(4)), np.random.default_rng(0))
    tensors = HMM(TINY).fit(signal_of(planted(100)), np.random.default_rng(0)).tensors()
    with pytest.raises(ModelError, match="'initial' is missing"):
        HMM(TINY).restore({name: tensor for name, tensor in tensors.items() if name != "initial"})
    with pytest.raises(ModelError, match="disagree"):
        HMM(TINY).restore({**tensors, "initial": tensors["initial"][:2]})


def test_estimate_grows_with_the_recording() -> None:
    assert estimated_seconds(1_000_000, 9, HMMConfig()) > 5 * estimated_seconds(100_000, 9, HMMConfig())
