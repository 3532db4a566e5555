"""Recordings, segments and what models say -> RunSummary: everything that is counted about a run is counted here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.data.labels import OTHER, are_one_to_one
from rondo.data.recording import Recording
from rondo.errors import OutputError
from rondo.labelling import Labelling
from rondo.report.wall_clock import clock_knots
from rondo.run.entries import Words, entry_rows, evidence_row
from rondo.run.segments import LEVELS, labels_between_ends
from rondo.run.summary import ClockKnots, EntrySummary, FitSummary, Profile, RecordingSummary, RunSummary
from rondo.store.ids import checked_id
from rondo.units.fit_profile import QUANTILES, FitProfile, fit_of
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

Tables = Mapping[str, "pl.DataFrame"]


def recording_summary(recording: Recording, labelling: Labelling, fitted: FitProfile | None) -> RecordingSummary:
    """What a recording is, and whether the model whose fitted windows lie so fits it."""
    times = recording.times_s
    knots = clock_knots(recording.timestamps_s, recording.rate)
    own = labelling.fit_profile
    fit = None
    if fitted is not None:
        verdict = fit_of(own, fitted)
        fit = FitSummary(verdict=verdict, n_units=0, n_units_of_model=0, **profile_summary(own).model_dump())
    try:
        checked_id(recording.id)
    except ValueError as error:
        raise OutputError(f"{error}, and its labels are a file of that name; give the recording another id") from None
    return RecordingSummary(
        id=recording.id,
        source=recording.source,
        n_frames=recording.n_frames,
        channels=recording.channels,
        rate=recording.rate,
        duration_s=None if times is None else float(times[-1] - times[0] + 1.0 / (recording.rate or 1.0)),
        notes=labelling.notes,
        share_other=1.0,
        share_accepted=labelling.share_accepted,
        breaks=tuple(labelling.breaks.tolist()),
        fit=fit,
        clock=None if knots is None else ClockKnots.model_validate(knots),
    )


def profile_summary(profile: FitProfile) -> Profile:
    """Share accepted, and the normalised distance of windows at each quantile."""
    named = zip(QUANTILES, profile.distances, strict=False)
    quantiles = {f"{q:g}": r if math.isfinite(r) else None for q, r in named}
    return Profile(share_accepted=profile.share_accepted, distance_quantiles=quantiles)


def counted(base: RunSummary, segments: Tables, words: Mapping[str, Words]) -> RunSummary:
    """The summary with what depends on labels: shares, entries, and whether motifs are the units.

    `segments` holds the table of each recording, `words` those of each vocabulary: by its recording, or "" for all.
    """
    own = base.own_vocabularies
    entries = {level: _entries(level, base.recordings, segments, words) for level in LEVELS}
    every = [merge.model_copy(update={"recording": key}) for key, said in words.items() for merge in said.merges]
    changed: dict[str, Any] = {
        "recordings": tuple(
            _with_shares(one, segments[one.id], words[one.id if own else ""], own) for one in base.recordings
        ),
        "units": entries["unit"],
        "motifs": entries["motif"],
        "unit_merges": tuple(every),
        "evidence": None if own else evidence_row(words[""].evidence),
        "motifs_are_units": _motifs_are_units(segments, own),
    }
    return base.model_copy(update=changed)


def known_words(summary: RunSummary, key: str) -> Words:
    """What a summary tells about the entries of a vocabulary whose model is not there."""
    units = {one.id: one.taken_for for one in summary.units if one.recording == key}
    motifs = {one.id: one.composition for one in summary.motifs if one.recording == key}
    return Words(units, motifs, merges=[one for one in summary.unit_merges if one.recording == key])


def with_known_evidence(summary: RunSummary, before: RunSummary) -> RunSummary:
    """With the evidence of entries that nobody has tested since, unless others count as them now."""
    changed = {}
    for level in ("units", "motifs"):
        known = {(one.recording, one.id): one.evidence for one in getattr(before, level) if not one.absorbed}
        changed[level] = tuple(
            one.model_copy(update={"evidence": known.get((one.recording, one.id))})
            if one.evidence is None and not one.absorbed
            else one
            for one in getattr(summary, level)
        )
    evidence = summary.evidence or before.evidence
    return summary.model_copy(update=changed | {"evidence": evidence})


def _with_shares(about: RecordingSummary, segments: pl.DataFrame, words: Words, own: bool) -> RecordingSummary:
    motifs = segments.filter((segments["level"] == "motif") & (segments["id"] != OTHER))
    n_labelled = int((motifs["end_frame"] - motifs["start_frame"]).sum())
    changed: dict[str, Any] = {"share_other": 1.0 - n_labelled / max(1, about.n_frames)}
    if about.fit is not None:
        units = segments.filter((segments["level"] == "unit") & (segments["id"] != OTHER))["id"]
        counts = {"n_units": units.n_unique(), "n_units_of_model": len(words.units)}
        changed["fit"] = about.fit.model_copy(update=counts)
    if own and words.evidence is not None:
        changed["evidence"] = evidence_row(words.evidence)
    return about.model_copy(update=changed)


def _entries(
    level: Level, recordings: Sequence[RecordingSummary], segments: Tables, words: Mapping[str, Words]
) -> tuple[EntrySummary, ...]:
    """One row per entry of each vocabulary."""
    import polars as pl

    if "" in words:
        joined = pl.concat([segments[one.id] for one in recordings])
        return tuple(entry_rows(level, joined, sum(one.n_frames for one in recordings), words[""]))
    return tuple(
        row for one in recordings for row in entry_rows(level, segments[one.id], one.n_frames, words[one.id], one.id)
    )


def _motifs_are_units(segments: Tables, own_vocabularies: bool) -> bool:
    """Whether motifs are the units under other ids, in the vocabulary of all recordings or in that of each."""
    pairs = [labels_between_ends(table) for table in segments.values()]
    if own_vocabularies:
        return all(are_one_to_one(units, motifs) for units, motifs in pairs)
    return are_one_to_one(*(np.concatenate(tracks) for tracks in zip(*pairs, strict=True)))
