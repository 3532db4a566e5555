"""A fitted model and a recording -> a Labelling: prepare, window, label, map to rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.continual.reading import Reader
from rondo.continual.scaling import StreamScaling
from rondo.data.labels import OTHER
from rondo.data.own_scaling import Choice, thinned, variety_of
from rondo.data.recording import Recording
from rondo.data.resample import resample_signal
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.data.windows import WindowGrid, Windows
from rondo.files.inputs import common_rate, same_rate
from rondo.model.taught_spans import taught_spans
from rondo.motifs.base import MotifTimeline
from rondo.motifs.composed import ComposedMotifs
from rondo.run.labelling import Labelling, repeat_starts
from rondo.units.fit_profile import FitProfile
from rondo.units.viterbi import Timeline
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo


class Windowed(NamedTuple):
    """A recording, and its frames and windows as the model sees them."""

    recording: Recording
    signal: Signal
    windows: Windows
    common: bool = False  # scaled by typical statistics, so read in the common place


def windowed(model: Rondo, recording: Recording, resample: bool = False, *, by_model: bool = False) -> Windowed:
    """`by_model`: scaled as the stream of the model is now, and never by its own statistics."""
    preprocessor = model.preprocessor_
    if by_model:
        own = preprocessor.config.model_copy(update={"statistics": "dataset"})
        scaling = model.stream_.scaling if hasattr(model, "stream_") else None
        by = scaling or preprocessor.typical or preprocessor
        preprocessor = replace(preprocessor, config=own, mean=by.mean, scale=by.scale)
    return _in_windows(model, recording, preprocessor.seen(_regular(model, preprocessor, recording, resample)))


def _regular(model: Rondo, preprocessor: Preprocessor, recording: Recording, resample: bool) -> Signal:
    """The recording at the rate of the model, not yet scaled."""
    rates_known = model.rate_ is not None and recording.rate is not None
    resample = resample and rates_known and not same_rate(recording.rate, model.rate_)
    if rates_known and not resample:
        common_rate([recording], model.rate_, "read it at the rate of the model (--resample, resample=True)")
    signal = preprocessor.regular(recording)
    return resample_signal(signal, model.rate_) if resample and model.rate_ is not None else signal


def _in_windows(model: Rondo, recording: Recording, signal: Signal) -> Windowed:
    return Windowed(recording, signal, windows_in(signal, model.window_length_frames_, model.step_frames_))


def stream_scaling(model: Rondo, reader: Reader) -> StreamScaling | None:
    """How a stream of this model is scaled; None: always by the model, as with models of 0.2.0."""
    preprocessor, config = model.preprocessor_, model.preprocessor_.config
    if preprocessor.typical is None and config.scaling != "none" and config.statistics == "recording":
        return None
    fitted = FitProfile.from_json(model.provenance_.get("fit_profile"), "the model")
    return StreamScaling(preprocessor, model.unit_model_, fitted, reader)


def windows_in(signal: Signal, length: int, step: int) -> Windows:
    """All windows of one recording; none reaches over a gap."""
    return Windows(signal.values, WindowGrid(length, step, signal.n_frames, signal.spans))


def label_one(
    model: Rondo,
    recording: Recording,
    resample: bool = False,
    group: str | None = None,
    *,
    was_fitted: bool = False,
) -> Labelling:
    """The labels of one recording.

    Without a group that the model knows, the positions of the units are estimated from the recording, and it is scaled
    by its own statistics only where they are worth it (`rondo.data.own_scaling`); `was_fitted`: always.
    """
    one = as_labelled(model, recording, resample, group, was_fitted=was_fitted)
    labelling = labelled(model, one, model.unit_model_.timeline(one.windows, group, common=one.common))
    return replace(labelling, taught=taught_spans(model, one, labelling)) if model.edits_.history else labelling


def as_labelled(
    model: Rondo, recording: Recording, resample: bool = False, group: str | None = None, *, was_fitted: bool = False
) -> Windowed:
    """A recording as `label_one` sees it."""
    regular = _regular(model, model.preprocessor_, recording, resample)
    one, places = _in_windows(model, recording, model.preprocessor_.seen(regular)), model.unit_model_.places
    if was_fitted or (group is not None and places is not None and group in places.of_group):
        return one
    return _scaled_by_choice(model, one, regular)


def _scaled_by_choice(model: Rondo, own: Windowed, regular: Signal) -> Windowed:
    """The recording scaled by its own statistics, as it is given, or by typical ones; a note says why."""
    preprocessor, typical = model.preprocessor_, model.preprocessor_.typical
    if typical is None or not len(own.windows):
        return own
    common = _in_windows(model, own.recording, preprocessor.seen(regular, typical=typical))
    by_typical, by_own = (model.unit_model_.strangeness(thinned(each.windows)) for each in (common, own))
    n_lengths = own.windows.weight * len(own.windows)
    choice = Choice.of(variety_of(own.windows, typical), by_typical, by_own, n_lengths)
    if choice.is_own:
        return own
    signal = replace(common.signal, notes=(*common.signal.notes, choice.note))
    return common._replace(signal=signal, common=True)


def labelled(model: Rondo, given: Windowed, units: Timeline) -> Labelling:
    """What units, read from its windows, and the motifs of the model say of a recording."""
    labels, window_of_frame = units.labels, _windows_of_frames(model, given.windows, units, given.common)
    foreign, accepted = labels == OTHER, replace(units, ids=labels)

    def with_motifs(motifs: MotifTimeline) -> Labelling:
        ids, scores = np.where(foreign, np.int32(OTHER), motifs.ids), np.where(foreign, 0.0, motifs.scores)
        known = replace(motifs, ids=ids, scores=scores)
        return _labelling(model, given, accepted, known, window_of_frame)

    motifs = model.motif_model_
    labelling = with_motifs(motifs.timeline(units))
    other_kind = motifs.unshown_timeline(units) if isinstance(motifs, ComposedMotifs) else None
    if other_kind is None:
        return labelling
    table = with_motifs(other_kind).table
    return replace(labelling, unshown=table.filter(table["level"] == "motif"))


def relabelled(model: Rondo, given: Windowed) -> Labelling:
    """The same with the vocabularies as the stream of the model has extended them."""
    units, motifs = model.stream_.timelines(given.windows)
    nearest = given.windows.grid.project(np.arange(len(given.windows)), "centre").astype(np.int64)
    return _labelling(model, given, units, motifs, nearest)


def _windows_of_frames(model: Rondo, windows: Windows, units: Timeline, common: bool) -> NDArray[np.int64]:
    """The window that speaks for each frame; OTHER where none does."""
    rule = model.config_.windows.projection
    if rule == "aligned":
        return model.unit_model_.windows_of_frames(windows, units.ids, common=common)
    numbers = np.arange(len(windows))
    return windows.grid.project(numbers, "centre" if rule == "vote" else rule).astype(np.int64)


def _labelling(
    model: Rondo, given: Windowed, units: Timeline, motifs: MotifTimeline, window_of_frame: NDArray[np.int64]
) -> Labelling:
    recording, signal, windows, _ = given
    window_of = np.asarray(signal.to_rows(window_of_frame), np.int64)

    def rows(per_window: NDArray[Any], none: float) -> NDArray[Any]:  # OTHER = -1 finds `none` at the end
        return np.asarray(np.append(per_window, per_window.dtype.type(none))[window_of])

    unit_rows, motif_rows = rows(units.ids, OTHER), rows(motifs.ids, OTHER)
    if model.config_.windows.projection == "vote":
        unit_rows, motif_rows = (
            np.ascontiguousarray(signal.to_rows(windows.grid.project(ids, "vote"))) for ids in (units.ids, motifs.ids)
        )
    return Labelling(
        recording.id,
        unit_rows,
        motif_rows,
        rows(np.where(units.ids == OTHER, 0, units.scores).astype(np.float32), 0),
        rows(motifs.scores.astype(np.float32), 0),
        recording.times_s,
        recording.rate,
        signal.row_breaks,
        units.share_accepted,
        signal.notes + _short_span_notes(signal, windows.grid),
        repeat_starts(motif_rows, window_of, motifs, units.ids),
        FitProfile.of(units.distances).distances,
    )


def _short_span_notes(signal: Signal, grid: WindowGrid) -> tuple[str, ...]:
    short = [stop - start for start, stop in signal.spans if stop - start < grid.length_frames]
    if not short:
        return ()
    stretches = counted(len(short), "stretch", "stretches")
    return (f"{stretches} shorter than a window ({counted(sum(short), 'frame')} in all): labelled OTHER",)
