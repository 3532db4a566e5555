"""What every baseline is: settings, and one function from the signal of one recording to one label per frame.

A baseline sees one recording at a time, as in the paper: labels are states of that recording, 0, 1, … in order of
appearance, and mean nothing beside those of another, unless the method joins recordings. Whatever a method must be
told (a window, a number of states) is a setting of it, with its source. No baseline can import annotations or metrics.

>>> from rondo.synthetic import plant
>>> settings = {"windows.length": 60, "windows.step": 30, "n_steps": 1, "depth": 2}
>>> baseline = build_baseline("time2state", settings)
>>> label_recording(plant(n_frames=600).recording, baseline, np.random.default_rng(0)).shape
(600,)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.config.overrides import changed
from rondo.config.schema import PreprocessConfig
from rondo.config.ways import StageSettings
from rondo.data.labels import OTHER, Labels
from rondo.data.preprocess import Preprocessor, Signal
from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.methods import find_method, method_names
from rondo.progress import Progress, silent
from rondo.wording import did_you_mean


class BaselineSettings(StageSettings):
    """What all baselines have: how a recording is prepared."""

    preprocess: PreprocessConfig = PreprocessConfig()


class Baseline(Protocol):
    """One method with its settings: a frozen dataclass whose only field is `config`."""

    @property
    def config(self) -> BaselineSettings:
        """Its settings."""

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One label for each frame of the signal; OTHER where the method cannot say."""


class FittedBaseline(Protocol):
    """What a method learned from one recording, where it can read another with it."""

    def predict(self, signal: Signal) -> Labels:
        """One label for each frame; the states are those learned, under the same ids in every recording."""

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """All that was learned, as arrays from which `restore` makes it again."""


@runtime_checkable
class ReadingBaseline(Baseline, Protocol):
    """A baseline that can read another recording with what it learned from the first."""

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedBaseline:
        """What is learned from this signal; `fit_predict` equals its `predict` on the same signal."""

    def restore(self, tensors: Mapping[str, NDArray[np.generic]]) -> FittedBaseline:
        """What was learned, from its tensors; it predicts the same to the bit."""


@runtime_checkable
class JoiningBaseline(Baseline, Protocol):
    """A baseline whose states mean the same in all recordings that it is given together."""

    def fit_predict_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> list[Labels]:
        """One label for each frame of each signal, from one set of states."""


@runtime_checkable
class JoiningReader(ReadingBaseline, JoiningBaseline, Protocol):
    """A baseline that can read another recording with what it learned from several."""

    def fit_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> FittedBaseline:
        """What is learned from these signals; `fit_predict_many` equals its `predict` on each."""


@runtime_checkable
class MakesBaseline(Protocol):
    """A method that is a baseline: `rondo_bench.baselines.method.BaselineMethod`."""

    def baseline(self) -> Baseline:
        """With its own defaults."""


def baseline_names() -> tuple[str, ...]:
    """Every method that an installed package adds, by its name (`rondo.methods`)."""
    return tuple(name for name in method_names() if name not in ("rondo", "clock"))


def build_baseline(name: str, overrides: Mapping[str, Any] | None = None) -> Baseline:
    """The method of this name with its own defaults, changed by dotted overrides ({"windows.length": 256})."""
    known = baseline_names()
    if name not in known:
        hint = did_you_mean(name, known, f"expected one of {', '.join(known)}")
        raise SettingError(f"unknown baseline {name!r}; {hint}")
    method = find_method(name)
    if not isinstance(method, MakesBaseline):
        raise SettingError(f"the method {name!r} is no baseline: it does not label one signal at a time")
    default = method.baseline()
    # mypy: a baseline is a dataclass by convention, which no protocol can say
    return replace(default, config=changed(default.config, overrides=overrides))  # type: ignore[type-var]


def label_recording(
    recording: Recording, baseline: Baseline, rng: np.random.Generator, progress: Progress = silent
) -> Labels:
    """One label for each row of the recording, which is prepared as the method's settings say."""
    signal = Preprocessor.fit([recording], baseline.config.preprocess).apply(recording)
    return in_order_of_appearance(signal.to_rows(baseline.fit_predict(signal, rng, progress)))


def in_order_of_appearance(labels: ArrayLike) -> Labels:
    """The same labels called 0, 1, … as they appear; OTHER stays.

    >>> in_order_of_appearance([7, 7, -1, 2, 7, 9]).tolist()
    [0, 0, -1, 1, 0, 2]
    """
    ids, firsts, codes = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    known = ids != OTHER
    names = np.full(ids.size, OTHER, dtype=np.int32)
    names[known] = firsts[known].argsort().argsort()
    return names[codes]
