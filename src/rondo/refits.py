"""The same recordings fitted again: with other seeds, or on each half of the time.

`rondo.metrics.stability` says how well entries are found again. Windows and step are those of the first fit wherever
they were left to Rondo. The evidence is left out where it changes no label; contexts are shown only if they pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rondo.config.overrides import changed
from rondo.config.schema import ComposedMotifsConfig, RondoConfig
from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.metrics.stability import LabelTracks, Stability, stability_of
from rondo.model import Rondo
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
    return Rondo.from_config(changed(config, None, settings)).fit(list(recordings))


def _read(model: Rondo, recordings: Sequence[Recording]) -> tuple[LabelTracks, LabelTracks]:
    labellings = [model.label_one(recording) for recording in recordings]
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
