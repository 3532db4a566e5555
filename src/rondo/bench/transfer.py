"""The transfer protocol: learned from all recordings of one participant, read on those of every other.

Rondo keeps both vocabularies as they are; Rondo-fit keeps the units and learns motifs anew on each target record. The
others learn from the recordings of the source laid one after the other, with no window across a seam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rondo.baselines.base import ReadingBaseline, in_order_of_appearance
from rondo.bench.configured import baseline_for, level_of
from rondo.bench.labels import on_shared_axes, preprocessor_of, rondo_of
from rondo.bench.plan import Task
from rondo.data.labels import Labels
from rondo.data.preprocess import Signal
from rondo.data.recording import Recording
from rondo.errors import SettingError


def transferred(task: Task, sources: Sequence[Recording], targets: Sequence[Recording]) -> list[Labels]:
    """Labels of the targets by what was learned from the sources."""
    if task.method.baseline:
        return _by_baseline(task, sources, targets)
    model = rondo_of(task).fit([on_shared_axes(task, recording) for recording in sources])
    labels = []
    for target in targets:
        own = on_shared_axes(task, target)
        if task.method.refit_motifs:
            model.fit_motifs([own])
        labelling = model.predict(own)
        labels.append(labelling.units if level_of(task.method, task.of_set) == "unit" else labelling.motifs)
    return labels


def _by_baseline(task: Task, sources: Sequence[Recording], targets: Sequence[Recording]) -> list[Labels]:
    baseline = baseline_for(task.method, task.set_name, task.of_set)
    if not isinstance(baseline, ReadingBaseline):
        raise SettingError(f"{task.method_name} cannot read another recording with what it learned; leave it out")
    preprocessor = preprocessor_of(task, baseline.config.preprocess, sources)
    learned_from = laid_together([preprocessor.apply(recording) for recording in sources])
    fitted = baseline.fit(learned_from, np.random.default_rng(task.seed))
    signals = [preprocessor.apply(target) for target in targets]
    return [in_order_of_appearance(signal.to_rows(fitted.predict(signal))) for signal in signals]


def laid_together(signals: Sequence[Signal]) -> Signal:
    """Signals one after the other; each span stays a span, so that no window crosses from one to the next."""
    offsets = np.cumsum([0, *(signal.n_frames for signal in signals)])
    spans = [
        (start + int(offset), stop + int(offset))
        for signal, offset in zip(signals, offsets[:-1], strict=True)
        for start, stop in signal.spans
    ]
    values = np.concatenate([signal.values for signal in signals])
    return replace(signals[0], values=values, spans=tuple(spans), n_rows=int(offsets[-1]), frame_of_row=None)
