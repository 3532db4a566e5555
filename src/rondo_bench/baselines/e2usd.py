"""E2USD: two frozen random views of compressed windows, a contrast without false negatives, a mixture, a vote.

Z. Lai, H. Li, D. Zhang, Y. Zhao, W. Qian, C. S. Jensen, "E2Usd: Efficient-yet-effective Unsupervised State Detection
for Multivariate Time Series", WWW 2024. Own code from the paper and from what the released code does
(github.com/AI4CTS/E2Usd, commit 7fc34e4, which has no licence). Its constants stand in the settings below. What differs
from that code, and why:

- The band of frequencies is the lowest, as in the code; the paper describes a choice by energy.
- Preparation, training windows, frames after the last window, gaps and draws are those of Time2State, whose module says
  why; single instead of double precision in the network.
- The pairs of the loss are matrix products, and no gradient passes through the frozen part (`window_nets`).

The online mode (adaTD) asks the mixture about a window only where it no longer looks like the last change. Kept are the
embedding e* of the window where the state last changed, that state, and a threshold τ, which starts at 1. For each
window, in order, with its embedding e:

    e · e* ≥ τ            the state stays, the mixture is not asked,            τ ← τ (1 + rise)
    else, ask:  a change  the new state and its embedding are kept,             τ ← τ (1 + rise)
                the same  the state stays, e* too: the threshold was too high,  τ ← τ (1 − fall)

The released method of that name cannot run: it uses attributes and functions that exist nowhere. This is its control
flow with the mixture that was fitted before, frozen, so that ids are stable; rise 0.08 and fall 0.1 are δ_i and δ_r of
the paper's appendix. Products of embeddings, not cosines, meet the threshold, as in the code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.data.labels import Labels
from rondo.data.signal import Signal
from rondo.errors import RecordingError
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import BaselineMethod
from rondo_bench.baselines.window_states import WindowStates, WindowStatesConfig, learn, voted, window_costs

_NAME = "e2usd"
_SHORTEST = 4  # frames of a window: fewer are compressed to fewer samples than a filter has taps


class E2USDConfig(WindowStatesConfig):
    """Settings of E2USD; `original` is the released code, which the RONDO paper runs unchanged."""

    n_bins: int = Field(33, description="original: trade_off_freq, the lowest frequencies of a window, kept", ge=3)
    negative_share: float = Field(0.5, description="original: half of the pairs are kept as negatives", gt=0, le=1)
    online: bool = Field(False, description="ours: the released online mode cannot run, and RONDO does not use it")
    threshold: float = Field(1.0, description="original: appendix, of the online mode, at its start", gt=0)
    threshold_rise: float = Field(0.08, description="original: appendix, δ_i of the online mode", ge=0)
    threshold_fall: float = Field(0.1, description="original: appendix, δ_r of the online mode", ge=0, lt=1)


@dataclass(frozen=True, eq=False)
class FittedE2USD:
    """What was learned from one recording, and how it reads: all windows at once, or one after another."""

    learned: WindowStates
    config: E2USDConfig

    def predict(self, signal: Signal) -> Labels:
        """One state for each frame; in the online mode, from windows read in order."""
        if not self.config.online:
            return self.learned.predict(signal)
        windows, components = self.learned.windows_of(signal), self.learned.components
        embeddings = self.learned.net.embed(windows)
        states, _ = read_online(embeddings, lambda one: int(components.states_of(one[None])[0]), self.config)
        return voted(states, windows.grid)


@dataclass(frozen=True)
class E2USD:
    config: E2USDConfig = field(default_factory=E2USDConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One state for each frame: what `fit` learns, reading the signal it was learned from."""
        if self.config.online:
            return self.fit(signal, rng, progress).predict(signal)
        return self._learn(signal, self.config, rng, progress)[1]

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedE2USD:
        """What is learned from this signal; in the online mode, from its first `fit_share` and nothing after it."""
        if not self.config.online:
            return FittedE2USD(self._learn(signal, self.config, rng, progress)[0], self.config)
        first, all_of_it = _beginning(signal, self.config.fit_share), self.config.model_copy(update={"fit_share": 1.0})
        return FittedE2USD(self._learn(first, all_of_it, rng, progress)[0], self.config)

    def _learn(
        self, signal: Signal, config: E2USDConfig, rng: np.random.Generator, progress: Progress
    ) -> tuple[WindowStates, Labels]:
        from rondo_bench.baselines.window_nets import TwoViewNet  # brings torch, which takes seconds to import

        return learn(signal, config, TwoViewNet.trained, _NAME, rng, progress, shortest=_SHORTEST)


def _beginning(signal: Signal, share: float) -> Signal:
    """The first part of a signal; what comes after it cannot be seen in it."""
    n_frames = int(share * signal.n_frames)
    spans = tuple((start, min(stop, n_frames)) for start, stop in signal.spans if start < n_frames)
    if not spans:
        raise RecordingError(
            f"recording '{signal.id}': the first {n_frames} frames (fit_share = {share:g}) hold nothing to learn from; "
            "choose a larger share"
        )
    return replace(signal, values=signal.values[:n_frames], spans=spans, n_rows=n_frames, frame_of_row=None)


def estimated_seconds(n_frames: int, n_channels: int, config: E2USDConfig) -> float:
    """Seconds on one core: products of the frozen part for each window, the steps of training, and the mixture.

    Fitted to planted streams: 9 channels of 10,000 and 100,000 frames took 0.2 and 0.9 s, 60 of 10,000 0.5 s.
    """
    products = 4 * config.n_bins * n_channels * (1 + config.pooled_dim / 40)  # for each frame of a window
    trained_on, embedded, mixture_s = window_costs(n_frames, config)
    return 5e-11 * products * (trained_on + embedded) + 3e-3 * config.n_steps + mixture_s


Ask = Callable[[NDArray[np.float64]], int]
"""The state of one embedding (n_dims,): one clustering call."""


def read_online(embeddings: NDArray[np.float64], ask: Ask, config: E2USDConfig) -> tuple[Labels, int]:
    """A state for each window (n_windows, n_dims), read in order, and how many the mixture was asked about."""
    states, n_asked, threshold = np.empty(len(embeddings), dtype=np.int32), 0, config.threshold
    last: NDArray[np.float64] | None = None  # the embedding of the window where the state last changed
    state = -1
    for i, embedding in enumerate(embeddings):
        if last is not None and float(last @ embedding) >= threshold:
            threshold *= 1 + config.threshold_rise
        else:
            n_asked += 1
            now = ask(embedding)
            if last is not None:
                threshold *= 1 + config.threshold_rise if now != state else 1 - config.threshold_fall
            if last is None or now != state:
                last, state = embedding, now
        states[i] = state
    return states, n_asked


METHOD = BaselineMethod(
    "e2usd", E2USD, "E2USD: a frequency-based encoder and a Dirichlet process mixture", is_network=True
)
