"""What a fit does once it is planned: the stages in the paper's order, each with its own generator; no mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rondo.arrays import generators
from rondo.config.settings import RondoConfig, network_in
from rondo.data.groups import GroupBy, groups_of_recordings
from rondo.data.moments import with_silent
from rondo.data.own_scaling import common_spread, log_deviations
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor, Typical, UsedChannels, surveys_of
from rondo.data.signal import Signal
from rondo.data.survey import (
    MOST_VALUES,
    ONE_EACH,
    Survey,
    copies_in,
    fair_sample,
    hold_one_each,
    in_learning_order,
    most_frames,
    sizes_of,
    stretch_frames,
    taken,
)
from rondo.data.window_lengths import WindowScales, choose_scales
from rondo.data.windows import Span, Windows
from rondo.device import require_torch, resolve_device
from rondo.editing.edits import Edits
from rondo.encoders.base import build_encoder
from rondo.evidence.tests import find_evidence, shown_after_test
from rondo.evidence.verdicts import Evidence
from rondo.files.inputs import common_rate
from rondo.model.attempts import Attempt, best_attempt, scale_note
from rondo.model.folder import config_of, provenance_of
from rondo.model.label import Windowed, windows_in
from rondo.motifs.base import Motifs
from rondo.motifs.discover import MotifInput
from rondo.motifs.merging import motif_tree
from rondo.registry import MOTIFS, UNITS
from rondo.units.fit import fit_units
from rondo.units.fit_profile import FitProfile
from rondo.units.model import UnitModel
from rondo.units.shared_ids import shared_ids
from rondo.units.viterbi import Timeline
from rondo.units.vocabulary import MergeTree
from rondo.wording import Progress, silent

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo


@dataclass(frozen=True)
class FitPlan:
    """How recordings are prepared, how long windows are, and which stretches of each are learned from."""

    surveys: tuple[Survey, ...]
    preprocessor: Preprocessor
    scales: WindowScales
    stretches: tuple[tuple[Span, ...], ...]  # of each recording
    n_sound: int  # frames of all recordings that the stretches were drawn from
    copies: dict[str, str]  # recordings that are not learned from, as another one has the same values

    @property
    def rate(self) -> float | None:
        return self.surveys[0].rate

    @property
    def n_learned_from(self) -> int:
        """Of these, the frames that are learned from."""
        return sum(stop - start for own in self.stretches for start, stop in own)


def plan_fit(
    channels: UsedChannels,
    surveys: Sequence[Survey],
    config: RondoConfig,
    prepared: Callable[[Preprocessor, str], Signal],
) -> FitPlan:
    """Decide from surveys; `prepared` gives the signal of an id, whose period may decide the length of windows."""
    rng = generators(config.seed, STAGES)["sample"]  # draws nothing where all recordings are learned from
    preprocessor = Preprocessor.of_surveys(channels, surveys, config.preprocess)
    n_dims = preprocessor.n_dims
    sizes = sizes_of(surveys, n_dims, cache(lambda id: prepared(preprocessor, id).period_frames))
    scales = choose_scales(sizes, config)
    most = most_frames(n_dims, scales.step_frames)
    copies = copies_in(surveys)
    sound = [
        () if survey.id in copies else spans
        for survey, spans in zip(surveys, _sound_spans(surveys, scales.motif_frames), strict=True)
    ]
    stretches = fair_sample(sound, stretch_frames(scales.motif_frames, most), most, rng)
    return FitPlan(tuple(surveys), preprocessor, scales, tuple(stretches), _n_frames(sound), copies)


def _sound_spans(surveys: Sequence[Survey], window_frames: int) -> list[tuple[Span, ...]]:
    """Of each recording what is not poor; all of it where less than half is left that holds such windows."""
    sound = [survey.sound for survey in surveys]
    n_held = sum(stop - start for own in sound for start, stop in own if stop - start >= window_frames)
    every = [survey.spans for survey in surveys]
    return sound if 2 * n_held >= _n_frames(every) else every


def _n_frames(spans_of_each: Sequence[Sequence[Span]]) -> int:
    return sum(stop - start for spans in spans_of_each for start, stop in spans)


STAGES = ("encoder", "units", "motifs", "evidence", "sample")  # each with a generator of its own; new ones go last


class Learned(NamedTuple):
    """What the stages learned; `timelines` hold the unit of every window of each signal that they learned from."""

    scales: WindowScales
    units: UnitModel
    motifs: Motifs
    tree: MergeTree  # of the motifs that labels show
    evidence: Evidence
    provenance: dict[str, Any]
    timelines: list[Timeline]
    typical: Typical | None  # of recordings that are scaled each by its own statistics


def learn_from(
    model: Rondo, recordings: list[Recording], group_by: GroupBy, tell: Progress
) -> list[tuple[Windowed, Timeline]]:
    """What `Rondo.fit` does; the windows and units that it learned from come back, to be labelled."""
    config = config_of(model)
    refuse_unbuilt(config)
    given, recordings = recordings, in_learning_order(recordings)
    groups = groups_of_recordings(recordings, group_by)
    tell("preparing", 0, 5)
    common_rate(recordings)
    by_id, regular = {own.id: own for own in recordings}, dict[str, Signal]()
    keeps = len(recordings) == 1 or sum(own.values.size for own in recordings) <= MOST_VALUES
    channels, surveys = surveys_of(recordings, config.preprocess, regular if keeps else None)
    moments = {survey.id: survey.moments for survey in surveys}

    @cache
    def prepared(how: Preprocessor, id: str) -> Signal:
        if id in regular and not how.fills_by_all and not how.left_out:  # else it is to be made regular otherwise
            return how.seen(regular.pop(id), moments[id])
        return how.apply(by_id[id])

    plan = plan_fit(channels, surveys, config, prepared)
    signals = [prepared(plan.preprocessor, recording.id) for recording in recordings]
    sample = [taken(signal, own) for signal, own in zip(signals, plan.stretches, strict=True)]
    known = learn_into(model, plan, sample, groups, tell)
    windows = [windows_in(signal, model.window_length_frames_, model.step_frames_) for signal in signals]
    learned = {}
    for i, (recording, signal) in enumerate(zip(recordings, signals, strict=True)):
        units = known[i]
        if sample[i] is not signal:  # all of a recording that is a group by itself tells its place better
            units = model.unit_model_.timeline(windows[i], groups[i] if group_by is not None else None)
        learned[recording.id] = (Windowed(recording, signal, windows[i]), units)
    return [learned[recording.id] for recording in given]


def learn_into(
    model: Rondo, plan: FitPlan, sample: Sequence[Signal], groups: Sequence[str], tell: Progress = silent
) -> list[Timeline]:
    """Everything that `fit` does after the survey of the recordings; the unit of every window of each signal."""
    config = config_of(model)
    learned = learn(config, plan, sample, groups, tell)
    model.config_ = config.model_copy(update={"preprocess": plan.preprocessor.config})
    model.preprocessor_ = replace(plan.preprocessor, typical=learned.typical)
    model.unit_model_, model.motif_model_, model.evidence_ = learned.units, learned.motifs, learned.evidence
    model.motif_tree_ = learned.tree
    model.window_length_frames_, model.step_frames_, model.motif_window_frames_ = learned.scales
    model.rate_, model.provenance_ = plan.rate, learned.provenance
    model.edits_ = Edits()
    vars(model).pop("stream_", None)  # like the edits, it was about other entries
    return learned.timelines


def learn(
    config: RondoConfig, plan: FitPlan, sample: Sequence[Signal], groups: Sequence[str], tell: Progress
) -> Learned:
    """Encoder, units, motifs and their evidence, from the stretches that a plan chose; `groups` of each signal."""
    refuse_unbuilt(config)

    def at(scales: WindowScales, tell: Progress = silent) -> Attempt:
        return _attempt(config, scales, plan.rate, sample, groups, tell)

    longest = max((stop - start for signal in sample for start, stop in signal.spans), default=0)
    best = best_attempt(at(plan.scales, tell), config, longest, at)
    windows, timelines, units, motifs = best.windows, best.timelines, best.units, best.motifs
    tell("evidence", 4, 5)
    found = find_evidence(windows, timelines, units, motifs, config, generators(config.seed, STAGES)["evidence"])
    motifs, evidence = shown_after_test(motifs, found)
    tree = motif_tree(windows, timelines, motifs, best.scales.motif_frames)
    tell("done", 5, 5)
    known = iter(timelines)
    read = [next(known) if len(w) else units.timeline(w) for w in best.every]
    provenance = _provenance(plan, timelines)
    if (shared := shared_ids(units, windows, [read.ids for read in timelines], best.own)) is not None:
        provenance |= {"shared_ids": shared.as_json()}
    limits = scale_note(plan.scales, best.scales, plan.rate)
    limits += UNITS[config.units.method].notes(units.projection, config.units)
    typical, is_one_each = _typical(plan, sample, best.every)
    if is_one_each:
        limits += [ONE_EACH]
    limits += MOTIFS[config.motifs.method].notes(motifs, config.motifs)
    if limits:
        provenance |= {"training_notes": limits}
    return Learned(best.scales, units, motifs, tree, evidence, provenance, read, typical)


def _attempt(
    config: RondoConfig, scales: WindowScales, rate: float | None, sample: Sequence[Signal], groups: Sequence[str],
    tell: Progress,
) -> Attempt:  # fmt: skip
    """Encoder, units and motifs at one scale."""
    rngs, device = generators(config.seed, STAGES), device_of(config)
    motif_settings = config.motifs.in_windows(scales.step_frames, rate)
    every = [windows_in(signal, scales.unit_frames, scales.step_frames) for signal in sample]
    windows, own = [w for w in every if len(w)], [g for w, g in zip(every, groups, strict=True) if len(w)]
    tell("encoder", 1, 5)
    encoder = build_encoder(config.encoder, int(rngs["encoder"].integers(2**31)), device).fit(
        windows, lambda what, done, total: tell(f"encoder: {what}", done, total)
    )
    tell("units", 2, 5)
    units = fit_units(windows, encoder, config.units, rngs["units"], device, tell, own)
    tell("motifs", 3, 5)
    timelines = [units.timeline(w, group) for w, group in zip(windows, own, strict=True)]
    motif_input = MotifInput(windows, timelines, units, scales.motif_frames, rngs["motifs"], device, tell)
    return Attempt(scales, every, own, units, timelines, MOTIFS[motif_settings.method].fit(motif_input, motif_settings))


def _typical(plan: FitPlan, sample: Sequence[Signal], windows: Sequence[Windows]) -> tuple[Typical | None, bool]:
    """What recordings to come are read by, and whether each holds one activity; copies of another do not count."""
    config = plan.preprocessor.config
    if config.scaling == "none" or config.statistics != "recording":
        return None, False
    known = {signal.id: each for signal, each in zip(sample, windows, strict=True) if len(each)}
    surveys = [survey for survey in plan.surveys if survey.id in known and survey.id not in plan.copies]
    moments = with_silent([survey.moments for survey in surveys], [survey.silent for survey in surveys])
    levels = [log_deviations(known[survey.id]) for survey in surveys]
    is_one_each = not config.pca_components and hold_one_each(levels, moments)
    return Typical.of(moments, common_spread(levels), config), is_one_each


def _provenance(plan: FitPlan, timelines: Sequence[Timeline]) -> dict[str, Any]:
    fit_profile = FitProfile.of(np.concatenate([timeline.distances for timeline in timelines]))
    provenance = provenance_of(plan.surveys) | {"fit_profile": fit_profile.as_json()}
    if plan.n_learned_from < plan.n_sound:
        provenance |= {"sample": {"n_frames": plan.n_learned_from, "of": plan.n_sound}}
    if plan.copies:
        provenance |= {"copies": plan.copies}
    return provenance


def refuse_unbuilt(config: RondoConfig) -> None:
    """Say at once what this version, as installed, cannot do, before any data are prepared for it."""
    require_torch(network_in(config))
    build_encoder(config.encoder)
    config.units.refuse_idle()


def device_of(config: RondoConfig) -> str:
    """Where networks run; without one, the processor."""
    return resolve_device(config.device, for_network=network_in(config) is not None)
