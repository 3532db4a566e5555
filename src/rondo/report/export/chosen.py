"""What an export holds: the segments of the chosen recordings and levels, with their labels and their clocks."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rondo.data.frame_clock import FrameClock
from rondo.data.labels import OTHER
from rondo.errors import OutputError, RondoWarning, SettingError
from rondo.report.run_clock import run_clock
from rondo.report.tables import entry_name
from rondo.summary import SUMMARY, RecordingSummary, RunSummary
from rondo.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result

LEVELS = ("unit", "motif")


class Segment(NamedTuple):
    """One occurrence; `start` and `stop` are frames."""

    level: str
    id: int
    label: str
    start: int
    stop: int
    start_s: float | None  # since the first frame
    stop_s: float | None
    score: float | None


@dataclass(frozen=True)
class ExportedRecording:
    """One recording with its segments in the order of level and time."""

    about: RecordingSummary
    segments: tuple[Segment, ...]

    @property
    def id(self) -> str:
        return self.about.id

    @property
    def source_name(self) -> str:
        """The name of the file it was read from, without folders: those of this machine mean nothing elsewhere."""
        return Path(self.about.source).name or self.id

    def of_level(self, level: str) -> list[Segment]:
        return [segment for segment in self.segments if segment.level == level]


@dataclass(frozen=True, eq=False)
class Export:
    """The chosen part of a run; `table` is its part of the segment table as it stands, with a column `label`."""

    recordings: tuple[ExportedRecording, ...]
    levels: tuple[str, ...]
    table: pl.DataFrame
    made_at: datetime
    made_by: str

    def labels_of(self, level: str) -> dict[str, int]:
        """Every label once with its id, in the order of ids."""
        found = {s.label: s.id for recording in self.recordings for s in recording.of_level(level)}
        return dict(sorted(found.items(), key=lambda entry: (entry[1], entry[0])))


def choose(result: Result, level: str = "both", recording: str | None = None) -> Export:
    """Pick what is to be exported; `level` is unit, motif or both."""
    import polars as pl

    if level not in (*LEVELS, "both"):
        raise SettingError(f"--level is unit, motif or both, got '{level}'")
    levels = LEVELS if level == "both" else (level,)
    summary, whole = result.summary, result.table
    chosen = _chosen_recordings(summary, recording, result.folder)
    per_recording = len(chosen) > 1 and summary.own_vocabularies
    wanted = pl.col("recording").is_in([one.id for one in chosen]) & pl.col("level").is_in(levels)
    table = _labelled(whole.filter(wanted & (pl.col("id") != OTHER)), per_recording)
    return Export(
        tuple(ExportedRecording(one, _segments(table, one, run_clock(one, whole))) for one in chosen),
        levels,
        table,
        _made_at(result),
        f"rondo {summary.rondo_version}",
    )


def refuse_without_seconds(export: Export, what: str) -> None:
    """For formats that know nothing but time."""
    for recording in export.recordings:
        if recording.about.rate is None:
            raise OutputError(
                f"recording '{recording.id}' has no rate and no clock, and {what} counts in seconds; "
                "run `rondo discover` with --rate HZ, or export csv, parquet or label-studio, which hold frames"
            )


def millisecond_spans(recording: ExportedRecording, level: str, what: str) -> list[tuple[int, int, str]]:
    """Start, stop and label of each segment, in whole milliseconds since the first frame, for formats with no finer.

    Up to 1000 Hz the nearest frame is found again; segments that are shorter than a millisecond are left out, and said.
    """
    found = [(s.start_s, s.stop_s, s.label) for s in recording.of_level(level)]
    whole = [(round(1000 * a), round(1000 * b), label) for a, b, label in found if a is not None and b is not None]
    spans = [span for span in whole if span[0] < span[1]]
    if len(spans) < len(whole):
        lost = counted(len(whole) - len(spans), f"{level} segment")
        said = f"{lost} left out, shorter than a millisecond, the least in {what}"
        warnings.warn(f"recording '{recording.id}': {said}", RondoWarning, stacklevel=2)
    return spans


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


def _segments(table: pl.DataFrame, recording: RecordingSummary, clock: FrameClock | None) -> tuple[Segment, ...]:
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
    return tuple(Segment(*row) for row in zip(*cells, strict=True))
