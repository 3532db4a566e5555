"""Time2State: a small causal network trained on one recording, a Dirichlet-process mixture on its windows, a vote.

C. Wang, K. Wu, T. Zhou, Z. Cai, "Time2State: An Unsupervised Framework for Inferring the Latent States in Time Series
Data", PACMMOD (SIGMOD) 2023. Written anew after the released code (github.com/Lab-ANT/Time2State, MIT, commit fccb11c),
whose constants stand in the settings below. What differs from that code, and why:

- A recording comes prepared as for Rondo, each channel with its own mean and deviation, so that units of measurement do
  not matter. The released scripts give MoCap as it is and scale channels to [0, 1] elsewhere. Both then take one mean
  and one deviation over all channels. ARI on MoCap, mean of seeds 0 and 1: 79.8 with channels scaled, 76.5
  without (`preprocess.scaling = "none"`), which lies within the spread of seeds; the released code reached 74.6.
- The network trains on windows as long as those it embeds. The released scripts mean to set that length, but under a
  name which the encoder refuses, so that it stays 256 (the same on MoCap).
- Training windows come from all of a recording. The released code leaves out the last window length, and so cannot
  train on a recording shorter than two windows.
- Frames after the last window take its label, not 0; windows do not cross gaps, and frames that no window can reach
  are OTHER.
- Single instead of double precision in the network, and no work on padding (see `time2state_net`): about a tenth of the
  CPU time of the released code on the longest MoCap recording.
- Every draw comes from one generator; the released code is not seeded.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.baselines.base import BaselineSettings, Frozen, in_order_of_appearance
from rondo.config import Duration, WindowsConfig
from rondo.data.labels import Labels
from rondo.data.preprocess import Signal
from rondo.data.recording import Values
from rondo.data.suggest import window_and_step
from rondo.data.windows import WindowGrid, Windows
from rondo.errors import RecordingError, RondoWarning
from rondo.training.progress import Progress, silent

_MIXTURE_ITERATIONS = 1000  # released code
_VARIANCE_FLOOR = 1e-6  # scikit-learn's default


class Time2StateWindows(Frozen):
    """Which windows are embedded, and trained on."""

    length: Duration = Field(256, description="original: script for MoCap; 128 on ActRecTut, 512 on PAMAP2")
    step: Duration = Field(50, description="original: scripts for MoCap and ActRecTut; 100 on PAMAP2")


class Time2StateConfig(BaselineSettings):
    """Settings of Time2State; `original` is the released code, which the RONDO paper runs unchanged."""

    windows: Time2StateWindows = Time2StateWindows()
    hidden_dim: int = Field(30, description="original: channels", ge=1)
    depth: int = Field(10, description="original: blocks of hidden_dim, before one of pooled_dim", ge=0)
    pooled_dim: int = Field(80, description="original: reduced_size", ge=1)
    output_dim: int = Field(4, description="original: out_channels; 9 on PAMAP2", ge=1)
    n_groups: int = Field(10, description="original: M, default and MoCap; 20 on ActRecTut and PAMAP2", ge=2)
    group_size: int = Field(4, description="original: N", ge=2)
    n_steps: int = Field(20, description="original: nb_steps; 40 on PAMAP2", ge=0)
    learning_rate: float = Field(3e-3, description="original: lr", gt=0)
    component_cap: int = Field(20, description="original: n_states when not told", ge=1)
    concentration: float = Field(1e3, description="original: alpha", gt=0)
    fit_share: float = Field(
        1.0,
        description="ours: of the recording, from its start, that is learned from; 0.2 is RONDO's Time2State@20",
        gt=0,
        le=1,
    )


@dataclass(frozen=True)
class Time2State:
    """The method with its settings."""

    config: Time2StateConfig = field(default_factory=Time2StateConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One state for each frame."""
        from rondo.baselines.time2state_net import learned_embeddings  # brings torch, which takes seconds to import

        config = self.config
        length, step = window_and_step([signal], WindowsConfig(**config.windows.model_dump()))
        _refuse_short(signal, length, config.group_size, config.fit_share)
        windows = Windows(standardised(signal), WindowGrid(length, step, signal.n_frames, signal.spans))
        network_seed, mixture_seed = rng.integers(2**31, size=2).tolist()
        embeddings = learned_embeddings(windows, config, network_seed, progress)
        ends = windows.grid.starts + length
        n_learned = max(2, int((ends <= config.fit_share * signal.n_frames).sum()))
        return voted(states_of(embeddings, config, mixture_seed, n_learned), windows.grid)


def standardised(signal: Signal) -> Values:
    """The values with one mean and one deviation, both over all channels and all frames that windows may use."""
    usable = np.concatenate([signal.values[start:stop] for start, stop in signal.spans]).astype(np.float64)
    mean, deviation = usable.mean(), usable.std()
    if deviation <= max(1e-6 * abs(mean), float(np.finfo(np.float32).tiny)):
        raise RecordingError(
            f"recording '{signal.id}': all values are the same, nothing can recur; check the file and its columns"
        )
    return np.asarray((signal.values - mean) / deviation, dtype=np.float32)


def states_of(
    embeddings: NDArray[np.float64], config: Time2StateConfig, seed: int, n_learned: int | None = None
) -> Labels:
    """A state for each window, 0, 1, … in order of appearance: its component in a truncated Dirichlet-process mixture.

    The mixture is fitted to the first `n_learned` windows, all unless given.

    The prior of the covariances is scikit-learn's own, the covariance of all embeddings, with the floor that it gives
    to variances added, so that few different windows do not make it singular.
    """
    n_windows, n_dims = embeddings.shape
    if n_windows < 2:
        return np.zeros(n_windows, dtype=np.int32)
    from sklearn.exceptions import ConvergenceWarning  # slow to import
    from sklearn.mixture import BayesianGaussianMixture

    learned = embeddings[:n_learned]
    mixture = BayesianGaussianMixture(
        n_components=min(config.component_cap, len(learned)),
        weight_concentration_prior=config.concentration,
        covariance_prior=np.atleast_2d(np.cov(learned.T)) + _VARIANCE_FLOOR * np.eye(n_dims),
        reg_covar=_VARIANCE_FLOOR,
        max_iter=_MIXTURE_ITERATIONS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, in one line
        components = mixture.fit(learned).predict(embeddings)
    if not mixture.converged_:
        warnings.warn(
            f"time2state: the mixture had not settled after {_MIXTURE_ITERATIONS} iterations; its states may be "
            "arbitrary, try another seed",
            RondoWarning,
            stacklevel=2,
        )
    return in_order_of_appearance(components)


def voted(states: Labels, grid: WindowGrid) -> Labels:
    """The state of most windows that cover a frame, of several the one that appeared first.

    Frames of a span after its last window take that window's state; frames that no window can reach are OTHER.
    """
    track = grid.project(states, "start")
    most = np.zeros(grid.n_frames, dtype=np.int64)
    for state in range(int(states.max(initial=-1)) + 1):
        begun = grid.starts[states == state]
        changes = np.bincount(begun, minlength=grid.n_frames + 1)
        changes -= np.bincount(begun + grid.length_frames, minlength=grid.n_frames + 1)
        votes = np.cumsum(changes[:-1])
        track[votes > most] = state
        np.maximum(most, votes, out=most)
    return track


def _refuse_short(signal: Signal, length: int, group_size: int, fit_share: float) -> None:
    learned = fit_share * signal.n_frames
    longest = max(int(min(stop, learned)) - start for start, stop in signal.spans)
    if longest < length + group_size - 1:
        raise RecordingError(
            f"recording '{signal.id}': time2state trains on {group_size} windows one frame apart, which takes "
            f"{length + group_size - 1} frames, but the longest unbroken stretch has {longest}; choose a shorter window"
        )
