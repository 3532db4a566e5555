"""The transfer protocol: learned from all recordings of one participant, read on those of every other.

Rondo keeps both vocabularies as they are; Rondo-fit keeps the units and learns motifs again on each target record;
adapted, it keeps the ids and moves the units from where the source has them to where each target record has them. The
others learn from the recordings of the source laid one after the other, with no window across a seam.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.data.signal import Signal
from rondo.errors import SettingError
from rondo.model.label import label_one
from rondo_bench.baselines.base import ReadingBaseline, in_order_of_appearance
from rondo_bench.experiments.configured import baseline_for, level_of
from rondo_bench.experiments.labels import on_shared_axes, preprocessor_of, rondo_of
from rondo_bench.experiments.plan import Task


def learned(task: Task, sources: Sequence[Recording]) -> Callable[[Recording], Labels]:
    """What gives a target its labels by what was learned from the sources."""
    return _by_baseline(task, sources) if task.method.baseline else _by_rondo(task, sources)


def _by_rondo(task: Task, sources: Sequence[Recording]) -> Callable[[Recording], Labels]:
    model = rondo_of(task).fit([on_shared_axes(task, recording) for recording in sources])
    units_of_source = model.unit_model_

    def read(target: Recording) -> Labels:
        own = on_shared_axes(task, target)
        if task.method.adapt_units:
            model.unit_model_ = units_of_source
            model.adapt([own])
        if task.method.refit_motifs:
            model.fit_motifs([own])
        labelling = label_one(model, own)
        labels: Labels = labelling.units if level_of(task.method, task.of_set) == "unit" else labelling.motifs
        return labels

    return read


def _by_baseline(task: Task, sources: Sequence[Recording]) -> Callable[[Recording], Labels]:
    baseline = baseline_for(task.method, task.set_name, task.of_set)
    if not isinstance(baseline, ReadingBaseline):
        raise SettingError(f"{task.method_name} cannot read another recording with what it learned; leave it out")
    preprocessor = preprocessor_of(task, baseline.config.preprocess, sources)
    learned_from = laid_together([preprocessor.apply(recording) for recording in sources])
    fitted = baseline.fit(learned_from, np.random.default_rng(task.seed))

    def read(target: Recording) -> Labels:
        signal = preprocessor.apply(target)
        return in_order_of_appearance(signal.to_rows(fitted.predict(signal)))

    return read


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
