"""A recording of a result as a matplotlib figure: signals, motif blocks above the rows of their units, truth, time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RondoWarning
from rondo.report.colours import ink_on
from rondo.report.figure_style import (
    DARK,
    LIGHT,
    NORMAL,
    POINT,
    SMALL,
    Paper,
    add_axes,
    cut,
    inches_high,
    new_figure,
    text_inches,
    title_size,
    write,
)
from rondo.report.scene import MOST_CHANNELS, Cutout, DrawnBlocks, Scene, scene_of, seen_signal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rondo.result import Result

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
