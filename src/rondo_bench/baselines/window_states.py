"""Windows -> a small network -> a mixture -> a vote: what Time2State and E2USD have in common.

They differ in the network and its loss alone. A recording is standardised by one mean and one deviation, its windows
are embedded by a network trained on it, a Dirichlet-process mixture of the embeddings names a state for each window,
and each frame takes the state of most windows that cover it. Unlike the released codes, whose `predict` clusters again,
what was learned can read another recording and call the same states by the same numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.config.settings import Duration, WindowsConfig, to_frames
from rondo.data.labels import Labels
from rondo.data.recording import Values
from rondo.data.signal import Signal
from rondo.data.window_lengths import window_and_step
from rondo.data.windows import WindowGrid, Windows
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.registry import StageSettings
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import BaselineSettings

_MIXTURE_ITERATIONS = 1000  # released code of both
_VARIANCE_FLOOR = 1e-6  # scikit-learn's default


@dataclass(frozen=True, eq=False)
class Components:
    """A mixture that divides embeddings among its components, and the state that each component stands for."""

    mixture: Any  # None: a single component
    numbers: Labels  # (n_components,)

    def states_of(self, embeddings: NDArray[np.float64]) -> Labels:
        """The state of each embedding, (n_windows, n_dims) -> (n_windows,)."""
        if self.mixture is None or not len(embeddings):
            return np.zeros(len(embeddings), dtype=np.int32)
        return np.asarray(self.numbers[self.mixture.predict(embeddings)])

    def in_order(self, states: Labels) -> Components:
        """The same components, numbered as they appear in these states; those that do not appear come after."""
        absent = np.setdiff1d(self.numbers, states)
        seen, firsts = np.unique(states, return_index=True)
        order = np.concatenate([seen[firsts.argsort()], absent])
        return Components(self.mixture, order.argsort().astype(np.int32)[self.numbers])


def fitted_components(
    embeddings: NDArray[np.float64], component_cap: int, concentration: float, seed: int, method: str
) -> Components:
    """A truncated Dirichlet-process mixture of the embeddings (n_windows, n_dims).

    The prior of the covariances is scikit-learn's own, the covariance of all embeddings, with the floor that it gives
    to variances added, so that few different windows do not make it singular.
    """
    n_windows, n_dims = embeddings.shape
    if n_windows < 2:
        return Components(None, np.zeros(1, dtype=np.int32))
    from sklearn.exceptions import ConvergenceWarning  # slow to import
    from sklearn.mixture import BayesianGaussianMixture

    mixture = BayesianGaussianMixture(
        n_components=min(component_cap, n_windows),
        weight_concentration_prior=concentration,
        covariance_prior=np.atleast_2d(np.cov(embeddings.T)) + _VARIANCE_FLOOR * np.eye(n_dims),
        reg_covar=_VARIANCE_FLOOR,
        max_iter=_MIXTURE_ITERATIONS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, in one line
        mixture.fit(embeddings)
    if not mixture.converged_:
        warnings.warn(
            f"{method}: the mixture had not settled after {_MIXTURE_ITERATIONS} iterations; its states may be "
            "arbitrary, try another seed",
            RondoWarning,
            stacklevel=2,
        )
    return Components(mixture, np.arange(mixture.n_components, dtype=np.int32))


class StateWindows(StageSettings):
    """Which windows are embedded, and which are trained on."""

    length: Duration = Field(256, description="original: both scripts for MoCap; 128 on ActRecTut, 512 on PAMAP2")
    step: Duration = Field(50, description="original: both scripts for MoCap; 100 on PAMAP2")
    training: Duration = Field(
        "auto",
        description="ours: as long as those embedded, which both scripts mean to set; in effect they train on 256",
    )


class WindowStatesConfig(BaselineSettings):
    """Settings that both methods have; `original` is the released code, which the RONDO paper runs unchanged."""

    windows: StateWindows = StateWindows()
    pooled_dim: int = Field(80, description="original: reduced_size", ge=1)
    output_dim: int = Field(4, description="original: out_channels; 9 on PAMAP2", ge=1)
    n_groups: int = Field(20, description="original: M", ge=2)
    group_size: int = Field(4, description="original: N", ge=2)
    n_steps: int = Field(20, description="original: nb_steps", ge=0)
    learning_rate: float = Field(3e-3, description="original: lr", gt=0)
    component_cap: int = Field(20, description="original: n_states when not told", ge=1)
    concentration: float = Field(1e3, description="original: alpha", gt=0)
    fit_share: float = Field(
        1.0,
        description="ours: of the recording, from its start, that is learned from; 0.2 is RONDO's Time2State@20",
        gt=0,
        le=1,
    )


Config = TypeVar("Config", bound=WindowStatesConfig, contravariant=True)


class WindowNet(Protocol):
    """A trained network over windows."""

    def embed(self, windows: Windows, progress: Progress = silent) -> NDArray[np.float64]:
        """One embedding for each window, (n_windows, output_dim)."""


@dataclass(frozen=True)
class Groups:
    """Where training may draw its groups: `group_size` windows of `length` frames that start one frame apart."""

    starts: NDArray[np.int64]  # of the first window of each possible group
    length: int

    @classmethod
    def within(cls, signal: Signal, length: int, config: WindowStatesConfig, method: str) -> Groups:
        """All groups in the share of a signal that is learned from; too short a signal is refused by name."""
        reach = length + config.group_size - 1
        starts = WindowGrid(reach, 1, signal.n_frames, signal.spans).starts
        learned = config.fit_share * signal.n_frames
        starts = starts[starts + reach <= learned]
        if not starts.size:
            longest = max(int(min(stop, learned)) - start for start, stop in signal.spans)
            raise RecordingError(
                f"recording '{signal.id}': {method} trains on {config.group_size} windows one frame apart, which takes "
                f"{reach} frames, but the longest unbroken stretch has {longest}; choose a shorter window"
            )
        return cls(starts, length)


Train = Callable[[Values, Groups, Config, int, Progress], WindowNet]
"""Values, where groups may be drawn, settings, a seed -> a trained network."""


@dataclass(frozen=True)
class Scale:
    """One mean and one deviation, both over all channels and all frames that windows may use."""

    mean: np.float64
    deviation: np.float64

    @classmethod
    def of(cls, signal: Signal) -> Scale:
        usable = np.concatenate([signal.values[start:stop] for start, stop in signal.spans]).astype(np.float64)
        mean, deviation = usable.mean(), usable.std()
        if deviation <= max(1e-6 * abs(mean), float(np.finfo(np.float32).tiny)):
            raise RecordingError(
                f"recording '{signal.id}': all values are the same, nothing can recur; check the file and its columns"
            )
        return cls(mean, deviation)

    def apply(self, signal: Signal) -> Values:
        return np.asarray((signal.values - self.mean) / self.deviation, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class WindowStates:
    """What was learned from one recording: a scale, windows, a network, and the components of its embeddings."""

    scale: Scale
    n_channels: int
    length: int  # frames of a window
    step: int
    net: WindowNet
    components: Components

    def predict(self, signal: Signal) -> Labels:
        """One state for each frame; frames that no window can reach are OTHER."""
        windows = self.windows_of(signal)
        return voted(self.components.states_of(self.net.embed(windows)), windows.grid)

    def windows_of(self, signal: Signal) -> Windows:
        """The windows of another signal, which must have the channels that were learned and hold a window."""
        longest = max(stop - start for start, stop in signal.spans)
        if signal.values.shape[1] != self.n_channels or longest < self.length:
            raise RecordingError(
                f"recording '{signal.id}': windows of {self.length} frames and {self.n_channels} channels were learned "
                f"from, but it has {signal.values.shape[1]} channels and {longest} frames without a break; give a "
                "recording like the one learned from, or fit again"
            )
        return Windows(self.scale.apply(signal), WindowGrid(self.length, self.step, signal.n_frames, signal.spans))


def learn(
    signal: Signal,
    config: Config,
    train: Train[Config],
    method: str,
    rng: np.random.Generator,
    progress: Progress,
    shortest: int = 1,
) -> tuple[WindowStates, Labels]:
    """What is learned from the first `fit_share` of a signal, and the states of all its frames.

    `shortest` is the window that the network needs at least, in frames.
    """
    length, step = window_and_step([signal], WindowsConfig(length=config.windows.length, step=config.windows.step))
    wanted = config.windows.training
    training_length = length if wanted == "auto" else to_frames(wanted, signal.rate, "windows.training")
    if min(length, training_length) < shortest:
        raise SettingError(f"{method} needs windows of at least {shortest} frames, got {min(length, training_length)}")
    groups = Groups.within(signal, training_length, config, method)
    scale = Scale.of(signal)
    windows = Windows(scale.apply(signal), WindowGrid(length, step, signal.n_frames, signal.spans))
    network_seed, mixture_seed = rng.integers(2**31, size=2).tolist()
    net = train(windows.values, groups, config, network_seed, progress)
    embeddings = net.embed(windows, progress)
    n_learned = max(2, int((windows.grid.starts + length <= config.fit_share * signal.n_frames).sum()))
    progress("mixture", 0, 1)
    components = fitted_components(
        embeddings[:n_learned], config.component_cap, config.concentration, mixture_seed, method
    )
    components = components.in_order(components.states_of(embeddings))
    progress("mixture", 1, 1)
    learned = WindowStates(scale, windows.n_channels, length, step, net, components)
    return learned, voted(components.states_of(embeddings), windows.grid)


def window_costs(n_frames: int, config: WindowStatesConfig) -> tuple[float, float, float]:
    """For estimates of time: frames that training sees, frames that are embedded, and seconds for the mixture.

    The mixture took 0.7 to 1.3 s for 2,000 windows. A window that is not given in frames counts as 75.
    """
    windows = config.windows
    length = windows.length if isinstance(windows.length, int) else 75
    step = windows.step if isinstance(windows.step, int) else max(1, length // 4)
    training_length = windows.training if isinstance(windows.training, int) else length
    n_windows = n_frames / step
    trained_on = config.n_steps * config.n_groups * config.group_size * training_length
    return trained_on, n_windows * length, 2.5e-5 * n_windows * config.component_cap


def voted(states: Labels, grid: WindowGrid) -> Labels:
    """The state of most windows that cover a frame, of several the one of the lowest number.

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
