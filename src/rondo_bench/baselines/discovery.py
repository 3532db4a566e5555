"""RECORDINGS -> LABELLINGS by one method: what `rondo discover --method` does, without the command.

Each recording is learned separately, unless the method joins recordings. What all of them share is the axes of
a PCA (`preprocess.pca_components`) and statistics over the data set, where those are asked for. Every recording draws
from a generator with the same seed, so that its labels do not depend on which others were given beside it.

>>> from rondo_bench.baselines.base import build_baseline
>>> from rondo.synthetic import plant
>>> method = build_baseline("kmeans", {"windows.length": 60, "n_states": 4})
>>> (found,) = discover([plant(n_frames=1_200).recording], "kmeans", method)
>>> found.labelling.units.shape, found.kept is not None
((1200,), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rondo.config.settings import PreprocessConfig, WindowsConfig
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.data.window_lengths import window_and_step
from rondo.model.folder import provenance_of
from rondo.run.labelling import Labelling
from rondo.wording import Progress, silent
from rondo_bench.baselines.base import Baseline, JoiningBaseline, JoiningReader, ReadingBaseline, in_order_of_appearance
from rondo_bench.baselines.saved_baseline import KeptBaseline, order_of_appearance


@dataclass(frozen=True, eq=False)
class Discovery:
    """What a method made of one recording."""

    labelling: Labelling
    window_length_frames: int  # 1 where the method looks at single frames, or chooses windows by itself
    step_frames: int
    kept: KeptBaseline | None = None  # where the method can read another recording


def discover(
    recordings: Sequence[Recording], name: str, baseline: Baseline, seed: int = 0, progress: Progress = silent
) -> list[Discovery]:
    """The labels of all recordings, and for each what was learned from it where the method can read with that."""
    if isinstance(baseline, JoiningBaseline) and (len(recordings) > 1 or isinstance(baseline, JoiningReader)):
        return _together(recordings, name, baseline, seed, progress)
    preprocessors = preprocessors_of(recordings, baseline)
    found = []
    for recording, preprocessor in zip(recordings, preprocessors, strict=True):
        told = progress if len(recordings) == 1 else _named(progress, recording)
        told("preparing", 0, 1)
        found.append(_alone(recording, preprocessor, name, baseline, seed, told))
    return found


def _together(
    recordings: Sequence[Recording], name: str, baseline: JoiningBaseline, seed: int, progress: Progress
) -> list[Discovery]:
    """One set of states for all recordings, and one model."""
    preprocessor, rng = Preprocessor.fit(recordings, baseline.config.preprocess), np.random.default_rng(seed)
    signals = [preprocessor.apply(recording) for recording in recordings]
    if isinstance(baseline, JoiningReader):
        fitted = baseline.fit_many(signals, rng, progress)
        rows = [signal.to_rows(fitted.predict(signal)) for signal in signals]
        order, rates = order_of_appearance(np.concatenate(rows)), {recording.rate for recording in recordings}
        rate = rates.pop() if len(rates) == 1 else None
        provenance = provenance_of(recordings) | {"seed": seed}
        kept = KeptBaseline(name, baseline, preprocessor, fitted, order, rate, provenance)
        tracks = [kept.named(row) for row in rows]
    else:
        kept, tracks = None, joined(signals, baseline.fit_predict_many(signals, rng, progress))
    return [
        Discovery(labelling_of(recording, signal, track), *windows_of(signal, baseline), kept)
        for recording, signal, track in zip(recordings, signals, tracks, strict=True)
    ]


def _alone(
    recording: Recording, preprocessor: Preprocessor, name: str, baseline: Baseline, seed: int, progress: Progress
) -> Discovery:
    signal, rng = preprocessor.apply(recording), np.random.default_rng(seed)
    if not isinstance(baseline, ReadingBaseline) or _is_as_released(baseline):
        labels = in_order_of_appearance(signal.to_rows(baseline.fit_predict(signal, rng, progress)))
        return Discovery(labelling_of(recording, signal, labels), *windows_of(signal, baseline))
    fitted = baseline.fit(signal, rng, progress)
    learned = signal.to_rows(fitted.predict(signal))
    order, provenance = order_of_appearance(learned), provenance_of([recording]) | {"seed": seed}
    kept = KeptBaseline(name, baseline, preprocessor, fitted, order, recording.rate, provenance)
    return Discovery(labelling_of(recording, signal, kept.named(learned)), *windows_of(signal, baseline), kept)


def preprocessors_of(recordings: Sequence[Recording], baseline: Baseline) -> list[Preprocessor]:
    """How each recording is prepared: by one preprocessor of all, if they share anything, else by its own."""
    config = baseline.config.preprocess
    if _is_shared(config):
        return [Preprocessor.fit(recordings, config)] * len(recordings)
    return [Preprocessor.fit([recording], config) for recording in recordings]


def _is_shared(config: PreprocessConfig) -> bool:
    return config.pca_components > 0 or (config.scaling != "none" and config.statistics == "dataset")


def _is_as_released(baseline: Baseline) -> bool:
    """Released code may give a recording other labels than what it learned gives: then there is nothing to keep."""
    return bool(baseline.config.model_dump().get("as_released", False))


def windows_of(signal: Signal, baseline: Baseline) -> tuple[int, int]:
    """Length and step in frames of the windows that the method cuts, (1, 1) where it has no such setting."""
    windows = baseline.config.model_dump().get("windows")
    if windows is None:
        return 1, 1
    return window_and_step([signal], WindowsConfig(length=windows["length"], step=windows["step"]))


def joined(signals: Sequence[Signal], tracks: Sequence[Labels]) -> list[Labels]:
    """Labels for the rows of all recordings, called 0, 1, … as they appear in the first, then the second, and so on."""
    rows = [signal.to_rows(track) for signal, track in zip(signals, tracks, strict=True)]
    edges = np.cumsum([row.size for row in rows])[:-1]
    return np.split(in_order_of_appearance(np.concatenate(rows)), edges)


def labelling_of(recording: Recording, signal: Signal, labels: Labels) -> Labelling:
    """The states as units, each its own motif; a baseline gives no scores, so that of every label is 1."""
    scores = (labels != OTHER).astype(np.float32)
    return Labelling(
        recording.id,
        labels,
        labels,
        scores,
        scores,
        recording.times_s,
        recording.rate,
        signal.row_breaks,
        float(scores.mean()),
        signal.notes,
    )


def _named(progress: Progress, recording: Recording) -> Progress:
    return lambda what, done, total: progress(f"{recording.id}: {what}", done, total)
