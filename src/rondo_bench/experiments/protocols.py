"""A task -> labels of its recordings, by the rules of each experiment.

static       Every recording has a vocabulary of its own, but for methods that join recordings. It draws from a
             generator with the same seed whichever others are run beside it.
continual    The first 20 % of a stream initialise, the rest is revealed, labels freeze at arrival. No encoder has seen
             more than the first 20 %: that of Rondo is fitted on them (MantisV2 is frozen and has seen nothing), as are
             the window statistics of DenStream and DBSTREAM and the network of Time2State@20. Values are scaled, and
             projected where the set has axes, by the first 20 % for Rondo, by the whole recording for the others.
transfer     Learned from all recordings of one participant, read on those of every other. Rondo keeps both vocabularies
             as they are; Rondo-fit keeps the units and learns motifs again on each target record; adapted, it keeps the
             ids and moves the units from where the source has them to where each target record has them. The others
             learn from the recordings of the source laid one after the other, with no window across a seam.
qualitative  How long units last, how pure units and motifs are (app. Qualitative Analysis). Persistence is the share of
             neighbouring windows that keep their unit. The purity of a level is the share of frames whose entry is seen
             mostly in the frame's own class, entries weighted by their frames: the MoF of that level.
states       The suite of the CLaP paper and MoCap6, also scored by covering and change points. Where one vocabulary is
             learned over all recordings of a set (`joint`), its scores over all frames together come too. Published
             methods are not run: their rows are computed from their stored labels, by the same code as all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig, RondoConfig
from rondo.continual.journal import Event
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.data.windows import WindowGrid, Windows
from rondo.errors import AnnotationError, SettingError
from rondo.many.engine import in_one_line
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information, adjusted_rand, one_to_one
from rondo.metrics.scores import clock_labels, evaluate
from rondo.model.folder import from_config
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.run.labelling import Labelling
from rondo_bench.baselines.baseline import (
    JoiningBaseline,
    ReadingBaseline,
    in_order_of_appearance,
    joined,
    label_recording,
)
from rondo_bench.data_sets.read import DataSet
from rondo_bench.data_sets.series import find_labels, read_labels
from rondo_bench.experiments.inputs import baseline_for, level_of, projected, rondo_for, shared_preprocessor
from rondo_bench.experiments.rows import as_runs
from rondo_bench.experiments.spec import Level
from rondo_bench.experiments.tasks import Task
from rondo_bench.metrics.published import INITIAL_PERCENT, change_point_f1, covering

_NONE: Mapping[str, Any] = MappingProxyType({})


class Track(NamedTuple):
    """What a method gave one recording: labels, scores that `evaluate` does not have, and what a figure needs."""

    labels: Labels
    scores: Mapping[str, float | None] = _NONE
    details: Mapping[str, Any] = _NONE


Tracks = dict[str, Track | str]  # by recording; a text says why there is none


def tracks_of(task: Task, data: DataSet) -> Tracks:
    """What the protocol of a task makes of its recordings."""
    return PROTOCOLS[task.protocol](task, data)


def static(task: Task, data: DataSet) -> Tracks:
    labels = labels_of(task, data.recordings)
    return {recording.id: Track(own) for recording, own in zip(data.recordings, labels, strict=True)}


def labels_of(task: Task, recordings: Sequence[Recording]) -> list[Labels]:
    """The labels that the method gives these recordings; a method that joins them is to be given all of them."""
    if task.method.clock:
        return [clock_labels(recording.n_frames, task.method.clock) for recording in recordings]
    if not task.method.baseline:
        groups = [recordings] if task.method.joint else [[recording] for recording in recordings]
        return [labels for group in groups for labels in _by_rondo(task, group)]
    baseline = baseline_for(task.method, task.set_name, task.of_set)
    if isinstance(baseline, JoiningBaseline):
        preprocessor = Preprocessor.fit(recordings, baseline.config.preprocess)
        signals = [preprocessor.apply(recording) for recording in recordings]
        return joined(signals, baseline.fit_predict_many(signals, np.random.default_rng(task.seed)))
    tracks = []
    for recording in recordings:
        signal = preprocessor_of(task, baseline.config.preprocess, [recording]).apply(recording)
        states = baseline.fit_predict(signal, np.random.default_rng(task.seed))
        tracks.append(in_order_of_appearance(signal.to_rows(states)))
    return tracks


def preprocessor_of(task: Task, config: PreprocessConfig, recordings: Sequence[Recording]) -> Preprocessor:
    """How recordings are prepared: by what all of their set share, if they share anything, else by themselves."""
    shared = shared_preprocessor(config, task.data_set, task.data, task.of_set, task.kept_in)
    return shared or Preprocessor.fit(recordings, config)


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


def _by_rondo(task: Task, recordings: Sequence[Recording]) -> list[Labels]:
    """One vocabulary over all of them: a number means the same in each."""
    on_axes = [on_shared_axes(task, recording) for recording in recordings]
    model = rondo_of(task).fit(on_axes)
    return [_of_level(task, label_one(model, recording)) for recording in on_axes]


def _of_level(task: Task, labelling: Labelling) -> Labels:
    return labelling.units if level_of(task.method, task.of_set) == "unit" else labelling.motifs


class Followed(NamedTuple):
    """Labels as they were issued, and what happened to the vocabularies meanwhile."""

    labels: Labels
    events: tuple[Event, ...]


def continual(task: Task, data: DataSet) -> Tracks:
    tracks: Tracks = {}
    for recording in data.recordings:
        if task.method.baseline:
            baseline = baseline_for(task.method, task.set_name, task.of_set)
            stream = Followed(label_recording(recording, baseline, np.random.default_rng(task.seed)), ())
        else:
            stream = follow(rondo_of(task), recording, level_of(task.method, task.of_set))
        n_promoted = sum(event.kind == "promote" for event in stream.events)
        tracks[recording.id] = Track(stream.labels, {"promoted": float(n_promoted)})
    return tracks


def follow(model: Rondo, recording: Recording, level: Level) -> Followed:
    """Fit `model` on the first 20 % of the rows, then let it follow the rest; every row is a frame."""
    n_first = recording.n_frames * INITIAL_PERCENT // 100
    first = Recording(recording.values[:n_first], recording.rate, recording.channels, recording.id)
    known = label_one(model.fit(first), first)
    labels = np.full(recording.n_frames, OTHER, dtype=np.int32)
    labels[:n_first] = known.units if level == "unit" else known.motifs
    stream = model.stream()
    # so that the first window to be labelled ends where the first part does
    offset = max(0, n_first - model.window_length_frames_)
    rest = Recording(recording.values[offset:], recording.rate, recording.channels, recording.id)
    reports = [stream.feed(rest), stream.finish()]  # by name: the fit leaves out channels that were silent
    last = n_first, int(labels[n_first - 1])
    for decision in (decision for report in reports for decision in report.decisions):
        start, stop = max(n_first, decision.start_frame + offset), decision.stop_frame + offset
        own = decision.unit if level == "unit" else decision.motif
        labels[start:stop] = own
        last = stop, own
    labels[last[0] :] = last[1]
    return Followed(labels, tuple(event for report in reports for event in report.events))


def transfer(task: Task, data: DataSet) -> Tracks:
    """Labels of every target; whatever one raises is the failure of its row alone."""
    recordings = {recording.id: recording for recording in data.recordings}
    read = learned(task, [recordings[id] for id in task.learned_from])
    tracks: Tracks = {}
    for id in (id for id in task.recordings if id in recordings):
        try:
            tracks[id] = Track(read(recordings[id]))
        except Exception as error:  # noqa: BLE001  # whatever a method raises
            tracks[id] = in_one_line(error)
    return tracks


def learned(task: Task, sources: Sequence[Recording]) -> Callable[[Recording], Labels]:
    """What gives a target its labels by what was learned from the sources."""
    if task.method.baseline:
        return _learned_by_baseline(task, sources)
    model = rondo_of(task).fit([on_shared_axes(task, recording) for recording in sources])
    units_of_source = model.unit_model_

    def read(target: Recording) -> Labels:
        own = on_shared_axes(task, target)
        if task.method.adapt_units:
            model.unit_model_ = units_of_source
            model.adapt([own])
        if task.method.refit_motifs:
            model.fit_motifs([own])
        return _of_level(task, label_one(model, own))

    return read


def _learned_by_baseline(task: Task, sources: Sequence[Recording]) -> Callable[[Recording], Labels]:
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


def qualitative(task: Task, data: DataSet) -> Tracks:
    """Labels; of Rondo, persistence and purity too, and its units for the figure."""
    if not task.method.preset:
        return static(task, data)
    tracks: Tracks = {}
    for recording in data.recordings:
        own = on_shared_axes(task, recording)
        model = rondo_of(task).fit(own)
        labelling, truth = label_one(model, own), data.annotations[recording.id].classes
        units, motifs = (
            evaluate({recording.id: (truth, track)}).average for track in (labelling.units, labelling.motifs)
        )
        scores = {
            "persistence": 100 * unit_persistence(model, own),
            "unit_purity": units.mof,
            "motif_purity": motifs.mof,
            "purity_gain": motifs.mof - units.mof,
            "n_units": units.n_clusters,
            "occurrences_per_unit": units.occurrences_per_cluster,
        }
        tracks[recording.id] = Track(labelling.motifs, scores, {"units": as_runs(labelling.units)})
    return tracks


def unit_persistence(model: Rondo, recording: Recording) -> float:
    """The share of neighbouring windows within spans that have the same unit; 1 where there are none."""
    signal = model.preprocessor_.apply(recording)
    grid = WindowGrid(model.window_length_frames_, model.step_frames_, signal.n_frames, signal.spans)
    timeline = model.unit_model_.timeline(Windows(signal.values, grid))
    ids, spans = timeline.ids, [(start, stop) for start, stop in timeline.spans if stop > start]
    kept = np.concatenate([ids[start + 1 : stop] == ids[start : stop - 1] for start, stop in spans])
    return float(kept.mean()) if kept.size else 1.0


def states(task: Task, data: DataSet) -> Tracks:
    """Labels that are stored or computed, with scores of segments and, of one vocabulary, over all frames."""
    truths = {recording.id: data.annotations[recording.id].classes for recording in data.recordings}
    if task.method.stored:
        path = find_labels(task.set_name, task.method.stored, task.data)
        if path is None:
            raise AnnotationError(f"the labels of {task.method.stored} on {task.set_name} are no longer in {task.data}")
        stored = {id: read_labels(path, id, truth) for id, truth in truths.items()}
        return {  # stored states may be any numbers
            id: Track(in_order_of_appearance(one.states), segment_scores(truths[id], one.segments))
            for id, one in stored.items()
        }
    labels = dict(zip(truths, labels_of(task, data.recordings), strict=True))
    pooled: dict[str, float] = {}
    if task.method.joint:
        truth, track = (np.concatenate(list(tracks.values())) for tracks in (truths, labels))
        every = Overlap.of(truth, track)
        scores = {"ari": adjusted_rand, "ami": adjusted_mutual_information, "one_to_one": one_to_one}
        pooled = {f"pooled_{name}": 100 * score(every) for name, score in scores.items()}
    return {id: Track(track, segment_scores(truths[id], track) | pooled) for id, track in labels.items()}


def segment_scores(truth: NDArray[np.integer], segments: NDArray[np.integer]) -> dict[str, float | None]:
    overlap = Overlap.of(truth, segments)
    return {"covering": 100 * covering(overlap), "change_point_f1": 100 * change_point_f1(overlap)}


PROTOCOLS: Mapping[str, Callable[[Task, DataSet], Tracks]] = {
    "static": static,
    "continual": continual,
    "transfer": transfer,
    "qualitative": qualitative,
    "states": states,
}
