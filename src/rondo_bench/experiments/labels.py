"""A method of a spec -> labels of recordings, by the rules of the static experiment.

Every recording has a vocabulary of its own, but for methods that join recordings. It draws from a generator with the
same seed whichever others are run beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rondo.config.settings import PreprocessConfig, RondoConfig
from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.metrics.scores import clock_labels
from rondo.model.folder import from_config
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.run.labelling import Labelling
from rondo_bench.baselines.base import Baseline, JoiningBaseline, in_order_of_appearance
from rondo_bench.baselines.discovery import joined
from rondo_bench.experiments.configured import baseline_for, joins, level_of, rondo_for
from rondo_bench.experiments.inputs import projected, shared_preprocessor
from rondo_bench.experiments.plan import Task


def labels_of(task: Task, recordings: Sequence[Recording]) -> list[Labels]:
    """The labels that the method gives these recordings; a method that joins them is to be given all of them."""
    if task.method.clock:
        return [clock_labels(recording.n_frames, task.method.clock) for recording in recordings]
    if task.method.joint:
        return _jointly(task, recordings)
    if not task.method.baseline:
        return [_by_rondo(task, recording)[1] for recording in recordings]
    baseline = baseline_for(task.method, task.set_name, task.of_set)
    if joins(task.method, baseline):
        return _together(task, baseline, recordings)
    return [_alone(task, baseline, recording) for recording in recordings]


def _alone(task: Task, baseline: Baseline, recording: Recording) -> Labels:
    signal = preprocessor_of(task, baseline.config.preprocess, [recording]).apply(recording)
    return in_order_of_appearance(signal.to_rows(baseline.fit_predict(signal, np.random.default_rng(task.seed))))


def _together(task: Task, baseline: Baseline, recordings: Sequence[Recording]) -> list[Labels]:
    assert isinstance(baseline, JoiningBaseline)
    preprocessor = Preprocessor.fit(recordings, baseline.config.preprocess)
    signals = [preprocessor.apply(recording) for recording in recordings]
    return joined(signals, baseline.fit_predict_many(signals, np.random.default_rng(task.seed)))


def preprocessor_of(task: Task, config: PreprocessConfig, recordings: Sequence[Recording]) -> Preprocessor:
    """How recordings are prepared: by what all of their set share, if they share anything, else by themselves."""
    shared = shared_preprocessor(config, task.data_set, task.data, task.of_set, task.kept_in)
    return shared or Preprocessor.fit(recordings, config)


# ---------------------------------------------------------------- Rondo


def rondo_of(task: Task) -> Rondo:
    """A model with the settings of the task, not yet fitted."""
    config = rondo_for(task.method, task.set_name, task.of_set, task.protocol, task.mantis)
    return from_config(
        Rondo, RondoConfig.model_validate(config.model_dump() | {"seed": task.seed, "device": task.device})
    )


def on_shared_axes(task: Task, recording: Recording) -> Recording:
    """The recording as Rondo is given it: on the axes of its set, where there are any."""
    n_axes = task.of_set.pca_of("rondo")
    if not n_axes:
        return recording
    preprocessor = preprocessor_of(task, PreprocessConfig(pca_components=n_axes), [recording])
    return projected(recording, preprocessor)


def _by_rondo(task: Task, recording: Recording) -> tuple[Rondo, Labels]:
    own = on_shared_axes(task, recording)
    model = rondo_of(task).fit(own)
    return model, _of_level(task, label_one(model, own))


def _jointly(task: Task, recordings: Sequence[Recording]) -> list[Labels]:
    """One vocabulary over all of them: a number means the same in each."""
    own = [on_shared_axes(task, recording) for recording in recordings]
    model = rondo_of(task).fit(own)
    return [_of_level(task, label_one(model, recording)) for recording in own]


def _of_level(task: Task, labelling: Labelling) -> Labels:
    return labelling.units if level_of(task.method, task.of_set) == "unit" else labelling.motifs
