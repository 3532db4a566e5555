"""The --out of `rondo stream`, which may be running, as the dict that a page is made of: a journal above the lanes."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rondo.continual.events import Event
from rondo.continual.journal import read_journal
from rondo.data.labels import OTHER, are_one_to_one
from rondo.errors import OutputError, RondoWarning
from rondo.report.entries import Words, entry_rows
from rondo.report.frame_scores import FrameScores, score_rows
from rondo.report.run_clock import clock_through
from rondo.report.stream_names import LEVELS, stream_names, with_names
from rondo.report.tables import entry_name, entry_table, percent
from rondo.store.ids import checked_id
from rondo.store.reading import read_regular
from rondo.times import day_and_time, duration_in_words, is_date, moment_in_words
from rondo.wording import counted, found_in_words

if TYPE_CHECKING:
    import polars as pl

    from rondo.data.frame_clock import FrameClock
    from rondo.report.contents import TruthFile

MAX_EVENTS_LISTED = 300
_MOST_FRAMES_SCORED = 1 << 24  # two days at 100 Hz
_SCORE_BYTES = 600_000
_LABELS, _EVENTS = "labels.csv", "events.jsonl"
_PAST = {
    "promote": "promoted",
    "merge": "merged",
    "expire": "expired",
    "gap": "gap",
    "skip": "skipped",
    "refine": "refined",
}


def is_stream(run_dir: Path) -> bool:
    """Whether a folder is the --out of `rondo stream`, which may have begun just now."""
    return (run_dir / _LABELS).is_file()


def summarize_stream(run_dir: Path, truth: TruthFile | None = None) -> dict[str, Any]:
    """What `rondo.report.summarize` gives, of a stream: no signal, which a stream does not keep, but the journal.

    `truth` is drawn as a lane of its own; no stream learns from it.
    """
    from rondo.report.run_folder import EntrySummary, RecordingSummary
    from rondo.report.summarize import lanes_of

    decisions = _labels(run_dir / _LABELS)
    labels = decisions.filter(
        decisions["end_frame"] > decisions["start_frame"]
    )  # next to a cut some speak for no frame
    with warnings.catch_warnings():  # the last line of a stream that is running may be half written
        warnings.simplefilter("ignore", RondoWarning)
        events = read_journal(run_dir / _EVENTS) if (run_dir / _EVENTS).exists() else []
    about = _about(run_dir, labels)
    id, rate = about.id, about.rate
    n_frames = max([1, about.n_frames, *labels["end_frame"].tail(1).to_list()])
    names = stream_names(run_dir)
    segments = with_names(_segments(labels, id, rate), names)
    known = segments.filter(segments["id"] != OTHER)
    entries = {
        level: [
            EntrySummary.model_validate(row | {"name": names[level].get(row["id"], "")})
            for row in entry_rows(level, known, n_frames, Words())
        ]
        for level in LEVELS
    }
    share_other = _share_other(segments, n_frames)
    annotated = [] if truth is None else [_annotated(about, n_frames, labels, truth)]
    length = f"{n_frames:,} frames" if rate is None else duration_in_words(n_frames / rate)
    n_units, n_motifs = (len(entries[level]) for level in ("unit", "motif"))
    # of the first unit nobody knows yet whether its motif goes on
    are_units = n_units > 1 and are_one_to_one(labels["unit"].to_numpy(), labels["motif"].to_numpy())
    found = found_in_words(n_units, n_motifs, motifs_are_units=are_units, where=" occur")
    told = [event for event in events if event.kind != "refine"]
    recording = {
        "id": id,
        "source": "a stream that has ended" if about.has_ended else "a stream that goes on, or was stopped",
        "about": f"{length}, {'rate unknown' if rate is None else f'{rate:.4g} Hz'}, {percent(share_other)} OTHER",
        "n_frames": n_frames,
        "rate": rate,
        "n_channels": 0,
        "finest_frames": 1,
        "signal": {"channels": [], "extents": [], "at_first": 0, "coarse": None, "fine": None},
        "scores": score_rows({"": _frame_scores(labels, n_frames)}, _SCORE_BYTES),
        "at_first": True,
        "lanes": [*lanes_of(id, known, None), *annotated],
        "journal": [{"kind": e.kind, "frame": e.frame, "words": _words(e, rate)} for e in told],
    }
    drawn = RecordingSummary(
        id=id, source="", n_frames=n_frames, channels=("",), rate=rate, duration_s=None, notes=(),
        share_other=share_other, n_gaps=0,
    )  # fmt: skip
    return {
        "title": "Rondo stream",
        "overview": _sentence(f"In {length} of the stream {found}", events, share_other),
        "findings": [],
        "provenance": f"{counted(decisions.height, 'decision')} and {counted(len(events), 'event')} so far.",
        "scores": [],
        "fit": [],
        "notes": _notes(labels, rate),
        "n_recordings": 1,
        "motifs_are_units": are_units,
        "recordings": [recording],
        "entries": {level: entry_table(level, rows, [drawn]) for level, rows in entries.items()},
        "n_entries": {level: len(rows) for level, rows in entries.items()},
        "details": {},
        "events": [_row(event, rate) for event in told[-MAX_EVENTS_LISTED:]],
        "n_events": len(told),
        "n_refined": len(events) - len(told),
    }


def _labels(path: Path) -> pl.DataFrame:
    """labels.csv without a last line that is half written."""
    import polars as pl

    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "start_frame": pl.Int64, "end_frame": pl.Int64, "start_s": pl.Float64, "end_s": pl.Float64,
        "unit": pl.Int32, "motif": pl.Int32, "unit_score": pl.Float64, "motif_score": pl.Float64,
    }  # fmt: skip
    try:
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        return pl.read_csv(whole, schema=schema) if whole else pl.DataFrame(schema=schema)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(f"{path}: expected the labels of `rondo stream`, but {reason}; give its --out") from None


class _About(NamedTuple):
    id: str
    rate: float | None
    has_ended: bool
    n_frames: int  # of its labels/<id>.npy; 0 before that is written


def _about(run_dir: Path, labels: pl.DataFrame) -> _About:
    """Before a stream has ended there is no summary, and the rate is in the labels."""
    path = run_dir / "summary.json"
    if path.is_file():
        try:
            summary = json.loads(read_regular(path))
            rate = summary["rate"]
            n_frames = int(summary.get("n_frames", 0))
            return _About(checked_id(str(summary["id"])), None if rate is None else float(rate), True, n_frames)
        except (OSError, ValueError, LookupError, TypeError):
            raise OutputError(f"{path}: expected the summary of `rondo stream`; give the --out of a stream") from None
    spans = labels.select("start_frame", "end_frame", "start_s", "end_s").drop_nulls().head(1).rows()
    if not spans or spans[0][3] <= spans[0][2]:
        return _About(run_dir.resolve().name, None, False, 0)
    start, end, start_s, end_s = spans[0]
    return _About(run_dir.resolve().name, round((end - start) / (end_s - start_s), 3), False, 0)


def _segments(labels: pl.DataFrame, id: str, rate: float | None) -> pl.DataFrame:
    """Decisions that follow on each other and say the same, joined: columns as in segments.parquet.

    Seconds are counted from the beginning of the stream, as on the axis, whatever the clock of the data says.
    """
    import polars as pl

    tables = []
    for level in ("unit", "motif"):
        follows = (pl.col("start_frame") == pl.col("end_frame").shift(1)) & (pl.col(level) == pl.col(level).shift(1))
        joined = labels.with_columns(run=(~follows.fill_null(False)).cum_sum()).group_by("run", maintain_order=True)
        frames = pl.col("end_frame") - pl.col("start_frame")
        tables.append(
            joined.agg(
                pl.lit(id).alias("recording"),
                pl.lit(level).alias("level"),
                pl.col(level).first().cast(pl.Int64).alias("id"),
                pl.col("start_frame").first(),
                pl.col("end_frame").last(),
                (pl.col("start_frame").first() / (rate or np.nan)).fill_nan(None).alias("start_s"),
                (pl.col("end_frame").last() / (rate or np.nan)).fill_nan(None).alias("end_s"),
                ((pl.col(f"{level}_score") * frames).sum() / frames.sum()).alias("score"),
                pl.lit("").alias("units"),
                pl.lit(None, pl.String).alias("name"),
            ).drop("run")
        )
    return pl.concat(tables)


def _frame_scores(labels: pl.DataFrame, n_frames: int) -> FrameScores | None:
    """The scores of the decisions on the frames they speak for; None for a stream too long to hold frame by frame."""
    if n_frames > _MOST_FRAMES_SCORED or labels.is_empty():
        return None
    starts, lengths = labels["start_frame"].to_numpy(), (labels["end_frame"] - labels["start_frame"]).to_numpy()
    offset = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    frames = np.arange(offset.size) + offset
    tracks = []
    for name in ("unit_score", "motif_score"):
        track = np.zeros(n_frames, dtype=np.float32)
        track[frames] = np.repeat(labels[name].fill_null(0.0).to_numpy(), lengths)
        tracks.append(track)
    return FrameScores(*tracks)


def _notes(labels: pl.DataFrame, rate: float | None) -> list[dict[str, Any]]:
    """Where the clock of the data does not begin at 0, so that nobody takes one time for the other."""
    first = labels.select("start_frame", "start_s").drop_nulls().head(1).rows()
    if rate is None or not first or abs(first[0][1] - first[0][0] / rate) < 1 / rate:
        return []
    words = (
        f"Times are counted from the beginning of the stream, where the clock of the data says {_reading(first[0][1])}."
    )
    return [{"text": words, "recordings": [], "in_all": True}]


def _reading(seconds: float) -> str:
    return day_and_time(seconds) if is_date(seconds) else f"{seconds:.10g} s"


def stream_clock(run_dir: Path) -> FrameClock | None:
    """The clock of a stream, through both ends of every decision; None where no rate is known."""
    labels = _labels(run_dir / _LABELS)
    about = _about(run_dir, labels)
    return None if about.rate is None else clock_through(labels, about.rate)


def _annotated(about: _About, n_frames: int, labels: pl.DataFrame, truth: TruthFile) -> dict[str, Any]:
    from rondo.report.annotation_lane import StreamSoFar, stream_annotation_lane  # brings all readers of annotations

    clock = None if about.rate is None else clock_through(labels, about.rate)
    return stream_annotation_lane(StreamSoFar(about.id, n_frames, clock, about.has_ended), truth)


def _share_other(segments: pl.DataFrame, n_frames: int) -> float:
    named = segments.filter((segments["level"] == "motif") & (segments["id"] != OTHER))
    return 1.0 - int((named["end_frame"] - named["start_frame"]).sum()) / n_frames


def _sentence(found: str, events: list[Event], share_other: float) -> str:
    counts: Counter[tuple[str, str]] = Counter((event.kind, event.level) for event in events)
    grown = [
        f"{counted(counts[kind, level], level)} {past}"
        for kind, past in (("promote", "promoted"), ("merge", "merged"), ("expire", "given up again"))
        for level in ("unit", "motif")
        if counts[kind, level]
    ]
    n_gaps = counts["gap", "input"]
    return (
        f"{found}; {', '.join(grown) or 'nothing new was promoted'}; {counted(n_gaps, 'note')} on gaps in the input. "
        f"{percent(share_other)} of the time is OTHER."
    )


def _row(event: Event, rate: float | None) -> dict[str, str]:
    names = "" if event.level == "input" else _names(event)
    return {"time": _time(event, rate), "kind": event.kind, "what": f"{_PAST[event.kind]} {names}".strip(),
            "level": event.level, "evidence": _evidence(event)}  # fmt: skip


def _words(event: Event, rate: float | None) -> list[str]:
    row = _row(event, rate)
    return [f"{row['time']}: {row['what']}", row["level"], row["evidence"]]


def _names(event: Event) -> str:
    """Entries by their names; what expires is a micro-cluster, which has a number of its own."""
    if event.kind == "expire":
        return ", ".join(f"micro-cluster {id}" for id in event.ids)
    return ", ".join(entry_name(event.level, id) for id in event.ids)


def _time(event: Event, rate: float | None) -> str:
    return f"frame {event.frame}" if rate is None else moment_in_words(event.frame / rate)


def _evidence(event: Event) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.3g}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"
        for name, value in event.evidence.items()
    )
