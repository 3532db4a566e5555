"""The same recordings fitted again: with other seeds, on each half of the time, with other windows.

`rondo.metrics.stability` says how well entries are found again. Windows and step are those of the first fit wherever
they were left to Rondo. The evidence is left out where it changes no label; contexts are shown only if they pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rondo.config.overrides import changed
from rondo.config.schema import ComposedMotifsConfig, RondoConfig
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.metrics.stability import LabelTracks, Stability, WindowFit, stability_of
from rondo.model import Rondo
from rondo.model_folder import from_config
from rondo.model_labels import label_one
from rondo.progress import Progress, silent


@dataclass(frozen=True)
class Levels:
    """Stability of the units and of the motifs of one model."""

    units: Stability
    motifs: Stability


def over_seeds(
    recordings: Sequence[Recording], config: RondoConfig, n_seeds: int, progress: Progress = silent
) -> tuple[Rondo, Levels]:
    """The model of the first seed, and how well the next seeds find its entries again."""
    if n_seeds < 2:
        raise SettingError(f"--seeds must be 2 or more, got {n_seeds}: one seed has nothing to be compared with")
    progress("seed 1", 0, n_seeds)
    first = _fitted(recordings, config)
    fixed = _fixed(config, first)
    others = []
    for number in range(1, n_seeds):
        progress(f"seed {number + 1}", number, n_seeds)
        others.append(_read(_fitted(recordings, fixed, seed=config.seed + number), recordings))
    return first, _levels(_read(first, recordings), others)


def over_halves(recordings: Sequence[Recording], model: Rondo, progress: Progress = silent) -> Levels:
    """How well the entries of a model of everything are found again by models of the first and of the second halves.

    Each recording is cut in the middle; both models then read the whole recordings.
    """
    fixed = _fixed(model.config_, model)
    readings = []
    for number, name in enumerate(("first", "second")):
        progress(f"{name} halves", number, 2)
        halves = [_half(recording, number) for recording in recordings]
        readings.append(_read(_fitted(halves, fixed), recordings))
    return _levels(_read(model, recordings), readings)


def over_windows(
    recordings: Sequence[Recording], config: RondoConfig, lengths: Sequence[int], progress: Progress = silent
) -> list[WindowFit]:
    """Units with each of these windows, steps of a quarter, and how far they agree with those of the next shorter."""
    fits: list[WindowFit] = []
    before: Labels | None = None
    for number, length in enumerate(lengths):
        progress(f"window {length}", number, len(lengths))
        settings = {"windows.length": length, "windows.step": max(1, length // 4), "motifs.method": "none"}
        model = _fitted(recordings, changed(config, None, settings))
        labellings = [label_one(model, recording) for recording in recordings]
        joined = np.concatenate([labelling.units for labelling in labellings])
        runs = [runs_of(labelling.units) for labelling in labellings]
        durations = np.concatenate([each.lengths[each.ids != OTHER] for each in runs])
        n_units = np.unique(joined[joined != OTHER]).size
        is_telling = before is not None and min(n_units, fits[-1].n_units) > 1  # one unit agrees with one unit
        ari = adjusted_rand(Overlap.of(before, joined)) if before is not None and is_telling else None
        fits.append(WindowFit(length, int(n_units), float(np.median(durations)) if durations.size else 0.0, ari))
        before = joined
    return fits


def _fixed(config: RondoConfig, model: Rondo) -> RondoConfig:
    """The same settings with the windows and the step that the model has."""
    scales = {"windows.length": model.window_length_frames_, "windows.step": model.step_frames_}
    if isinstance(config.motifs, ComposedMotifsConfig):
        scales["motifs.window"] = model.motif_window_frames_
    return changed(config, None, scales)


def _fitted(recordings: Sequence[Recording], config: RondoConfig, seed: int | None = None) -> Rondo:
    settings: dict[str, object] = {"seed": config.seed if seed is None else seed}
    if not isinstance(config.motifs, ComposedMotifsConfig):
        settings["evidence.surrogates"] = 0
    return from_config(Rondo, changed(config, None, settings)).fit(list(recordings))


def _read(model: Rondo, recordings: Sequence[Recording]) -> tuple[LabelTracks, LabelTracks]:
    labellings = [label_one(model, recording) for recording in recordings]
    return [labelling.units for labelling in labellings], [labelling.motifs for labelling in labellings]


def _levels(own: tuple[LabelTracks, LabelTracks], others: Sequence[tuple[LabelTracks, LabelTracks]]) -> Levels:
    units, motifs = (stability_of(own[level], [other[level] for other in others]) for level in (0, 1))
    return Levels(units, motifs)


def _half(recording: Recording, number: int) -> Recording:
    middle = recording.n_frames // 2
    part = slice(0, middle) if number == 0 else slice(middle, recording.n_frames)
    times = recording.timestamps_s
    return Recording(
        recording.values[part], recording.rate, recording.channels, recording.id, None if times is None else times[part]
    )
