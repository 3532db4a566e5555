"""RunData: what a run holds, in memory, in its folder, or as far as a stream has come. `rondo.Result` is its face."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.arrays import Lazy
from rondo.continual.journal import Event
from rondo.data.recording import Recording
from rondo.editing.edits import Edits
from rondo.run.labelling import Labelling, curve_table
from rondo.run.overview import FrameScores, Overview, signal_overview, told_scores
from rondo.run.segments import with_kinds
from rondo.run.shown import shown, shown_summary
from rondo.run.summary import RunSummary
from rondo.run.tally import RecordingPart, RunTally, Words, profile_summary
from rondo.units.fit_profile import FitProfile

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class RunData:
    """A run as it is shown under its edits, and its labels as they were found."""

    summary: RunSummary
    labellings: Mapping[str, Labelling]  # by the id of the recording
    overviews: Mapping[str, Overview]  # signals, small enough to draw
    scores: Mapping[str, FrameScores | None]  # None where the method has none
    tables: Mapping[str, pl.DataFrame]  # segments, unshown_segments; truth and training if there are any
    found: Mapping[str, Labelling]
    edits: Edits
    folder: Path | None = None  # that it was read from
    read_events: Callable[[], Sequence[Event]] = tuple

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "read_events": partial(tuple, self.read_events())}

    def edited(self, words: Words, edits: Edits) -> RunData:
        """The run under other edits; its evidence and findings stay where they still hold."""
        labellings = {id: shown(labelling, edits) for id, labelling in self.found.items()}
        parts = [RecordingPart.counted(one, labellings[one.id], words) for one in self.summary.recordings]
        summary = shown_summary(_tally(parts, labellings).recounted(self.summary, words), edits, findings=True)
        others = {name: self.tables[name] for name in self.tables if name not in ("segments", "unshown_segments")}
        tables = _tables(summary, labellings, others)
        return replace(self, summary=summary, labellings=labellings, tables=tables, edits=edits, folder=None)


def run_in_memory(
    recordings: Sequence[Recording],
    found: Sequence[Labelling],
    words: Words,
    edits: Edits,
    *,
    fitted: FitProfile | None,
    groups: Mapping[str, str],
    **about: Any,
) -> RunData:
    """The labels of recordings that are in memory.

    `fitted`: how near the windows of the fitted recordings lie to the units, if the model labels other recordings;
    `about`: the other fields of RunSummary, as in `RunTally.summary`.
    """
    values = {recording.id: recording for recording in recordings}
    before = dict(zip(values, found, strict=True))
    by_id = {id: shown(labelling, edits) for id, labelling in before.items()} if edits.history else before
    parts = [RecordingPart.of(one, by_id[one.id], words, fitted, groups.get(one.id, "")) for one in recordings]
    summary = _tally(parts, by_id).summary(words, fitted=None if fitted is None else profile_summary(fitted), **about)
    summary = shown_summary(summary, edits) if edits.history else summary
    training = curve_table(words)
    return RunData(
        summary,
        by_id,
        Lazy(tuple(values), lambda id: signal_overview(values[id].values, values[id].channels), overview_bytes),
        Lazy(tuple(values), lambda id: told_scores(by_id[id])),
        _tables(summary, by_id, {} if training is None else {"training": training}),
        before,
        edits,
    )


def overview_bytes(overview: Overview) -> int:
    return overview.codes.nbytes


def _tally(parts: Sequence[RecordingPart], labellings: Mapping[str, Labelling]) -> RunTally:
    import polars as pl

    tally = RunTally()
    each = [labellings[part.about.id] for part in parts]
    tally.add(parts, pl.concat([one.table for one in each]), _unshown(each))
    return tally


def _unshown(labellings: Sequence[Labelling]) -> pl.DataFrame:
    """The segments of motifs that labels do not show."""
    import polars as pl

    return pl.concat([labellings[0].table.clear(), *(one.unshown for one in labellings if one.unshown is not None)])


def _tables(
    summary: RunSummary, labellings: Mapping[str, Labelling], others: Mapping[str, pl.DataFrame]
) -> Lazy[pl.DataFrame]:
    """The tables of a run in memory, made on first use."""
    import polars as pl

    def make(name: str) -> pl.DataFrame:
        if name in others:
            return others[name]
        each = [labellings[one.id] for one in summary.recordings]
        return pl.concat([one.table for one in each]) if name == "segments" else with_kinds(_unshown(each), summary)

    return Lazy(["segments", "unshown_segments", *others], make)
