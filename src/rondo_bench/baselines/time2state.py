"""Time2State: a small causal network trained on one recording, a Dirichlet-process mixture on its windows, a vote.

C. Wang, K. Wu, T. Zhou, Z. Cai, "Time2State: An Unsupervised Framework for Inferring the Latent States in Time Series
Data", PACMMOD (SIGMOD) 2023. Own code after the released code (github.com/Lab-ANT/Time2State, MIT, commit fccb11c),
whose constants stand in the settings below. What differs from that code, and why:

- A recording comes prepared as for Rondo, each channel with its own mean and deviation, so that units of measurement do
  not matter. The released scripts give MoCap as it is (`preprocess.scaling = "none"`; within the spread of seeds) and
  scale channels to [0, 1] elsewhere. Both then take one mean and one deviation over all channels.
- The network trains on windows as long as those it embeds. The released scripts mean to set that length, but under a
  name which the encoder refuses, so that it stays 256 (`windows.training = 256`).
- Training windows come from all of a recording. The released code leaves out the last window length, and so cannot
  train on a recording shorter than two windows.
- Frames after the last window take its label, not 0; windows do not cross gaps, and frames that no window can reach
  are OTHER.
- Single instead of double precision, no work on padding (`window_nets`), and every draw from one generator; the
  released code is not seeded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from pydantic import Field

from rondo.data.labels import Labels
from rondo.data.signal import Signal
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import BaselineMethod
from rondo_bench.baselines.window_states import WindowStates, WindowStatesConfig, learn, window_costs

_NAME = "time2state"


class Time2StateConfig(WindowStatesConfig):
    """Settings of Time2State; `original` is the released code, which the RONDO paper runs unchanged."""

    hidden_dim: int = Field(30, description="original: channels", ge=1)
    depth: int = Field(10, description="original: blocks of hidden_dim, before one of pooled_dim", ge=0)
    n_groups: int = Field(10, description="original: M, default and MoCap; 20 on ActRecTut and PAMAP2", ge=2)
    n_steps: int = Field(20, description="original: nb_steps; 40 on PAMAP2", ge=0)


@dataclass(frozen=True)
class Time2State:
    config: Time2StateConfig = field(default_factory=Time2StateConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One state for each frame: what `fit` learns, reading the signal it was learned from."""
        return self._learn(signal, rng, progress)[1]

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> WindowStates:
        return self._learn(signal, rng, progress)[0]

    def _learn(self, signal: Signal, rng: np.random.Generator, progress: Progress) -> tuple[WindowStates, Labels]:
        from rondo_bench.baselines.window_nets import CausalNet  # brings torch, which takes seconds to import

        return learn(signal, self.config, CausalNet.trained, _NAME, rng, progress)


def estimated_seconds(n_frames: int, n_channels: int, config: Time2StateConfig) -> float:
    """Seconds on one core: products of the network, in training two and a half times as dear, and the mixture.

    Fitted to planted streams: 9 channels of 10,000 and 100,000 frames took 3.1 and 6.7 s.
    """
    hidden, pooled = config.hidden_dim, config.pooled_dim
    products = 3 * hidden * (n_channels + hidden) + 6 * (config.depth - 1) * hidden**2 + 3 * pooled * (hidden + pooled)
    trained_on, embedded, mixture_s = window_costs(n_frames, config)
    return products * (1.7e-10 * trained_on + 6.5e-11 * embedded) + mixture_s


METHOD = BaselineMethod(
    "time2state", Time2State, "Time2State: a contrastive encoder and a Dirichlet process mixture", is_network=True
)
