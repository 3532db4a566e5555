"""The run folder of a stream while it grows: labels.csv and events.jsonl are the truth, everything else follows.

A stream that is running is read from these two, so that whoever looks sees the last decision; a finished one is a run
like any other (`rondo.run.folder`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.continual.events import Event
from rondo.continual.journal import read_journal
from rondo.data.labels import OTHER
from rondo.errors import RondoWarning
from rondo.labelling import Labelling
from rondo.lazy import Lazy
from rondo.report.frame_scores import FrameScores
from rondo.report.overview import Overview
from rondo.report.wall_clock import knots_through
from rondo.result import Result
from rondo.run.counting import counted
from rondo.run.decisions import DECISIONS, clock_readings, decided_segments, gaps_between, read_decisions
from rondo.run.entries import Words
from rondo.run.segments import LEVELS, edited, labels_in
from rondo.run.summary import ClockKnots, RecordingSummary, RunSummary
from rondo.vocabulary.edits import Edits

if TYPE_CHECKING:
    import polars as pl

EVENTS = "events.jsonl"
_MOST_FRAMES_SCORED = 1 << 24  # two days at 100 Hz


def stored_stream(
    run_dir: Path, base: RunSummary, words: Words, overview_of: Callable[[RecordingSummary], Overview]
) -> Result:
    """What a stream has issued so far, from the files that it appends to."""
    decisions = read_decisions(run_dir / DECISIONS)
    result = stream_result(decisions, base, words, overview_of, lambda: events_of(run_dir))
    return replace(result, folder=run_dir)


def stream_result(
    decisions: pl.DataFrame,
    base: RunSummary,
    words: Words,
    overview_of: Callable[[RecordingSummary], Overview],
    journal: Callable[[], Sequence[Event]],
) -> Result:
    """What a stream has issued so far; `base` says what is known of it beside its labels."""
    about = _about(base.recordings[0], base, decisions)
    found = decided_segments(decisions, about.id)
    shown = edited(found, words.edits, about.breaks)
    summary = counted(base.model_copy(update={"recordings": (about,)}), {about.id: shown}, {"": words})
    about = summary.recordings[0]
    if len(summary.units) < 2:  # of the first unit nobody knows yet whether its motif goes on
        summary = summary.model_copy(update={"motifs_are_units": False})

    def labelling(id: str) -> Labelling:
        before = _labelling(about, found, decisions)
        return before.edited(words.edits).stored(shown, words.edits, before)

    return Result(
        summary,
        Lazy([about.id], labelling),
        Lazy([about.id], lambda id: overview_of(about)),
        Lazy([about.id], lambda id: decided_scores(decisions, about.n_frames)),
        tables={"segments": shown},
        journal=journal,
    )


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


def _labelling(about: RecordingSummary, found: pl.DataFrame, decisions: pl.DataFrame) -> Labelling:
    units, motifs = (labels_in(found, level, about.n_frames) for level in LEVELS)
    scores = decided_scores(decisions, about.n_frames)
    scores = scores or FrameScores(*((track != OTHER).astype(np.float32) for track in (units, motifs)))
    times = None if about.rate is None else _times(about, about.rate)
    breaks = np.array(about.breaks, np.int64)
    plain = Labelling(about.id, units, motifs, *scores, times, about.rate, breaks, about.share_accepted, about.notes)
    return plain.stored(found, Edits())


def _times(about: RecordingSummary, rate: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    frames = np.arange(about.n_frames)
    return frames / rate if about.clock is None else np.interp(frames, about.clock.frames, about.clock.seconds)
