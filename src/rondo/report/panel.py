"""The panel beside the timeline: name, figures and pictures of each entry, as a dict that the page's script reads."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.shape import (
    FRAMES_COMPARED,
    LEAST_SHARE,
    MAX_COLUMNS,
    Spans,
    Sums,
    duration_bins,
    in_words,
    mean_and_band,
    most_apart,
    occurrence_columns,
    standardised,
    when,
)
from rondo.arrays import Floats
from rondo.data.labels import from_runs
from rondo.report.lanes import look_of
from rondo.report.tables import (
    entries_shown,
    entry_key,
    entry_name,
    evidence_words,
    is_unproven,
    percent,
)
from rondo.run.clock import seconds_at
from rondo.run.overview import MISSING, Overview
from rondo.wording import counted, duration_in_words, moment_in_words, spread_in_words

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import EntrySummary, RecordingSummary


# ----------------------------------------------------------------
# What the signals show of an entry: which channels set it apart, and its occurrences there, alone and over each other.
#
# Signals are read twice: first to see which channels set each entry apart, then those channels of its occurrences.

MAX_OCCURRENCES = 24
MAX_CELLS = 1600
"""Occurrences on a page in all, which is about 1 MB."""

MAX_ALIGNED = 200
"""Occurrences over which mean and band of an entry are taken, spread over all of them."""

MAX_ROWS = 4
_MOST_ALIGNED = 12_800  # on a page in all: 26 MB while it is made
_RECORDINGS_COMPARED = 20  # with all of their frames; of more recordings each gives fewer
_CELL_HOLDS = 0.9  # of the occurrences end within a cell
_LEAST_SPAN = 1 / 8  # of the range of a channel: rest should look like rest, not like its noise
_LEAST_CURVE = 1.0  # standard deviation of the channel, for the same reason
_CELL = ("recording", "start_frame", "end_frame", "score")


@dataclass(frozen=True)
class Room:
    """How many occurrences of an entry are drawn one by one, and over how many mean and band are taken."""

    cells: int
    aligned: int

    @classmethod
    def for_entries(cls, n_entries: int) -> Room:
        n = 2 * max(1, n_entries)  # of both levels
        return cls(min(MAX_OCCURRENCES, max(3, MAX_CELLS // n)), min(MAX_ALIGNED, max(20, _MOST_ALIGNED // n)))


@dataclass
class Material:
    """What is read of one entry: its rows (channels), its occurrences, and those over each other."""

    rows: NDArray[np.int64]
    width: int  # frames of a cell
    reach: int  # frames from the start that mean and band show
    median: int
    cells: list[dict[str, Any]] = field(default_factory=list)
    from_start: list[Floats] = field(default_factory=list)
    stretched: list[Floats] = field(default_factory=list)

    def add_aligned(self, overview: Overview, start: int, end: int) -> None:
        n_columns = min(MAX_COLUMNS, self.reach), min(MAX_COLUMNS, self.median)
        self.from_start.append(occurrence_columns(overview, start, end, self.reach, n_columns[0], self.rows))
        self.stretched.append(occurrence_columns(overview, start, end, None, n_columns[1], self.rows))


def entry_details(
    level: str,
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    ids: Collection[int],
    exemplars: Collection[tuple[str, int]] = (),
) -> dict[int, dict[str, Any]]:
    """What the signals show of each of these entries, over the recordings that have the channels of the first.

    Keys: apart, rows, width, reach and median (frames), aligned, and occurrences with their data. Recordings without an
    overview here are passed over. Occurrences that begin where `exemplars` says (recording, frame) are among those
    drawn.
    """
    import polars as pl

    recordings, room = [*overviews], Room.for_entries(len(ids))
    if not recordings or not ids:
        return {}
    own = segments.filter((pl.col("level") == level) & (pl.col("id") >= 0) & pl.col("recording").is_in(recordings))
    most_frames = FRAMES_COMPARED * min(_RECORDINGS_COMPARED, len(recordings)) // len(recordings)
    top = max(max(ids), int(own["id"].max() or 0))  # type: ignore[arg-type]
    by_recording, alike = _by_recording(own), list[str]()
    channels: tuple[str, ...] = ()
    sums = Sums.empty(top + 1, 0)
    for id in recordings:
        overview = overviews[id]  # read once: of many recordings not all fit into memory
        if not alike and overview.codes.size:
            channels, sums = overview.channels, Sums.empty(top + 1, len(overview.channels))
        if not overview.codes.size or overview.channels != channels:
            continue
        rows = by_recording.get(id, own.clear())
        track = from_runs(rows["start_frame"], rows["end_frame"], rows["id"], overview.n_frames)
        sums.add(standardised(overview, most_frames), track, most_frames)
        alike.append(id)
    d = sums.differences()
    wanted = own.filter(pl.col("id").is_in(sorted(ids)) & pl.col("recording").is_in(alike))
    material = _read(wanted, overviews, alike, most_frames, d, room, exemplars)
    return {id: _detail(channels, d[id], one) for id, one in material.items()}


def _read(
    occurrences: pl.DataFrame,
    overviews: Mapping[str, Overview],
    recordings: Sequence[str],
    most_frames: int,
    d: Floats,
    room: Room,
    exemplars: Collection[tuple[str, int]],
) -> dict[int, Material]:
    drawn, aligned = _chosen(occurrences, room.cells, exemplars), _chosen(occurrences, room.aligned, ())
    found = {}
    for (id,), rows in occurrences.partition_by("id", as_dict=True).items():
        lengths = (rows["end_frame"] - rows["start_frame"]).to_numpy()
        median, reach, width = (max(1, int(np.quantile(lengths, q))) for q in (0.5, 1 - LEAST_SHARE, _CELL_HOLDS))
        found[int(id)] = Material(most_apart(d[int(id)], MAX_ROWS), width, reach, median)
    drawn_in, aligned_in = _by_recording(drawn), _by_recording(aligned)
    for recording in recordings:
        if recording not in drawn_in and recording not in aligned_in:
            continue
        overview = standardised(overviews[recording], most_frames)
        for one in drawn_in.get(recording, drawn.clear()).iter_rows(named=True):
            own = found[one["id"]]
            own.cells.append({name: one[name] for name in _CELL} | _cell_values(overview, own.rows, one))
        for one in aligned_in.get(recording, aligned.clear()).iter_rows(named=True):
            found[one["id"]].add_aligned(overview, one["start_frame"], one["end_frame"])
    return found


def _by_recording(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """One pass: to filter a table for each of a thousand recordings takes a minute."""
    return {str(id): rows for (id,), rows in table.partition_by("recording", as_dict=True).items()}


def _chosen(occurrences: pl.DataFrame, most: int, exemplars: Collection[tuple[str, int]]) -> pl.DataFrame:
    """At most so many occurrences of each id, spread evenly over all of them, in the order of time; and exemplars."""
    import polars as pl

    place, n = pl.int_range(pl.len()).over("id"), pl.len().over("id")
    best = pl.DataFrame([*exemplars], schema={"recording": pl.String, "start_frame": pl.Int64}, orient="row")
    marked = occurrences.join(best.unique().with_columns(best=pl.lit(True)), on=best.columns, how="left")
    return marked.sort("recording", "start_frame").filter(
        (n <= most)
        | ((place * most) // n != ((place - 1) * most) // n)
        | (place == 0)
        | pl.col("best").fill_null(False)
    )


def _cell_values(overview: Overview, rows: NDArray[np.int64], one: Mapping[str, Any]) -> dict[str, Any]:
    """Lowest and highest in at most MAX_COLUMNS columns (n_rows, 2, n_columns), NaN where missing; and what can be."""
    first = one["start_frame"] // overview.bucket_frames
    last = max(first + 1, -(-one["end_frame"] // overview.bucket_frames))
    span = overview._replace(codes=overview.codes[first:last]).only([*rows])
    n_columns = min(MAX_COLUMNS, span.codes.shape[0])
    starts = np.arange(n_columns) * span.codes.shape[0] // n_columns
    low = np.minimum.reduceat(span.codes[..., 0], starts, axis=0)
    high = np.maximum.reduceat(np.where(span.codes[..., -1] == MISSING, 0, span.codes[..., -1]), starts, axis=0)
    codes = np.stack([low, np.where(low == MISSING, MISSING, high)], axis=-1)
    return {"values": span._replace(codes=codes).values().transpose(1, 2, 0), "extent": (span.low, span.high)}


def _detail(channels: Sequence[str], d: Floats, material: Material) -> dict[str, Any]:
    rows, cells = material.rows, material.cells
    low, span = _scale(cells, rows.size)
    offset, parts, occurrences = 0, [], []
    for cell in cells:
        codes = _coded(cell["values"], low, span)
        occurrences.append({name: cell[name] for name in _CELL} | {"offset": offset, "columns": codes.shape[2]})
        parts.append(codes.tobytes())
        offset += codes.size
    curves = [mean_and_band(np.stack(one)) for one in (material.from_start, material.stretched)]
    bottom, height = _curve_scale(curves)
    return {
        "apart": [words for c in rows if (words := in_words(channels[c], d[:, c])) is not None],
        "rows": [channels[c] for c in rows],
        "extents": [[round(float(a), 2), round(float(a + b), 2)] for a, b in zip(bottom, height, strict=True)],
        "width": material.width,
        "reach": material.reach,
        "median": material.median,
        "n_aligned": len(material.from_start),
        "aligned": [
            {"columns": one.shape[2], "data": base64.b64encode(_coded(one, bottom, height).tobytes()).decode()}
            for one in curves
        ],
        "occurrences": occurrences,
        "data": base64.b64encode(b"".join(parts)).decode(),
    }


def _scale(cells: Sequence[dict[str, Any]], n_rows: int) -> tuple[Floats, Floats]:
    """Lowest value and span of each row, the same for all cells, whatever recording they are from."""
    if not cells:
        return np.zeros(n_rows), np.ones(n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without any value: NaN is the right answer
        low, high = (
            ends([ends(cell["values"], axis=(1, 2)) for cell in cells], axis=0) for ends in (np.nanmin, np.nanmax)
        )
        whole = np.nanmax([cell["extent"][1] - cell["extent"][0] for cell in cells], axis=0)
    span = np.maximum(np.nan_to_num(high - low), _LEAST_SPAN * np.nan_to_num(whole))
    middle = np.nan_to_num((low + high) / 2)
    return middle - span / 2, np.where(span > 0, span, 1.0)


def _curve_scale(curves: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Lowest value and span of each row over both ways to align."""
    rows = np.concatenate(curves, axis=2).reshape(len(curves[0]), -1)
    known = np.isfinite(rows)
    some = known.any(axis=1)  # else a channel without any value
    low = np.where(some, np.min(rows, axis=1, where=known, initial=np.inf), 0.0)
    high = np.where(some, np.max(rows, axis=1, where=known, initial=-np.inf), 0.0)
    span = np.maximum(high - low, _LEAST_CURVE)
    return (low + high) / 2 - span / 2, span


def _coded(values: NDArray[np.floating], low: Floats, span: Floats) -> NDArray[np.uint8]:
    """Codes from 0 to 254 over the span of each row (n_rows, any, n_columns); 255 is missing."""
    share = (values - low[:, None, None]) / span[:, None, None]
    return np.where(np.isnan(share), 255, np.rint(254 * np.nan_to_num(share).clip(0, 1))).astype(np.uint8)


_NO_SIGNAL: Mapping[str, Any] = MappingProxyType(
    {"apart": [], "rows": [], "extents": [], "width": 1, "reach": 1, "median": 1, "n_aligned": 0, "aligned": [],
     "occurrences": [], "data": ""}
)  # fmt: skip


def panel_entries(
    level: str,
    entries: Sequence[EntrySummary],
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    drawn: Sequence[RecordingSummary],
) -> dict[str, dict[str, Any]]:
    """What the panel shows of each entry in the table, by its key."""
    shown = {entry.id: entry for entry in entries_shown(entries)}
    exemplars = {(one.recording, one.start_frame) for entry in shown.values() for one in entry.exemplars}
    found = entry_details(level, segments, overviews, set(shown), exemplars)
    places = {recording.id: (place, recording) for place, recording in enumerate(drawn)}
    spans = _spans(level, segments)
    return {
        entry_key(level, entry): {
            **(detail := found.get(id, _NO_SIGNAL)),
            **about_entry(level, entry),
            "occurrences": _cells(detail["occurrences"], entry, places),
            "width_words": _in_words(detail["width"], drawn),
            "reach_words": _in_words(detail["reach"], drawn),
            "median_words": _in_words(detail["median"], drawn),
            **_distributions(spans.get(id, {}), drawn),
        }
        for id, entry in shown.items()
    }


def about_entry(level: str, entry: EntrySummary) -> dict[str, Any]:
    """Name, look and figures in words; `unproven` is why an entry is pale, empty where it recurs or was not tested."""
    return {
        "level": level,
        "name": entry_name(level, entry.id, entry.name),
        **look_of(level, entry.id)._asdict(),
        "n": entry.n_occurrences,
        "part": entry.share,
        "share": percent(entry.share),
        "facts": _facts(entry),
        "lasts": _lasts(entry),
        "evidence": evidence_words(entry.evidence),
        "unproven": evidence_words(entry.evidence) if is_unproven(entry) else "",
        "taken_for": entry.taken_for,
        "absorbed": list(entry.absorbed),
    }


def _facts(entry: EntrySummary) -> str:
    """The line under the name."""
    if entry.median_duration_s is None:
        lengths = (entry.median_duration_frames, entry.p10_duration_frames, entry.p90_duration_frames)
        lasts = "{:.0f} ({:.0f}–{:.0f}) frames".format(*lengths)
    else:
        lasts = spread_in_words(entry.median_duration_s, entry.p10_duration_s or 0.0, entry.p90_duration_s or 0.0)
    return f"{counted(entry.n_occurrences, 'occurrence')}, {percent(entry.share)} of the time, lasts {lasts}"


def _lasts(entry: EntrySummary) -> str:
    if entry.median_duration_s is None:
        return f"{entry.median_duration_frames:.0f} frames"
    return duration_in_words(entry.median_duration_s)


def _in_words(n_frames: int, drawn: Sequence[RecordingSummary]) -> str:
    rates = {recording.rate for recording in drawn}
    rate = rates.pop() if len(rates) == 1 else None
    return f"{n_frames} frames" if rate is None else duration_in_words(n_frames / rate)


def _spans(level: str, segments: pl.DataFrame) -> dict[int, Spans]:
    """Starts and ends of all occurrences, by id and recording."""
    import polars as pl

    own = segments.filter((pl.col("level") == level) & (pl.col("id") >= 0)).sort("id", "recording", "start_frame")
    ids, recordings = own["id"].to_list(), own["recording"].to_list()
    starts, ends = (own[name].to_numpy().astype(np.float64) for name in ("start_frame", "end_frame"))
    first = [i for i in range(len(ids)) if i == 0 or (ids[i], recordings[i]) != (ids[i - 1], recordings[i - 1])]
    found: dict[int, dict[str, tuple[Floats, Floats]]] = {}
    for at, past in pairwise([*first, len(ids)]):
        found.setdefault(ids[at], {})[recordings[at]] = (starts[at:past], ends[at:past])
    return {id: MappingProxyType(by_recording) for id, by_recording in found.items()}


def _distributions(spans: Spans, drawn: Sequence[RecordingSummary]) -> dict[str, Any]:
    """Durations and when, over the recordings on the page; None where it does not occur in them."""
    rates = {recording.id: recording.rate for recording in drawn}
    own = {id: ends for id, ends in spans.items() if id in rates}
    if not own:
        return {"durations": None, "when": None}
    in_seconds = all(rates[id] is not None for id in own)
    lengths = np.concatenate([(end - start) / ((rates[id] or 1.0) if in_seconds else 1.0)
                              for id, (start, end) in own.items()])  # fmt: skip
    return {"durations": duration_bins(lengths, in_seconds=in_seconds), "when": when(own, drawn)}


def _cells(
    occurrences: Sequence[dict[str, Any]],
    entry: EntrySummary,
    places: Mapping[str, tuple[int, RecordingSummary]],
) -> list[dict[str, Any]]:
    """Exemplars first, in the order of the table, then the others in the order of time."""
    rank = {(one.recording, one.start_frame): place for place, one in enumerate(entry.exemplars)}
    ranks = [rank.get((one["recording"], one["start_frame"]), len(rank)) for one in occurrences]
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    return [_cell(occurrences[i], places) | {"exemplar": ranks[i] < len(rank)} for i in order]


def _cell(one: dict[str, Any], places: Mapping[str, tuple[int, RecordingSummary]]) -> dict[str, Any]:
    """One occurrence as the panel needs it: where it is, and the words beneath it."""
    place, recording = places[one["recording"]]
    start = one["start_frame"]
    when_s = None if recording.rate is None else seconds_at(recording, start)
    at = f"frame {start}" if when_s is None else moment_in_words(when_s, recording.duration_s or 0.0)
    score = "" if one["score"] is None else f" ({one['score']:.2f})"
    return {
        "timeline": place,
        "start": start,
        "end": one["end_frame"],
        "offset": one["offset"],
        "columns": one["columns"],
        "words": f"{at}{score}" if len(places) == 1 else f"{recording.id} {at}{score}",
    }
