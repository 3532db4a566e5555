"""Recordings, segments and what a model knows about its entries -> RunSummary: everything counted is counted here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rondo.data.labels import Runs, are_one_to_one
from rondo.data.recording import Recording
from rondo.errors import OutputError
from rondo.run.clock import clock_knots
from rondo.run.labelling import Labelling
from rondo.run.segments import LEVELS, labels_between_ends
from rondo.run.summary import (
    ClockKnots,
    EntryEvidenceSummary,
    EntryMerge,
    EntrySummary,
    FitSummary,
    Profile,
    RecordingSummary,
    RunSummary,
    VocabularyEvidence,
)
from rondo.store.reading import checked_id
from rondo.units.fit_profile import QUANTILES, FitProfile, fit_of
from rondo.units.vocabulary import Level
from rondo.version import __version__

if TYPE_CHECKING:
    import polars as pl

N_EXEMPLARS = 3
_SCORE_DECIMALS = 3  # scores that agree so far are equal: which of two posteriors is nearer to 1 is rounding
_DURATIONS = {"p10": 0.1, "median": 0.5, "p90": 0.9}
_EXEMPLAR = ("id", "recording", "start_frame", "end_frame", "start_s", "score")


@dataclass(frozen=True)
class Words:
    """What is known about the entries of a vocabulary."""

    units: Mapping[int, str] = field(default_factory=dict)  # the unit that each is taken for
    motifs: Mapping[int, str] = field(default_factory=dict)  # the units that each consists of
    kinds: Mapping[int, Any] = field(default_factory=dict)  # of motifs: `rondo.motifs.base.MotifKind`
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)  # training, step by step
    merges: Sequence[EntryMerge] = ()  # of units, in order; see `rondo.units.vocabulary`
    motif_merges: Sequence[EntryMerge] = ()  # in order; see `rondo.motifs.merging`
    evidence: VocabularyEvidence | None = None
    tested: Mapping[Level, Mapping[int, EntryEvidenceSummary]] = field(default_factory=dict)  # evidence of entries
    untested: EntryEvidenceSummary | None = None  # of all other entries; None if the method has no test

    @classmethod
    def of_summary(cls, summary: RunSummary) -> Words:
        """What the summary of a run knows, for runs without a model. Merged entries were tested in their parts only."""
        levels: dict[Level, tuple[EntrySummary, ...]] = {"unit": summary.units, "motif": summary.motifs}
        return cls(
            {one.id: one.taken_for for one in summary.units},
            {one.id: one.composition for one in summary.motifs},
            {one.id: one.kind for one in summary.motifs},
            merges=summary.unit_merges,
            motif_merges=summary.motif_merges,
            evidence=summary.evidence,
            tested={
                level: {one.id: one.evidence for one in entries if one.evidence is not None and not one.absorbed}
                for level, entries in levels.items()
            },
        )


class EntryTally:
    """The occurrences of one level, gathered from table after table; of each, little is kept.

    Exemplars are the occurrences with the highest scores; of equal scores the longest, then the first.
    """

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
            id, share = row["id"], row.pop("frames") / n_frames
            about: dict[str, Any] = {"evidence": words.tested.get(level, {}).get(id, words.untested)}
            if level == "motif":
                about |= {"composition": words.motifs.get(id, ""), "kind": words.kinds.get(id, "")}
                about["in_labels"] = in_labels
            else:
                about["taken_for"] = words.units.get(id, "")
            rows.append(EntrySummary(**row, **about, share=share, exemplars=exemplars[id]))
        return rows


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


def profile_summary(profile: FitProfile) -> Profile:
    """Share accepted, and the normalised distance of windows at each quantile."""
    named = zip(QUANTILES, profile.distances, strict=False)
    quantiles = {f"{q:g}": r if math.isfinite(r) else None for q, r in named}
    return Profile(share_accepted=profile.share_accepted, distance_quantiles=quantiles)


class RecordingPart(NamedTuple):
    """What the summary of a run says about one recording."""

    about: RecordingSummary
    pairs: frozenset[tuple[int, int]]  # unit and motif of the same frame; OTHER where a frame has none

    @classmethod
    def of(
        cls, recording: Recording, labelling: Labelling, words: Words, fitted: FitProfile | None = None, group: str = ""
    ) -> RecordingPart:
        """The part of a recording that was just labelled; `fitted`: how near its units the fitted windows lie."""
        times = recording.times_s
        knots = clock_knots(recording.timestamps_s, recording.rate)
        own, fit = labelling.fit_profile, None
        if fitted is not None:
            verdict = fit_of(own, fitted)
            fit = FitSummary(verdict=verdict, n_units=0, n_units_of_model=0, **profile_summary(own).model_dump())
        try:
            checked_id(recording.id)
        except ValueError as error:
            why = f"{error}, and its labels are a file of that name; give the recording another id"
            raise OutputError(why) from None
        about = RecordingSummary(
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
        return cls.counted(about, labelling, words)

    @classmethod
    def counted(cls, about: RecordingSummary, labelling: Labelling, words: Words) -> RecordingPart:
        """With shares and counts of these labels."""
        units, motifs = (labelling.occurrences(level) for level in LEVELS)
        return cls.of_runs(about, units, motifs, words)

    @classmethod
    def of_runs(cls, about: RecordingSummary, units: Runs, motifs: Runs, words: Words) -> RecordingPart:
        """With shares and counts of these occurrences."""
        changed: dict[str, Any] = {"share_other": 1.0 - int(motifs.lengths.sum()) / max(1, about.n_frames)}
        if about.fit is not None:
            counts = {"n_units": np.unique(units.ids).size, "n_units_of_model": len(words.units)}
            changed["fit"] = about.fit.model_copy(update=counts)
        pairs = zip(*(track.tolist() for track in labels_between_ends(units, motifs)), strict=True)
        return cls(about.model_copy(update=changed), frozenset(pairs))


class RunTally:
    """The summary of a run, counted recording by recording; tables can be dropped once they are added."""

    def __init__(self) -> None:
        self._levels = {level: EntryTally(level) for level in LEVELS}
        self._unshown = EntryTally("motif")
        self._recordings: list[RecordingSummary] = []
        self._pairs: set[tuple[int, int]] = set()

    def add(
        self, parts: Iterable[RecordingPart], segments: pl.DataFrame | None, unshown: pl.DataFrame | None = None
    ) -> None:
        """Recordings and their segments; `unshown`: of motifs that labels do not show."""
        for part in parts:
            self._recordings.append(part.about)
            self._pairs |= part.pairs
        if segments is not None:
            for tally in self._levels.values():
                tally.add(segments)
        if unshown is not None:
            self._unshown.add(unshown)

    def summary(self, words: Words, **about: Any) -> RunSummary:
        """The summary; `about`: the fields of RunSummary that are not counted, such as kind, method and config."""
        n_frames = sum(one.n_frames for one in self._recordings)
        pairs = np.array(sorted(self._pairs), np.int32).reshape(-1, 2)
        motifs = self._levels["motif"].rows(n_frames, words)
        counted = {
            "rondo_version": __version__,
            "recordings": tuple(self._recordings),
            "units": tuple(self._levels["unit"].rows(n_frames, words)),
            "motifs": (*motifs, *self._unshown.rows(n_frames, words, in_labels=False)),
            "unit_merges": tuple(words.merges),
            "motif_merges": tuple(words.motif_merges),
            "evidence": words.evidence,
            "motifs_are_units": are_one_to_one(pairs[:, 0], pairs[:, 1]),
        }
        return RunSummary(**counted | about)

    def recounted(self, before: RunSummary, words: Words) -> RunSummary:
        """The summary of a run with its labels as they are now."""
        kept = {name: getattr(before, name) for name in _NOT_COUNTED}
        return self.summary(words, **kept)


_NOT_COUNTED = (
    "rondo_version", "kind", "method", "seed", "window_length_frames", "step_frames", "findings", "fitted", "scores",
    "stream", "failed", "config",
)  # fmt: skip
