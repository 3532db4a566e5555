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
from rondo.config.settings import PreprocessConfig
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.errors import SettingError
from rondo.methods import find_method, method_names
from rondo.registry import StageSettings
from rondo.wording import Progress, did_you_mean, silent


class BaselineSettings(StageSettings):
    """Settings that all baselines have; each baseline adds its own.

    Parameters
    ----------
    preprocess : PreprocessConfig
        How a recording is prepared.

    Examples
    --------
    >>> build_baseline("kmeans", {"preprocess.scaling": "none"}).config.preprocess.scaling
    'none'
    """

    preprocess: PreprocessConfig = PreprocessConfig()


class Baseline(Protocol):
    """A method with its settings, as a frozen dataclass whose only field is `config`; `build_baseline` returns one.

    Examples
    --------
    >>> baseline = build_baseline("kmeans", {"n_states": 3})
    >>> baseline.config.n_states
    3
    """

    @property
    def config(self) -> BaselineSettings:
        """Its settings."""

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """Label every frame of a signal.

        Parameters
        ----------
        signal : Signal
            The prepared recording.
        rng : numpy.random.Generator
            Source of all random draws.
        progress : callable
            Called as progress(what, done, total).

        Returns
        -------
        array of int32
            A label for each frame; OTHER for frames that the method cannot label.
        """


class FittedBaseline(Protocol):
    """What a method has learned; it can label other recordings.

    Examples
    --------
    >>> from rondo.data.scaling import Preprocessor
    >>> from rondo.synthetic import plant
    >>> baseline = build_baseline("kmeans", {"n_states": 3})
    >>> recording = plant(n_frames=2_000, seed=0).recording
    >>> signal = Preprocessor.fit([recording], baseline.config.preprocess).apply(recording)
    >>> fitted = baseline.fit(signal, np.random.default_rng(0))
    >>> fitted.predict(signal).shape
    (2000,)
    """

    def predict(self, signal: Signal) -> Labels:
        """Label every frame of a signal with the learned states.

        Parameters
        ----------
        signal : Signal
            The prepared recording.

        Returns
        -------
        array of int32
            A label for each frame; states have the same ids in every recording.
        """

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Collect what was learned, for a model folder.

        Returns
        -------
        dict of str to array
            Arrays from which `ReadingBaseline.restore` makes it again.
        """


@runtime_checkable
class ReadingBaseline(Baseline, Protocol):
    """A baseline that can label other recordings with what it has learned.

    Examples
    --------
    >>> isinstance(build_baseline("kmeans"), ReadingBaseline), isinstance(build_baseline("clap"), ReadingBaseline)
    (True, False)
    """

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedBaseline:
        """Learn from a signal. `fit_predict` gives the same labels as `predict` of the result.

        Parameters
        ----------
        signal : Signal
            The prepared recording.
        rng : numpy.random.Generator
            Source of all random draws.
        progress : callable
            Called as progress(what, done, total).

        Returns
        -------
        FittedBaseline
            What was learned.
        """

    def restore(self, tensors: Mapping[str, NDArray[np.generic]]) -> FittedBaseline:
        """Make again what was learned; it gives the same labels to the bit.

        Parameters
        ----------
        tensors : mapping
            What `FittedBaseline.tensors` returned.

        Returns
        -------
        FittedBaseline
            What was learned.
        """


@runtime_checkable
class JoiningBaseline(Baseline, Protocol):
    """A baseline that learns the same states for several recordings.

    Examples
    --------
    >>> isinstance(build_baseline("compile"), JoiningBaseline), isinstance(build_baseline("kmeans"), JoiningBaseline)
    (True, False)
    """

    def fit_predict_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> list[Labels]:
        """Label every frame of several signals with one set of states.

        Parameters
        ----------
        signals : sequence of Signal
            The prepared recordings.
        rng : numpy.random.Generator
            Source of all random draws.
        progress : callable
            Called as progress(what, done, total).

        Returns
        -------
        list of array of int32
            A label for each frame of each signal.
        """


@runtime_checkable
class JoiningReader(ReadingBaseline, JoiningBaseline, Protocol):
    """A baseline that learns from several recordings and can label others.

    Examples
    --------
    >>> isinstance(build_baseline("compile"), JoiningReader)
    True
    """

    def fit_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> FittedBaseline:
        """Learn from several signals. `fit_predict_many` gives the same labels as `predict` of the result.

        Parameters
        ----------
        signals : sequence of Signal
            The prepared recordings.
        rng : numpy.random.Generator
            Source of all random draws.
        progress : callable
            Called as progress(what, done, total).

        Returns
        -------
        FittedBaseline
            What was learned.
        """


@runtime_checkable
class MakesBaseline(Protocol):
    """A method that is a baseline: `rondo_bench.baselines.method.BaselineMethod`."""

    def baseline(self) -> Baseline:
        """With its own defaults."""


def baseline_names() -> tuple[str, ...]:
    """List the methods that installed packages add.

    Returns
    -------
    tuple of str
        Their names, in alphabetical order.

    Examples
    --------
    >>> "ticc" in baseline_names()
    True
    """
    return tuple(name for name in method_names() if name not in ("rondo", "clock"))


def build_baseline(name: str, overrides: Mapping[str, Any] | None = None) -> Baseline:
    """Build a method with its settings.

    Parameters
    ----------
    name : str
        The method; `baseline_names` lists them.
    overrides : mapping or None
        Settings by their dotted names: {"windows.length": 256}. All others have the defaults of the method.

    Returns
    -------
    Baseline
        The method.

    Raises
    ------
    SettingError
        If there is no such method, it is no baseline, or a setting is unknown or out of range.

    Examples
    --------
    >>> build_baseline("kmeans", {"windows.length": 256}).config.windows.length
    256
    """
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
    """Prepare one recording as the settings of a method say, and label it.

    Parameters
    ----------
    recording : Recording
        The recording.
    baseline : Baseline
        The method.
    rng : numpy.random.Generator
        Source of all random draws.
    progress : callable
        Called as progress(what, done, total).

    Returns
    -------
    array of int32
        A label for each row, 0, 1, ... in order of appearance; OTHER for rows without one.

    Raises
    ------
    RecordingError
        If the recording cannot be used, or is too short for the method.
    SettingError
        If a setting does not suit the recording.

    Examples
    --------
    >>> from rondo.synthetic import plant
    >>> baseline = build_baseline("kmeans", {"n_states": 3})
    >>> labels = label_recording(plant(n_frames=2_000, seed=0).recording, baseline, np.random.default_rng(0))
    >>> labels.shape, np.unique(labels).tolist()
    ((2000,), [0, 1, 2])
    """
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
