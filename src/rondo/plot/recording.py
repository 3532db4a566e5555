"""One recording of a result as a matplotlib figure: signals, motifs as blocks, a row for each unit, truth, time."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.data.grid import FrameClock
from rondo.errors import MissingExtraError, RondoWarning, SettingError
from rondo.report.contents import TruthFile
from rondo.report.lanes import annotation_lanes, ink_on, lanes_of, match_looks
from rondo.run.clock import clock_of
from rondo.run.headline import headline, other_in_words
from rondo.run.overview import Overview
from rondo.run.segments import LEVELS, segments_of
from rondo.wording import counted, did_you_mean, duration_in_words, found_in_words, is_date, noun, one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rondo.plot.shown import Figure, Figures
    from rondo.result import Result
    from rondo.run.summary import RecordingSummary

MOST_FIGURES = 12
"""Of a result with hundreds of recordings, the first are drawn."""
_MOST_CHANNELS, _MOST_UNITS = 12, 24
_MOST_BUCKETS = 2400  # of a signal: about two for each pixel of a wide figure
_MOST_EDGES = 160  # of motifs, as lines through the rows of units: more would be a grey veil
_MOST_MATCHED = 20  # recordings over which true classes get their colours: more would change none
_NARROWEST = 0.0012  # of the axis, so that a short block can be seen
_JUMP_FRAMES = 5.0  # from which on the clock jumps, as on the page
_MOMENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)\s*", re.ASCII)
_UNIT_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


SMALL, NORMAL, LARGE = 7.0, 8.0, 10.0
"""Font sizes in points."""


class Paper(NamedTuple):
    """Colours of what is neither a unit nor a motif."""

    paper: str
    ink: str
    faint: str
    line: str
    signal: str

    def style(self, method: str) -> AbstractContextManager[None]:
        """The settings under which a method draws a figure; a $ in a name is a $."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MissingExtraError(method, "matplotlib", "plot") from None
        settings: dict[str, Any] = {f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")}
        settings |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), self.ink)
        settings |= dict.fromkeys(("xtick.color", "ytick.color", "axes.edgecolor"), self.faint)
        settings |= dict.fromkeys(("font.size", "xtick.labelsize", "ytick.labelsize", "axes.labelsize"), NORMAL)
        settings |= {"figure.facecolor": self.paper, "axes.facecolor": "none", "text.parse_math": False}
        settings |= {"xtick.major.size": 3, "ytick.major.size": 0}
        context: AbstractContextManager[None] = plt.rc_context(settings)  # type: ignore[arg-type]
        return context


LIGHT = Paper("#ffffff", "#1f2933", "#6b7683", "#d5dae0", "#4a5865")
DARK = Paper("#15181d", "#e6e9ed", "#98a2ae", "#39414b", "#aeb8c3")


def text_inches(text: str, size: float) -> float:
    return 0.62 * size / 72 * len(text)


def title_size(title: str, inches: float) -> float:
    """The size of bold letters with which a title fits a width, as far as letters can be read."""
    return max(SMALL - 1, min(LARGE, LARGE * inches / (1.1 * text_inches(title, LARGE))))


def cut(text: str, most: int = 22) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


class _TimeAxis(NamedTuple):
    """Frames -> x. Where the clock jumps, x is the frame, so that hours without data take no room.

    `unit` is "frame", "date", or the unit in which seconds are counted.
    """

    unit: str
    clock: FrameClock | None
    jumps: NDArray[np.int64]

    @classmethod
    def of(cls, result: Result, recording: RecordingSummary) -> _TimeAxis:
        clock, none = clock_of(result, recording.id), np.zeros(0, np.int64)
        if clock is None:
            return cls("frame", None, none)
        unit = "date" if is_date(clock.start_s) else "s"
        if recording.clock is None or recording.rate is None:
            return cls(unit, clock, none)
        frames, seconds = (np.array(knots, np.float64) for knots in (recording.clock.frames, recording.clock.seconds))
        wide = (np.diff(frames) <= 2) & (np.diff(seconds) > _JUMP_FRAMES * np.diff(frames) / recording.rate)
        if wide.any():  # the knots hold both sides of each gap
            clock = FrameClock(seconds, frames, clock.rate, float(seconds[0]))
        return cls(unit, clock, frames[1:][wide].astype(np.int64))

    def until(self, end: int) -> _TimeAxis:
        if self.clock is None or self.unit == "date" or self.jumps.size:
            return self
        last = float(self.clock.seconds_at([end])[0])
        return self._replace(unit=next((unit for unit in ("d", "h", "min") if last > 3 * _UNIT_S[unit]), "s"))

    def x(self, frames: ArrayLike) -> NDArray[np.float64]:
        if self.clock is None or self.jumps.size:
            return np.asarray(frames, np.float64)
        seconds = self.clock.seconds_at(frames)
        if self.unit != "date":
            return np.asarray(seconds / _UNIT_S[self.unit])
        from matplotlib.dates import date2num

        return np.asarray(date2num((1e6 * seconds).round().astype("datetime64[us]")))  # type: ignore[no-untyped-call]

    def draw(self, axis: Axes, n_ticks: int) -> None:
        """Ticks by matplotlib; on frames of a clock that jumps, what it shows there."""
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        if self.unit == "date" and not self.jumps.size:
            locator = AutoDateLocator(maxticks=max(3, n_ticks), tz="UTC")  # type: ignore[no-untyped-call]
            axis.xaxis.set_major_locator(locator)
            axis.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz="UTC"))  # type: ignore[no-untyped-call]
            return
        axis.xaxis.set_major_locator(MaxNLocator(max(2, n_ticks), integer=self.unit == "frame"))
        axis.set_xlabel(self.unit, loc="right", labelpad=1)
        if self.clock is None:
            axis.xaxis.set_major_formatter("{x:,.0f}")
        elif self.jumps.size:
            axis.xaxis.set_major_formatter(FuncFormatter(self._reading))
            if self.unit == "date":
                days = dict.fromkeys(f"{self._date(x):%d %b %Y}" for x in axis.get_xlim())
                axis.set_xlabel(" to ".join(days), loc="right", labelpad=1)

    def _date(self, frame: float) -> datetime:
        assert self.clock is not None
        return datetime.fromtimestamp(float(self.clock.seconds_at([frame])[0]), UTC)

    def _reading(self, frame: float, _: int) -> str:
        assert self.clock is not None
        return f"{self._date(frame):%H:%M:%S}" if self.unit == "date" else f"{self.clock.seconds_at([frame])[0]:.6g}"


class Cutout(NamedTuple):
    start: int | str | None = None
    end: int | str | None = None
    channels: Sequence[int | str] | None = None
    level: str = "both"
    truth: TruthFile | None = None


class _Block(NamedTuple):
    """The frames [start, end) of a segment, with its name and colour."""

    start: int
    end: int
    name: str
    colour: str


def _blocks(lane: Mapping[str, Any], start: int, end: int) -> list[_Block]:
    """The part of a lane that lies in [start, end), without OTHER."""
    rows = zip(lane["start_frames"], lane["end_frames"], lane["names"], lane["colours"], strict=True)
    inside = [_Block(*row) for row in rows if row[0] < end and row[1] > start and row[2] != "OTHER"]
    return [it._replace(start=max(it.start, start), end=min(it.end, end)) for it in inside]


class _Scene(NamedTuple):
    """Everything on a figure of the frames [start, end)."""

    title: str
    note: str
    start: int
    end: int
    time: _TimeAxis
    signal: Overview
    motifs: list[_Block] | None
    units: dict[str, list[_Block]]  # rows by name
    truths: dict[str, list[_Block]]  # lanes by title

    def spans(self, blocks: Sequence[_Block]) -> NDArray[np.float64]:
        """Left end and width of each block on the axis (n, 2)."""
        frames = np.array([it[:2] for it in blocks], np.int64).reshape(-1, 2)
        starts, ends = self.time.x(frames[:, 0]), self.time.x(frames[:, 1])
        return np.stack([starts, ends - starts], axis=1)

    def fits(self, blocks: Sequence[_Block], width: float) -> NDArray[np.bool_]:
        """Whether the name of each block fits inside, on an axis of a width in inches."""
        first, last = self.time.x([self.start, self.end])
        inches = width * self.spans(blocks)[:, 1] / max(last - first, 1e-9)
        return np.asarray(inches > [text_inches(it.name, SMALL) + 0.06 for it in blocks])


def figure_of(
    result: Result, recording_id: str, view: Cutout, figsize: tuple[float, float] | None, dark: bool
) -> Figure:
    """The figure of one recording; of many channels, the first are drawn."""
    recording = result.summary.recording(recording_id)
    assert recording is not None  # the caller has looked it up
    if view.level not in (*LEVELS, "both"):
        raise SettingError(f"level is {one_of([*LEVELS, 'both'])}, got '{view.level}'")
    time, n_frames = _TimeAxis.of(result, recording), recording.n_frames
    start, end = 0, max(1, n_frames)
    if (view.start, view.end) != (None, None):
        start = 0 if view.start is None else _frame_at(view.start, time, "start")
        end = n_frames if view.end is None else _frame_at(view.end, time, "end")
        if not 0 <= start < end or start >= n_frames:
            frames = f"frames {start:,} to {end:,}"
            raise SettingError(f"expected 0 <= start < end within {n_frames:,} frames, got {frames}")
        end = min(end, n_frames)
    overview = result.run.overviews[recording_id]
    channels = [*range(min(_MOST_CHANNELS, len(overview.channels)))]
    if view.channels is not None:
        if not isinstance(view.channels, Iterable) or isinstance(view.channels, str):
            raise SettingError(f"channels: expected a list of positions or names, got {view.channels!r}")
        channels = [_channel(overview.channels, channel) for channel in view.channels]
    n_more = len(overview.channels) - _MOST_CHANNELS if view.channels is None else 0
    lanes = {lane["kind"]: lane for lane in _lanes(result, recording, view.truth)}
    flat = result.summary.motifs_are_units
    levels = ("unit",) if flat else LEVELS if view.level == "both" else (view.level,)
    shown = {kind: _blocks(lane, start, end) for kind, lane in lanes.items()}
    truths = {f"true {level}": f"true {level}s" for level in reversed(levels)} | {"annotation": "annotation"}
    scene = _Scene(
        f"{cut(recording_id, 60)}: {_finding_in(result, recording, lanes)}",
        f"{n_more} more {noun(n_more, 'channel')}" if n_more > 0 else "",
        start,
        end,
        time.until(end),
        overview.only(channels),
        shown["motif"] if "motif" in levels else None,
        _unit_rows(shown["unit"]) if "unit" in levels else {},
        {title: shown[kind] for kind, title in truths.items() if kind in shown},
    )
    paper = DARK if dark else LIGHT
    with paper.style("Result.plot"):
        return _draw(scene, figsize, paper)


def figures_of(result: Result, view: Cutout, figsize: tuple[float, float] | None, dark: bool) -> Figures:
    """A figure for each recording; of very many, the first."""
    if len(result) > MOST_FIGURES:
        first = f"drew the first {MOST_FIGURES} of {len(result):,} recordings; draw others by id, as in"
        warnings.warn(f"{first} result.plot({result.recordings[MOST_FIGURES].id!r})", RondoWarning, stacklevel=3)
    drawn = [figure_of(result, one.id, view, figsize, dark) for one in result.recordings[:MOST_FIGURES]]
    from rondo.plot.shown import Figures  # imports matplotlib

    return Figures(drawn)


def _finding_in(result: Result, recording: RecordingSummary, lanes: Mapping[str, Mapping[str, Any]]) -> str:
    """What was found in one recording. Recurrence was tested in all fitted recordings together."""
    if len(result) == 1 and result.kind == "discover":
        return headline(result.summary)
    fit = "" if recording.fit is None else f"; the model {recording.fit.verdict}"
    seconds = recording.duration_s
    length = f"{recording.n_frames:,} frames" if seconds is None else duration_in_words(seconds)
    where = f" in {length} of {counted(len(recording.channels), 'channel')}"
    levels = ("unit",) if result.summary.motifs_are_units else ("motif", "unit")
    counts = {level: len(set(lanes[level]["names"]) - {"OTHER"}) for level in levels}
    found = found_in_words(counts, where)
    return f"{found}{other_in_words(recording.share_other)}{fit}"


def _frame_at(moment: int | str, time: _TimeAxis, setting: str) -> int:
    """A frame, or the frame at a time since the start of the recording: '12s', '1.5min'."""
    if not isinstance(moment, str):
        if not isinstance(moment, Integral):
            raise SettingError(f"{setting} is a frame (256) or a time ('12s'), got {moment!r}")
        return int(moment)
    match = _MOMENT.fullmatch(moment)
    if match is None:
        raise SettingError(f"{setting} is a frame (256) or a time ('12s', '500ms', '1.5min', '2h'), got '{moment}'")
    if time.clock is None:
        raise SettingError(f"{setting} = '{moment}' is a time, but the recording has no clock; give a frame")
    return int(time.clock.frames_at(time.clock.start_s + float(match[1]) * _UNIT_S[match[2]]))


def _channel(known: Sequence[str], wanted: int | str) -> int:
    if isinstance(wanted, str) and wanted in known:
        return list(known).index(wanted)
    if isinstance(wanted, Integral) and 0 <= wanted < len(known):
        return int(wanted)
    hint = did_you_mean(str(wanted), known, f"there are {', '.join(known[:8])}")
    raise SettingError(f"the recording has no channel '{wanted}'; {hint}")


def _lanes(result: Result, recording: RecordingSummary, file: TruthFile | None) -> list[dict[str, Any]]:
    """The lanes of one recording; colours of true classes are matched over several recordings."""
    truth = result.run.tables.get("truth")
    annotated = {} if file is None else annotation_lanes(result, file)
    known = set(annotated) if truth is None else {*annotated, *truth["recording"].unique().to_list()}
    others = [it for it in result.recordings if it.id in known]
    recordings: list[dict[str, Any]] = [
        {"n_frames": it.n_frames, "lanes": [*lanes_of(it.id, segments_of(result, [it.id]), truth, "", {}),
                                            *([annotated[it.id]] if it.id in annotated else [])]}
        for it in (recording, *(it for it in others[:_MOST_MATCHED] if it.id != recording.id))
    ]  # fmt: skip
    match_looks(recordings)
    lanes: list[dict[str, Any]] = recordings[0]["lanes"]
    return lanes


def _unit_rows(units: Sequence[_Block]) -> dict[str, list[_Block]]:
    """A row for each unit in the order of first occurrence; beyond so many, the shortest share one row."""
    rows: dict[str, list[_Block]] = {}
    for block in units:
        rows.setdefault(block.name, []).append(block)
    if len(rows) <= _MOST_UNITS:
        return rows
    longest = sorted(rows, key=lambda name: -sum(block.end - block.start for block in rows[name]))
    rest = set(longest[_MOST_UNITS - 1 :])
    shared = [block for block in units if block.name in rest]
    return {name: rows[name] for name in rows if name not in rest} | {f"{len(rest)} more": shared}


def _draw(scene: _Scene, figsize: tuple[float, float] | None, paper: Paper) -> Figure:
    """One axis below the other, all with the same time."""
    from matplotlib.patches import Patch

    from rondo.plot.shown import Figure

    time, n_channels = scene.time, len(scene.signal.channels) if scene.signal.codes.size else 0
    names = [*scene.units, *scene.truths, "motifs", *(f"{cut(name)} -0.000" for name in scene.signal.channels)]
    left, right = 0.2 + max(text_inches(cut(name, 32), NORMAL) for name in names), 0.35
    width = (figsize or (10.0,))[0] - left - right
    x = partial(_draw_blocks, scene=scene, paper=paper, width=width)
    high = 0.6 if n_channels <= 3 else 0.46 if n_channels <= 6 else 0.34
    panels: list[tuple[float, Callable[[Axes], None]]] = [
        (high, partial(_draw_signal, scene=scene, channel=channel, paper=paper)) for channel in range(n_channels)
    ]
    panels += [] if scene.motifs is None else [(0.27, partial(x, title="motifs", blocks=scene.motifs))]
    panels += [(0.165 * len(scene.units), partial(_draw_rows, scene=scene, paper=paper))] if scene.units else []
    panels += [(0.2, partial(x, title=title, blocks=blocks)) for title, blocks in scene.truths.items()]
    heights = [height for height, _ in panels] or [0.165]
    key = _key(scene, width)
    top, bottom, gap = 0.45, 0.62 if key else 0.42, 0.06
    size = figsize or (10.0, top + bottom + sum(heights) + gap * (len(heights) - 1))
    figure = Figure(figsize=size)
    edges = {"left": left / size[0], "right": 1 - right / size[0], "bottom": bottom / size[1], "top": 1 - top / size[1]}
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights, hspace=gap / float(np.mean(heights)), **edges)
    for place in range(len(heights)):
        axis = figure.add_subplot(grid[place], sharex=figure.axes[0] if place else None)
        axis.tick_params(bottom=False, labelbottom=False, left=False, colors=paper.faint, labelcolor=paper.ink)
        if panels:
            panels[place][1](axis)
        if time.jumps.size <= _MOST_EDGES:
            for jump in time.jumps[(time.jumps > scene.start) & (time.jumps < scene.end)].tolist():
                axis.axvline(jump, color=paper.ink, linewidth=0.7, linestyle=(0, (3, 2)))
    first, last = time.x([scene.start, scene.end]).tolist()
    axis.set_xlim(first, max(last, first + 1e-9))
    axis.tick_params(bottom=True, labelbottom=True, pad=2)
    axis.spines["bottom"].set(visible=True, color=paper.line)
    time.draw(axis, int(width))
    if key:
        patches = [Patch(color=colour, label=cut(name)) for name, colour in key.items()]
        figure.legend(handles=patches, loc="lower left", ncols=len(patches), frameon=False, fontsize=SMALL)
    bold = {"fontsize": title_size(scene.title, size[0] - 0.2), "weight": "bold"}
    figure.suptitle(scene.title, x=0.1 / size[0], y=1 - 0.08 / size[1], ha="left", va="top", **bold)
    figure.axes[0].set_title(scene.note, loc="right", fontsize=SMALL, color=paper.faint, pad=3)
    return figure


def _draw_signal(axis: Axes, scene: _Scene, channel: int, paper: Paper) -> None:
    """A line where single frames can be seen, else the band from the lowest to the highest value."""
    signal = scene.signal.only([channel])
    bucket, factor = signal.bucket_frames, 1
    first, last = scene.start // bucket, -(-scene.end // bucket)
    while (last - first) // factor > _MOST_BUCKETS:
        factor *= 2
    values = signal._replace(codes=signal.codes[first:last]).coarsened(factor * bucket).values()[:, 0]
    frames = first * bucket + np.arange(len(values)) * float(factor * bucket)
    jumps = np.unique(np.searchsorted(frames, scene.time.jumps))  # no line crosses a jump of the clock
    jumps = jumps[(jumps > 0) & (jumps < frames.size)]
    low, high = (np.insert(ends, jumps, np.nan) for ends in (values[:, 0], values[:, -1]))
    frames = np.insert(frames, jumps, frames[jumps])
    if np.array_equal(low, high, equal_nan=True):
        axis.plot(scene.time.x(frames), low, linewidth=0.8, color=paper.signal, solid_joinstyle="round")
    else:
        axis.fill_between(scene.time.x(frames), low, high, linewidth=0.5, color=paper.signal)
    known = np.isfinite(low)
    bottom, top = (float(low[known].min()), float(high[known].max())) if known.any() else (0.0, 0.0)
    if top > bottom:
        axis.set_ylim(bottom - 0.04 * (top - bottom), top + 0.04 * (top - bottom))
        axis.set_yticks([bottom, top], [f"{bottom:.4g}", f"{top:.4g}"], fontsize=SMALL - 1, color=paper.faint)
        axis.get_yticklabels()[0].set_verticalalignment("bottom")
        axis.get_yticklabels()[1].set_verticalalignment("top")
    else:
        axis.set_yticks([bottom], [f"{bottom:.4g}" if known.any() else "no values"], fontsize=SMALL - 1)
    axis.set_ylabel(cut(scene.signal.channels[channel]), rotation=0, ha="right", va="center", labelpad=2)


def _draw_bars(axis: Axes, blocks: Sequence[_Block], scene: _Scene, height: tuple[float, float], **look: Any) -> None:
    first, last = scene.time.x([scene.start, scene.end])
    spans = scene.spans(blocks)
    spans[:, 1] = np.maximum(spans[:, 1], _NARROWEST * (last - first))
    colours = [it.colour for it in blocks]
    axis.broken_barh([(left, wide) for left, wide in spans.tolist()], height, facecolors=colours, snap=False, **look)


def _draw_blocks(axis: Axes, title: str, blocks: list[_Block], scene: _Scene, paper: Paper, width: float) -> None:
    """Blocks side by side, with their names inside if there is room."""
    edge = 0.6 if len(blocks) < 200 else 0.0  # edges would hide narrow ones
    _draw_bars(axis, blocks, scene, (0, 1), linewidth=edge, edgecolor=paper.paper)
    axis.set_ylim(0, 1)
    spans = scene.spans(blocks)
    for index in np.flatnonzero(scene.fits(blocks, width)).tolist():
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "clip_on": True}
        name, colour = blocks[index][2:]
        axis.text(spans[index, 0] + spans[index, 1] / 2, 0.47, name, color=ink_on(colour), **style)
    axis.set_yticks([0.5], [title])


def _key(scene: _Scene, width: float) -> dict[str, str]:
    """The colours of motifs whose name fits in none of their blocks, as far as the figure is wide enough."""
    if scene.motifs is None:
        return {}
    fitting = {scene.motifs[place].name for place in np.flatnonzero(scene.fits(scene.motifs, width))}
    looks = {block.name: block.colour for block in scene.motifs}
    missing = [name for name in looks if name not in fitting]
    room = np.cumsum([0.6 + text_inches(cut(name), SMALL) for name in missing]) < width
    return {name: looks[name] for name, has_room in zip(missing, room, strict=True) if has_room}


def _draw_rows(axis: Axes, scene: _Scene, paper: Paper) -> None:
    """A row for each unit; faint lines where motifs begin and end."""
    n_rows = len(scene.units)
    for level, blocks in enumerate(reversed(scene.units.values())):
        if (n_rows - level) % 2:
            axis.axhspan(level, level + 1, color=paper.line, alpha=0.22, linewidth=0)
        _draw_bars(axis, blocks, scene, (level + 0.12, 0.76), linewidth=0)
    edges = np.unique(np.array([it[:2] for it in scene.motifs or ()], np.int64))
    if edges.size <= _MOST_EDGES:
        faint = min(0.6, 30 / max(1, edges.size))
        axis.vlines(scene.time.x(edges), 0, n_rows, color=paper.faint, linewidth=0.5, alpha=faint)
    axis.set_ylim(0, n_rows)
    axis.set_yticks(np.arange(n_rows) + 0.5, [cut(name, 32) for name in reversed(scene.units)])
