"""The run folder of a stream while it grows: labels.csv and events.jsonl are the truth, everything else follows.

labels.csv holds the decisions in the order they were taken, one line per window: the frames that it speaks for, their
seconds, unit and motif with their scores. A line is only ever appended. Frames are those of the regular grid that the
stream is read on; rows.csv leads from there to the rows that came (`rondo.run.rows`), and everything else in the folder
is on rows. A finished stream is a run like any other (`rondo.run.folder`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Lazy
from rondo.continual.journal import Event, read_journal
from rondo.data.labels import OTHER
from rondo.editing.edits import Edits
from rondo.errors import OutputError, RondoWarning
from rondo.run.clock import knots_through
from rondo.run.data import RunData
from rondo.run.labelling import Labelling
from rondo.run.overview import FrameScores, Overview
from rondo.run.rows import RowFrames
from rondo.run.segments import LEVELS, labels_in, spans_in, unit_sequences, whole_columns, with_kinds
from rondo.run.shown import shown, shown_segments, shown_summary
from rondo.run.summary import ClockKnots, RecordingSummary, RunSummary
from rondo.run.tally import RecordingPart, RunTally, Words
from rondo.store.reading import read_regular

if TYPE_CHECKING:
    import polars as pl

    from rondo.continual.reading import Decision

DECISIONS = "labels.csv"
COLUMNS = ("start_frame", "end_frame", "start_s", "end_s", "unit", "motif", "unit_score", "motif_score")
Label = Mapping[str, float | int | None]
"""One line of labels.csv by the names of its columns."""
EVENTS = "events.jsonl"
_MOST_BYTES = 1 << 33  # of labels.csv: 100 million windows
_MOST_FRAMES_SCORED = 1 << 24  # two days at 100 Hz


def label_of(decision: Decision, rate: float | None) -> Label:
    """A decision as it is written; seconds by the clock of the data, else frames over the rate, if there is one."""
    start, stop = int(decision.start_frame), int(decision.stop_frame)
    start_s = stop_s = None
    if rate is not None:
        begun = start / rate if decision.start_s is None else decision.start_s
        start_s, stop_s = round(begun, 6), round(begun + (stop - start) / rate, 6)
    scores = (float(f"{score:.6g}") for score in (decision.unit_score, decision.motif_score))
    row = (start, stop, start_s, stop_s, int(decision.unit), int(decision.motif), *scores)
    return dict(zip(COLUMNS, row, strict=True))


def decision_table(labels: Sequence[Label]) -> pl.DataFrame:
    """Decisions as a table, in the order they were taken."""
    import polars as pl

    return pl.DataFrame([[label[name] for name in COLUMNS] for label in labels], schema=_schema(), orient="row")


def read_decisions(path: Path) -> pl.DataFrame:
    """labels.csv without a last line that is half written."""
    import polars as pl

    try:
        text = read_regular(path, _MOST_BYTES)
        whole = text[: text.rfind(b"\n") + 1]
        found = pl.read_csv(whole, schema=_schema()) if whole else pl.DataFrame(schema=_schema())
        numbers = ("start_frame", "end_frame", "unit", "motif", "unit_score", "motif_score")
        known = pl.all_horizontal(pl.col(name).is_not_null() for name in numbers)
        measures = ("start_s", "end_s", "unit_score", "motif_score")
        finite = pl.all_horizontal(pl.col(name).is_finite().fill_null(True) for name in measures)
        in_order = (pl.col("start_frame") >= 0) & (pl.col("start_frame") <= pl.col("end_frame"))
        if not found.select((known & finite & in_order).all()).item():
            raise OSError("a line holds no label: frames out of order, or a score or an id that is none")
        return found
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise OutputError(f"{path}: expected the labels of `rondo stream`, but {reason}; give its --out") from None


def _schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    import polars as pl

    return {
        "start_frame": pl.Int64, "end_frame": pl.Int64, "start_s": pl.Float64, "end_s": pl.Float64,
        "unit": pl.Int32, "motif": pl.Int32, "unit_score": pl.Float64, "motif_score": pl.Float64,
    }  # fmt: skip


def decided_segments(decisions: pl.DataFrame, recording_id: str) -> pl.DataFrame:
    """Decisions that follow on each other and say the same, joined: a table as in `rondo.run.segments`.

    Next to a cut some windows speak for no frame: they are no segments.
    """
    import polars as pl

    telling = _telling(decisions)
    tables: dict[str, pl.DataFrame] = {}
    for level in LEVELS:
        goes_on = pl.col("follows") & (pl.col(level) == pl.col(level).shift(1)).fill_null(False)
        frames = pl.col("end_frame") - pl.col("start_frame")
        joined = telling.with_columns(run=(~goes_on).cum_sum()).group_by("run", maintain_order=True)
        tables[level] = (
            joined.agg(
                pl.lit(recording_id).alias("recording"),
                pl.lit(level).alias("level"),
                pl.col(level).first().alias("id"),
                pl.lit("").alias("name"),
                pl.col("start_frame").first(),
                pl.col("end_frame").last(),
                pl.col("start_s").first(),
                pl.col("end_s").last(),
                ((pl.col(f"{level}_score") * frames).sum() / frames.sum()).alias("score"),
                pl.lit("").alias("units"),
            )
            .drop("run")
            .filter(pl.col("id") != OTHER)
        )
    units, motifs = (spans_in(tables[level]) for level in LEVELS)
    sequences = pl.Series("units", unit_sequences(motifs, units), dtype=pl.String)
    return whole_columns(pl.concat([tables["unit"], tables["motif"].with_columns(sequences)]))


def gaps_between(decisions: pl.DataFrame) -> list[int]:
    """Frames at which a decision does not follow on the one before: a new contiguous stretch begins."""
    telling = _telling(decisions)
    return telling.filter(~telling["follows"])["start_frame"].to_list()[1:]


def clock_readings(decisions: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first and the last frame of every decision, and what the clock shows there; none where nobody knows."""
    import polars as pl

    telling = _telling(decisions).filter(pl.col("start_s").is_not_null())
    starts, stops = telling["start_frame"].to_numpy(), telling["end_frame"].to_numpy()
    start_s, stop_s = telling["start_s"].to_numpy(), telling["end_s"].to_numpy()
    last_s = start_s + (stop_s - start_s) * (stops - 1 - starts) / np.maximum(1, stops - starts)
    frames, seconds = np.stack([starts, stops - 1], axis=1).ravel(), np.stack([start_s, last_s], axis=1).ravel()
    kept = np.diff(frames, prepend=-1) > 0
    return frames[kept], seconds[kept]


def _telling(decisions: pl.DataFrame) -> pl.DataFrame:
    """Those that speak for some frame, each with whether it follows on the one before: in frames, and in time."""
    import polars as pl

    telling = decisions.filter(pl.col("end_frame") > pl.col("start_frame"))
    frame_s = (pl.col("end_s") - pl.col("start_s")) / (pl.col("end_frame") - pl.col("start_frame"))
    jumps = ((pl.col("start_s") - pl.col("end_s").shift(1)).abs() > frame_s).fill_null(False)
    adjacent = (pl.col("start_frame") == pl.col("end_frame").shift(1)).fill_null(False)
    return telling.with_columns(follows=adjacent & ~jumps)


def stored_stream(
    run_dir: Path, base: RunSummary, words: Words, edits: Edits, overview_of: Callable[[RecordingSummary], Overview]
) -> RunData:
    """What a stream has issued so far, from the files that it appends to."""
    decisions, rows = read_decisions(run_dir / DECISIONS), RowFrames.read(run_dir)  # in this order: rows are ahead
    run = stream_data(decisions, base, words, edits, overview_of, lambda: events_of(run_dir), rows)
    return replace(run, folder=run_dir)


def stream_data(
    decisions: pl.DataFrame,
    base: RunSummary,
    words: Words,
    edits: Edits,
    overview_of: Callable[[RecordingSummary], Overview],
    journal: Callable[[], Sequence[Event]],
    rows: RowFrames,
) -> RunData:
    """What a stream has issued so far, on its rows; `base` says what is known of it beside its labels."""
    decisions = rows.decisions_on_rows(decisions)
    about = _about(base.recordings[0], base, decisions)
    found = decided_segments(decisions, about.id)
    segments = shown_segments(found, edits, about.breaks)
    own = (segments.filter(segments["level"] == level).sort("start_frame") for level in LEVELS)
    units, motifs = map(spans_in, own)
    tally = RunTally()
    tally.add([RecordingPart.of_runs(about, units, motifs, words)], segments)
    summary = shown_summary(tally.recounted(base, words), edits)
    about = summary.recordings[0]
    if len(summary.units) < 2:  # of the first unit nobody knows yet whether its motif goes on
        summary = summary.model_copy(update={"motifs_are_units": False})

    before = Lazy([about.id], lambda id: _labelling(about, found, decisions, rows))
    return RunData(
        summary,
        Lazy([about.id], lambda id: shown(before[id], edits)),
        Lazy([about.id], lambda id: overview_of(about)),
        Lazy([about.id], lambda id: decided_scores(decisions, about.n_frames)),
        {"segments": segments, "unshown_segments": with_kinds(segments.clear(), summary)},
        before,
        edits,
        read_events=lambda: events_on_rows(journal(), rows),
    )


def events_on_rows(events: Sequence[Event], rows: RowFrames) -> tuple[Event, ...]:
    """Events at the rows of their frames, as the page of a run shows them."""
    places = rows.rows_from(np.array([event.frame for event in events], np.int64)).tolist()
    return tuple(replace(event, frame=place) for event, place in zip(events, places, strict=True))


def events_of(run_dir: Path) -> tuple[Event, ...]:
    """The journal so far; the last line of a stream that is running may be half written."""
    path = run_dir / EVENTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)
        return tuple(read_journal(path)) if path.exists() else ()


def decided_scores(decisions: pl.DataFrame, n_frames: int) -> FrameScores | None:
    """The scores of the decisions on the frames they speak for; None for a stream too long to hold frame by frame."""
    telling = decisions.filter(decisions["end_frame"] > decisions["start_frame"])
    if n_frames > _MOST_FRAMES_SCORED or telling.is_empty():
        return None
    starts, lengths = telling["start_frame"].to_numpy(), (telling["end_frame"] - telling["start_frame"]).to_numpy()
    offset = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    frames = np.arange(offset.size) + offset
    tracks = []
    for level in LEVELS:
        track = np.zeros(n_frames, dtype=np.float32)
        track[frames] = np.repeat(telling[f"{level}_score"].fill_null(0.0).to_numpy(), lengths)
        tracks.append(track)
    scores = FrameScores(*tracks)
    return scores if scores.tell_something else None


def _about(about: RecordingSummary, base: RunSummary, decisions: pl.DataFrame) -> RecordingSummary:
    """The recording as far as it has come."""
    n_frames = max([about.n_frames, *decisions["end_frame"].tail(1).to_list()])
    accepted = base.stream.n_accepted / base.stream.n_windows if base.stream and base.stream.n_windows else 1.0
    changed: dict[str, Any] = {
        "n_frames": n_frames,
        "share_accepted": min(1.0, accepted),
        "breaks": tuple(gaps_between(decisions)),
        "duration_s": None if about.rate is None else n_frames / about.rate,
    }
    frames, seconds = clock_readings(decisions)
    rate = about.rate
    if rate is not None and frames.size and np.abs(seconds - frames / rate).max() > 1 / rate:  # a clock of their own
        changed["clock"] = ClockKnots.model_validate(knots_through(frames, seconds, rate))
        changed["duration_s"] = float(seconds[-1] - seconds[0] + 1 / rate)
    return about.model_copy(update=changed)


def _labelling(about: RecordingSummary, found: pl.DataFrame, decisions: pl.DataFrame, rows: RowFrames) -> Labelling:
    units, motifs = (rows.without_skipped(labels_in(found, level, about.n_frames)) for level in LEVELS)
    scores = decided_scores(decisions, about.n_frames)
    scores = scores or FrameScores(*((track != OTHER).astype(np.float32) for track in (units, motifs)))
    times, frames = None, np.arange(about.n_frames)
    if about.rate is not None:
        clock = about.clock
        times = frames / about.rate if clock is None else np.interp(frames, clock.frames, clock.seconds)
    breaks = np.array(about.breaks, np.int64)
    plain = Labelling(about.id, units, motifs, *scores, times, about.rate, breaks, about.share_accepted, about.notes)
    return plain.stored(found)
