"""Segments of a run for other programs: what is written is chosen here, how stands in `rondo.annotations.formats`.

Other programs count from the beginning of a recording: seconds are those since its first frame. The tables keep the
times of the run, which are readings of the recording's own clock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
from rondo.report.lanes import colour_of, entry_name
from rondo.run.clock import run_clock
from rondo.run.summary import SUMMARY, RecordingSummary, RunSummary
from rondo.store.folder import whole_files
from rondo.wording import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result


# ----------------------------------------------------------------
# What an export holds: the segments of the chosen recordings and levels, with their labels and their clocks.

LEVELS = ("unit", "motif")


def choose(result: Result, level: str = "both", recording: str | None = None) -> Export:
    """Pick what is to be exported; `level` is unit, motif or both."""
    import polars as pl

    if level not in (*LEVELS, "both"):
        raise SettingError(f"--level is unit, motif or both, got '{level}'")
    levels = LEVELS if level == "both" else (level,)
    summary, whole = result.summary, result.tables["segments"]
    chosen = _chosen_recordings(summary, recording, result.folder)
    wanted = pl.col("recording").is_in([one.id for one in chosen]) & pl.col("level").is_in(levels)
    table = _labelled(whole.filter(wanted & (pl.col("id") != OTHER)))
    recordings = tuple(_exported(one, _segments(table, one, run_clock(one, whole))) for one in chosen)
    return Export(
        recordings,
        levels,
        _labels(recordings),
        table,
        _made_at(result),
        f"rondo {summary.rondo_version}",
    )


def _exported(recording: RecordingSummary, segments: tuple[ExportedSegment, ...]) -> ExportedRecording:
    """The name of the file without its folders: those of this machine mean nothing elsewhere."""
    source = Path(recording.source).name or recording.id
    return ExportedRecording(recording.id, source, recording.rate, tuple(recording.channels), segments)


def _labels(recordings: Sequence[ExportedRecording]) -> tuple[ExportedLabel, ...]:
    """Every label of a level once, in the order of ids."""
    found = {(s.level, s.label): s.id for recording in recordings for s in recording.segments}
    ordered = sorted(found.items(), key=lambda entry: (LEVELS.index(entry[0][0]), entry[1], entry[0][1]))
    return tuple(ExportedLabel(level, text, colour_of(level, id)) for (level, text), id in ordered)


def _made_at(result: Result) -> datetime:
    """When the run was written, for formats that say so: the same run gives the same file."""
    written = None if result.folder is None else int((result.folder / SUMMARY).stat().st_mtime)
    return datetime.now(UTC).replace(microsecond=0) if written is None else datetime.fromtimestamp(written, UTC)


def _chosen_recordings(
    summary: RunSummary, recording: str | None, run_dir: Path | None
) -> tuple[RecordingSummary, ...]:
    chosen = tuple(one for one in summary.recordings if recording in (None, one.id))
    if not chosen:
        known = ", ".join(f"'{one.id}'" for one in summary.recordings[:8])
        where = "" if run_dir is None else f"{run_dir}: "
        raise SettingError(f"{where}there is no recording '{recording}' in this run; it has {known}")
    return chosen


def _labelled(table: pl.DataFrame) -> pl.DataFrame:
    """With a column `label`: the name that people gave, or u3, m1; no two entries have the same."""
    import polars as pl

    given = table["name"].fill_null("").to_list() if "name" in table.columns else [""] * table.height
    keys = list(table.select("level", "id").iter_rows())
    label_of = {key: _plain(name) or entry_name(*key) for key, name in zip(keys, given, strict=True)}
    uses = Counter(label_of.values())
    for key, label in label_of.items():
        own = entry_name(*key)
        label_of[key] = f"{label} ({own})" if uses[label] > 1 and label != own else label
    return table.with_columns(pl.Series("label", [label_of[key] for key in keys], dtype=pl.String))


def _plain(name: str) -> str:
    """Without control characters: tabs and line ends part the cells of other formats, and XML knows no others."""
    return re.sub(r"[\x00-\x1f\x7f\ufffe\uffff\ud800-\udfff]+", " ", name).strip()


def _segments(
    table: pl.DataFrame, recording: RecordingSummary, clock: FrameClock | None
) -> tuple[ExportedSegment, ...]:
    import polars as pl

    own = table.filter(pl.col("recording") == recording.id)
    scores = own["score"].to_list() if "score" in own.columns else [None] * own.height
    starts, stops = own["start_frame"].to_list(), own["end_frame"].to_list()
    if clock is None:
        seconds: tuple[list[float | None], ...] = ([None] * own.height, [None] * own.height)
    else:  # a run without times in its table still has a rate
        seconds = tuple(
            np.where(np.isnan(known), np.array(frames) / clock.rate, known - clock.start_s).tolist()
            for known, frames in (
                (own["start_s"].cast(pl.Float64).fill_null(float("nan")).to_numpy(), starts),
                (own["end_s"].cast(pl.Float64).fill_null(float("nan")).to_numpy(), stops),
            )
        )
    entries = (own["level"].to_list(), own["id"].to_list(), own["label"].to_list())
    cells = (*entries, starts, stops, *seconds, scores)
    return tuple(ExportedSegment(*row) for row in zip(*cells, strict=True))


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
    if format not in formats:
        hint = did_you_mean(format, formats, "choose one of these")
        raise SettingError(f"--format is one of {', '.join(formats)}; got '{format}'; {hint}")
    export = choose(result, level, recording)
    if formats[format].needs_seconds:
        _refuse_without_seconds(export, formats[format])
    return whole_files(_files(export, formats[format], out))


def _refuse_without_seconds(export: Export, format: AnnotationFormat) -> None:
    for recording in export.recordings:
        if recording.rate is None:
            others = [name for name, each in export_formats().items() if not each.needs_seconds]
            raise OutputError(
                f"recording '{recording.id}' has no rate and no clock, and {format.program} counts in seconds; "
                f"run `rondo discover` with --rate HZ, or export {', '.join(others[:-1])} or {others[-1]}, "
                "which hold frames"
            )


def _files(export: Export, format: AnnotationFormat, out: Path) -> dict[Path, bytes]:
    assert format.write is not None  # of those that can be written
    contents = format.write(export)
    if not format.one_per_recording:
        return {out.with_suffix(suffix) if suffix else out: content for suffix, content in contents.items()}
    if not out.suffix:
        return {out / f"{name}{format.suffixes[0]}": content for name, content in contents.items()}
    if len(contents) > 1:
        raise OutputError(
            f"{out}: {format.name} needs {len(contents)} files here ({', '.join(list(contents)[:4])}, …); name a "
            "folder, or choose with --recording ID and --level"
        )
    return {out: next(iter(contents.values()))}
