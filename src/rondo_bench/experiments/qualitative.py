"""The qualitative protocol (app. Qualitative Analysis): how long units last, how pure units and motifs are.

Persistence is the share of neighbouring windows that keep their unit. The purity of a level is the share of frames
whose entry is seen mostly in the frame's own class, entries weighted by their frames: the MoF of that level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.metrics.scores import evaluate
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo_bench.data_sets.read import DataSet
from rondo_bench.experiments.labels import labels_of, on_shared_axes, rondo_of
from rondo_bench.experiments.plan import Task
from rondo_bench.experiments.rows import as_runs


def inspected(
    task: Task, data: DataSet
) -> tuple[dict[str, Labels], dict[str, dict[str, float | None]], dict[str, dict[str, Any]]]:
    """Labels; of Rondo, persistence and purity too, and its units for the figure."""
    if not task.method.preset:
        labels = dict(zip((own.id for own in data.recordings), labels_of(task, data.recordings), strict=True))
        return labels, {}, {}
    labels, details = {}, {}
    extras: dict[str, dict[str, float | None]] = {}
    for recording in data.recordings:
        own = on_shared_axes(task, recording)
        model = rondo_of(task).fit(own)
        labelling, truth = label_one(model, own), data.annotations[recording.id].classes
        units, motifs = (
            evaluate({recording.id: (truth, track)}).average for track in (labelling.units, labelling.motifs)
        )
        labels[recording.id] = labelling.motifs
        extras[recording.id] = {
            "persistence": 100 * unit_persistence(model, own),
            "unit_purity": units.mof,
            "motif_purity": motifs.mof,
            "purity_gain": motifs.mof - units.mof,
            "n_units": units.n_clusters,
            "occurrences_per_unit": units.occurrences_per_cluster,
        }
        details[recording.id] = {"units": as_runs(labelling.units)}
    return labels, extras, details


def unit_persistence(model: Rondo, recording: Recording) -> float:
    """Of neighbouring windows, those that have the same unit."""
    signal = model.preprocessor_.apply(recording)
    grid = WindowGrid(model.window_length_frames_, model.step_frames_, signal.n_frames, signal.spans)
    timeline = model.unit_model_.timeline(Windows(signal.values, grid))
    return persistence(timeline.ids, timeline.spans)


def persistence(ids: NDArray[np.integer], spans: tuple[Span, ...]) -> float:
    """The share of neighbours within spans that are equal; 1 where there are none.

    >>> persistence(np.array([1, 1, 2, 2, 2]), ((0, 2), (2, 5)))
    1.0
    >>> persistence(np.array([1, 1, 2, 2, 2]), ((0, 5),))
    0.75
    """
    kept = np.concatenate([ids[start + 1 : stop] == ids[start : stop - 1] for start, stop in spans if stop > start])
    return float(kept.mean()) if kept.size else 1.0
