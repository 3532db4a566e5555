"""RunData: what a run holds, in memory, in its folder, or as far as a stream has come. `rondo.Result` is its face."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.arrays import Lazy
from rondo.continual.journal import Event
from rondo.data.recording import Recording
from rondo.editing.apply import shown
from rondo.run.findings import edited_findings
from rondo.run.labelling import FitProfile, Labelling, curve_table
from rondo.run.overview import FrameScores, Overview, Overviews, signal_overview, told_scores
from rondo.run.segments import with_kinds
from rondo.run.summary import RunSummary
from rondo.run.tally import RecordingPart, RunTally, Words, profile_summary

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class RunData:
    """A run: its summary, and arrays and tables that are made or read on first use."""

    summary: RunSummary
    labellings: Mapping[str, Labelling]  # by the id of the recording
    overviews: Mapping[str, Overview]  # signals, small enough to draw
    scores: Mapping[str, FrameScores | None]
    tables: Mapping[str, pl.DataFrame]  # segments, unshown_segments; truth and training if there are any
    folder: Path | None = None
    read_events: Callable[[], Sequence[Event]] = tuple

    def edited(self, words: Words) -> RunData:
        """The run under the edits of these words; its evidence and findings stay where they still hold."""
        labellings = {id: shown(labelling, words.edits) for id, labelling in self.labellings.items()}
        parts = [RecordingPart.counted(one, labellings[one.id], words) for one in self.summary.recordings]
        summary = _tally(parts, labellings).recounted(self.summary, words)
        findings = edited_findings(summary.findings, words.edits, summary.motifs_are_units)
        summary = summary.model_copy(update={"findings": findings})
        others = {name: self.tables[name] for name in self.tables if name not in ("segments", "unshown_segments")}
        return replace(
            self, summary=summary, labellings=labellings, tables=_tables(summary, labellings, others), folder=None
        )


def run_in_memory(
    recordings: Sequence[Recording],
    labellings: Sequence[Labelling],
    words: Words,
    *,
    fitted: FitProfile | None,
    groups: Mapping[str, str],
    **about: Any,
) -> RunData:
    """The labels of recordings that are in memory.

    `fitted`: how near the windows of the fitted recordings lie to the units, if the model labels other recordings;
    `about`: the other fields of RunSummary, as in `RunTally.summary`.
    """
    by_id = {recording.id: labelling for recording, labelling in zip(recordings, labellings, strict=True)}
    values = {recording.id: recording for recording in recordings}
    parts = [RecordingPart.of(one, by_id[one.id], words, fitted, groups.get(one.id, "")) for one in recordings]
    summary = _tally(parts, by_id).summary(words, fitted=None if fitted is None else profile_summary(fitted), **about)
    training = curve_table(words)
    return RunData(
        summary,
        by_id,
        Overviews(tuple(values), lambda id: signal_overview(values[id].values, values[id].channels)),
        Lazy(tuple(values), lambda id: told_scores(by_id[id])),
        _tables(summary, by_id, {} if training is None else {"training": training}),
    )


def _tally(parts: Sequence[RecordingPart], labellings: Mapping[str, Labelling]) -> RunTally:
    import polars as pl

    tally = RunTally()
    each = [labellings[part.about.id] for part in parts]
    tally.add(parts, pl.concat([one.table for one in each]), pl.concat([one.unshown_table for one in each]))
    return tally


def _tables(
    summary: RunSummary, labellings: Mapping[str, Labelling], others: Mapping[str, pl.DataFrame]
) -> Lazy[pl.DataFrame]:
    """The tables of a run in memory, made on first use."""
    import polars as pl

    def make(name: str) -> pl.DataFrame:
        if name in others:
            return others[name]
        if name == "segments":
            return pl.concat([labellings[one.id].table for one in summary.recordings])
        return with_kinds(pl.concat([labellings[one.id].unshown_table for one in summary.recordings]), summary)

    return Lazy(["segments", "unshown_segments", *others], make)
