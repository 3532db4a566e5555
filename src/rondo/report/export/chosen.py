"""What an export holds: the segments of the chosen recordings and levels, with their labels and their clocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rondo.data.frame_clock import FrameClock
from rondo.data.labels import OTHER
from rondo.errors import SettingError
from rondo.formats.annotations.exported import Export, ExportedLabel, ExportedRecording, ExportedSegment
from rondo.report.colours import colour_of
from rondo.report.run_clock import run_clock
from rondo.report.run_folder import RecordingSummary, RunSummary, read_run_summary, read_segments
from rondo.report.tables import entry_name

if TYPE_CHECKING:
    import polars as pl

LEVELS = ("unit", "motif")


def choose(run_dir: Path, level: str = "both", recording: str | None = None) -> Export:
    """Read the run folder and pick what is to be exported; `level` is unit, motif or both."""
    import polars as pl

    if level not in (*LEVELS, "both"):
        raise SettingError(f"--level is unit, motif or both, got '{level}'")
    levels = LEVELS if level == "both" else (level,)
    summary = read_run_summary(run_dir)
    chosen = _chosen_recordings(summary, recording, run_dir)
    whole = _whole_table(run_dir, summary)
    per_recording = len(chosen) > 1 and any(entry.recording for entry in (*summary.units, *summary.motifs))
    wanted = pl.col("recording").is_in([one.id for one in chosen]) & pl.col("level").is_in(levels)
    table = _labelled(whole.filter(wanted & (pl.col("id") != OTHER)), per_recording)
    recordings = tuple(_exported(one, _segments(table, one, run_clock(one, whole))) for one in chosen)
    return Export(
        recordings,
        levels,
        _labels(recordings),
        table,
        datetime.fromtimestamp(int((run_dir / "summary.json").stat().st_mtime), UTC),
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


def _chosen_recordings(summary: RunSummary, recording: str | None, run_dir: Path) -> tuple[RecordingSummary, ...]:
    chosen = tuple(one for one in summary.recordings if recording in (None, one.id))
    if not chosen:
        known = ", ".join(f"'{one.id}'" for one in summary.recordings[:8])
        raise SettingError(f"{run_dir}: there is no recording '{recording}' in this run; it has {known}")
    return chosen


def _whole_table(run_dir: Path, summary: RunSummary) -> pl.DataFrame:
    """segments.parquet as it stands, after the checks that the report makes."""
    import polars as pl

    path = run_dir / "segments.parquet"
    checked = read_segments(path, summary)
    table = pl.read_parquet(path)
    for name in ("start_s", "end_s"):
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, pl.Float64).alias(name))
    assert checked.height == table.height
    order = pl.col("level").replace_strict({"unit": 0, "motif": 1})
    return table.sort("recording", order, "start_frame", maintain_order=True)


def _labelled(table: pl.DataFrame, per_recording: bool) -> pl.DataFrame:
    """With a column `label`: the name that people gave, or u3, m1; no two entries have the same.

    With its recording where every recording has a vocabulary of its own, in which u3 means something else.
    """
    import polars as pl

    given = table["name"].fill_null("").to_list() if "name" in table.columns else [""] * table.height
    entries = list(table.select("recording", "level", "id").iter_rows())
    keys = [(recording if per_recording else "", level, id) for recording, level, id in entries]
    label_of = {key: _plain(name) or entry_name(key[1], key[2]) for key, name in zip(keys, given, strict=True)}
    uses = Counter((key[0], label) for key, label in label_of.items())
    for key, label in label_of.items():
        own = entry_name(key[1], key[2])
        apart = f"{label} ({own})" if uses[key[0], label] > 1 and label != own else label
        label_of[key] = f"{_plain(key[0])}/{apart}" if per_recording else apart
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
