"""What every baseline is, and how one becomes a method of `rondo discover`.

A baseline has settings, and one function from the signal of one recording to one label per frame. It sees one recording
at a time, as in the paper, unless it joins recordings: labels are states of that recording, 0, 1, … in order of
appearance. No baseline can import annotations or metrics. Its file ends with its declaration, which an entry point of
the group `rondo.methods` names: METHOD = BaselineMethod("ticc", TICC, "what it does, in one line")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from rondo.config.overrides import changed
from rondo.config.settings import PreprocessConfig, WindowsConfig
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.data.window_lengths import window_and_step
from rondo.device import require_torch
from rondo.errors import ModelError, SettingError
from rondo.methods import Options, find_method, method_names, refuse_idle
from rondo.registry import StageSettings
from rondo.result import Result, make_result
from rondo.run.findings import NOTHING_SHARED
from rondo.run.labelling import Labelling, nothing_shared
from rondo.run.tally import Words
from rondo.wording import Progress, did_you_mean, estimate_in_words, silent

WORTH_SAYING_S = 60.0
PRACTICAL_S = 3600.0  # for one recording
_LONGEST = 1 << 32  # frames; a method that takes an hour for as many has no limit that matters


class BaselineSettings(StageSettings):
    """Settings that all baselines have; each baseline adds its own."""

    preprocess: PreprocessConfig = PreprocessConfig()


class Baseline(Protocol):
    """A method with its settings, as a frozen dataclass whose only field is `config`; `build_baseline` returns one."""

    @property
    def config(self) -> BaselineSettings:
        """Its settings."""

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """A label for each frame of a prepared recording; OTHER for frames that the method cannot label."""


class FittedBaseline(Protocol):
    """What a method has learned, for the experiment on transfer: it can label other recordings."""

    def predict(self, signal: Signal) -> Labels:
        """Label every frame of a signal; states have the same ids in every recording."""


@runtime_checkable
class ReadingBaseline(Baseline, Protocol):
    """A baseline that can label other recordings with what it has learned."""

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedBaseline:
        """Learn from a signal. `fit_predict` gives the same labels as `predict` of the result."""


@runtime_checkable
class JoiningBaseline(Baseline, Protocol):
    """A baseline that learns the same states for several recordings."""

    def fit_predict_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> list[Labels]:
        """A label for each frame of each signal, with one set of states."""


def baseline_names() -> tuple[str, ...]:
    """The methods that installed packages add, in alphabetical order."""
    return tuple(name for name in method_names() if name not in ("rondo", "clock"))


def build_baseline(name: str, overrides: Mapping[str, Any] | None = None) -> Baseline:
    """The baseline of this name; `overrides` are settings by their dotted names."""
    known = baseline_names()
    if name not in known:
        hint = did_you_mean(name, known, f"expected one of {', '.join(known)}")
        raise SettingError(f"unknown baseline {name!r}; {hint}")
    method = find_method(name)
    if not isinstance(method, BaselineMethod):
        raise SettingError(f"the method {name!r} is no baseline: it does not label one signal at a time")
    default = method.baseline()
    # mypy: a baseline is a dataclass by convention, which no protocol can say
    return replace(default, config=changed(default.config, overrides=overrides))  # type: ignore[type-var]


def label_recording(
    recording: Recording, baseline: Baseline, rng: np.random.Generator, progress: Progress = silent
) -> Labels:
    """Prepare one recording as the settings of a method say, and label its rows 0, 1, … in order of appearance."""
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


@dataclass(frozen=True)
class BaselineMethod:
    """A baseline by its name; `make()` has the defaults of the method."""

    name: str
    make: Callable[[], Any]
    help: str
    is_network: bool = False  # it needs torch, the extra `nets`

    def baseline(self) -> Baseline:
        require_torch(f"--method {self.name}" if self.is_network else None)
        made: Baseline = self.make()
        return made

    def configure(self, options: Options) -> Baseline:
        """The settings of the file, then those given by name."""
        default = self.baseline()
        names = type(default.config).model_fields
        refuse_idle(options.beyond(names), f"--method {self.name}")
        try:
            config = changed(default.config, options.config, options.settings)
        except SettingError as error:  # `rondo config show` shows those of Rondo
            known = f"{self.name} has {', '.join(names)}"
            raise SettingError(str(error).replace("see `rondo config show`", known)) from None
        # mypy: a baseline is a dataclass by convention, which no protocol can say
        return replace(default, config=config)  # type: ignore[type-var]

    def notes(self, recordings: Sequence[Recording], settings: Baseline, *, in_detail: bool = False) -> list[str]:
        """How long it will take, and which recordings are too long for it."""
        return warnings_before(recordings, self.name, settings)

    def discover(
        self, recordings: Sequence[Recording], settings: Baseline, seed: int | None, progress: Progress
    ) -> Result:
        """The states of each recording, or of all where the method joins them."""
        found, joins = discover(recordings, settings, seed or 0, progress), isinstance(settings, JoiningBaseline)
        findings = [
            f"Recurrence was not tested: {self.name} has no such test.",
            f"{self.name} knows one level: every unit is its own motif.",
        ]
        chosen = settings.config.model_dump()
        if "n_states" in chosen:
            is_default = chosen["n_states"] == self.baseline().config.model_dump()["n_states"]
            source = f"the default of {self.name}" if is_default else "as asked for"
            findings.append(f"The number of states was given, not found: {chosen['n_states']}, {source}.")
        elif "component_cap" in chosen:
            findings.append(f"{self.name} finds the number of states, up to {chosen['component_cap']} (component_cap).")
        if len(found) > 1:
            findings.append("The states are the same in all recordings." if joins else NOTHING_SHARED)
            lengths = [one.window_length_frames for one in found]
            if len(set(lengths)) > 1:
                findings.append(f"Windows are {min(lengths)} to {max(lengths)} frames long, as suits each recording.")
        labellings = [one.labelling for one in found]
        return make_result(
            self.name,
            recordings,
            labellings if joins else nothing_shared(labellings),
            seed=seed or 0,
            config=settings.config.model_dump(mode="json"),
            windows=(found[0].window_length_frames, found[0].step_frames),
            findings=findings,
        )

    def load(self, folder: Path) -> NoReturn:
        """Refuse: a baseline keeps no model. Version 0.2.0 saved some, which can no longer be read."""
        raise ModelError(f"{folder}: {self.why_no_model()}")

    def words(self, model: object) -> Words:
        return Words()

    def words_in(self, folder: Path) -> Words:
        return Words()

    def why_no_model(self) -> str:
        return (
            f"{self.name} cannot label another recording, it labels only those it learns from; "
            f"use `rondo discover --method {self.name}` on this one too"
        )


class Discovery(NamedTuple):
    """What a method made of one recording; windows are of one frame where the method has no such setting."""

    labelling: Labelling
    window_length_frames: int
    step_frames: int


def discover(
    recordings: Sequence[Recording], baseline: Baseline, seed: int = 0, progress: Progress = silent
) -> list[Discovery]:
    """The labels of all recordings.

    Each recording has a vocabulary of its own, unless the method joins recordings. They share the axes of a PCA
    (`preprocess.pca_components`) and statistics over the data set, where the settings ask for those. Every recording
    draws from a generator with the same seed, so that its labels do not depend on the others.
    """
    if isinstance(baseline, JoiningBaseline):
        preprocessor = Preprocessor.fit(recordings, baseline.config.preprocess)
        signals = [preprocessor.apply(recording) for recording in recordings]
        tracks = joined(signals, baseline.fit_predict_many(signals, np.random.default_rng(seed), progress))
        return [_discovery(*parts, baseline) for parts in zip(recordings, signals, tracks, strict=True)]
    config = baseline.config.preprocess
    shares = config.pca_components > 0 or (config.scaling != "none" and config.statistics == "dataset")
    shared = Preprocessor.fit(recordings, config) if shares else None
    found = []
    for recording in recordings:
        tell = progress if len(recordings) == 1 else _named(progress, recording)
        tell("preparing", 0, 1)
        signal = (shared or Preprocessor.fit([recording], config)).apply(recording)
        states = baseline.fit_predict(signal, np.random.default_rng(seed), tell)
        found.append(_discovery(recording, signal, in_order_of_appearance(signal.to_rows(states)), baseline))
    return found


def joined(signals: Sequence[Signal], tracks: Sequence[Labels]) -> list[Labels]:
    """Labels for the rows of all recordings, called 0, 1, … as they appear in the first, then the second, and so on."""
    rows = [signal.to_rows(track) for signal, track in zip(signals, tracks, strict=True)]
    edges = np.cumsum([row.size for row in rows])[:-1]
    return np.split(in_order_of_appearance(np.concatenate(rows)), edges)


def _discovery(recording: Recording, signal: Signal, labels: Labels, baseline: Baseline) -> Discovery:
    """The states as units, each its own motif; a baseline gives no scores, so that of every label is 1."""
    scores = (labels != OTHER).astype(np.float32)
    times, rate, breaks, share = recording.times_s, recording.rate, signal.row_breaks, float(scores.mean())
    labelling = Labelling(recording.id, labels, labels, scores, scores, times, rate, breaks, share, signal.notes)
    windows = baseline.config.model_dump().get("windows")
    if windows is None:
        return Discovery(labelling, 1, 1)
    chosen = WindowsConfig(length=windows["length"], step=windows["step"])
    return Discovery(labelling, *window_and_step([signal], chosen))


def _named(progress: Progress, recording: Recording) -> Progress:
    return lambda what, done, total: progress(f"{recording.id}: {what}", done, total)


def estimated_seconds(baseline: Baseline, n_frames: int, n_channels: int) -> float | None:
    """Seconds for one recording on one core, about; None where the method does not say.

    The module of a method may offer `estimated_seconds(n_frames, n_channels, config)`, a rough fit of what was
    measured on one core.
    """
    estimate = getattr(sys.modules[type(baseline).__module__], "estimated_seconds", None)
    chosen = baseline.config.preprocess
    n_inputs = chosen.pca_components or len(chosen.channels) or n_channels
    return None if estimate is None else float(cast(float, estimate(n_frames, n_inputs, baseline.config)))


def practical_frames(baseline: Baseline, n_channels: int) -> int:
    """The longest recording, in frames, that the method gets through in an hour; 0 if none is."""
    fewest, most = 0, _LONGEST
    while most - fewest > 1:
        middle = (fewest + most) // 2
        seconds = estimated_seconds(baseline, middle, n_channels)
        fewest, most = (middle, most) if seconds is None or seconds <= PRACTICAL_S else (fewest, middle)
    return fewest


def warnings_before(recordings: Sequence[Recording], name: str, baseline: Baseline) -> list[str]:
    """What to print before a long run: how long it will take, and which recordings are too long for the method."""
    each = [estimated_seconds(baseline, recording.n_frames, recording.n_channels) for recording in recordings]
    total = sum(seconds for seconds in each if seconds is not None)
    if total <= WORTH_SAYING_S:
        return []
    notes = [f"{name} will take about {estimate_in_words(total)} on one core"]
    worst = max(range(len(recordings)), key=lambda i: each[i] or 0.0)
    if (each[worst] or 0.0) > PRACTICAL_S:
        recording = recordings[worst]
        limit = int(float(f"{practical_frames(baseline, recording.n_channels):.1e}"))  # an estimate has two digits
        notes.append(
            f"{name} is practical up to about {limit:,} frames of {recording.n_channels} channels (an hour each); "
            f"recording '{recording.id}' has {recording.n_frames:,}"
        )
    return notes
