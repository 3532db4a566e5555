"""A fitted model in other recordings: its units moved to them, its motifs learned again from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rondo.arrays import generators
from rondo.data.groups import GroupBy, groups_of_recordings
from rondo.data.recording import Recording
from rondo.data.survey import in_learning_order
from rondo.data.windows import Windows
from rondo.errors import RecordingError
from rondo.evidence.tests import find_evidence, shown_after_test
from rondo.evidence.verdicts import Evidence
from rondo.model.describe import fit_profile, result_of
from rondo.model.fit import STAGES, device_of
from rondo.model.folder import config_of, provenance_of
from rondo.model.label import label_one, windowed
from rondo.motifs.base import Motifs
from rondo.motifs.discover import MotifInput
from rondo.motifs.merging import motif_tree
from rondo.registry import MOTIFS
from rondo.result import Result
from rondo.run.findings import moved_sentence
from rondo.units.boundaries import fit_boundaries
from rondo.units.model import UnitModel, joined_spans
from rondo.units.places import moved
from rondo.units.viterbi import Timeline
from rondo.wording import Progress, silent

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo


def moved_to(model: UnitModel, windows: Sequence[Windows], groups: Sequence[str] = ()) -> UnitModel:
    """The same units where these windows of one or more signals have them; `groups` names whose each signal is.

    A model of several groups gives the new one a place of its own, as every group has (`rondo.units.places`); a model
    of one group is moved there itself. Boundaries of units are learned again, from the new recordings alone.
    """
    groups = groups or [""] * len(windows)
    if model.places is None:
        representations = np.concatenate([model.encoder.encode(own) for own in windows])
        spans = joined_spans([own.grid.window_spans for own in windows])
        latents, embeddings = model.projection.apply(representations), model.projection.embed(representations)
        vocabulary = moved(model.vocabulary, latents, embeddings, spans, model.penalty, windows[0].weight)
        there = replace(model, vocabulary=vocabulary)
    else:
        there = replace(model, places=model.places.with_groups(model.find_places(windows, groups)))
    shown = [there.timeline(own, group).ids for own, group in zip(windows, groups, strict=True)]
    return replace(there, boundaries=fit_boundaries(windows, shown, model.ids))


def distances_moved(before: UnitModel, after: UnitModel, groups: Sequence[str] = ()) -> dict[int, float]:
    """How far each unit has moved, in radii, the farthest where there are several groups: beyond 1 it lies outside."""
    there = [after.vocabulary.centres]
    if after.places is not None:
        there = [after.places.of_group[group].centres for group in dict.fromkeys(groups)]
    steps = np.linalg.norm(np.stack(there) - before.vocabulary.centres, axis=2).max(axis=0) / before.vocabulary.radii
    return dict(zip(before.vocabulary.ids, steps.tolist(), strict=True))


def move_units(
    model: Rondo, recordings: Sequence[Recording], group_by: GroupBy, resample: bool, tell: Progress
) -> None:
    """What `Rondo.adapt` does: units of the same ids, where they lie in these recordings."""
    tell("units", 0, 2)
    windows, groups = _to_learn_from(model, recordings, resample, group_by)
    units = moved_to(model.unit_model_, windows, groups)
    tell("evidence", 1, 2)
    read = [units.timeline(w, group) for w, group in zip(windows, groups, strict=True)]
    evidence = _evidence(model, windows, read, model.motif_model_)
    tell("done", 2, 2)
    moved = {str(id): radii for id, radii in distances_moved(model.unit_model_, units, groups).items()}
    adapted = {"units_adapted_to": provenance_of(recordings)["recordings"], "units_moved_by_radii": moved}
    model.unit_model_, model.evidence_, model.provenance_ = units, evidence, model.provenance_ | adapted


def refit_motifs(model: Rondo, recordings: Sequence[Recording], resample: bool, tell: Progress) -> None:
    """What `Rondo.fit_motifs` does: other motifs of the same units."""
    tell("units", 0, 3)
    windows, _ = _to_learn_from(model, recordings, resample)
    timelines = [model.unit_model_.timeline(w) for w in windows]
    tell("motifs", 1, 3)
    chosen = config_of(model)  # of which seed and device may differ from those of the fit
    rngs, device = generators(chosen.seed, STAGES), device_of(chosen)
    settings = model.config_.motifs.in_windows(model.step_frames_, model.rate_)
    long = model.motif_window_frames_
    motif_input = MotifInput(windows, timelines, model.unit_model_, long, rngs["motifs"], device, tell)
    motifs = MOTIFS[settings.method].fit(motif_input, settings)
    tell("evidence", 2, 3)
    motifs, evidence = shown_after_test(motifs, _evidence(model, windows, timelines, motifs))
    tell("done", 3, 3)
    model.motif_model_, model.evidence_ = motifs, evidence
    model.motif_tree_ = motif_tree(windows, timelines, motifs, long)
    refitted = {"motifs_refitted_on": provenance_of(recordings)["recordings"], "motifs_refit_seed": chosen.seed}
    model.provenance_ = model.provenance_ | refitted


def _to_learn_from(
    model: Rondo, recordings: Sequence[Recording], resample: bool, group_by: GroupBy = None
) -> tuple[list[Windows], list[str]]:
    """The windows and groups of those recordings that are long enough for a window."""
    recordings = in_learning_order(recordings)
    every = [windowed(model, recording, resample).windows for recording in recordings]
    groups = groups_of_recordings(recordings, group_by)
    long = [(w, group) for w, group in zip(every, groups, strict=True) if len(w)]
    if not long:
        raise RecordingError("no recording is long enough for one window; nothing can be learned from it")
    return [w for w, _ in long], [group for _, group in long]


def _evidence(model: Rondo, windows: list[Windows], timelines: list[Timeline], motifs: Motifs) -> Evidence:
    """Whether vocabularies that were changed for these windows recur in them."""
    rng = generators(config_of(model).seed, STAGES)["evidence"]
    return find_evidence(windows, timelines, model.unit_model_, motifs, model.config_, rng)


def transferred(
    model: Rondo,
    recordings: Sequence[Recording],
    *,
    adapt: bool = False,
    refit_motifs: bool = False,
    resample: bool = False,
    group_by: GroupBy = None,
    progress: Progress = silent,
) -> Result:
    """Recordings read with a model that is changed for them first: its units moved to them, its motifs learned again.

    Whether the model fits is a question to its units before they were moved.
    """
    given = list(recordings)
    as_fitted = [label_one(model, recording, resample) for recording in given] if adapt else []
    if adapt:
        model.adapt(given, group_by=group_by, resample=resample, progress=progress)
    if refit_motifs:
        model.fit_motifs(given, resample=resample, progress=progress)
    groups = None if group_by is None else groups_of_recordings(given, group_by)
    named: Sequence[str | None] = groups if groups is not None else [None] * len(given)
    labellings = [
        label_one(model, own, resample, group, was_fitted=adapt) for own, group in zip(given, named, strict=True)
    ]
    for i, was in enumerate(as_fitted):
        labellings[i] = replace(labellings[i], share_accepted=was.share_accepted, distance_profile=was.distance_profile)
    more = [moved_sentence(model.provenance_)] if adapt else []
    fitted = fit_profile(model)
    return result_of(model, given, labellings, kind="label", fitted=fitted, more=more, groups=groups)
