"""What is written for another program: plain values, wherever they came from (`rondo.report.export` takes a run)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rondo.errors import RondoWarning
from rondo.wording import counted

if TYPE_CHECKING:
    import polars as pl


class ExportedSegment(NamedTuple):
    """One occurrence; `start` and `stop` are frames."""

    level: str
    id: int
    label: str
    start: int
    stop: int
    start_s: float | None  # since the first frame; None where the recording has neither a rate nor a clock
    stop_s: float | None
    score: float | None


class ExportedLabel(NamedTuple):
    """One label of a level, and the colour (#rrggbb) that it has everywhere."""

    level: str
    text: str
    colour: str


@dataclass(frozen=True)
class ExportedRecording:
    """One recording with its segments in the order of level and time; `source_name` is the file it was read from."""

    id: str
    source_name: str
    rate: float | None
    channels: tuple[str, ...]
    segments: tuple[ExportedSegment, ...]

    def of_level(self, level: str) -> list[ExportedSegment]:
        return [segment for segment in self.segments if segment.level == level]


@dataclass(frozen=True, eq=False)
class Export:
    """Segments of some recordings and levels.

    `table` holds the same segments with the recordings' own clocks, for formats that are tables.
    """

    recordings: tuple[ExportedRecording, ...]
    levels: tuple[str, ...]
    labels: tuple[ExportedLabel, ...]
    table: pl.DataFrame
    made_at: datetime
    made_by: str

    def labels_of(self, level: str) -> list[ExportedLabel]:
        return [label for label in self.labels if label.level == level]


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
