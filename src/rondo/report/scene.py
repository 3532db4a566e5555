"""What a still picture of one recording shows: signals, motif blocks, a row for each unit, truth; drawn elsewhere.

`rondo.report.figure` draws it with matplotlib, `rondo.report.strip` as SVG for notebooks. Frames are those of the
recording; blocks are cut to what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Ints
from rondo.data.labels import OTHER
from rondo.errors import SettingError
from rondo.report.colours import colour_of
from rondo.report.contents import TruthFile
from rondo.report.finding import finding
from rondo.report.matched_looks import match_looks
from rondo.report.overview import Overview
from rondo.report.summarize import lanes_of
from rondo.report.tables import entry_name, percent
from rondo.report.time_axis import TimeAxis
from rondo.run.segment_file import segments_of
from rondo.run.segments import LEVELS
from rondo.times import duration_in_words
from rondo.vocabulary.vocabulary import Level
from rondo.wording import counted, did_you_mean, found_in_words, noun, one_of

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result

MOST_CHANNELS = 12
_MOST_MATCHED = 20  # recordings over which true classes get their colours: more would change none
_MOMENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)\s*", re.ASCII)
_UNIT_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


class DrawnBlocks(NamedTuple):
    """Segments [starts[i], ends[i]) with what each is called and its colour."""

    starts: Ints
    ends: Ints
    names: list[str]
    colours: list[str]

    def within(self, start: int, end: int) -> DrawnBlocks:
        """What of them lies in [start, end)."""
        seen = np.flatnonzero((self.ends > start) & (self.starts < end)).tolist()
        names, colours = [self.names[i] for i in seen], [self.colours[i] for i in seen]
        return DrawnBlocks(np.maximum(self.starts[seen], start), np.minimum(self.ends[seen], end), names, colours)


class Row(NamedTuple):
    """A lane with its name at the left."""

    name: str
    blocks: DrawnBlocks


@dataclass(frozen=True)
class Scene:
    """The picture of the frames [start, end) of one recording.

    `motifs` is None where no motif is longer than a unit, or none is wanted; `units` has a row for each unit in the
    order of first occurrence, and one for all beyond `most_rows`.
    """

    recording_id: str
    finding: str
    start: int
    end: int
    time: TimeAxis
    signal: Overview
    left_out: str  # channels that are not drawn, in words
    motifs: DrawnBlocks | None
    units: tuple[Row, ...]
    truths: tuple[Row, ...]


class Cutout(NamedTuple):
    """What of a recording to show."""

    start: int | str | None = None
    end: int | str | None = None
    channels: Sequence[int | str] | None = None
    level: str = "both"
    truth: TruthFile | None = None


def scene_of(result: Result, recording_id: str, view: Cutout, most_rows: int, most_channels: int) -> Scene:
    """The picture of one recording of a result."""
    about = result.summary.recording(recording_id)
    if about is None:
        raise SettingError(f"there is no recording '{recording_id}' in this result")
    if view.level not in (*LEVELS, "both"):
        raise SettingError(f"level is {one_of([*LEVELS, 'both'])}, got '{view.level}'")
    time = TimeAxis.of(result, about)
    start, end = _span(view, about.n_frames, time)
    overview = result.overviews[recording_id]
    shown, left_out = _channels(overview.channels, view.channels, most_channels)
    table = segments_of(result, [recording_id])
    found = {level: _blocks(table, level) for level in LEVELS}
    flat = result.summary.motifs_are_units
    return Scene(
        recording_id,
        finding_in(result, recording_id, found),
        start,
        end,
        time,
        overview.only(shown),
        left_out,
        None if flat or view.level == "unit" else found["motif"].within(start, end),
        () if view.level == "motif" and not flat else _unit_rows(found["unit"], start, end, most_rows),
        tuple(Row(row.name, row.blocks.within(start, end)) for row in _truths(result, recording_id, view)),
    )


def finding_in(result: Result, recording_id: str, found: Mapping[Level, DrawnBlocks]) -> str:
    """What a result found in one recording, in a sentence: '8 units and 6 motifs in 20 min of 6 channels; 2 % OTHER'.

    Whether it recurs was tested in all fitted recordings together, so it is only said where there is one.
    """
    about = result.summary.recording(recording_id)
    assert about is not None
    if len(result) == 1 and result.kind == "discover":
        return finding(result.summary)
    fits = "" if about.fit is None else f"; the model {about.fit.verdict}"
    length = f"{about.n_frames:,} frames" if about.duration_s is None else duration_in_words(about.duration_s)
    where = f" in {length} of {counted(len(about.channels), 'channel')}"
    n_units, n_motifs = (len(set(found[level].names)) for level in LEVELS)
    told = found_in_words(n_units, n_motifs, motifs_are_units=result.summary.motifs_are_units, where=where)
    return f"{told}; {percent(round(about.share_other, 3))} OTHER{fits}"


def _frame_at(moment: int | str, time: TimeAxis, setting: str) -> int:
    """A frame, or the frame at a time since the start of the recording: '12s', '1.5min'."""
    if not isinstance(moment, str):
        return int(moment)
    told = _MOMENT.fullmatch(moment)
    if told is None:
        raise SettingError(f"{setting} is a frame (256) or a time ('12s', '500ms', '1.5min', '2h'), got '{moment}'")
    if time.clock is None:
        raise SettingError(f"{setting} = '{moment}' is a time, but the recording has no clock; give a frame")
    return time.frame_after(float(told[1]) * _UNIT_S[told[2]])


def _span(view: Cutout, n_frames: int, time: TimeAxis) -> tuple[int, int]:
    start = 0 if view.start is None else _frame_at(view.start, time, "start")
    end = n_frames if view.end is None else _frame_at(view.end, time, "end")
    if (view.start, view.end) == (None, None):
        return 0, max(1, n_frames)
    if not 0 <= start < end or start >= n_frames:
        raise SettingError(f"expected 0 <= start < end within {n_frames:,} frames, got frames {start:,} to {end:,}")
    return start, min(end, n_frames)


def _channels(known: Sequence[str], wanted: Sequence[int | str] | None, most: int) -> tuple[list[int], str]:
    """Places of the channels to draw, and what to say of the others."""
    if wanted is not None:
        return [_channel(known, one) for one in wanted], ""
    left = len(known) - most
    return [*range(min(most, len(known)))], f"{left} more {noun(left, 'channel')}" if left > 0 else ""


def _channel(known: Sequence[str], wanted: int | str) -> int:
    if isinstance(wanted, str) and wanted in known:
        return list(known).index(wanted)
    if not isinstance(wanted, str) and 0 <= wanted < len(known):
        return int(wanted)
    hint = did_you_mean(str(wanted), known, f"there are {', '.join(known[:8])}")
    raise SettingError(f"the recording has no channel '{wanted}'; {hint}")


def _blocks(table: pl.DataFrame, level: Level) -> DrawnBlocks:
    own = table.filter((table["level"] == level) & (table["id"] != OTHER)).sort("start_frame")
    ids = own["id"].to_list()
    starts, ends = (own[name].to_numpy().astype(np.int64) for name in ("start_frame", "end_frame"))
    names = [entry_name(level, id, name) for id, name in zip(ids, own["name"].to_list(), strict=True)]
    return DrawnBlocks(starts, ends, names, [colour_of(level, id) for id in ids])


def _unit_rows(found: DrawnBlocks, start: int, end: int, most: int) -> tuple[Row, ...]:
    """The first rows belong to the units with most time; all of them in the order of first occurrence."""
    seen = found.within(start, end)
    lasting: dict[str, int] = {}
    for name, length in zip(seen.names, (seen.ends - seen.starts).tolist(), strict=True):
        lasting[name] = lasting.get(name, 0) + length
    kept = set(lasting)
    if len(lasting) > most:
        kept = set(sorted(lasting, key=lambda name: -lasting[name])[: most - 1])
    rows = [Row(name, _called(seen, {name})) for name in lasting if name in kept]
    rest = set(lasting) - kept
    return (*rows, Row(f"{len(rest)} more", _called(seen, rest))) if rest else tuple(rows)


def _called(blocks: DrawnBlocks, names: set[str]) -> DrawnBlocks:
    own = [place for place, name in enumerate(blocks.names) if name in names]
    colours = [blocks.colours[place] for place in own]
    return DrawnBlocks(blocks.starts[own], blocks.ends[own], [blocks.names[place] for place in own], colours)


# ---------------------------------------------------------------- truth


def _truths(result: Result, recording_id: str, view: Cutout) -> list[Row]:
    """Lanes of what is known to be true, in the colours that the page gives them."""
    flat = result.summary.motifs_are_units
    wanted = [level for level in reversed(LEVELS) if view.level in (level, "both") and not (flat and level == "motif")]
    lanes = {lane["kind"]: lane for lane in _matched_lanes(result, recording_id, view.truth)}
    titles = {f"true {level}": f"true {level}s" for level in wanted} | {"annotation": "annotation"}
    return [Row(title, _lane_blocks(lanes[kind])) for kind, title in titles.items() if kind in lanes]


def _matched_lanes(result: Result, recording_id: str, file: TruthFile | None) -> list[dict[str, Any]]:
    """The lanes of one recording; looks are matched over several, so that a class looks the same in all of them."""
    truth = result.tables.get("truth")
    if truth is None and file is None:
        return []
    annotated = {} if file is None else _annotated(result, file)
    known = set(annotated) if truth is None else {*annotated, *truth["recording"].unique().to_list()}
    ids = [one.id for one in result.recordings if one.id in known][:_MOST_MATCHED]
    ids = list(dict.fromkeys([*ids, recording_id]))
    recordings: list[dict[str, Any]] = []
    for id in ids:
        about, own = result.summary.recording(id), annotated.get(id)
        lanes = [*lanes_of(id, segments_of(result, [id]), truth), *([] if own is None else [own])]
        recordings.append({"n_frames": 0 if about is None else about.n_frames, "lanes": lanes})
    match_looks(recordings)
    own_lanes: list[dict[str, Any]] = recordings[ids.index(recording_id)]["lanes"]
    return own_lanes


def _annotated(result: Result, file: TruthFile) -> dict[str, Any]:
    from rondo.report.annotation_lane import annotation_lanes  # brings all readers of annotations

    return annotation_lanes(result, file)


def _lane_blocks(lane: Mapping[str, Any]) -> DrawnBlocks:
    starts, ends = (np.array(lane[name], np.int64) for name in ("start_frames", "end_frames"))
    return DrawnBlocks(starts, ends, lane["names"], lane["colours"])


# ---------------------------------------------------------------- signals


def seen_signal(
    scene: Scene, channel: int, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.float32]]:
    """Frames, and the lowest and highest value at each, of at most so many buckets; NaN where the clock jumps."""
    signal = scene.signal.only([channel])
    bucket, factor = signal.bucket_frames, 1
    first, last = scene.start // bucket, -(-scene.end // bucket)
    while (last - first) // factor > most:
        factor *= 2
    seen = signal._replace(codes=signal.codes[first:last]).coarsened(factor * bucket)
    values = seen.values()[:, 0]
    frames = first * bucket + np.arange(len(values)) * float(factor * bucket)
    low, high = values[:, 0], values[:, -1]
    jumps = np.unique(np.searchsorted(frames, scene.time.jumps))
    jumps = jumps[(jumps > 0) & (jumps < frames.size)]
    return np.insert(frames, jumps, frames[jumps]), np.insert(low, jumps, np.nan), np.insert(high, jumps, np.nan)
