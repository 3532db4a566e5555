"""Units moved to where other recordings have them: another person, machine or day. Their ids stay.

What one person does looks a little different in another, so that units read with where they were fitted miss. Every
unit k is moved to the mean of what it was fitted on, c0_k, which counts as `_FITTED_COUNTS` window lengths of signal,
and of the windows that read as it,

    c_k = (kappa c0_k + w sum_t [u_t = k] z_t) / (kappa + w sum_t [u_t = k])

with u the units as always read (nearest centre, smoothed), w the share of a window that the next one adds, and both
steps repeated until nothing changes (maximum a posteriori, with hard assignments). A unit that does not occur stays
where it is. What tells units apart at their boundaries is learned anew, from the new recordings alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import Windows
from rondo.units.boundaries import fit_boundaries
from rondo.units.model import UnitModel, joined_spans
from rondo.units.timeline import decode
from rondo.vocabulary import Vocabulary

_FITTED_COUNTS = 3.0  # window lengths; 1 to 10 make little difference (docs/motifs.md)
_MOST_ROUNDS = 20  # smoothing and means do not lower one and the same cost, so they may go in circles


def moved_to(model: UnitModel, windows: Sequence[Windows]) -> UnitModel:
    """The same units where these windows of one or more signals have them."""
    representations = np.concatenate([model.encoder.encode(own) for own in windows])
    spans = joined_spans([own.grid.window_spans for own in windows])
    latents, embeddings = model.projection.apply(representations), model.projection.embed(representations)
    grid = windows[0].grid
    weight = grid.step_frames / grid.length_frames
    fitted = moved = model.vocabulary
    ids = decode(latents, spans, fitted, model.penalty).ids
    for _ in range(_MOST_ROUNDS):
        moved = _towards(fitted, ids, latents, embeddings, weight)
        before, ids = ids, decode(latents, spans, moved, model.penalty).ids
        if np.array_equal(ids, before):
            break
    shown = np.split(model.tree.coarsened(ids, model.n_merges), np.cumsum([len(own) for own in windows])[:-1])
    return replace(model, vocabulary=moved, boundaries=fit_boundaries(windows, shown, model.ids))


def distances_moved(before: UnitModel, after: UnitModel) -> dict[int, float]:
    """How far each unit has moved, in radii: beyond 1 it lies outside of what it was."""
    steps = np.linalg.norm(after.vocabulary.centres - before.vocabulary.centres, axis=1) / before.vocabulary.radii
    return dict(zip(before.vocabulary.ids, steps.tolist(), strict=True))


def _towards(
    fitted: Vocabulary,
    ids: NDArray[np.int32],
    latents: NDArray[np.float64],
    embeddings: NDArray[np.float64],
    weight: float,
) -> Vocabulary:
    """Entries between where they were fitted and the windows that read as them now."""
    entries = []
    for entry in fitted:
        own = ids == entry.id
        share = weight * own.sum() / (_FITTED_COUNTS + weight * own.sum())
        if share:
            centre = (1 - share) * entry.centre + share * latents[own].mean(axis=0)
            prototype = (1 - share) * entry.prototype + share * embeddings[own].mean(axis=0)
            entry = replace(entry, centre=centre, prototype=prototype)
        entries.append(entry)
    return replace(fitted, entries=tuple(entries))
