"""A recording of a result as a matplotlib figure: signals, motif blocks above the rows of their units, truth, time."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Ints
from rondo.data.grid import FrameClock
from rondo.data.labels import OTHER
from rondo.errors import MissingExtraError, RondoWarning, SettingError
from rondo.report.contents import TruthFile
from rondo.report.lanes import colour_of, ink_on, match_looks
from rondo.report.summarize import finding, lanes_of
from rondo.report.tables import entry_name, percent
from rondo.run.clock import clock_of
from rondo.run.overview import Overview
from rondo.run.segments import LEVELS, segments_of
from rondo.units.vocabulary import Level
from rondo.wording import counted, did_you_mean, duration_in_words, found_in_words, is_date, noun, one_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rondo.result import Result
    from rondo.run.summary import RecordingSummary


# ----------------------------------------------------------------
# What figures have in common: matplotlib itself, colours on light and dark paper, and how wide a text is.

SMALL, NORMAL, LARGE = 7.0, 8.0, 10.0
"""Sizes of letters in points."""

POINT = 1 / 72  # in inches


class Paper(NamedTuple):
    """Colours of what is neither a unit nor a motif."""

    paper: str
    ink: str
    faint: str
    line: str
    signal: str


LIGHT = Paper("#ffffff", "#1f2933", "#6b7683", "#d5dae0", "#4a5865")
DARK = Paper("#15181d", "#e6e9ed", "#98a2ae", "#39414b", "#aeb8c3")


def new_figure(what: str, size: tuple[float, float], paper: Paper) -> Figure:
    """An empty figure that belongs to no window; `what` needs matplotlib."""
    try:
        import matplotlib.pyplot  # noqa: F401  # tells notebooks how to show figures
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(what, "matplotlib", "plot") from None
    return Figure(figsize=size, facecolor=paper.paper)


def add_axes(figure: Figure, inches: tuple[float, float, float, float], paper: Paper, share: Axes | None) -> Axes:
    """An axis at left, bottom, width and height, without a frame, ticks or labels."""
    wide, high = figure.get_size_inches()
    left, bottom, width, height = inches
    axis = figure.add_axes((left / wide, bottom / high, width / wide, height / high), sharex=share)
    axis.set_facecolor("none")
    axis.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False, colors=paper.faint)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return axis


def write(axis: Axes, inches: tuple[float, float], text: str, **style: Any) -> None:
    """A text at a place in inches from the lower left corner of an axis; a $ in a name is a $."""
    from matplotlib.transforms import ScaledTranslation

    figure: Any = axis.figure
    corner = axis.transAxes + ScaledTranslation(*inches, figure.dpi_scale_trans)
    axis.text(0, 0, text, transform=corner, parse_math=False, **({"fontsize": NORMAL} | style))


def inches_high(axis: Axes) -> float:
    figure: Any = axis.figure
    return float(axis.get_position().height * figure.get_size_inches()[1])


def text_inches(text: str, size: float) -> float:
    """How wide a text is."""
    return float(_points(text) * size * POINT)


def title_size(title: str, inches: float) -> float:
    """The size of bold letters with which a title fits into a width, as far as letters can be read."""
    return max(SMALL - 1, min(LARGE, LARGE * inches / (1.15 * text_inches(title, LARGE))))


@lru_cache(maxsize=4096)
def _points(text: str) -> float:
    """In sizes of its letters: the drawn outlines, so nothing has to be rendered first."""
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), text, size=1, usetex=False).get_extents().width if text.strip() else 0.0


def cut(text: str, most: int = 22) -> str:
    """
    >>> cut("left forearm accelerometer x"), cut("acc x")
    ('left forearm accelero…', 'acc x')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


# ----------------------------------------------------------------
# Marks on an axis of time at round places, in units that people say: ms, s, min:s, h:min, days, dates.

Counts = Literal["frames", "seconds", "dates"]
"""What an axis counts; dates are seconds since 1970."""

_MIN, _HOUR, _DAY = 60, 3600, 86_400
_ROUND_S = (1, 2, 5, 10, 15, 20, 30, *(_MIN * n for n in (1, 2, 5, 10, 15, 20, 30)),
            *(_HOUR * n for n in (1, 2, 3, 6, 12)), *(_DAY * n for n in (1, 2, 7, 14)))  # fmt: skip
_ROUND_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
_MONTH_S = 30.44 * _DAY


class Ticks(NamedTuple):
    """Places on the axis, the words at them, and what the words count."""

    at: list[float]
    words: list[str]
    unit: str


def ticks(first: float, last: float, counts: Counts, most: int = 8) -> Ticks:
    """At most so many marks from `first` to `last`.

    >>> ticks(0, 90, "seconds", 4)
    Ticks(at=[0.0, 30.0, 60.0, 90.0], words=['0', '30', '60', '90'], unit='s')
    >>> ticks(0, 4000, "seconds", 4).words, ticks(0, 4000, "seconds", 4).unit
    (['0:00', '20:00', '40:00', '60:00'], 'min:s')
    >>> ticks(1794774665, 1794861065, "dates", 4).words
    ['00:00', '06:00', '12:00', '18:00']
    >>> ticks(1794774665, 1794861065, "dates", 4).unit
    '15 Nov 2026 to 16 Nov 2026'
    >>> ticks(0, 70_000, "frames", 4).words
    ['0', '20,000', '40,000', '60,000']
    """
    span = max(last - first, 1e-9)
    if counts == "dates" and span / most > 14 * _DAY:
        return _months(first, last, most)
    step = _decimal_step(span / most) if counts == "frames" else _round_step(span / most)
    if counts == "frames":
        step = max(1.0, step)
    at = [step * n for n in range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)]
    if counts == "frames":
        return Ticks(at, [f"{place:,.0f}" for place in at], "frame")
    if counts == "dates":
        return Ticks(at, [_date_words(place, step) for place in at], _days(first, last))
    return _in_seconds(at, step, max(abs(first), abs(last)))


def _decimal_step(least: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= least * (1 - 1e-9))


def _round_step(least: float) -> float:
    if least <= 1:
        return _decimal_step(least)
    whole = next((float(step) for step in _ROUND_S if step >= least), None)
    return _DAY * _decimal_step(least / _DAY) if whole is None else whole


def _in_seconds(at: list[float], step: float, longest: float) -> Ticks:
    """Seconds up to three minutes, min:s up to three hours, h:min up to three days, then days."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if longest < 0.5:
        return Ticks(at, [f"{1000 * s:.{max(0, decimals - 3)}f}" for s in at], "ms")
    if longest < 3 * _MIN or min(at, default=0.0) < 0:
        return Ticks(at, [f"{s:.{decimals}f}" for s in at], "s")
    if longest < 3 * _HOUR:
        wide = decimals + 3 if decimals else 2
        return Ticks(at, [f"{s // _MIN:.0f}:{s % _MIN:0{wide}.{decimals}f}" for s in at], "min:s")
    if longest < 3 * _DAY:
        short = step >= _MIN
        return Ticks(at, [_clock(s, short) for s in at], "h:min" if short else "h:min:s")
    if step >= _DAY:
        return Ticks(at, [f"{s / _DAY:,.0f}" for s in at], "days")
    return Ticks(at, [f"{s // _DAY:.0f} d {_clock(s % _DAY, step >= _MIN)}" for s in at], "days and h:min")


def _clock(seconds: float, short: bool) -> str:
    minutes, rest = divmod(round(seconds), _MIN)
    return f"{minutes // 60}:{minutes % 60:02d}" + ("" if short else f":{rest:02d}")


def _when(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _date_words(seconds: float, step: float) -> str:
    when = _when(seconds)
    if step >= _DAY:
        return f"{when.day} {when:%b}"
    if step >= _MIN:
        return f"{when:%H:%M}"
    return f"{when:%H:%M:%S}" if step >= 1 else f"{when:%H:%M:%S.%f}"[:-3]


def _days(first: float, last: float) -> str:
    days = [f"{when.day} {when:%b %Y}" for when in (_when(first), _when(last))]
    return " to ".join(dict.fromkeys(days))


def _months(first: float, last: float, most: int) -> Ticks:
    """First days of months, or of years."""
    least = (last - first) / most / _MONTH_S
    step = next((n for n in _ROUND_MONTHS if n >= least), _ROUND_MONTHS[-1])
    begins, ends = _when(first), _when(last)
    months = range((begins.year * 12 + begins.month - 1) // step * step, ends.year * 12 + ends.month, step)
    dates = [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months]
    dates = [date for date in dates if begins <= date <= ends]
    words = [f"{date:%Y}" if step >= 12 else f"{date:%b %Y}" for date in dates]
    return Ticks([date.timestamp() for date in dates], words, _days(first, last))


# ----------------------------------------------------------------
# The axis of time of a still picture: from frames to places on it, and round marks.
#
# Where the clock runs on, places are its readings: seconds, or seconds since 1970. Where it jumps, as between two
# days, places are frames, so that hours without data take no room; marks are still readings, part by part.

_JUMP_FRAMES = 5.0  # from which on the clock jumps, as on the page


@dataclass(frozen=True)
class TimeAxis:
    """`counts` is what marks read; `jumps` are the frames at which the clock goes on after a gap."""

    counts: Counts
    clock: FrameClock | None
    jumps: NDArray[np.int64]

    @classmethod
    def of(cls, result: Result, about: RecordingSummary) -> TimeAxis:
        clock = clock_of(result, about.id)
        if clock is None:
            return FRAMES
        counts: Counts = "dates" if is_date(clock.start_s) else "seconds"
        jumps = _jumps(about)
        if jumps.size and about.clock is not None:  # the knots tell both sides of each gap
            frames, seconds = (np.array(part, np.float64) for part in (about.clock.frames, about.clock.seconds))
            clock = FrameClock(seconds, frames, clock.rate, float(seconds[0]))
        return cls(counts, clock, jumps)

    def at(self, frames: ArrayLike) -> NDArray[np.float64]:
        """Where frames lie."""
        if self.clock is None or self.jumps.size:
            return np.asarray(frames, np.float64)
        return self.clock.seconds_at(frames)

    def frame_after(self, seconds: float) -> int:
        """The frame at a time since the start of the recording."""
        if self.clock is None:
            raise ValueError("a recording without a clock has no seconds")
        return int(self.clock.frames_at(self.clock.start_s + seconds))

    def marks(self, start: int, end: int, most: int) -> Ticks:
        """Round readings between two frames, at their places."""
        if self.clock is None or not self.jumps.size:
            first, last = self.at(np.array([start, end])).tolist()
            return ticks(first, last, self.counts, most)
        edges = [start, *(int(frame) for frame in self.jumps if start < frame < end), end]
        parts = [self._part(a, b, most * (b - a) / (end - start)) for a, b in pairwise(edges)]
        at, words = [place for part in parts for place in part.at], [word for part in parts for word in part.words]
        return Ticks(at, words, parts[0].unit if self.counts == "seconds" else self._days(start, end))

    def _part(self, start: int, end: int, most: float) -> Ticks:
        """Marks of a stretch without a jump, at frames; a short one has no room for any."""
        assert self.clock is not None
        first = float(self.clock.seconds_at([start])[0])
        last = first + (end - start) / self.clock.rate
        found = ticks(first, last, self.counts, max(1, round(most)))
        if most < 0.7:
            return Ticks([], [], found.unit)
        places = [start + (end - start) * (second - first) / (last - first) for second in found.at]
        return Ticks(places, found.words, found.unit)

    def _days(self, start: int, end: int) -> str:
        assert self.clock is not None
        first, last = self.clock.seconds_at([start, end - 1]).tolist()
        return ticks(first, last, self.counts).unit


FRAMES = TimeAxis("frames", None, np.zeros(0, np.int64))
"""Of recordings without a clock."""


def _jumps(about: RecordingSummary) -> NDArray[np.int64]:
    if about.clock is None or about.rate is None:
        return np.zeros(0, np.int64)
    frames, seconds = np.array(about.clock.frames), np.array(about.clock.seconds)
    wide = (np.diff(frames) <= 2) & (np.diff(seconds) > _JUMP_FRAMES * np.diff(frames) / about.rate)
    return frames[1:][wide].astype(np.int64)


# ----------------------------------------------------------------
# What a still picture of one recording shows: signals, motif blocks, a row for each unit, truth; drawn elsewhere.
#
# `rondo.plot.recording` draws it with matplotlib. Frames are those of the recording; blocks are cut to what is shown.

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
    from rondo.report.lanes import annotation_lanes  # brings all readers of annotations

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


MOST_FIGURES = 12
"""Of a result with hundreds of recordings, the first are drawn."""

_MOST_ROWS = 24
_MOST_BUCKETS = 2400  # about two for each dot of a wide figure
_MOST_EDGES = 160  # of blocks through the rows of units: more would be a grey veil
_WIDTH, _TOP, _BOTTOM, _KEY, _RIGHT = 10.0, 0.5, 0.34, 0.18, 0.2
_BLOCK, _ROW, _TRUE = 0.27, 0.165, 0.2
_LEAST_FOR_EXTENTS = 0.24  # two lines of small letters
_NARROWEST = 0.009
_INCHES_PER_TICK = 1.0


def figure_of(
    result: Result, recording_id: str, view: Cutout, figsize: tuple[float, float] | None, dark: bool
) -> Figure:
    """The figure of one recording; of many channels the first are drawn."""
    scene = scene_of(result, recording_id, view, _MOST_ROWS, MOST_CHANNELS)
    return draw_scene(scene, figsize, DARK if dark else LIGHT)


def figures_of(result: Result, view: Cutout, figsize: tuple[float, float] | None, dark: bool) -> list[Figure]:
    """A figure for each recording; of very many, the first."""
    if len(result) > MOST_FIGURES:
        told = f"drew the first {MOST_FIGURES} of {len(result):,} recordings; draw others by id, as in"
        other = result.recordings[MOST_FIGURES].id
        warnings.warn(f"{told} result.plot({other!r})", RondoWarning, stacklevel=3)
    return [figure_of(result, one.id, view, figsize, dark) for one in result.recordings[:MOST_FIGURES]]


class _Panel(NamedTuple):
    """A part of the figure: how high it is and the space below it in inches, and what draws it."""

    height: float
    gap: float
    draw: Callable[[Axes], None]


@dataclass(frozen=True)
class _Canvas:
    """What all panels share: `left` and `width` in inches, of names and of the axes beside them."""

    scene: Scene
    paper: Paper
    left: float
    width: float

    def at(self, frames: Any) -> NDArray[np.float64]:
        """Where frames lie on the axis of time."""
        places = self.scene.time.at(frames)
        if not self.is_dates:
            return places
        return np.asarray(_dates().date2num((1e6 * places).round().astype("datetime64[us]")))

    @property
    def is_dates(self) -> bool:
        """Whether matplotlib's own marks of dates will do; it knows no jumps."""
        return self.scene.time.counts == "dates" and not self.scene.time.jumps.size

    @property
    def ends(self) -> tuple[float, float]:
        first, last = self.at(np.array([self.scene.start, self.scene.end])).tolist()
        return first, max(last, first + 1e-9)

    def spans(self, blocks: DrawnBlocks) -> list[tuple[float, float]]:
        """Left edge and width of each block; none is too narrow to be seen."""
        first, last = self.ends
        starts, least = self.at(blocks.starts), _NARROWEST * (last - first) / self.width
        return [*zip(starts.tolist(), np.maximum(self.at(blocks.ends) - starts, least).tolist(), strict=True)]

    def inches(self, blocks: DrawnBlocks) -> NDArray[np.float64]:
        """How wide each block is."""
        first, last = self.ends
        return np.asarray(self.width * (self.at(blocks.ends) - self.at(blocks.starts)) / (last - first))


def _dates() -> Any:
    return import_module("matplotlib.dates")  # which has no types


def draw_scene(scene: Scene, figsize: tuple[float, float] | None, paper: Paper) -> Figure:
    """One axis below the other, all with the same time; heights are in inches, so that letters fit."""
    left = _left_inches(scene)
    canvas = _Canvas(scene, paper, left, (figsize or (_WIDTH,))[0] - left - _RIGHT)
    panels = _panels(canvas)
    key = _key(canvas)
    room, around = sum(panel.height + panel.gap for panel in panels), _TOP + _BOTTOM + (_KEY if key else 0.0)
    size = figsize or (_WIDTH, around + room)
    figure = new_figure("Result.plot", size, paper)
    scale = max(0.1, (size[1] - around) / room)
    top, first = size[1] - _TOP, None
    for panel in panels:
        height = scale * panel.height
        axis = add_axes(figure, (left, top - height, canvas.width, height), paper, first)
        panel.draw(axis)
        _draw_jumps(canvas, axis)
        first = first or axis
        top -= scale * (panel.height + panel.gap)
    _draw_time(canvas, figure.axes[-1])
    _draw_key(canvas, key, figure.axes[-1])
    _draw_title(canvas, figure.axes[0], scale * panels[0].height)
    return figure


def _panels(canvas: _Canvas) -> list[_Panel]:
    scene = canvas.scene
    n_channels = len(scene.signal.channels) if scene.signal.codes.size else 0
    high = 0.6 if n_channels <= 3 else 0.46 if n_channels <= 6 else 0.34
    panels = [_Panel(high, 0.06, partial(_draw_signal, canvas, place)) for place in range(n_channels)]
    if scene.motifs is not None:
        panels.append(_Panel(_BLOCK, 0.02, partial(_draw_blocks, canvas, "motifs", scene.motifs)))
    if scene.units:
        panels.append(_Panel(_ROW * len(scene.units), 0.08, partial(_draw_rows, canvas)))
    panels += [_Panel(_TRUE, 0.04, partial(_draw_blocks, canvas, row.name, row.blocks)) for row in scene.truths]
    return panels or [_Panel(_ROW, 0.0, lambda axis: None)]


def _left_inches(scene: Scene) -> float:
    """Room for the longest name, and for the extent of each channel beside its name."""
    channels = [text_inches(cut(name), NORMAL) + 0.5 for name in scene.signal.channels]
    lanes = ["motifs", *(row.name for row in (*scene.units, *scene.truths))]
    return 0.2 + max([*channels, *(text_inches(cut(name), NORMAL) for name in lanes)])


# ---------------------------------------------------------------- panels


def _draw_signal(canvas: _Canvas, place: int, axis: Axes) -> None:
    """A line where single frames can be seen, else the band from the lowest to the highest value."""
    frames, low, high = seen_signal(canvas.scene, place, _MOST_BUCKETS)
    at, paper = canvas.at(frames), canvas.paper
    if np.array_equal(low, high, equal_nan=True):
        axis.plot(at, low, linewidth=0.8, color=paper.signal, solid_joinstyle="round")
    else:
        axis.fill_between(at, low, high, linewidth=0.5, color=paper.signal)
    known = np.isfinite(low)
    bottom, top = (float(low[known].min()), float(high[known].max())) if known.any() else (np.nan, np.nan)
    if top > bottom:
        axis.set_ylim(bottom - 0.04 * (top - bottom), top + 0.04 * (top - bottom))
    height = inches_high(axis)
    write(axis, (-0.52, height / 2), cut(canvas.scene.signal.channels[place]), ha="right", va="center", color=paper.ink)
    lowest, highest = _written(bottom, top) if height > _LEAST_FOR_EXTENTS else ("", "")
    write(axis, (-0.06, height), highest, ha="right", va="top", color=paper.faint, fontsize=SMALL - 1)
    write(axis, (-0.06, 0), lowest, ha="right", va="bottom", color=paper.faint, fontsize=SMALL - 1)


def _written(bottom: float, top: float) -> tuple[str, str]:
    """Both ends of a range with as many decimals as it takes to tell them apart.

    >>> _written(998.612, 1001.34), _written(-0.4371, 2.38), _written(3.0, 3.0)
    (('998.61', '1001.34'), ('-0.44', '2.38'), ('3', ''))
    """
    if not top > bottom:
        return ("no values" if np.isnan(bottom) else f"{bottom:.4g}"), ""
    decimals = max(0, 2 - math.floor(math.log10(top - bottom)))
    form = f".{decimals}f" if decimals < 7 and max(abs(bottom), abs(top)) < 1e7 else ".3g"
    return f"{bottom:{form}}", f"{top:{form}}"


def _draw_blocks(canvas: _Canvas, title: str, blocks: DrawnBlocks, axis: Axes) -> None:
    """Blocks side by side with their names inside, where there is room."""
    starts, ends = canvas.at(blocks.starts), canvas.at(blocks.ends)
    edge = 0.6 if len(blocks.names) < 200 else 0.0  # more would hide narrow blocks
    look: dict[str, Any] = {
        "facecolors": blocks.colours,
        "edgecolor": canvas.paper.paper,
        "linewidth": edge,
        "snap": False,
    }
    axis.broken_barh(canvas.spans(blocks), (0, 1), **look)
    axis.set_ylim(0, 1)
    for place in np.flatnonzero(_has_room(canvas, blocks)).tolist():
        middle, ink = (starts[place] + ends[place]) / 2, ink_on(blocks.colours[place])
        axis.text(middle, 0.47, blocks.names[place], ha="center", va="center", fontsize=SMALL, color=ink, clip_on=True,
                  parse_math=False)  # fmt: skip
    height = inches_high(axis)
    write(axis, (-0.06, height / 2), title, ha="right", va="center", color=canvas.paper.ink)


def _has_room(canvas: _Canvas, blocks: DrawnBlocks) -> NDArray[np.bool_]:
    needed = {name: text_inches(name, SMALL) + 0.06 for name in set(blocks.names)}
    return canvas.inches(blocks) > np.array([needed[name] for name in blocks.names])


def _draw_rows(canvas: _Canvas, axis: Axes) -> None:
    """A row for each unit; faint lines where the blocks of motifs above begin and end."""
    scene, paper = canvas.scene, canvas.paper
    n_rows = len(scene.units)
    height = inches_high(axis)
    for level, row in enumerate(reversed(scene.units)):
        if (n_rows - level) % 2:
            axis.axhspan(level, level + 1, color=paper.line, alpha=0.22, linewidth=0)
        look: dict[str, Any] = {"facecolors": row.blocks.colours, "linewidth": 0, "snap": False}
        axis.broken_barh(canvas.spans(row.blocks), (level + 0.12, 0.76), **look)
        place, size = (-0.06, height * (level + 0.5) / n_rows), min(NORMAL, 0.95 * height / n_rows / POINT)
        write(axis, place, cut(row.name), ha="right", va="center_baseline", color=paper.ink, fontsize=size)
    edges = _edges(scene)
    axis.vlines(canvas.at(edges), 0, n_rows, color=paper.faint, linewidth=0.5, alpha=min(0.6, 30 / max(1, edges.size)))
    axis.set_ylim(0, n_rows)


def _edges(scene: Scene) -> NDArray[np.int64]:
    if scene.motifs is None:
        return np.zeros(0, np.int64)
    edges = np.unique(np.concatenate([scene.motifs.starts, scene.motifs.ends]))
    return edges if edges.size <= _MOST_EDGES else edges[:0]


# ---------------------------------------------------------------- around them


def _draw_jumps(canvas: _Canvas, axis: Axes) -> None:
    """Dashed lines where the clock jumps over time without data."""
    jumps = canvas.scene.time.jumps
    if jumps.size <= _MOST_EDGES:
        for jump in jumps[(jumps > canvas.scene.start) & (jumps < canvas.scene.end)].tolist():
            axis.axvline(jump, color=canvas.paper.ink, linewidth=0.7, linestyle=(0, (3, 2)))


def _draw_time(canvas: _Canvas, axis: Axes) -> None:
    """Marks of time below the last panel."""
    scene, paper = canvas.scene, canvas.paper
    axis.set_xlim(*canvas.ends)
    axis.tick_params(bottom=True, labelbottom=True, labelsize=NORMAL, length=3, pad=2, color=paper.faint)
    axis.spines["bottom"].set(visible=True, color=paper.line)
    if canvas.is_dates:
        locator = _dates().AutoDateLocator(maxticks=max(3, int(canvas.width)), tz="UTC")
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(_dates().ConciseDateFormatter(locator, tz="UTC"))
        axis.xaxis.get_offset_text().set(color=paper.faint, fontsize=NORMAL)
        return
    marks = scene.time.marks(scene.start, scene.end, max(2, int(canvas.width / _INCHES_PER_TICK)))
    axis.set_xticks(marks.at, marks.words)
    if scene.time.counts == "dates":
        write(axis, (canvas.width, -0.22), marks.unit, ha="right", va="top", color=paper.faint)
    else:
        write(axis, (-0.24, -0.065), marks.unit, ha="right", va="top", color=paper.faint)


def _key(canvas: _Canvas) -> dict[str, str]:
    """The colours of motifs that have no block wide enough for their name."""
    blocks = canvas.scene.motifs
    if blocks is None:
        return {}
    looks = dict(zip(blocks.names, blocks.colours, strict=True))
    named = {blocks.names[place] for place in np.flatnonzero(_has_room(canvas, blocks))}
    return {name: colour for name, colour in looks.items() if name not in named}


def _draw_key(canvas: _Canvas, key: Mapping[str, str], axis: Axes) -> None:
    """Below the axis of time, as many as there is room for."""
    x, y = 0.0, -0.35
    for name, colour in key.items():
        wide = 0.34 + text_inches(cut(name), SMALL)
        if x + wide > canvas.width:
            write(axis, (x, y), "…", va="center", color=canvas.paper.faint)
            return
        write(axis, (x, y), "■", va="center", color=colour)
        write(axis, (x + 0.14, y), cut(name), va="center_baseline", color=canvas.paper.ink, fontsize=SMALL)
        x += wide


def _draw_title(canvas: _Canvas, axis: Axes, height: float) -> None:
    """The finding, and what the picture leaves out."""
    scene, paper = canvas.scene, canvas.paper
    title = f"{cut(scene.recording_id, 60)}: {scene.finding}"
    size = title_size(title, canvas.left + canvas.width)
    place = (0.1 - canvas.left, height + 0.22)
    write(axis, place, title, fontsize=size, color=paper.ink, weight="bold", va="bottom", ha="left")
    corner = (canvas.width, height + 0.05)
    write(axis, corner, scene.left_out, va="bottom", ha="right", color=paper.faint, fontsize=SMALL)
