"""The panel next to the timeline: name, figures and pictures of each entry, as a dict that the page's script reads.

Signals are read twice: first to see which channels set each entry apart, then those channels of its occurrences.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.shape import (
    LEAST_SHARE,
    MAX_COLUMNS,
    Spans,
    by_recording,
    compared,
    duration_bins,
    frames_compared,
    in_words,
    mean_and_band,
    occurrence_columns,
    occurrence_spans,
    standardised,
    when,
)
from rondo.arrays import Floats
from rondo.report.lanes import entry_look
from rondo.report.skeleton import skeletons
from rondo.report.tables import entries_shown, entry_key, evidence_words, is_unproven, recurrence_words
from rondo.run.clock import seconds_at
from rondo.run.overview import MISSING, Overview
from rondo.wording import counted, duration_in_words, moment_in_words, percent, spread_in_words

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import EntrySummary, RareStretch, RecordingSummary

MAX_OCCURRENCES = 24
MAX_CELLS = 1600
"""Occurrences drawn on a page in all, which is about 1 MB."""
MAX_ALIGNED = 200
"""Occurrences over which mean and band of an entry are taken, spread over all of them."""
MAX_ROWS = 4
_MOST_ALIGNED = 12_800  # on a page in all: 26 MB while it is made
_CELL_HOLDS = 0.9  # of the occurrences end within a cell
_LEAST_SPAN = 1 / 8  # of the range of a channel: rest should look like rest, not like its noise
_LEAST_CURVE = 1.0  # standard deviation of the channel, for the same reason
_CELL = ("recording", "start_frame", "end_frame", "score")
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
    rare: Sequence[RareStretch] = (),
) -> dict[str, dict[str, Any]]:
    """What the panel shows of each entry in the table, by its key; `rare`: stretches that are unlike the rest."""
    import polars as pl

    shown = {entry.id: entry for entry in entries_shown(entries)}
    exemplars = {(exemplar.recording, exemplar.start_frame) for entry in shown.values() for exemplar in entry.exemplars}
    unlike = {(one.recording, one.start_frame): one.why for one in rare if one.level == level}
    details = entry_details(level, segments, overviews, set(shown), exemplars | unlike.keys())
    indices = {recording.id: index for index, recording in enumerate(drawn)}
    wanted = (pl.col("level") == level) & (pl.col("id") >= 0) & pl.col("recording").is_in([*indices])
    spans, rates = occurrence_spans(segments.filter(wanted)), {recording.rate for recording in drawn}
    postures = skeletons(level, segments, overviews, [*shown])
    rate = rates.pop() if len(rates) == 1 else None
    panels = {}
    for id, entry in shown.items():
        detail = details.get(id, _NO_SIGNAL)
        rank = {(it.recording, it.start_frame): place for place, it in enumerate(entry.exemplars)}
        ranked = [(rank.get((it["recording"], it["start_frame"]), len(rank)), it) for it in detail["occurrences"]]
        panels[entry_key(level, entry)] = {
            **detail,
            **about_entry(level, entry),
            **({"skeleton": postures[id]} if id in postures else {}),
            "occurrences": [  # exemplars first, in the order of the table, then the others in the order of time
                _cell(occurrence, drawn, indices[occurrence["recording"]], unlike) | {"exemplar": place < len(rank)}
                for place, occurrence in sorted(ranked, key=lambda it: it[0])
            ],
            **{
                f"{name}_words": f"{detail[name]} frames" if rate is None else duration_in_words(detail[name] / rate)
                for name in ("width", "reach", "median")
            },
            **_distributions(spans.get(id, {}), drawn),
        }
    return panels


def about_entry(level: str, entry: EntrySummary) -> dict[str, Any]:
    """Name, look and figures in words; `unproven` is why an entry is pale, empty if it recurs or was not tested."""
    if entry.median_duration_s is None:
        frames = (entry.median_duration_frames, entry.p10_duration_frames, entry.p90_duration_frames)
        spread, median = "{:.0f} ({:.0f}–{:.0f}) frames".format(*frames), f"{frames[0]:.0f} frames"
    else:
        spread = spread_in_words(entry.median_duration_s, entry.p10_duration_s or 0.0, entry.p90_duration_s or 0.0)
        median = duration_in_words(entry.median_duration_s)
    share, recurs = percent(entry.share), recurrence_words(level, entry)
    return {
        "level": level,
        **entry_look(level, entry.id, entry.name),
        "n": entry.n_occurrences,
        "part": entry.share,
        "share": share,
        "facts": f"{counted(entry.n_occurrences, 'occurrence')}, {share} of the time, lasts {spread}",
        "lasts": median,
        "recurs": recurs,
        "evidence": evidence_words(entry.evidence),
        "unproven": recurs if is_unproven(entry) else "",
        "taken_for": entry.taken_for,
        "description": entry.description,
        "in_labels": entry.in_labels,
        "absorbed": list(entry.absorbed),
    }


def _cell(
    occurrence: dict[str, Any],
    drawn: Sequence[RecordingSummary],
    index: int,
    unlike: Mapping[tuple[str, int], str],
) -> dict[str, Any]:
    """One occurrence: where it is, and the words beneath it."""
    recording, start, score = drawn[index], occurrence["start_frame"], occurrence["score"]
    at = f"frame {start}"
    if recording.rate is not None:
        at = moment_in_words(seconds_at(recording, start), recording.duration_s or 0.0)
    words = at if score is None else f"{at} ({score:.2f})"
    if (why := unlike.get((recording.id, start))) is not None:
        words = f"{words}: {why}"
    return {
        "timeline": index,
        "start": start,
        "end": occurrence["end_frame"],
        "offset": occurrence["offset"],
        "columns": occurrence["columns"],
        "words": words if len(drawn) == 1 else f"{recording.id} {words}",
    }


def _distributions(spans: Spans, drawn: Sequence[RecordingSummary]) -> dict[str, Any]:
    """Durations and when, over the recordings on the page; None if it does not occur in them."""
    if not spans:
        return {"durations": None, "when": None}
    rates = {recording.id: recording.rate for recording in drawn}
    in_seconds = all(rates[id] is not None for id in spans)
    lengths = [(ends - starts) / ((rates[id] or 1.0) if in_seconds else 1.0) for id, (starts, ends) in spans.items()]
    return {"durations": duration_bins(np.concatenate(lengths), in_seconds=in_seconds), "when": when(spans, drawn)}


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
        cuts = (self.reach, min(MAX_COLUMNS, self.reach)), (None, min(MAX_COLUMNS, self.median))
        from_start, stretched = occurrence_columns(overview, start, end, cuts, self.rows)
        self.from_start.append(from_start)
        self.stretched.append(stretched)


def entry_details(
    level: str,
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    ids: Collection[int],
    exemplars: Collection[tuple[str, int]] = (),
) -> dict[int, dict[str, Any]]:
    """What the signals show of each of these entries, over the recordings that have the channels of the first.

    Keys: apart, rows, width, reach and median (frames), aligned, and occurrences with their data. Recordings without an
    overview are left out. Occurrences that begin at `exemplars` (recording, frame) are among those drawn.
    """
    import polars as pl

    recordings = [*overviews]
    if not recordings or not ids:
        return {}
    rows = segments.filter((pl.col("level") == level) & (pl.col("id") >= 0) & pl.col("recording").is_in(recordings))
    most_frames = frames_compared(len(recordings))
    channels, alike, (sums,) = compared([rows], overviews, n_ids=1 + max(ids))
    d = sums.differences()
    wanted = rows.filter(pl.col("id").is_in(sorted(ids)) & pl.col("recording").is_in(alike))
    n_entries = 2 * len(ids)  # of both levels
    n_cells = min(MAX_OCCURRENCES, max(3, MAX_CELLS // n_entries))
    n_aligned = min(MAX_ALIGNED, max(20, _MOST_ALIGNED // n_entries))
    drawn, aligned = _chosen(wanted, n_cells, exemplars), _chosen(wanted, n_aligned, ())
    material: dict[int, Material] = {}
    for (id,), part in wanted.partition_by("id", as_dict=True).items():
        lengths = (part["end_frame"] - part["start_frame"]).to_numpy()
        median, reach, width = (max(1, int(np.quantile(lengths, q))) for q in (0.5, 1 - LEAST_SHARE, _CELL_HOLDS))
        largest = np.abs(d[int(id)]).max(axis=0)
        material[int(id)] = Material(np.argsort(-largest, kind="stable")[:MAX_ROWS], width, reach, median)
    drawn_in, aligned_in = by_recording(drawn), by_recording(aligned)
    for recording in alike:
        if recording not in drawn_in and recording not in aligned_in:
            continue
        overview = standardised(overviews[recording], most_frames)
        for row in drawn_in.get(recording, drawn.clear()).iter_rows(named=True):
            entry = material[row["id"]]
            values = _cell_values(overview, entry.rows, row["start_frame"], row["end_frame"])
            entry.cells.append({name: row[name] for name in _CELL} | values)
        for row in aligned_in.get(recording, aligned.clear()).iter_rows(named=True):
            material[row["id"]].add_aligned(overview, row["start_frame"], row["end_frame"])
    return {id: _detail(channels, d[id], entry) for id, entry in material.items()}


def _chosen(occurrences: pl.DataFrame, most: int, exemplars: Collection[tuple[str, int]]) -> pl.DataFrame:
    """At most so many occurrences of each id, spread evenly over all of them, in the order of time; and exemplars."""
    import polars as pl

    place, n = pl.int_range(pl.len()).over("id"), pl.len().over("id")
    best = pl.DataFrame([*exemplars], schema={"recording": pl.String, "start_frame": pl.Int64}, orient="row")
    marked = occurrences.join(best.unique().with_columns(best=pl.lit(True)), on=best.columns, how="left")
    is_spread = ((place * most) // n != ((place - 1) * most) // n) | (place == 0)
    return marked.sort("recording", "start_frame").filter((n <= most) | is_spread | pl.col("best").fill_null(False))


def _cell_values(overview: Overview, rows: NDArray[np.int64], start: int, end: int) -> dict[str, Any]:
    """Lowest and highest in at most MAX_COLUMNS columns (n_rows, 2, n_columns), NaN if missing; and what can be."""
    first = start // overview.bucket_frames
    last = max(first + 1, -(-end // overview.bucket_frames))
    span = overview._replace(codes=overview.codes[first:last]).only([*rows])
    n_columns = min(MAX_COLUMNS, span.codes.shape[0])
    starts = np.arange(n_columns) * span.codes.shape[0] // n_columns
    low = np.minimum.reduceat(span.codes[..., 0], starts, axis=0)
    high = np.maximum.reduceat(np.where(span.codes[..., -1] == MISSING, 0, span.codes[..., -1]), starts, axis=0)
    codes = np.stack([low, np.where(low == MISSING, MISSING, high)], axis=-1)
    return {"values": span._replace(codes=codes).values().transpose(1, 2, 0), "extent": (span.low, span.high)}


def _detail(channels: Sequence[str], d: Floats, material: Material) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without any value: NaN is the right answer
        whole = np.nanmax([cell["extent"][1] - cell["extent"][0] for cell in material.cells], axis=0)
    low, span = _scale([cell["values"] for cell in material.cells], _LEAST_SPAN * np.nan_to_num(whole))
    n_bytes, parts, occurrences = 0, [], []
    for cell in material.cells:
        codes = _coded(cell["values"], low, span)
        occurrences.append({name: cell[name] for name in _CELL} | {"offset": n_bytes, "columns": codes.shape[2]})
        parts.append(codes.tobytes())
        n_bytes += codes.size
    curves = [mean_and_band(np.stack(aligned)) for aligned in (material.from_start, material.stretched)]
    bottom, height = _scale(curves, _LEAST_CURVE)
    return {
        "apart": [words for c in material.rows if (words := in_words(channels[c], d[:, c])) is not None],
        "rows": [channels[c] for c in material.rows],
        "extents": [[round(float(a), 2), round(float(a + b), 2)] for a, b in zip(bottom, height, strict=True)],
        "width": material.width,
        "reach": material.reach,
        "median": material.median,
        "n_aligned": len(material.from_start),
        "aligned": [
            {"columns": curve.shape[2], "data": base64.b64encode(_coded(curve, bottom, height).tobytes()).decode()}
            for curve in curves
        ],
        "occurrences": occurrences,
        "data": base64.b64encode(b"".join(parts)).decode(),
    }


def _scale(pictures: Sequence[NDArray[np.floating]], least: float | Floats) -> tuple[Floats, Floats]:
    """Lowest value and span of each row over pictures (n_rows, any, n_columns), which are all drawn on this scale."""
    rows = np.concatenate(pictures, axis=2).reshape(len(pictures[0]), -1)
    known = np.isfinite(rows)
    some = known.any(axis=1)  # else a channel without any value
    low = np.where(some, np.min(rows, axis=1, where=known, initial=np.inf), 0.0)
    high = np.where(some, np.max(rows, axis=1, where=known, initial=-np.inf), 0.0)
    span = np.maximum(high - low, least)
    return (low + high) / 2 - span / 2, np.where(span > 0, span, 1.0)


def _coded(values: NDArray[np.floating], low: Floats, span: Floats) -> NDArray[np.uint8]:
    """Codes from 0 to 254 over the span of each row (n_rows, any, n_columns); 255 is missing."""
    share = (values - low[:, None, None]) / span[:, None, None]
    return np.where(np.isnan(share), 255, np.rint(254 * np.nan_to_num(share).clip(0, 1))).astype(np.uint8)
