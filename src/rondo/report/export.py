"""Segments of a run for other programs: chosen here, written by `rondo.annotations.formats`.

Other programs count from the start of a recording, so seconds are those since its first frame. The tables (csv,
parquet) keep the readings of the recording's clock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rondo.annotations.formats import (
    ANNOTATION_FORMATS,
    AnnotationFormat,
    Export,
    ExportedLabel,
    ExportedRecording,
    ExportedSegment,
)
from rondo.data.grid import FrameClock
from rondo.data.labels import OTHER
from rondo.errors import OutputError, SettingError
from rondo.report.lanes import entry_name, look_of
from rondo.run.clock import run_clock
from rondo.run.segments import KINDS, in_one_table
from rondo.run.summary import SUMMARY, RecordingSummary
from rondo.store.folder import whole_files
from rondo.wording import did_you_mean, one_of

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result


LEVELS = ("unit", "motif", *KINDS)
_CHOICES = ("unit", "motif", "both", *KINDS, "all")


def choose(result: Result, level: str = "both", recording: str | None = None) -> Export:
    """The segments of one or all recordings and levels, with their labels and clocks.

    `level`: unit, motif (those of the labels), both, phrase or context (motifs of one kind, whether labels show it or
    not), or all.
    """
    import polars as pl

    if level not in _CHOICES:
        raise SettingError(f"--level is {one_of(_CHOICES)}, got '{level}'")
    summary, segments = result.summary, _segments_of(result, level)
    chosen = [it for it in summary.recordings if recording in (None, it.id)]
    if not chosen:
        known = ", ".join(f"'{it.id}'" for it in summary.recordings[:8])
        where = "" if result.run.folder is None else f"{result.run.folder}: "
        raise SettingError(f"{where}there is no recording '{recording}' in this run; it has {known}")
    wanted = pl.col("recording").is_in([it.id for it in chosen])
    table = _labelled(segments.filter(wanted & (pl.col("id") != OTHER)))
    there = {"unit", "motif"} if level == "both" else {*table["level"]} if level == "all" else {level}
    levels = tuple(one for one in LEVELS if one in there)
    recordings = tuple(
        _exported(it, table.filter(pl.col("recording") == it.id), run_clock(it, result.run.tables["segments"]))
        for it in chosen
    )
    ids = {(it.level, it.label): it.id for exported in recordings for it in exported.segments}
    ordered = sorted(ids.items(), key=lambda it: (LEVELS.index(it[0][0]), it[1], it[0][1]))
    about: dict[tuple[str, int], str] = {(kind, one.id): one.description for kind, one in result.entries}
    labels = tuple(
        ExportedLabel(level, text, look_of(_kind_of(level), id).colour, about.get((_kind_of(level), id), ""))
        for (level, text), id in ordered
    )
    written_s = None if result.run.folder is None else int((result.run.folder / SUMMARY).stat().st_mtime)
    # the same run gives the same file
    made_at = datetime.now(UTC).replace(microsecond=0) if written_s is None else datetime.fromtimestamp(written_s, UTC)
    return Export(recordings, levels, labels, table, made_at, f"rondo {summary.rondo_version}")


def _segments_of(result: Result, level: str) -> pl.DataFrame:
    """The rows of a choice of levels."""
    import polars as pl

    segments, summary = result.run.tables["segments"], result.summary
    if level in ("unit", "motif", "both"):
        return segments.filter(pl.col("level") == level) if level != "both" else segments
    whole = in_one_table(segments, result.run.tables["unshown_segments"])
    if level == "all":
        return whole
    ids = [motif.id for motif in summary.motifs if motif.kind == level]
    if not ids:
        kinds = {motif.kind for motif in summary.motifs} & {*KINDS}
        there = (
            f"it has {', '.join(f'{kind}s' for kind in sorted(kinds))}" if kinds else "no motif is longer than a unit"
        )
        raise SettingError(f"--level {level}: the run has no {level}s; {there}; give --level motif")
    return whole.filter((pl.col("level") != "unit") & pl.col("id").is_in(ids)).with_columns(level=pl.lit(level))


def _kind_of(level: str) -> str:
    """What an entry of this level looks like."""
    return "unit" if level == "unit" else "motif"


def _labelled(table: pl.DataFrame) -> pl.DataFrame:
    """With a column `label`: the name that people gave, or u3, m1; no two entries have the same."""
    import polars as pl

    names = table["name"].fill_null("").to_list() if "name" in table.columns else [""] * table.height
    entries = list(table.select("level", "id").iter_rows())
    # Tabs and line ends part the cells of other formats, and XML knows no other control characters.
    plain = [re.sub(r"[\x00-\x1f\x7f\ufffe\uffff\ud800-\udfff]+", " ", name).strip() for name in names]
    labels = {
        (level, id): name or entry_name(_kind_of(level), id) for (level, id), name in zip(entries, plain, strict=True)
    }
    uses = Counter(labels.values())
    for entry, label in labels.items():
        id = entry_name(_kind_of(entry[0]), entry[1])
        labels[entry] = f"{label} ({id})" if uses[label] > 1 and label != id else label
    return table.with_columns(pl.Series("label", [labels[entry] for entry in entries], dtype=pl.String))


def _exported(recording: RecordingSummary, rows: pl.DataFrame, clock: FrameClock | None) -> ExportedRecording:
    """One recording; its source without folders, which mean nothing on another machine."""
    import polars as pl

    scores = rows["score"].to_list() if "score" in rows.columns else [None] * rows.height
    frames = [rows[name].to_list() for name in ("start_frame", "end_frame")]
    seconds: list[list[float | None]] = [[None] * rows.height] * 2
    if clock is not None:  # a run without times in its table still has a rate
        times = [rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in ("start_s", "end_s")]
        seconds = [
            np.where(np.isnan(known), np.array(at) / clock.rate, known - clock.start_s).tolist()
            for known, at in zip(times, frames, strict=True)
        ]
    columns = (*(rows[name].to_list() for name in ("level", "id", "label")), *frames, *seconds, scores)
    segments = tuple(ExportedSegment(*row) for row in zip(*columns, strict=True))
    source = Path(recording.source).name or recording.id
    return ExportedRecording(recording.id, source, recording.rate, tuple(recording.channels), segments)


def export_formats() -> Mapping[str, AnnotationFormat]:
    """Those that can be written, by name."""
    return {name: each for name, each in ANNOTATION_FORMATS.items() if each.write is not None}


def export_result(
    result: Result, format: str, out: Path, level: str = "both", recording: str | None = None
) -> list[Path]:
    """Write the segments of a result in one format and return the files, all of them or none.

    Formats with one recording to a file (eaf and audacity; audacity also one level): `out` is the file where it has a
    suffix, and a folder of files where it has none. The other formats are one file.
    """
    formats = export_formats()
    if str(format) not in formats:
        hint = did_you_mean(format, formats, "choose one of these")
        raise SettingError(f"--format is one of {', '.join(formats)}; got '{format}'; {hint}")
    export, chosen = choose(result, level, recording), formats[format]
    timeless = next((it.id for it in export.recordings if it.rate is None), None)
    if chosen.needs_seconds and timeless is not None:
        others = [name for name, each in formats.items() if not each.needs_seconds]
        raise OutputError(
            f"recording '{timeless}' has no rate and no clock, and {chosen.program} counts in seconds; "
            f"run `rondo discover` with --rate HZ, or export {', '.join(others[:-1])} or {others[-1]}, "
            "which hold frames"
        )
    assert chosen.write is not None  # of those that can be written
    contents = chosen.write(export)
    if not chosen.one_per_recording:
        files = {out.with_suffix(suffix) if suffix else out: content for suffix, content in contents.items()}
    elif not out.suffix:
        files = {out / f"{name}{chosen.suffixes[0]}": content for name, content in contents.items()}
    elif len(contents) == 1:
        files = {out: next(iter(contents.values()))}
    else:
        raise OutputError(
            f"{out}: {format} needs {len(contents)} files here ({', '.join(list(contents)[:4])}, …); name a folder, "
            "or choose with --recording ID and --level"
        )
    return whole_files(files)
