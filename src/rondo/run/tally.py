"""Recordings, segments and what models say -> RunSummary: everything that is counted about a run is counted here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.data.labels import OTHER, are_one_to_one
from rondo.data.recording import Recording
from rondo.editing.edits import Edits
from rondo.errors import OutputError
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.run.clock import clock_knots
from rondo.run.labelling import QUANTILES, FitProfile, Labelling, fit_of
from rondo.run.segments import LEVELS, labels_between_ends
from rondo.run.summary import (
    ClockKnots,
    EntryEvidenceSummary,
    EntrySummary,
    FitSummary,
    Profile,
    RecordingSummary,
    RunSummary,
    UnitMerge,
    VocabularyEvidence,
)
from rondo.store.reading import checked_id
from rondo.units.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

N_EXEMPLARS = 3
_SCORE_DECIMALS = 3  # scores that agree so far are equal: which of two posteriors is nearer to 1 is rounding
_DURATIONS = {"p10": 0.1, "median": 0.5, "p90": 0.9}
_EXEMPLAR = ("id", "recording", "start_frame", "end_frame", "start_s", "score")
Tables = Mapping[str, "pl.DataFrame"]


@dataclass(frozen=True)
class Words:
    """What a model has to say, to people, about the entries of its vocabulary of each level."""

    units: Mapping[int, str] = field(default_factory=dict)  # which other unit each is taken for
    motifs: Mapping[int, str] = field(default_factory=dict)  # what each is made of
    kinds: Mapping[int, Any] = field(default_factory=dict)  # of motifs: `rondo.motifs.base.MotifKind`
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)  # what training reached, step by step
    merges: Sequence[UnitMerge] = ()  # of units, in order; see `rondo.units.vocabulary`
    evidence: Evidence | None = None  # of recurrence; None where the method has no test for it
    edits: Edits = field(default_factory=Edits)  # what people have named and merged
    rate: float | None = None  # frames per second, to say how long an interval is


def entry_rows(
    level: Level, segments: pl.DataFrame, n_frames: int, words: Words, *, in_labels: bool = True
) -> list[EntrySummary]:
    """One row per entry of a level that occurs in the segments, by id.

    Exemplars are the occurrences with the highest scores; of equal scores the longest, then the first.
    """
    tally = EntryTally(level)
    tally.add(segments)
    return tally.rows(n_frames, words, in_labels=in_labels)


class EntryTally:
    """The occurrences of one level, gathered from table after table; of each, little is kept."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self._durations: list[pl.DataFrame] = []
        self._best: pl.DataFrame | None = None

    def add(self, segments: pl.DataFrame) -> None:
        """The segments of more recordings."""
        import polars as pl

        own = segments.filter(pl.col("level") == self.level)
        frames, seconds = pl.col("end_frame") - pl.col("start_frame"), pl.col("end_s") - pl.col("start_s")
        self._durations.append(own.select("id", frames.alias("frames"), seconds.alias("s")))
        best = own.select(_EXEMPLAR)
        self._best = _exemplars(best if self._best is None else pl.concat([self._best, best]))

    def rows(self, n_frames: int, words: Words, *, in_labels: bool = True) -> list[EntrySummary]:
        """One row per entry, by id, of recordings that have so many frames in all."""
        import polars as pl

        if self._best is None:
            return []
        level = self.level
        frames, seconds = pl.col("frames"), pl.col("s")
        table = (
            pl.concat(self._durations)
            .group_by("id")
            .agg(
                pl.len().alias("n_occurrences"),
                *_durations(frames, "frames"),
                *_durations(seconds, "s"),
                frames.sum(),
            )
        )
        exemplars: dict[int, list[dict[str, Any]]] = {}
        for row in self._best.iter_rows(named=True):
            exemplars.setdefault(row.pop("id"), []).append(row)
        rows = []
        for row in table.sort("id").iter_rows(named=True):
            share, absorbed = row.pop("frames") / n_frames, words.edits.absorbed(level, row["id"])
            about: dict[str, Any] = {"name": words.edits.name(level, row["id"]), "absorbed": absorbed}
            if level == "motif":
                about |= {"composition": words.motifs.get(row["id"], ""), "kind": words.kinds.get(row["id"], "")}
                about["in_labels"] = in_labels
            else:
                about["taken_for"] = words.units.get(row["id"], "")
            if words.evidence is not None:
                found = words.evidence.units if level == "unit" else {**words.evidence.motifs, **words.evidence.unshown}
                # what was merged by hand was tested in its parts only
                about["evidence"] = _entry_evidence(None if absorbed else found.get(row["id"]), words.rate)
            rows.append(EntrySummary(**row, **about, share=share, exemplars=exemplars[row["id"]]))
        return rows


def evidence_row(evidence: Evidence | None) -> VocabularyEvidence | None:
    """What speaks for a whole vocabulary: p and whether it recurs; None where that was not tested."""
    if evidence is None or math.isnan(evidence.p):
        return None
    return VocabularyEvidence(p=evidence.p, recurs=evidence.recurs)


def _entry_evidence(found: EntryEvidence | None, rate: float | None) -> EntryEvidenceSummary:
    if found is None:  # it occurs here, but did not where the model was fitted
        return EntryEvidenceSummary(verdict="not tested")
    p = None if math.isnan(found.p) else found.p
    return EntryEvidenceSummary(verdict=found.verdict, p=p, reason=found.reason.in_words(rate))


def _durations(duration: pl.Expr, axis: str) -> list[pl.Expr]:
    quantiles = [duration.quantile(q, "linear").alias(f"{name}_duration_{axis}") for name, q in _DURATIONS.items()]
    return [duration.mean().alias(f"mean_duration_{axis}"), *quantiles]


def _exemplars(segments: pl.DataFrame) -> pl.DataFrame:
    """The best occurrences of each entry, best first."""
    import polars as pl

    ranked = segments.sort(
        pl.col("score").round(_SCORE_DECIMALS),
        pl.col("end_frame") - pl.col("start_frame"),
        pl.col("recording"),
        pl.col("start_frame"),
        descending=[True, True, False, False],
    )
    return ranked.group_by("id", maintain_order=True).head(N_EXEMPLARS).select(_EXEMPLAR)


def recording_summary(
    recording: Recording, labelling: Labelling, fitted: FitProfile | None, group: str = ""
) -> RecordingSummary:
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
        group=group,
    )


def profile_summary(profile: FitProfile) -> Profile:
    """Share accepted, and the normalised distance of windows at each quantile."""
    named = zip(QUANTILES, profile.distances, strict=False)
    quantiles = {f"{q:g}": r if math.isfinite(r) else None for q, r in named}
    return Profile(share_accepted=profile.share_accepted, distance_quantiles=quantiles)


def counted(base: RunSummary, segments: Tables, unshown: Tables, words: Words) -> RunSummary:
    """The summary with what depends on labels: shares, entries, and whether motifs are the units.

    `segments` holds the table of each recording, `unshown` that of motifs that labels do not show.
    """
    entries = {level: _entries(level, base.recordings, segments, words) for level in LEVELS}
    changed: dict[str, Any] = {
        "recordings": tuple(_with_shares(one, segments[one.id], words) for one in base.recordings),
        "units": entries["unit"],
        "motifs": entries["motif"] + _entries("motif", base.recordings, unshown, words, in_labels=False),
        "unit_merges": tuple(words.merges),
        "evidence": evidence_row(words.evidence),
        "motifs_are_units": _motifs_are_units(segments),
    }
    return base.model_copy(update=changed)


def known_words(summary: RunSummary) -> Words:
    """What a summary tells about the entries of a run without a model."""
    units = {one.id: one.taken_for for one in summary.units}
    motifs = {one.id: one.composition for one in summary.motifs}
    kinds = {one.id: one.kind for one in summary.motifs}
    return Words(units, motifs, kinds, merges=summary.unit_merges)


def with_known_evidence(summary: RunSummary, before: RunSummary) -> RunSummary:
    """With the evidence of entries that nobody has tested since, unless others count as them now."""
    changed = {}
    for level in ("units", "motifs"):
        known = {one.id: one.evidence for one in getattr(before, level) if not one.absorbed}
        changed[level] = tuple(
            one.model_copy(update={"evidence": known.get(one.id)}) if one.evidence is None and not one.absorbed else one
            for one in getattr(summary, level)
        )
    evidence = summary.evidence or before.evidence
    return summary.model_copy(update=changed | {"evidence": evidence})


def _with_shares(about: RecordingSummary, segments: pl.DataFrame, words: Words) -> RecordingSummary:
    motifs = segments.filter((segments["level"] == "motif") & (segments["id"] != OTHER))
    n_labelled = int((motifs["end_frame"] - motifs["start_frame"]).sum())
    changed: dict[str, Any] = {"share_other": 1.0 - n_labelled / max(1, about.n_frames)}
    if about.fit is not None:
        units = segments.filter((segments["level"] == "unit") & (segments["id"] != OTHER))["id"]
        counts = {"n_units": units.n_unique(), "n_units_of_model": len(words.units)}
        changed["fit"] = about.fit.model_copy(update=counts)
    return about.model_copy(update=changed)


def _entries(
    level: Level,
    recordings: Sequence[RecordingSummary],
    segments: Tables,
    words: Words,
    *,
    in_labels: bool = True,
) -> tuple[EntrySummary, ...]:
    """One row per entry of a level."""
    import polars as pl

    if not segments:
        return ()
    joined, n_frames = pl.concat([segments[one.id] for one in recordings]), sum(one.n_frames for one in recordings)
    return tuple(entry_rows(level, joined, n_frames, words, in_labels=in_labels))


def _motifs_are_units(segments: Tables) -> bool:
    """Whether motifs are the units under other ids."""
    pairs = [labels_between_ends(table) for table in segments.values()]
    return are_one_to_one(*(np.concatenate(tracks) for tracks in zip(*pairs, strict=True)))
