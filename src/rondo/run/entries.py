"""The entries of a run: how often, how much, how long, how well, and what speaks for each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.run.summary import EntryEvidenceSummary, EntrySummary, UnitMerge, VocabularyEvidence
from rondo.vocabulary.edits import Edits
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

N_EXEMPLARS = 3
_SCORE_DECIMALS = 3  # scores that agree so far are equal: which of two posteriors is nearer to 1 is rounding
_DURATIONS = {"p10": 0.1, "median": 0.5, "p90": 0.9}


@dataclass(frozen=True)
class Words:
    """What a model has to say, to people, about the entries of its vocabulary of each level."""

    units: Mapping[int, str] = field(default_factory=dict)  # which other unit each is taken for
    motifs: Mapping[int, str] = field(default_factory=dict)  # what each is made of
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)  # what training reached, step by step
    merges: Sequence[UnitMerge] = ()  # of units, in order; see `rondo.vocabulary.confusion`
    evidence: Evidence | None = None  # of recurrence; None where the method has no test for it
    edits: Edits = field(default_factory=Edits)  # what people have named and merged
    rate: float | None = None  # frames per second, to say how long an interval is


def entry_rows(
    level: Level, segments: pl.DataFrame, n_frames: int, words: Words, recording: str = ""
) -> list[EntrySummary]:
    """One row per entry of a level that occurs in the segments of one vocabulary, by id.

    Exemplars are the occurrences with the highest scores; of equal scores the longest, then the first.
    """
    import polars as pl

    own = segments.filter(pl.col("level") == level)
    frames, seconds = pl.col("end_frame") - pl.col("start_frame"), pl.col("end_s") - pl.col("start_s")
    table = own.group_by("id").agg(
        pl.len().alias("n_occurrences"),
        frames.sum().alias("frames"),
        *_durations(frames, "frames"),
        *_durations(seconds, "s"),
    )
    exemplars = _exemplars(own)
    rows = []
    for row in table.sort("id").iter_rows(named=True):
        share, absorbed = row.pop("frames") / n_frames, words.edits.absorbed(level, row["id"])
        about: dict[str, Any] = {"name": words.edits.name(level, row["id"]), "absorbed": absorbed}
        if level == "motif":
            about["composition"] = words.motifs.get(row["id"], "")
        else:
            about["taken_for"] = words.units.get(row["id"], "")
        if words.evidence is not None:
            found = words.evidence.motifs if level == "motif" else words.evidence.units
            # what was merged by hand was tested in its parts only
            about["evidence"] = _entry_evidence(None if absorbed else found.get(row["id"]), words.rate)
        rows.append(EntrySummary(**row, **about, recording=recording, share=share, exemplars=exemplars[row["id"]]))
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


def _exemplars(segments: pl.DataFrame) -> dict[int, list[dict[str, Any]]]:
    import polars as pl

    ranked = segments.sort(
        pl.col("score").round(_SCORE_DECIMALS),
        pl.col("end_frame") - pl.col("start_frame"),
        pl.col("recording"),
        pl.col("start_frame"),
        descending=[True, True, False, False],
    )
    best = ranked.group_by("id", maintain_order=True).head(N_EXEMPLARS)
    found: dict[int, list[dict[str, Any]]] = {}
    for row in best.select("id", "recording", "start_frame", "end_frame", "start_s", "score").iter_rows(named=True):
        found.setdefault(row.pop("id"), []).append(row)
    return found
