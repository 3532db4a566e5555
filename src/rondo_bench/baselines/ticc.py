"""TICC: Toeplitz inverse covariance-based clustering, a sparse Gaussian for each state and a cost for each change.

D. Hallac, S. Vare, S. Boyd, J. Leskovec, "Toeplitz Inverse Covariance-Based Clustering of Multivariate Time Series
Data", KDD 2017. Own code after that paper and the released code (github.com/davidhallac/TICC, BSD-2-Clause, commit
85d45d1), whose constants stand in the settings below, as the RONDO paper runs it. Until labels rest:

    states from labels   mean and sparse Toeplitz inverse covariance of each (see `ticc_solver`)
    labels from states   argmin  Σ_t cost(t, k_t) + switch_cost·#{t : k_t ≠ k_t-1}     cost: see `States.costs`
    empty states         are given `reassigned` consecutive windows of a state that is spread widely

What differs from the released code, and why:

- Its labels are those of the last round *after* empty states got their windows, so that a state which nothing supports
  is painted over 20 frames somewhere at random. Here labels are the cheapest path and nothing else.
- It sets the global seed 102, draws a permutation which it does not need, and starts from an unseeded mixture, which so
  follows that seed. Here the seed comes from the generator. `as_released` paints and draws as the released code does,
  and then MoCap gives the RONDO paper's row to the last digit; that the row has no spread is due to the fixed seed.
- A window's label goes to its middle frame, and the first and last frames of a span take that of the nearest window;
  there it goes to the first frame, the last frames get none, and windows at the end are filled with zeros. With the
  paper's window of one frame there is no difference.
- Spans are labelled apart: no window crosses a gap and a change there costs nothing.
- log det comes from `slogdet`; a state of a single window has covariance 0 instead of none.

First labels are components of scikit-learn's Gaussian mixture with full covariances, as in the released code.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.units.viterbi import smooth
from rondo.wording import Progress, counted, silent
from rondo_bench.baselines.baseline import BaselineMethod, BaselineSettings
from rondo_bench.baselines.ticc_solver import (
    Matrix,
    States,
    mean_and_covariance,
    stacked,
    toeplitz_classes,
    toeplitz_lasso,
)

Path = NDArray[np.int64]  # a state for each window

_RELEASED_SEED = 102


class TICCConfig(BaselineSettings):
    """Settings of TICC; `paper` is RONDO's, which took those of the released example."""

    window: int = Field(1, description="paper: app. hyperparameters, window size; frames", ge=1)
    n_states: int = Field(8, description="paper: app. hyperparameters, the same on every data set", ge=1)
    sparsity: float = Field(0.11, description="paper: app. hyperparameters, λ", gt=0)
    switch_cost: float = Field(600, description="paper: app. hyperparameters, β, in units of 2·log-likelihood", ge=0)
    n_iterations: int = Field(100, description="paper: app. hyperparameters, at most", ge=1)
    reassigned: int = Field(20, description="original: cluster_reassignment, windows given to an empty state", ge=1)
    as_released: bool = Field(
        False, description="ours: false; true repeats the draws of the released code and paints its empty states"
    )


@dataclass(frozen=True, eq=False)
class FittedTICC:
    """The states of one recording, which label any recording of the same channels."""

    config: TICCConfig
    states: States

    def predict(self, signal: Signal) -> Labels:
        rows, row_spans = stacked(signal.values, signal.spans, self.config.window)
        expected, got = self.states.means.shape[1], rows.shape[1]
        if got != expected:
            raise RecordingError(
                f"recording '{signal.id}': ticc learned from {expected // self.config.window} channels, this has "
                f"{signal.values.shape[1]}; give the same channels"
            )
        path = path_through(rows, row_spans, self.states, self.config.switch_cost)
        return on_frames(path, signal, row_spans, self.config.window)


@dataclass(frozen=True)
class TICC:
    config: TICCConfig = field(default_factory=TICCConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One state for each frame: what `fit` learned, read back (and painted over where `as_released`)."""
        rows, row_spans = _windows_of(signal, self.config)
        run = learned(rows, row_spans, self.config, rng, progress)
        path = run.painted if self.config.as_released else run.path
        return on_frames(path, signal, row_spans, self.config.window)

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedTICC:
        rows, row_spans = _windows_of(signal, self.config)
        return FittedTICC(self.config, learned(rows, row_spans, self.config, rng, progress).states)


@dataclass(frozen=True, eq=False)
class Run:
    states: States
    path: Path  # the cheapest one through these states
    painted: Path  # the same with the windows that were then given to empty states
    n_iterations: int


def learned(
    rows: Matrix, row_spans: tuple[Span, ...], config: TICCConfig, rng: np.random.Generator, progress: Progress = silent
) -> Run:
    """Alternate between states and labels until labels rest and no state is empty, or the iterations are used up."""
    draws = _draws(len(rows), config, rng)
    n_states, size = config.n_states, rows.shape[1]
    classes = toeplitz_classes(size // config.window, config.window)
    states = States(np.zeros((n_states, size)), np.zeros((n_states, size, size)))
    fitted_to: Path = np.full(len(rows), OTHER, dtype=np.int64)
    previous: Path | None = None
    labels = first_labels(rows, n_states, draws)
    for iteration in range(1, config.n_iterations + 1):
        states = _refitted(states, rows, labels, fitted_to, config.sparsity, classes)
        fitted_to = labels
        path = path_through(rows, row_spans, states, config.switch_cost)
        labels = path if iteration == 1 else _reassigned(path, states, config.reassigned, draws)
        progress("alternating", iteration, config.n_iterations)
        if previous is not None and np.array_equal(labels, previous):
            break
        previous = path
    return Run(states, path, labels, iteration)


def path_through(rows: Matrix, row_spans: tuple[Span, ...], states: States, switch_cost: float) -> Path:
    """The cheapest state of each window when a change costs `switch_cost`, except from one span to the next."""
    costs = states.costs(rows)
    return np.concatenate([smooth(costs[start:stop], switch_cost) for start, stop in row_spans])


def on_frames(path: Path, signal: Signal, row_spans: tuple[Span, ...], window: int) -> Labels:
    """The state of the window in whose middle a frame lies, near the ends of a span that of its nearest window.

    Frames outside spans, and those of spans shorter than a window, are OTHER.
    """
    labels = np.full(signal.n_frames, OTHER, dtype=np.int32)
    for (start, stop), (first, end) in zip(signal.spans, row_spans, strict=True):
        if first < end:
            nearest = np.arange(stop - start) - (window - 1) // 2
            labels[start:stop] = path[first + np.clip(nearest, 0, end - first - 1)]
    return labels


def _windows_of(signal: Signal, config: TICCConfig) -> tuple[Matrix, tuple[Span, ...]]:
    rows, row_spans = stacked(signal.values, signal.spans, config.window)
    if len(rows) < 2 * config.n_states:
        raise RecordingError(
            f"recording '{signal.id}': ticc takes at least {2 * config.n_states} windows of "
            f"{counted(config.window, 'frame')}, two for each of {config.n_states} states, but this has {len(rows)}; "
            "give a longer recording or set n_states lower"
        )
    return rows, row_spans


def _draws(n_rows: int, config: TICCConfig, rng: np.random.Generator) -> np.random.RandomState:
    """Where all draws come from: the kind of source that scikit-learn takes."""
    if not config.as_released:
        return np.random.RandomState(int(rng.integers(2**32)))
    draws = np.random.RandomState(_RELEASED_SEED)
    draws.choice(n_rows - 1, n_rows - 1, replace=False)  # a permutation, sorted at once
    return draws


def _refitted(
    states: States, rows: Matrix, labels: Path, fitted_to: Path, sparsity: float, classes: NDArray[np.int64]
) -> States:
    """The states of these labels. Those whose windows are the same as before, or who have none, stay as they are."""
    moved = labels != fitted_to
    changed = np.intersect1d(labels, np.union1d(labels[moved], fitted_to[moved]))
    if not changed.size:
        return states
    moments = [mean_and_covariance(rows[labels == state]) for state in changed]
    means, precisions = states.means.copy(), states.precisions.copy()
    means[changed] = [mean for mean, _ in moments]
    precisions[changed] = toeplitz_lasso(np.stack([covariance for _, covariance in moments]), sparsity, classes)
    return States(means, precisions)


def _reassigned(path: Path, states: States, n_windows: int, draws: np.random.RandomState) -> Path:
    """The path with `n_windows` windows given to each empty state, from a random one on.

    They begin in a state that has windows: in the one with the widest covariance for the first empty state, and so on.
    """
    sizes = np.bincount(path, minlength=len(states.means))
    spreads = states.spreads()
    donors = sorted(np.flatnonzero(sizes), key=lambda state: (spreads[state], state), reverse=True)
    labels = path.copy()
    for turn, empty in enumerate(np.flatnonzero(sizes == 0)):
        first = draws.choice(np.flatnonzero(path == donors[turn % len(donors)]))
        labels[first : first + n_windows] = empty
    return labels


def estimated_seconds(n_frames: int, n_channels: int, config: TICCConfig) -> float:
    """For one recording if all iterations are needed, about, on one core.

    Fitted to the parts of one iteration and the mixture before it, timed on streams of 8 states: 10,000 frames of 4 to
    54 channels and 100,000 of 9, and 300 of 242. A longer window counts as more channels.
    """
    size, n_states = n_channels * config.window, config.n_states
    mixture = 4e-7 * n_frames * n_states * size
    lasso = n_states * (6e-4 + 5e-6 * size**2 + 9e-8 * size**3)
    costs = n_frames * n_states * (2e-8 + 3e-9 * size + 7e-11 * size**2)
    moments_and_path = n_frames * (2e-8 * size + 1.2e-6)
    return mixture + config.n_iterations * (lasso + costs + moments_and_path)


def first_labels(rows: Matrix, n_states: int, draws: np.random.RandomState) -> Path:
    """The component of each window in a Gaussian mixture; that of k-means where covariances are too singular for it."""
    from sklearn.cluster import KMeans  # slow to import
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    before = draws.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different windows than states: some stay empty
        try:
            labels = GaussianMixture(n_states, random_state=draws).fit(rows).predict(rows)
        except ValueError:  # an ill-defined covariance
            draws.set_state(before)
            labels = KMeans(n_states, n_init=1, random_state=draws).fit(rows).labels_
    return np.asarray(labels, dtype=np.int64)


METHOD = BaselineMethod(
    "ticc", TICC, "TICC: states with sparse correlation networks over short windows; --states is given"
)
