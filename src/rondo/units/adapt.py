"""Units moved to where other recordings have them: another person, machine or day. Their ids stay.

What one person does looks a little different in another, so that units read with where they were fitted miss. A model
of several groups gives the new one a place of its own, as every group has (`rondo.units.places`); a model of one group
is moved there itself. What tells units apart at their boundaries is learned again, from the new recordings alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rondo.data.windows import Windows
from rondo.units.boundaries import fit_boundaries
from rondo.units.model import UnitModel, joined_spans
from rondo.units.places import moved


def moved_to(model: UnitModel, windows: Sequence[Windows], groups: Sequence[str] = ()) -> UnitModel:
    """The same units where these windows of one or more signals have them; `groups` names whose each signal is."""
    groups = groups or [""] * len(windows)
    if model.places is None:
        there = _moved_itself(model, windows)
    else:
        there = replace(model, places=model.places.with_groups(model.find_places(windows, groups)))
    shown = [there.timeline(own, group).ids for own, group in zip(windows, groups, strict=True)]
    return replace(there, boundaries=fit_boundaries(windows, shown, model.ids))


def _moved_itself(model: UnitModel, windows: Sequence[Windows]) -> UnitModel:
    representations = np.concatenate([model.encoder.encode(own) for own in windows])
    spans = joined_spans([own.grid.window_spans for own in windows])
    latents, embeddings = model.projection.apply(representations), model.projection.embed(representations)
    there = moved(model.vocabulary, latents, embeddings, spans, model.penalty, windows[0].weight)
    return replace(model, vocabulary=there)


def distances_moved(before: UnitModel, after: UnitModel, groups: Sequence[str] = ()) -> dict[int, float]:
    """How far each unit has moved, in radii, the farthest where there are several groups: beyond 1 it lies outside."""
    there = [after.vocabulary.centres]
    if after.places is not None:
        there = [after.places.of_group[group].centres for group in dict.fromkeys(groups)]
    steps = np.linalg.norm(np.stack(there) - before.vocabulary.centres, axis=2).max(axis=0) / before.vocabulary.radii
    return dict(zip(before.vocabulary.ids, steps.tolist(), strict=True))
