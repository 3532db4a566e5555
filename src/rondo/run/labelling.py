"""Labelling: what a model says about one recording, on the rows of the user's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels, Runs, are_one_to_one, runs_of
from rondo.editing.kinds import TaughtSpan
from rondo.run.segments import LEVELS, dates_of, repeats_in, spans_in, to_pandas, unit_sequences, with_dates
from rondo.units.fit_profile import FitProfile
from rondo.units.vocabulary import Level
from rondo.wording import MOST_ROWS, card, duration_in_words, found_in_words

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rondo.motifs.base import MotifTimeline
    from rondo.run.tally import Words


Frames = NDArray[np.int64]
_NOWHERE = np.zeros(0, dtype=np.int64)


def nothing_shared(labellings: Sequence[Labelling]) -> list[Labelling]:
    """Labels that were learned separately in each recording, with ids shifted so that no two recordings share one.

    Units that are their own motifs stay so: both levels are shifted by the same number.
    """
    shifted, first = list[Labelling](), 0
    for labelling in labellings:
        tracks = labelling.units, labelling.motifs
        units, motifs = (np.where(track == OTHER, track, track + np.int32(first)) for track in tracks)
        shifted.append(replace(labelling, units=units, motifs=motifs))
        first += 1 + max(int(track.max(initial=OTHER)) for track in tracks)
    return shifted


@dataclass(frozen=True, eq=False)
class Labelling:
    """The unit and the motif of every frame (row of the file) of one recording, with scores in [0, 1]; OTHER is -1.

    `result[0]` and `result["day1"]` are Labellings.

    Parameters
    ----------
    recording_id : str
        Id of the recording.
    units, motifs : array of int32
        The unit and the motif of each frame.
    unit_scores, motif_scores : array of float32
        The score of each label.
    times_s : array or None
        The time of each frame in seconds; None if the rate is unknown.
    rate : float or None
        Frames per second.
    breaks : array of int64
        Frames at which a new contiguous stretch begins; no segment crosses them.
    share_accepted : float
        Share of windows that lie within the radius of their unit.
    notes : tuple of str
        Sentences about the recording.
    motif_begins : array of int64
        Frames at which a motif directly follows itself.
    distance_profile : tuple of float
        Normalised distances of the windows at `rondo.run.labelling.QUANTILES`.
    unit_begins : array of int64
        Frames at which a unit directly follows itself, because people have relabelled it so.
    unshown : polars.DataFrame or None
        Segments of motifs of the kind that labels do not show, if there are any.
    taught : tuple of TaughtSpan
        Frames that a taught model reads as what it was taught.

    Examples
    --------
    >>> zeros = np.zeros(4, np.float32)
    >>> track = np.array([0, 0, 1, -1], np.int32)
    >>> Labelling("day1", track, track, zeros, zeros, None, None, np.zeros(0, np.int64), 1.0)
    Labelling('day1', 4 frames: 2 units; 25% OTHER)
    """

    recording_id: str
    units: Labels
    motifs: Labels
    unit_scores: NDArray[np.float32]
    motif_scores: NDArray[np.float32]
    times_s: NDArray[np.float64] | None
    rate: float | None
    breaks: Frames
    share_accepted: float
    notes: tuple[str, ...] = ()
    motif_begins: Frames = field(default_factory=lambda: _NOWHERE)
    distance_profile: tuple[float, ...] = ()
    unit_begins: Frames = field(default_factory=lambda: _NOWHERE)
    unshown: pl.DataFrame | None = None
    taught: tuple[TaughtSpan, ...] = ()

    def stored(self, table: pl.DataFrame) -> Labelling:
        """The same with a table of segments that was stored, or made from another one."""
        units, motifs = (repeats_in(table.filter(table["level"] == level)) for level in LEVELS)
        labelling = replace(self, unit_begins=units, motif_begins=motifs)
        labelling.__dict__["table"] = table  # where cached_property looks first
        return labelling

    @property
    def n_frames(self) -> int:
        """The number of frames."""
        return int(self.units.size)

    @property
    def share_other(self) -> float:
        """The share of frames whose motif is OTHER."""
        return float((self.motifs == OTHER).mean())

    @cached_property
    def motifs_are_units(self) -> bool:
        """Whether motifs are the units under other ids: no motif here is longer than a unit."""
        return are_one_to_one(self.units, self.motifs)

    def labels_of(self, level: Level) -> Labels:
        """The label of every frame on one level, "unit" or "motif"."""
        return self.units if level == "unit" else self.motifs

    def occurrences(self, level: Level) -> Runs:
        """The occurrences of one level, in order: start frames, stop frames and ids; OTHER is left out."""
        labels = self.labels_of(level)
        begins = self.unit_begins if level == "unit" else self.motif_begins
        starts = np.union1d(runs_of(labels).starts, np.concatenate([self.breaks, begins]))
        stops = np.append(starts[1:], labels.size)
        ids = labels[starts].astype(np.int64)
        kept = ids != OTHER
        return Runs(starts[kept], stops[kept], ids[kept])

    @property
    def fit_profile(self) -> FitProfile:
        """The share of accepted windows, and quantiles of their distances."""
        return FitProfile(self.share_accepted, self.distance_profile)

    @property
    def segments(self) -> pd.DataFrame:
        """The occurrences of units and motifs as a pandas table; the columns are those of `Result.segments`."""
        return to_pandas(self.table)

    @cached_property
    def table(self) -> pl.DataFrame:
        """`segments` as a polars table."""
        import polars as pl

        units, motifs = (self.occurrences(level) for level in LEVELS)
        sequences = {"unit": [""] * len(units), "motif": unit_sequences(motifs, units)}
        scores = {"unit": self.unit_scores, "motif": self.motif_scores}
        tables = []
        for level, runs in zip(LEVELS, (units, motifs), strict=True):
            starts, stops = runs.starts, runs.stops
            summed = np.concatenate([[0.0], np.cumsum(scores[level], dtype=np.float64)])
            start_s = end_s = np.full(starts.size, np.nan)
            if self.times_s is not None:
                start_s = self.times_s[starts]
                end_s = self.times_s[stops - 1] + (1.0 / self.rate if self.rate else 0.0)
                next_s = np.append(self.times_s, np.inf)[stops]
                end_s = np.minimum(end_s, next_s)  # irregular frames may come early: spans never overlap
            columns = {
                "recording": [self.recording_id] * len(runs),
                "level": [level] * len(runs),
                "id": runs.ids.astype(np.int32),
                "name": [""] * len(runs),
                "start_frame": starts,
                "end_frame": stops,
                "start_s": start_s,
                "end_s": end_s,
                "score": (summed[stops] - summed[starts]) / np.maximum(1, stops - starts),
                "units": sequences[level],
            }
            texts = dict.fromkeys(("recording", "level", "name", "units"), pl.String)
            tables.append(pl.DataFrame(columns, schema_overrides=texts))
        return with_dates(pl.concat(tables).with_columns(pl.col("start_s", "end_s").fill_nan(None)))

    def _found(self) -> str:
        tracks = {"unit": self.units} if self.motifs_are_units else {"motif": self.motifs, "unit": self.units}
        return found_in_words({level: np.unique(track[track != OTHER]).size for level, track in tracks.items()})

    def __repr__(self) -> str:
        found = f"{self._found()}; {self.share_other:.0%} OTHER"
        return f"Labelling('{self.recording_id}', {self.n_frames} frames: {found})"

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {
            "frames": f"{self.n_frames:,}",
            "OTHER": f"{self.share_other:.1%} of frames",
            "windows near their unit": f"{self.share_accepted:.1%}",
        }
        if self.notes:
            facts["notes"] = "; ".join(self.notes)
        facts["found"] = self._found()
        levels: tuple[Level, ...] = ("unit",) if self.motifs_are_units else ("motif", "unit")
        most = MOST_ROWS // len(levels)
        facts["shown"] = f"the {most} that take most time" + (" of each level" if len(levels) > 1 else "")
        rows = [row for level in levels for row in self._usage_rows(level, most)]
        header = ("entry", "occurrences", "share", "mean duration")
        return card(f"Labelling of {self.recording_id}", facts, header, rows)

    def _usage_rows(self, level: Level, most: int) -> list[tuple[str, int, str, str]]:
        """The entries of a level with the largest share of time."""
        segments = self.table.filter(self.table["level"] == level)
        names = dict(segments.select("id", "name").iter_rows())
        runs = spans_in(segments)
        ids, index = np.unique(runs.ids, return_inverse=True)
        counts, frames = np.bincount(index, minlength=ids.size), np.bincount(index, runs.lengths, minlength=ids.size)
        rows = []
        for i in np.argsort(-frames, kind="stable")[:most]:
            mean = frames[i] / counts[i]
            duration = f"{mean:.0f} frames" if self.rate is None else duration_in_words(mean / self.rate)
            entry = f"{level[0]}{ids[i]} {names[ids[i]]}".rstrip()
            rows.append((entry, int(counts[i]), f"{frames[i] / self.n_frames:.1%}", duration))
        return rows


def repeat_starts(motifs: Labels, window_of: Frames, timeline: MotifTimeline, units: Labels) -> Frames:
    """Frames at which an occurrence begins inside a run of one motif label, right after another of the same motif.

    `motifs` and `window_of` hold the motif of each frame and the window that speaks for it (OTHER: none), `units` the
    unit of each window. Nothing begins where the vote of overlapping windows has given a frame another motif than its
    window has, nor within a unit: what lay between two of its runs has then been squeezed out.
    """
    number, unit, motif = (
        np.append(per_window, OTHER)[window_of]  # OTHER = -1 finds the last
        for per_window in (np.cumsum(timeline.begins), units, timeline.ids)
    )
    agrees = (motifs == motif) & (motifs != OTHER)
    is_one_label = agrees[1:] & agrees[:-1] & (motifs[1:] == motifs[:-1])
    return np.flatnonzero(is_one_label & (number[1:] != number[:-1]) & (unit[1:] != unit[:-1])) + 1


def curve_table(words: Words) -> pl.DataFrame | None:
    """What training reached: one row per curve and step."""
    if not words.curves:
        return None
    import polars as pl

    rows = [(curve, step, value) for curve, values in words.curves.items() for step, value in enumerate(values)]
    columns = {"curve": pl.String, "step": pl.Int64, "value": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def row_table(kind: type[Any], rows: Sequence[Any]) -> pd.DataFrame:
    """One row for each value of a dataclass; its columns also where there are none."""
    import pandas as pd

    return pd.DataFrame(map(vars, rows), columns=[one.name for one in fields(kind)])


def frame_table(labelling: Labelling) -> pd.DataFrame:
    """One row per frame: its seconds, date, unit, motif and their scores."""
    import pandas as pd

    n = labelling.n_frames
    seconds = np.full(n, np.nan) if labelling.times_s is None else labelling.times_s
    return pd.DataFrame(
        {
            "recording": [labelling.recording_id] * n,
            "frame": np.arange(n),
            "seconds": seconds,
            "time": dates_of(seconds),
            "unit": labelling.units,
            "motif": labelling.motifs,
            "unit_score": labelling.unit_scores,
            "motif_score": labelling.motif_scores,
        }
    )
