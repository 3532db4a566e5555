"""A hidden Markov model with Gaussian states and a prior that they last: what one would try first.

L. Rabiner, "A Tutorial on Hidden Markov Models", Proc. IEEE 77(2), 1989; the extra self transitions are those of the
sticky HDP-HMM (E. Fox, E. Sudderth, M. Jordan, A. Willsky, ICML 2008), here with a fixed number of states and the most
probable parameters instead of samples. It is not in the RONDO paper; all of it is ours.

Observations are means of some frames. Neighbouring frames of a sensor are nearly the same, and a model that takes them
for independent trusts them as often over. With y the observations, EM alternates the forward-backward recursion with

    mean, variance of state k   weighted by P(state k), the variance with one more observation at that of the recording
    P(i → j)  ∝  expected moves from i to j + κ [i = j] + a little

and the labels are the most probable path. It starts from k-means. A recording that it did not learn from is read with
the same states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.errors import ModelError, RecordingError
from rondo.wording import Progress, silent
from rondo_bench.baselines.base import BaselineSettings
from rondo_bench.baselines.hmm_scans import most_probable_path, posterior
from rondo_bench.baselines.method import BaselineMethod

Array = NDArray[np.float64]

_A_LITTLE = 1e-3  # moves between any two states that nobody saw
_NAMES = ("means", "variances", "initial", "transitions")


class HMMConfig(BaselineSettings):
    """Settings of the hidden Markov model."""

    n_states: int = Field(20, description="ours: the cap that Time2State has, as nobody knows the number", ge=1)
    frames_per_step: int = Field(10, description="ours: frames averaged to one observation, 0.1 s at 100 Hz", ge=1)
    self_transitions: float = Field(100.0, description="ours: κ, in steps: ten seconds at 100 Hz", ge=0)
    n_iterations: int = Field(50, description="ours: at most; EM stops where it gains less than tolerance", ge=1)
    tolerance: float = Field(1e-3, description="ours: of the log likelihood of one step", gt=0)


@dataclass(frozen=True)
class HMM:
    """The method with its settings."""

    config: HMMConfig = field(default_factory=HMMConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One state for each frame."""
        return self.fit(signal, rng, progress).predict(signal)

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedHMM:
        """The states of one recording, and how they follow each other."""
        config = self.config
        steps = Steps.of(signal, config.frames_per_step)
        if len(steps.values) < config.n_states:
            raise RecordingError(
                f"recording '{signal.id}': hmm learns {config.n_states} states from means of {config.frames_per_step} "
                f"frames, but {signal.n_frames} frames make only {len(steps.values)}; set fewer n_states"
            )
        spread = steps.values.var(axis=0)
        spread[spread <= 0] = 1.0
        fitted = _from_centres(steps.values, spread, config, int(rng.integers(2**31)))
        before = -np.inf
        for done in range(1, config.n_iterations + 1):
            seen = posterior(fitted.log_emissions(steps.values), steps.begins, fitted.initial, fitted.transitions)
            progress("iterations", done, config.n_iterations)
            if seen.log_likelihood - before < config.tolerance * len(steps.values):
                break
            before = seen.log_likelihood
            fitted = fitted.improved(steps, seen.states, seen.moves, spread, config.self_transitions)
        return fitted

    def restore(self, tensors: Mapping[str, NDArray[np.generic]]) -> FittedHMM:
        """What was learned, from its tensors."""
        for name in _NAMES:
            if name not in tensors:
                raise ModelError(f"the hmm's tensor '{name}' is missing; fit and save the model again")
        means, variances, initial, transitions = (np.asarray(tensors[name], np.float64) for name in _NAMES)
        n_states = len(means)
        if variances.shape != means.shape or initial.shape != (n_states,) or transitions.shape != (n_states, n_states):
            raise ModelError("the hmm's tensors disagree about the number of states; fit and save the model again")
        return FittedHMM(means, variances, initial, transitions, self.config.frames_per_step)


@dataclass(frozen=True, eq=False)
class Steps:
    """A signal as observations: means of so many frames, the last of a span of fewer if need be."""

    values: Array  # (n_steps, n_channels)
    begins: NDArray[np.bool_]  # (n_steps,) the first of each span
    starts: NDArray[np.int64]  # (n_steps,) first frame
    stops: NDArray[np.int64]  # (n_steps,) after the last frame

    @classmethod
    def of(cls, signal: Signal, frames_per_step: int) -> Steps:
        starts = np.concatenate([np.arange(start, stop, frames_per_step) for start, stop in signal.spans])
        firsts = np.array([start for start, _ in signal.spans])
        ends = np.array([stop for _, stop in signal.spans])
        begins = np.isin(starts, firsts)
        stops = np.minimum(starts + frames_per_step, ends[np.cumsum(begins) - 1])
        usable = np.concatenate([signal.values[start:stop] for start, stop in signal.spans]).astype(np.float64)
        widths = stops - starts
        totals = np.add.reduceat(usable, np.cumsum(widths) - widths, axis=0)
        return cls(totals / widths[:, None], begins, starts, stops)


@dataclass(frozen=True, eq=False)
class FittedHMM:
    """States and how they follow each other."""

    means: Array  # (n_states, n_channels)
    variances: Array  # (n_states, n_channels)
    initial: Array  # (n_states,)
    transitions: Array  # (n_states, n_states), from and to
    frames_per_step: int

    def predict(self, signal: Signal) -> Labels:
        """The most probable state of each frame; OTHER in gaps."""
        steps = Steps.of(signal, self.frames_per_step)
        path = most_probable_path(self.log_emissions(steps.values), steps.begins, self.initial, self.transitions)
        labels = np.full(signal.n_frames, OTHER, dtype=np.int32)
        frames = np.concatenate([np.arange(start, stop) for start, stop in signal.spans])
        labels[frames] = np.repeat(path, steps.stops - steps.starts)
        return labels

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """All that was learned."""
        return {name: getattr(self, name) for name in _NAMES}

    def log_emissions(self, values: Array) -> Array:
        """log N(y_t; mean_k, variance_k), (n_steps, n_states)."""
        precisions = 1 / self.variances
        square = values**2 @ precisions.T - 2 * values @ (self.means * precisions).T
        constant = (self.means**2 * precisions + np.log(2 * np.pi * self.variances)).sum(axis=1)
        return np.asarray(-0.5 * (square + constant))

    def improved(self, steps: Steps, states: Array, moves: Array, spread: Array, self_transitions: float) -> FittedHMM:
        """The parameters that fit these expectations best."""
        counts = states.sum(axis=0)[:, None]
        means = np.where(counts > 1e-6, states.T @ steps.values / np.maximum(counts, 1e-6), self.means)
        squares = states.T @ steps.values**2 - 2 * means * (states.T @ steps.values) + counts * means**2
        variances = (np.maximum(squares, 0) + spread) / (counts + 1)
        first = states[steps.begins].sum(axis=0) + _A_LITTLE
        return FittedHMM(means, variances, first / first.sum(), _sticky(moves, self_transitions), self.frames_per_step)


def estimated_seconds(n_frames: int, n_channels: int, config: HMMConfig) -> float:
    """Seconds on one core, at most: all iterations, each of which reads every step a few times.

    Measured on 10,000 to 360,000 frames of 9 channels, where 9 to 15 iterations were enough (2 s for 360,000).
    """
    n_steps = n_frames / config.frames_per_step
    return 1.0 + 8e-9 * config.n_iterations * n_steps * config.n_states * (n_channels + config.n_states)


def _from_centres(values: Array, spread: Array, config: HMMConfig, seed: int) -> FittedHMM:
    from sklearn.cluster import KMeans  # slow to import

    n_states, n_channels = config.n_states, values.shape[1]
    n_different = len(np.unique(values, axis=0))
    centres = np.tile(values.mean(axis=0), (n_states, 1))
    n_centres = min(n_states, n_different)
    centres[:n_centres] = KMeans(n_centres, n_init=1, random_state=seed).fit(values).cluster_centers_
    variances = np.broadcast_to(spread, (n_states, n_channels)).copy()
    transitions = _sticky(np.ones((n_states, n_states)), config.self_transitions)
    return FittedHMM(centres, variances, np.full(n_states, 1 / n_states), transitions, config.frames_per_step)


def _sticky(moves: Array, self_transitions: float) -> Array:
    counted = moves + _A_LITTLE + self_transitions * np.eye(len(moves))
    return np.asarray(counted / counted.sum(axis=1, keepdims=True))


METHOD = BaselineMethod("hmm", HMM, "a sticky hidden Markov model with Gaussian states; --states is given")
