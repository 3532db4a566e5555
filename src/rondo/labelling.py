"""Labelling: what a model says about one recording, on the rows of the user's file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels, runs_of

if TYPE_CHECKING:
    import polars as pl

SEGMENT_COLUMNS = ("recording", "level", "id", "start_frame", "end_frame", "start_s", "end_s", "score")


@dataclass(frozen=True, eq=False)
class Labelling:
    """One unit and one motif id per frame (row of the file), with scores in [0, 1]; OTHER is -1."""

    recording_id: str
    units: Labels
    motifs: Labels
    unit_scores: NDArray[np.float32]
    motif_scores: NDArray[np.float32]
    times_s: NDArray[np.float64] | None  # of each frame; None where the rate is unknown
    rate: float | None
    breaks: NDArray[np.int64]  # frames at which a new contiguous stretch begins; no segment crosses them
    share_accepted: float  # of windows that lie within the radius of their unit
    notes: tuple[str, ...] = ()

    @property
    def n_frames(self) -> int:
        return int(self.units.size)

    @property
    def share_other(self) -> float:
        return float((self.motifs == OTHER).mean())

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Table of occurrences: recording, level, id, start_frame, end_frame, start_s, end_s, score; OTHER left out."""
        import polars as pl

        levels = (("unit", self.units, self.unit_scores), ("motif", self.motifs, self.motif_scores))
        return pl.concat([self._level_table(*level) for level in levels])

    def _level_table(self, level: str, labels: Labels, scores: NDArray[np.float32]) -> pl.DataFrame:
        import polars as pl

        starts, stops = self._cut(labels)
        ids = labels[starts]
        kept = ids != OTHER
        starts, stops, ids = starts[kept], stops[kept], ids[kept]
        summed = np.concatenate([[0.0], np.cumsum(scores, dtype=np.float64)])
        if self.times_s is None:
            start_s = end_s = np.full(starts.size, np.nan)
        else:
            start_s = self.times_s[starts]
            end_s = self.times_s[stops - 1] + (1.0 / self.rate if self.rate else 0.0)
            next_s = np.append(self.times_s, np.inf)[stops]
            end_s = np.minimum(end_s, next_s)  # irregular frames may come early: spans never overlap
        table = pl.DataFrame(
            {
                "recording": [self.recording_id] * starts.size,
                "level": [level] * starts.size,
                "id": ids.astype(np.int32),
                "start_frame": starts,
                "end_frame": stops,
                "start_s": start_s,
                "end_s": end_s,
                "score": (summed[stops] - summed[starts]) / np.maximum(1, stops - starts),
            },
            schema_overrides={"recording": pl.String, "level": pl.String},
        )
        return table.with_columns(pl.col("start_s", "end_s").fill_nan(None))

    def _cut(self, labels: Labels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        starts = np.union1d(runs_of(labels).starts, self.breaks)
        return starts, np.append(starts[1:], labels.size)
