"""What is shown when an entry is pressed: facts, its occurrences side by side, and the channels that set it apart.

A channel sets an entry apart by its level or by its movement (how much it changes from frame to frame). Both are told
as a standardised difference of the frames of the entry to all other frames,

    d = (mean_in - mean_rest) / sqrt((var_in + var_rest) / 2)

so that 0.8 and more can be seen by eye. It describes; it proves nothing. Every recording is taken in deviations from
its own mean, as models read them unless told otherwise: sensors sit differently each time.
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

from rondo.data.labels import OTHER, from_runs
from rondo.report.colours import look_of
from rondo.report.overview import MISSING, Overview
from rondo.report.tables import (
    UnitNames,
    composition_key,
    composition_parts,
    entries_shown,
    entry_key,
    entry_name,
    evidence_words,
    percent,
)
from rondo.report.wall_clock import seconds_at
from rondo.times import duration_in_words, moment_in_words, spread_in_words
from rondo.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import EntrySummary, RecordingSummary

MAX_OCCURRENCES = 24
MAX_CELLS = 1600
"""Occurrences on a page in all, which is about 1 MB."""

MAX_ROWS = 4
MAX_COLUMNS = 64
_FRAMES_COMPARED = 200_000
"""Means of two hundred thousand frames are as good as those of a million, and quicker."""

_RECORDINGS_COMPARED = 20  # with so many frames each; of more recordings each gives fewer
_MEDIANS_SHOWN = 2.5
_LEAST_SPAN = 1 / 8  # of the range of a channel: rest should look like rest, not like its noise
_LARGEST = 99.9  # d of two constants that differ is infinite
_CELL = ("recording", "start_frame", "end_frame", "score")
Figures = NDArray[np.float64]


def standardised(overview: Overview, most: int = _FRAMES_COMPARED) -> Overview:
    """The same codes, read as deviations from the mean of each channel in standard deviations."""
    values = overview._replace(codes=overview.codes[:: _every(overview, most)]).values().mean(axis=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without any value: its mean is none
        mean, deviation = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    unit = np.where(deviation > 0, deviation, 1.0)
    return overview._replace(low=(overview.low - mean) / unit, high=(overview.high - mean) / unit)


def _every(overview: Overview, most: int) -> int:
    return max(1, len(overview.codes) // most)


@dataclass
class Sums:
    """Count, sum and sum of squares of level and movement: (n_ids + 1, 2, n_channels), the last id being OTHER."""

    n: Figures
    total: Figures
    squares: Figures

    @classmethod
    def empty(cls, n_ids: int, n_channels: int) -> Sums:
        return cls(*(np.zeros((n_ids + 1, 2, n_channels)) for _ in range(3)))

    def add(self, overview: Overview, track: NDArray[np.int32], most: int = _FRAMES_COMPARED) -> None:
        """Add the frames of one recording, or about so many of them; `track` gives the id of each."""
        n_buckets, bucket = overview.codes.shape[0], overview.bucket_frames
        places = np.arange(0, n_buckets, _every(overview, most))
        now, before = (
            overview._replace(codes=overview.codes[at]).values() for at in (places, np.maximum(places - 1, 0))
        )
        level = now.mean(axis=2)
        change = np.abs(level - before[..., 0]) if bucket == 1 else np.ptp(now, axis=2)
        middle = np.minimum(places * bucket + bucket // 2, overview.n_frames - 1)
        ids = np.where(track[middle] == OTHER, self.n.shape[0] - 1, track[middle])
        for kind, feature in enumerate((level, change)):
            for channel in range(feature.shape[1]):
                known = np.isfinite(feature[:, channel])
                own, x = ids[known], feature[known, channel].astype(np.float64)
                for sums, weights in ((self.n, None), (self.total, x), (self.squares, x * x)):
                    sums[:, kind, channel] += np.bincount(own, weights, minlength=sums.shape[0])

    def differences(self) -> Figures:
        """d of every id, for level and movement, in every channel; 0 where there is nothing to compare."""
        inside = (self.n, self.total, self.squares)
        rest = tuple(part.sum(axis=0) - part for part in inside)
        with np.errstate(invalid="ignore", divide="ignore"):
            means, variances = zip(*(_moments(*parts) for parts in (inside, rest)), strict=True)
            d = (means[0] - means[1]) / np.sqrt((variances[0] + variances[1]) / 2)
        shown: Figures = np.clip(np.nan_to_num(d, nan=0.0), -_LARGEST, _LARGEST)
        return shown[:-1]


def _moments(n: Figures, total: Figures, squares: Figures) -> tuple[Figures, Figures]:
    mean = total / n
    return mean, np.maximum(squares / n - mean**2, 0)


@dataclass
class Vocabulary:
    """The entries of one level that share their ids, over the recordings they were found in."""

    sums: Sums
    channels: tuple[str, ...]
    cells: dict[int, list[dict[str, Any]]] = field(default_factory=dict)


def entry_details(
    level: str,
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    shown: Mapping[str, Sequence[int]],
    exemplars: Collection[tuple[str, int]] = (),
) -> dict[tuple[str, int], dict[str, Any]]:
    """By vocabulary ("" where all recordings share one, else the recording) and id: apart, rows, width, cells, data.

    `shown` names the ids to tell about, by vocabulary. Recordings without an overview here are passed over. Occurrences
    that begin where `exemplars` says (recording, frame) are among those kept.
    """
    found = {}
    n_entries = max(1, sum(len(ids) for ids in shown.values()))
    most = min(MAX_OCCURRENCES, max(3, MAX_CELLS // (2 * n_entries)))
    for vocabulary, ids in shown.items():
        own = [*overviews] if not vocabulary else [id for id in overviews if id == vocabulary]
        told = _vocabulary(level, segments, overviews, own, set(ids), most, exemplars) if own and ids else None
        if told is not None:
            d = told.sums.differences()
            found.update({(vocabulary, id): _detail(told, d[id], told.cells.get(id, [])) for id in ids})
    return found


def _vocabulary(
    level: str,
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    recordings: Sequence[str],
    ids: set[int],
    most: int,
    exemplars: Collection[tuple[str, int]],
) -> Vocabulary:
    import polars as pl

    own = segments.filter((pl.col("level") == level) & (pl.col("id") >= 0) & pl.col("recording").is_in(recordings))
    channels = overviews[recordings[0]].channels
    top = max(max(ids), int(own["id"].max() or 0))  # type: ignore[arg-type]
    told = Vocabulary(Sums.empty(top + 1, len(channels)), channels)
    chosen = _chosen(own.filter(pl.col("id").is_in(sorted(ids))), most, exemplars)
    most_frames = _FRAMES_COMPARED * min(_RECORDINGS_COMPARED, len(recordings)) // len(recordings)
    for id in recordings:
        if overviews[id].channels != channels:
            continue
        overview = standardised(overviews[id], most_frames)
        rows = own.filter(pl.col("recording") == id)
        track = from_runs(rows["start_frame"], rows["end_frame"], rows["id"], overview.n_frames)
        told.sums.add(overview, track, most_frames)
        for cell in chosen.filter(pl.col("recording") == id).iter_rows(named=True):
            span = _columns(overview, cell["start_frame"], cell["end_frame"])
            kept = {name: cell[name] for name in _CELL} | {"values": span, "extent": (overview.low, overview.high)}
            told.cells.setdefault(cell["id"], []).append(kept)
    return told


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


def _columns(overview: Overview, start: int, end: int) -> NDArray[np.float32]:
    """Lowest and highest of a span in at most MAX_COLUMNS columns: (n_channels, 2, n_columns); NaN where missing."""
    first = start // overview.bucket_frames
    span = overview.codes[first : max(first + 1, -(-end // overview.bucket_frames))]
    n_columns = min(MAX_COLUMNS, span.shape[0])
    starts = np.arange(n_columns) * span.shape[0] // n_columns
    low = np.minimum.reduceat(span[..., 0], starts, axis=0)
    high = np.maximum.reduceat(np.where(span[..., -1] == MISSING, 0, span[..., -1]), starts, axis=0)
    codes = np.stack([low, np.where(low == MISSING, MISSING, high)], axis=-1)
    return overview._replace(codes=codes).values().transpose(1, 2, 0)


def _detail(told: Vocabulary, d: Figures, cells: list[dict[str, Any]]) -> dict[str, Any]:
    strength = np.abs(d).max(axis=0)
    rows = np.argsort(-strength, kind="stable")[:MAX_ROWS]
    low, span = _scale(cells, rows)
    offset, parts, occurrences = 0, [], []
    for cell in cells:
        codes = _drawn(cell["values"][rows], low, span)
        placed = {"offset": offset, "columns": codes.shape[2]}
        occurrences.append({name: cell[name] for name in _CELL} | placed)
        parts.append(codes.tobytes())
        offset += codes.size
    return {
        "apart": [_words(told.channels[c], d[:, c]) for c in rows if strength[c] >= 0.2],
        "rows": [told.channels[c] for c in rows],
        "width": _width(cells),
        "occurrences": occurrences,
        "data": base64.b64encode(b"".join(parts)).decode(),
    }


def _scale(cells: Sequence[dict[str, Any]], rows: NDArray[np.int64]) -> tuple[Figures, Figures]:
    """Lowest value and span of each row, the same for all cells, whatever recording they are from."""
    if not cells:
        return np.zeros(rows.size), np.ones(rows.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without any value: NaN is the right answer
        low, high = (
            ends([ends(cell["values"][rows], axis=(1, 2)) for cell in cells], axis=0) for ends in (np.nanmin, np.nanmax)
        )
        whole = np.nanmax([cell["extent"][1][rows] - cell["extent"][0][rows] for cell in cells], axis=0)
    span = np.maximum(np.nan_to_num(high - low), _LEAST_SPAN * np.nan_to_num(whole))
    middle = np.nan_to_num((low + high) / 2)
    return middle - span / 2, np.where(span > 0, span, 1.0)


def _drawn(values: NDArray[np.float32], low: Figures, span: Figures) -> NDArray[np.uint8]:
    """Codes from 0 to 254 over the span of each row; 255 is missing."""
    share = (values - low[:, None, None]) / span[:, None, None]
    return np.where(np.isnan(share), 255, np.rint(254 * np.nan_to_num(share).clip(0, 1))).astype(np.uint8)


def _width(cells: Sequence[dict[str, Any]]) -> int:
    """Frames that a cell of the drawer shows: the longest occurrence, unless most are much shorter."""
    lengths = [cell["end_frame"] - cell["start_frame"] for cell in cells]
    return int(min(max(lengths), np.ceil(_MEDIANS_SHOWN * np.median(lengths)))) if lengths else 1


def _words(channel: str, d: Figures) -> str:
    kind = int(np.argmax(np.abs(d)))
    words = (("lower", "higher"), ("moves less", "moves more"))[kind][int(d[kind] > 0)]
    return f"{channel}: {words} (d = {d[kind]:+.1f})"


def drawer_entries(
    level: str,
    entries: Sequence[EntrySummary],
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    drawn: Sequence[RecordingSummary],
    unit_names: UnitNames = MappingProxyType({}),
) -> dict[str, dict[str, Any]]:
    """What the drawer shows of each entry in the table, by its key."""
    shown = {(entry.recording, entry.id): entry for entry in entries_shown(entries)}
    ids: dict[str, list[int]] = {}
    for vocabulary, id in shown:
        ids.setdefault(vocabulary, []).append(id)
    exemplars = {(one.recording, one.start_frame) for entry in shown.values() for one in entry.exemplars}
    found = entry_details(level, segments, overviews, ids, exemplars)
    places = {recording.id: (place, recording) for place, recording in enumerate(drawn)}
    return {
        entry_key(level, shown[place]): {
            **detail,
            "level": level,
            "name": entry_name(level, place[1], shown[place].name),
            **look_of(level, place[1])._asdict(),
            "facts": _facts(shown[place], len(detail["occurrences"])),
            "composition": composition_parts(shown[place].composition, place[0], unit_names),
            "composition_key": composition_key([shown[place].composition]),
            "taken_for": shown[place].taken_for,
            "occurrences": _cells(detail["occurrences"], shown[place], places),
            "width_words": _width_words(detail, drawn),
        }
        for place, detail in found.items()
    }


def _facts(entry: EntrySummary, n_cells: int) -> list[str]:
    some = f" ({n_cells} of them here, spread over time)" if n_cells < entry.n_occurrences else ""
    facts = [f"{counted(entry.n_occurrences, 'occurrence')}{some}, {percent(entry.share)} of the time."]
    if entry.median_duration_s is None:
        lengths = (entry.median_duration_frames, entry.p10_duration_frames, entry.p90_duration_frames)
        facts.append("Lasts {:.0f} frames (10–90 %: {:.0f}–{:.0f}).".format(*lengths))
    else:
        lasts = (entry.median_duration_s, entry.p10_duration_s or 0.0, entry.p90_duration_s or 0.0)
        facts.append(f"Lasts {spread_in_words(*lasts)} (median, 10–90 %).")
    return facts if entry.evidence is None else [*facts, f"Recurs? {evidence_words(entry.evidence)}."]


def _width_words(detail: dict[str, Any], drawn: Sequence[RecordingSummary]) -> str:
    rates = {recording.rate for recording in drawn}
    rate = rates.pop() if len(rates) == 1 else None
    return f"{detail['width']} frames" if rate is None else duration_in_words(detail["width"] / rate)


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
    """One occurrence as the drawer needs it: where it is, and the words beneath it."""
    place, recording = places[one["recording"]]
    start = one["start_frame"]
    when = None if recording.rate is None else seconds_at(recording, start)
    at = f"frame {start}" if when is None else moment_in_words(when, recording.duration_s or 0.0)
    score = "" if one["score"] is None else f" ({one['score']:.2f})"
    return {
        "timeline": place,
        "start": start,
        "end": one["end_frame"],
        "offset": one["offset"],
        "columns": one["columns"],
        "words": f"{at}{score}" if len(places) == 1 else f"{recording.id} {at}{score}",
    }
