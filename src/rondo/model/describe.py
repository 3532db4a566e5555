"""What fitted models say about recordings, as a Result: words about every entry, and findings about the whole."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.data.labels import OTHER, Runs
from rondo.data.recording import Recording
from rondo.data.window_lengths import FEWEST_TELLING_FRAMES, too_few_windows
from rondo.editing.edits import KnownIds
from rondo.errors import RondoWarning
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.merging import suggested
from rondo.motifs.model import MotifModel
from rondo.result import Result, make_result
from rondo.run.findings import (
    composition_sentence,
    copies_sentence,
    phrase_sentence,
    place_sentence,
    recurrence_sentence,
    sample_sentence,
    shared_ids_sentence,
)
from rondo.run.labelling import Labelling
from rondo.run.shown import merged_sentence
from rondo.run.summary import (
    EntryEvidenceSummary,
    EntryMerge,
    RecordingSummary,
    RunKind,
    RunSummary,
    StreamSummary,
    VocabularyEvidence,
)
from rondo.run.tally import RecordingPart, RunTally, Words
from rondo.units.fit_profile import FitProfile
from rondo.units.vocabulary import Level, MergeTree
from rondo.wording import counted, duration_in_words

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo


def result_of(
    model: Rondo,
    recordings: Sequence[Recording],
    labellings: Sequence[Labelling],
    *,
    kind: RunKind = "discover",
    fitted: FitProfile | None = None,
    is_foreign: bool = False,
    more: Sequence[str] = (),
    groups: Sequence[str] | None = None,
) -> Result:
    """The result of a model.

    `groups`: the group of each recording; `fitted`: how near the fitted windows lie to the units, where the model
    labels other recordings; `is_foreign`: the evidence comes from other recordings; `more`: findings that follow those
    of the model.
    """
    model = carrying(model)
    if taught := [span for one in labellings for span in one.taught]:
        model = copy(model)
        model.edits_ = model.edits_.read_as(taught)
    return make_result(
        "rondo",
        recordings,
        labellings,
        kind=kind,
        seed=model.config_.seed,
        config=model.config_.model_dump(mode="json"),
        windows=(model.window_length_frames_, model.step_frames_),
        words=words_of(model),
        edits=model.edits_,
        findings=[*findings_of(model, is_foreign), *more],
        model=model,
        fitted=fitted,
        groups=None if groups is None else dict(zip((one.id for one in recordings), groups, strict=True)),
    )


def carrying(model: Rondo) -> Rondo:
    """The model with the edits that hold for other recordings; itself where it has no others."""
    edits = model.edits_.carried()
    if edits is not model.edits_:
        model = copy(model)
        model.edits_ = edits
    return model


def note_untaught(model: Rondo) -> None:
    """Say that a stream does not read what the model was taught."""
    if model.edits_.teaching is not None:
        told = "streams do not read what a model was taught: motifs are as they were found; use `rondo label` for names"
        warnings.warn(told, RondoWarning, stacklevel=4)


def stream_summary(model: Rondo, id: str, source: str, n_frames: int, counters: StreamSummary) -> RunSummary:
    """What there is to say about a stream of this model beside its labels."""
    about = RecordingSummary(
        id=id,
        source=source,
        n_frames=n_frames,
        channels=model.preprocessor_.channels,
        rate=model.rate_,
        duration_s=None,
        notes=(),
        share_other=1.0,
    )
    tally, nowhere = RunTally(), Runs(*(np.zeros(0, np.int64) for _ in Runs._fields))
    tally.add([RecordingPart.of_runs(about, nowhere, nowhere, Words())], None)
    return tally.summary(Words(), kind="stream", stream=counters, **run_fields(model, is_foreign=True))


def run_fields(model: Rondo, is_foreign: bool) -> dict[str, Any]:
    """The fields of a summary that are those of the model; `is_foreign`: it labels other recordings."""
    return {
        "method": "rondo",
        "seed": model.config_.seed,
        "window_length_frames": model.window_length_frames_,
        "step_frames": model.step_frames_,
        "findings": tuple(findings_of(model, is_foreign)),
        "config": model.config_.model_dump(mode="json"),
    }


def fit_notes(model: Rondo, n_frames: Sequence[int]) -> tuple[str, ...]:
    """What there is to say about a fit to recordings of these lengths; the first recording bears it."""
    note = short_window_note(model, n_frames)
    return (*([note] if note else []), *model.provenance_.get("training_notes", ()))


def short_window_note(model: Rondo, n_frames: Sequence[int]) -> str:
    """Recordings with too few windows; a window of a few frames, because no longer one fits often enough."""
    longest = max(n_frames)
    if note := too_few_windows(n_frames, model.window_length_frames_):
        return note
    if model.config_.windows.length != "auto" or model.window_length_frames_ >= FEWEST_TELLING_FRAMES:
        return ""
    return (
        f"with {longest} frames a window is only {model.window_length_frames_} frames long; "
        "units will reflect signal level only: record longer, or give --window"
    )


def fit_profile(model: Rondo) -> FitProfile:
    """How near the windows of the fitted recordings lie to their units."""
    return FitProfile.from_json(model.provenance_.get("fit_profile"), "the model")


def words_of(model: Rondo) -> Words:
    """What there is to say about the entries of a fitted model."""
    tree, motifs = model.unit_model_.tree, model.motif_model_
    advised, kept = tree.kept_at(tree.best), model.edits_.kept
    taken_for = {id: kept("unit", advised[id]) for id in model.unit_model_.ids if kept("unit", id) == id}
    every = (*motifs.ids, *motifs.unshown_ids)
    return Words(
        {id: "" if other == id else f"u{other}" for id, other in taken_for.items()},
        {id: motifs.composition(id, partial(kept, "unit")) for id in every},
        {id: motifs.kind(id) for id in every},
        {**model.unit_model_.curves, **{f"motifs.{name}": curve for name, curve in motifs.curves.items()}},
        _merges(tree, tree.best),
        _merges(model.motif_tree_, suggested(model.motif_tree_)),
        **evidence_words(model.evidence_, model.rate_),
    )


def _merges(tree: MergeTree, n_advised: int) -> list[EntryMerge]:
    return [EntryMerge(**asdict(step), advised=number < n_advised) for number, step in enumerate(tree.steps)]


def evidence_words(evidence: Evidence, rate: float | None) -> dict[str, Any]:
    """The fields of Words that hold evidence; `rate`: frames per second, for durations in sentences."""

    def summary(one: EntryEvidence) -> EntryEvidenceSummary:
        p, recognised, margin = (None if math.isnan(own) else own for own in (one.p, one.recognised, one.margin))
        return EntryEvidenceSummary(
            verdict=one.verdict,
            p=p,
            reason=one.reason.in_words(rate),
            n_visits=one.n_visits or None,
            recognised=recognised,
            margin=margin,
            like=one.like if one.verdict == "blurred" and one.like != OTHER else None,
        )

    levels = {"unit": evidence.units, "motif": {**evidence.motifs, **evidence.unshown}}
    return {
        "evidence": None if math.isnan(evidence.p) else VocabularyEvidence(p=evidence.p, recurs=evidence.recurs),
        "tested": {level: {id: summary(one) for id, one in entries.items()} for level, entries in levels.items()},
        "untested": EntryEvidenceSummary(verdict="not tested"),  # it does not occur where the model was fitted
    }


def findings_of(model: Rondo, is_foreign: bool) -> list[str]:
    """What the whole run says about recurrence and composition."""
    is_flat, are_units = not model.motif_model_.composed, _motifs_are_units(model)
    motifs = model.motif_model_
    kinds = {id: motifs.kind(id) for id in (*motifs.ids, *motifs.unshown_ids)}
    found = [recurrence_sentence(model.evidence_, kinds, is_foreign)]
    if not is_foreign and (placed := place_sentence(model.evidence_.units)):
        found.append(placed)
    if is_flat:
        was_asked = model.config_.motifs.method != "none"
        found.append(composition_sentence(was_asked, are_units, bool(model.motif_model_.unshown_ids)))
    found += _composition_sentences(model)
    if merged := merged_sentence(model.edits_, are_units):
        found.append(merged)
    if not is_foreign and (sample := model.provenance_.get("sample")):
        found.append(sample_sentence(sample["n_frames"], sample["of"]))
    if not is_foreign and (shared := model.provenance_.get("shared_ids")) and shared["doubts"]:
        found.append(shared_ids_sentence(shared))
    if not is_foreign and (copies := model.provenance_.get("copies")):
        found.append(copies_sentence(copies))
    return found


def _composition_sentences(model: Rondo) -> list[str]:
    """Which kind of motif the labels show, and what recurs of the other kind."""
    motifs = model.motif_model_
    if not isinstance(motifs, ComposedMotifs):
        return []
    frames, rate, phrases, n = model.motif_window_frames_, model.rate_, motifs.phrases, len(motifs.unshown)
    if motifs.shown == "phrase" and phrases:
        told = [phrase_sentence("Labels show phrases: ", *_commonest(phrases, phrases.motif_of_phrase))]
        stretches = (
            f"{counted(n, 'context')}: {'a stretch that reuses' if n == 1 else 'stretches that reuse'} the same units"
        )
        return [*told, f"Not in the labels: {stretches}."] if n else told
    in_phrases = _commonest(phrases, motifs.unshown) if phrases and n else None
    if motifs.shown == "unit":
        return [phrase_sentence("Not in the labels: ", *in_phrases)] if in_phrases else []
    long = f"{frames} frames" if rate is None else duration_in_words(frames / rate)
    told = [f"Labels show contexts: stretches that reuse the same units (windows of {long})."]
    return [*told, phrase_sentence("Not in the labels: ", *in_phrases)] if in_phrases else told


def _commonest(phrases: MotifModel, among: Sequence[int]) -> tuple[int, str, int]:
    """How many of these phrases there are; what the commonest is made of, and how often it occurs."""
    counts = {motif: phrases.occurrences[motif] for motif in among}
    best = max(counts, key=lambda motif: (counts[motif], -motif))
    return len(counts), phrases.composition(best), counts[best]


def own_motifs(model: Rondo) -> dict[int, int]:
    """The motif of each unit, where every unit is its own motif; empty where motifs are composed of several units."""
    if model.motif_model_.composed:
        return {}
    grown = model.stream_.reader.own_motifs if hasattr(model, "stream_") else {}
    return {unit: unit for unit in model.unit_model_.ids} | dict(grown)


def fitted_ids(model: Rondo) -> dict[Level, tuple[int, ...]]:
    """The ids of units and motifs as they were fitted, including motifs that labels do not show."""
    motifs = model.motif_model_
    return {"unit": tuple(model.unit_model_.ids), "motif": (*motifs.ids, *motifs.unshown_ids)}


def known_ids(model: Rondo) -> KnownIds:
    """The entries that can be edited, including those that the stream of `partial_fit` has added."""
    ids = fitted_ids(model)
    if hasattr(model, "stream_"):
        units, motifs = {*ids["unit"], *model.stream_.reader.unit_ids}, {*ids["motif"], *model.stream_.reader.motif_ids}
        ids = {"unit": tuple(sorted(units)), "motif": tuple(sorted(motifs))}
    return KnownIds(ids, own_motifs(model), model.motif_model_.unshown_ids)


def _motifs_are_units(model: Rondo) -> bool:
    """Whether every unit is its own motif, and still is after what people have merged in either level."""
    kept, own = model.edits_.kept, own_motifs(model)
    groups = {(kept("unit", unit), kept("motif", motif)) for unit, motif in own.items()}
    return bool(own) and len(groups) == len({unit for unit, _ in groups}) == len({motif for _, motif in groups})
