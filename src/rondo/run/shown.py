"""What was found + the edits -> what is shown: the only place that changes a label.

Frames are relabelled in the order of the list, so the last edit that covers a frame decides. Each span is one
occurrence; it goes on where the frames beside it belong to the same entry, unless they are another span of the edit.
Then entries that were merged take the id that is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.editing.edits import Edits
from rondo.editing.names import EntryId
from rondo.run.findings import FEW_PHRASES, FLAT, NOT_ASKED, composition_sentence
from rondo.run.labelling import Labelling
from rondo.run.segments import COLUMNS, LEVELS, spans_in, unit_sequences, with_dates
from rondo.run.summary import EntryEvidenceSummary, EntrySummary, RunSummary
from rondo.units.vocabulary import Level
from rondo.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from rondo.continual.reading import Decision

_MERGED, _CHANGED = "Merged by hand, and not tested as one: ", "Changed by hand: "
_COARSENED = "Merged by hand or along the tree of motifs, and not tested as one: "


def shown(found: Labelling, edits: Edits) -> Labelling:
    """The labels and segments of one recording under the edits; the scores of frames do not change."""
    import polars as pl

    tracks: dict[str, Any] = {}
    for level in LEVELS:
        begins = found.unit_begins if level == "unit" else found.motif_begins
        labels, begins = relabelled(found.labels_of(level), begins, edits, level, found.recording_id)
        tracks |= {f"{level}s": kept_ids(edits.moved(level), labels), f"{level}_begins": begins}
    labelling = replace(found, **tracks)
    if found.recording_id in edits.touched:
        table = named(_measured_as(labelling.table, found.table), edits)
    else:
        table = shown_segments(found.table, edits, found.breaks.tolist())
    if found.unshown is not None:  # these motifs are never merged, and no frame is theirs: only their units change
        units = spans_in(table.filter(table["level"] == "unit"))
        inside = pl.Series("units", unit_sequences(spans_in(found.unshown), units), dtype=pl.String)
        labelling = replace(labelling, unshown=named(found.unshown.with_columns(inside), edits))
    return labelling.stored(table)


def shown_decisions(decisions: Iterable[Decision], edits: Edits) -> list[Decision]:
    """The decisions of a stream under the ids that are kept."""
    return [own._replace(unit=edits.kept("unit", own.unit), motif=edits.kept("motif", own.motif)) for own in decisions]


def shown_summary(summary: RunSummary, edits: Edits, findings: bool = False) -> RunSummary:
    """The summary of labels that are shown under the edits: names, and what each entry stands for.

    Entries that were merged were tested in their parts only. `findings`: say again what was edited.
    """

    def entry(level: Level, one: EntrySummary) -> EntrySummary:
        absorbed = edits.absorbed(level, one.id)
        changed: dict[str, Any] = {"name": edits.name(level, one.id), "absorbed": absorbed}
        if absorbed and one.evidence is not None:
            changed["evidence"] = EntryEvidenceSummary(verdict="not tested")
        return one.model_copy(update=changed)

    changed: dict[str, Any] = {
        "units": tuple(entry("unit", one) for one in summary.units),
        "motifs": tuple(entry("motif", one) for one in summary.motifs),
    }
    if findings:
        changed["findings"] = edited_findings(summary.findings, edits, summary.motifs_are_units)
    return summary.model_copy(update=changed)


def edited_findings(findings: Sequence[str], edits: Edits, motifs_are_units: bool) -> tuple[str, ...]:
    """The same sentences after people have edited the run: those on merges and frames are written again."""
    kept: list[str] = []
    for sentence in findings:
        for head in (FLAT, FEW_PHRASES, NOT_ASKED):
            if sentence.startswith(head):
                sentence = composition_sentence(head != NOT_ASKED, motifs_are_units, head == FEW_PHRASES)
        if not sentence.startswith((_MERGED, _COARSENED, _CHANGED)):
            kept.append(sentence)
    told = (sentence(edits, motifs_are_units) for sentence in (merged_sentence, changed_sentence))
    return (*kept, *(sentence for sentence in told if sentence))


def merged_sentence(edits: Edits, motifs_are_units: bool = False) -> str:
    """Which entries count as others because people have said so; "" where none does."""
    levels: tuple[Level, ...] = ("unit",) if motifs_are_units else ("unit", "motif")
    head = _COARSENED if edits.coarsening and edits.coarsening.ids else _MERGED
    parts = [
        f"{', '.join(EntryId(level, other).short for other in edits.absorbed(level, id))} as {EntryId(level, id).short}"
        for level in levels
        for id in edits.groups(level)
    ]
    return f"{head}{'; '.join(parts)}." if parts else ""


def changed_sentence(edits: Edits, motifs_are_units: bool = False) -> str:
    """What people have done to frames; "" where they have done nothing."""
    levels = ("unit",) if motifs_are_units else ("unit", "motif")
    n_spans = sum(len(edit.spans) for edit in edits.relabels if edit.level in levels)
    taught = "" if edits.teaching is None else ", ".join(edits.teaching.names)
    parts = [f"{counted(n_spans, 'span')} relabelled"] * bool(n_spans) + [f"taught {taught}"] * bool(taught)
    return f"{_CHANGED}{'; '.join(parts)}." if parts else ""


def relabelled(
    labels: Labels, begins: NDArray[np.int64], edits: Edits, level: Level, recording: str
) -> tuple[Labels, NDArray[np.int64]]:
    """The track after every relabel, and where an occurrence begins although the label stays the same.

    >>> from rondo.editing.kinds import Edit, FrameSpan
    >>> edits = Edits((Edit("relabel", "unit", (3,), spans=(FrameSpan("day", 1, 4),)),))
    >>> labels, begins = relabelled(np.array([3, 3, 3, 7, 7]), np.array([1]), edits, "unit", "day")
    >>> labels.tolist(), begins.tolist()
    ([3, 3, 3, 3, 7], [])
    """
    if recording not in edits.touched:
        return labels, begins
    track, is_begin = np.array(labels), np.zeros(labels.size + 1, dtype=np.bool_)
    is_begin[begins] = True
    for edit in edits.in_force:
        for taught in edit.taught if level == edit.level else ():
            if taught.recording == recording:
                track[taught.start : taught.stop] = taught.id
                is_begin[taught.start : taught.stop + 1] = False
        spans = [(span.start, span.stop) for span in edit.spans if span.recording == recording]
        for id in edit.ids_of(level):
            for start, stop in spans:
                track[start:stop] = id
                is_begin[start : stop + 1] = False
            between = {start for start, _ in spans} & {stop for _, stop in spans}
            is_begin[[frame for frame in between if frame < is_begin.size]] = True
    return track, np.flatnonzero(is_begin[: labels.size]).astype(np.int64)


def unmarked(edits: Edits, recording: str, n_frames: int) -> NDArray[np.bool_]:
    """Where nobody has marked a frame to teach it: only there are labels an answer that can be scored."""
    kept = np.ones(n_frames, np.bool_)
    for span in edits.marks(recording):
        kept[span.start : span.stop] = False
    return kept


def kept_ids(moved: Mapping[int, int], labels: NDArray[np.integer]) -> NDArray[Any]:
    """Labels under the ids that are kept; the array itself where no merge concerns it."""
    if not moved or not labels.size:
        return labels
    ids, codes = np.unique(labels, return_inverse=True)
    kept = np.array([moved.get(id, id) for id in ids.tolist()], dtype=labels.dtype)
    return np.asarray(kept[codes].reshape(labels.shape))


def shown_segments(found: pl.DataFrame, edits: Edits, breaks: Collection[int]) -> pl.DataFrame:
    """The segments of one recording under the ids that are kept, with their names.

    Neighbours that were merged become one segment, unless one of the `breaks` of the recording lies between them.
    """
    import polars as pl

    units, motifs = (_joined(found.filter(found["level"] == level), edits.moved(level), breaks) for level in LEVELS)
    if edits.has_merges:
        inside = unit_sequences(spans_in(motifs), spans_in(units))
        motifs = motifs.with_columns(pl.Series("units", inside, dtype=pl.String))
    return named(pl.concat([units, motifs]), edits)


def _joined(own: pl.DataFrame, moved: Mapping[int, int], breaks: Collection[int]) -> pl.DataFrame:
    """Segments of one level under new ids; where ids were equal before, the cut between them was found and stays."""
    import polars as pl

    if not moved:
        return own
    found, starts, stops = (own[name].to_numpy() for name in ("id", "start_frame", "end_frame"))
    ids = kept_ids(moved, found)
    goes_on = np.zeros(own.height, dtype=np.bool_)
    goes_on[1:] = (starts[1:] == stops[:-1]) & (ids[1:] == ids[:-1]) & (found[1:] != found[:-1])
    goes_on &= ~np.isin(starts, np.array(sorted(breaks), dtype=np.int64))
    frames = pl.col("end_frame") - pl.col("start_frame")
    weighted = (pl.col("score") * frames).sum() / frames.sum()
    firsts = [pl.col(name).first() for name in COLUMNS if name not in ("end_frame", "end_s", "end_time", "score")]
    lasts = [pl.col(name).last() for name in ("end_frame", "end_s", "end_time")]
    numbered = own.with_columns(
        pl.Series("id", ids, dtype=pl.Int32), pl.Series("run", np.cumsum(~goes_on), dtype=pl.Int64)
    )
    joined = numbered.group_by("run", maintain_order=True).agg(*firsts, *lasts, weighted.alias("score"))
    return joined.select(COLUMNS)


def _measured_as(table: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Segments that were cut again: at ends that were found with the times found, and as a whole with their score."""
    import polars as pl

    ends = ("level", "start_frame", "end_frame")
    for keys, column in ((ends[:2], "start_s"), (ends[::2], "end_s"), (ends, "score")):
        known = found.unique(keys).select(*keys, pl.col(column).alias("known"))
        joined = table.join(known, on=keys, how="left", maintain_order="left")
        table = joined.with_columns(pl.coalesce("known", column).alias(column)).drop("known")
    return with_dates(table)


def named(table: pl.DataFrame, edits: Edits) -> pl.DataFrame:
    """Segments with the names that people gave."""
    import polars as pl

    names = {level: edits.names(level) for level in LEVELS}
    called = [names[level].get(id, "") for level, id in table.select("level", "id").iter_rows()]
    return table.with_columns(pl.Series("name", called, dtype=pl.String))
