"""Recordings as small still pictures in SVG, made of text alone: for notebooks, where scripts do not run.

Letters and lines take the colour of the text around them, so a dark notebook stays dark. Every name is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.plot.recording import FRAMES, DrawnBlocks, Row, Scene, Ticks, seen_signal, ticks
from rondo.report.lanes import ink_on

WIDTH, LEFT, RIGHT = 900, 118, 22
PLOT = WIDTH - LEFT - RIGHT
MOST_ROWS, MOST_CHANNELS = 14, 4
_LETTER = 6.3  # pixels, of 11 pixels high
_MOST_NAMES = 120
_MOST_EDGES = 80
_NEAREST = 1.0  # pixels between two blocks of one entry that are drawn as two
_NARROWEST = 0.7
_COLUMN = 2  # pixels
_LONGEST_UNIT = 14  # letters that fit at the left of an axis; days stand below it


class PixelAxis(NamedTuple):
    """From what the axis counts to pixels."""

    first: float
    last: float

    def x(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        span = max(self.last - self.first, 1e-9)
        return np.asarray(LEFT + PLOT * (np.asarray(at, np.float64) - self.first) / span)


def scene_svg(scene: Scene) -> str:
    """One recording: signals, motif blocks, a row for each unit, truth, time."""
    axis = PixelAxis(*scene.time.at(np.array([scene.start, scene.end])).tolist())
    parts, y = list[str](), 4
    for place, name in enumerate(scene.signal.channels if scene.signal.codes.size else ()):
        parts += [_label(name, y + 18, 12), _signal(scene, axis, place, y, 28)]
        y += 32
    for row, high in _lanes(scene):
        parts += [_label(row.name, y + high // 2 + 3), _blocks(scene, axis, row.blocks, y, high - 2, named=high > 14)]
        y += high
        if row.name == "motifs":
            parts.append(_edges(scene, axis, y, 14 * len(scene.units)))
    parts.append(_time(scene.time.marks(scene.start, scene.end, 8), axis, y + 2))
    return _svg(f"{scene.recording_id}: {scene.finding}", y + 34, parts)


def _lanes(scene: Scene) -> list[tuple[Row, int]]:
    """Lanes from top to bottom, with their heights."""
    motifs = [] if scene.motifs is None else [(Row("motifs", scene.motifs), 20)]
    return [*motifs, *((row, 14) for row in scene.units), *((row, 17) for row in scene.truths)]


def sheet_svg(scenes: Sequence[Scene], title: str) -> str:
    """Many recordings: a thin lane for each, all from their own start."""
    in_frames = any(scene.time.clock is None or scene.time.jumps.size for scene in scenes)
    if in_frames:  # what they have in common
        scenes = [replace(scene, time=FRAMES) for scene in scenes]
    ends = [scene.time.at(np.array([scene.start, scene.end])).tolist() for scene in scenes]
    longest = max(last - first for first, last in ends)
    parts = []
    for place, (scene, (first, _)) in enumerate(zip(scenes, ends, strict=True)):
        y, axis = 4 + 14 * place, PixelAxis(first, first + longest)
        parts.append(_label(scene.recording_id, y + 10))
        for row in scene.units if scene.motifs is None else [Row("", scene.motifs)]:
            parts.append(_blocks(scene, axis, row.blocks, y, 11, named=False))
    y = 4 + 14 * len(scenes)
    parts.append(_time(ticks(0, longest, "frames" if in_frames else "seconds", 8), PixelAxis(0, longest), y + 2))
    return _svg(title, y + 34, parts)


# ---------------------------------------------------------------- parts


def _svg(title: str, high: int, parts: Sequence[str]) -> str:
    told = escape(title, quote=True)
    style = "max-width:100%;height:auto;font:11px system-ui,sans-serif"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{high}" viewBox="0 0 {WIDTH} {high}" '
        f'role="img" aria-label="{told}" style="{style}" fill="currentColor">'
        f"<title>{told}</title>{''.join(parts)}</svg>"
    )


def _label(name: str, y: int, most: int = 17) -> str:
    shown = name if len(name) <= most else f"{name[: most - 1]}…"
    return f'<text x="{LEFT - 6}" y="{y}" text-anchor="end">{escape(shown)}</text>'


def _signal(scene: Scene, axis: PixelAxis, place: int, y: int, high: int) -> str:
    """The band from the lowest to the highest value, one point a pixel; broken where nothing is known."""
    frames, low, high_values = seen_signal(scene, place, PLOT)
    known = np.isfinite(low)
    if not known.any():
        return ""
    bottom, top = float(low[known].min()), float(high_values[known].max())
    scale = (high - 1) / (top - bottom) if top > bottom else 0.0
    x = axis.x(scene.time.at(frames))
    runs = np.split(np.flatnonzero(known), np.flatnonzero(np.diff(np.flatnonzero(known)) > 1) + 1)
    path = []
    for run in runs:
        upper = _line(x[run], y + (top - high_values[run]) * scale)
        lower = _line(x[run][::-1], y + 1 + (top - low[run][::-1]) * scale)
        path.append(f"M{upper}L{lower}z")
    return f'<path d="{"".join(path)}" opacity=".6"/>'


def _line(x: NDArray[np.floating], y: NDArray[np.floating]) -> str:
    return " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _blocks(scene: Scene, axis: PixelAxis, blocks: DrawnBlocks, y: int, high: int, *, named: bool) -> str:
    """One path for each entry, and names inside where there is room."""
    starts, ends = (axis.x(scene.time.at(frames)) for frames in (blocks.starts, blocks.ends))
    names, colours = blocks.names, dict(zip(blocks.names, blocks.colours, strict=True))
    words = _names(blocks, starts, ends, y + high - 5) if named else ""
    if len(names) > PLOT // _COLUMN:
        starts, ends, names = _sampled(starts, ends, names)
    drawn = []
    for name in dict.fromkeys(names):
        own = [place for place, other in enumerate(names) if other == name]
        path = "".join(f"M{a:.1f} {y}h{b:.1f}v{high}h-{b:.1f}z" for a, b in _apart(starts[own], ends[own]))
        drawn.append(f'<path fill="{colours[name]}" d="{path}"><title>{escape(name)}</title></path>')
    return "".join(drawn) + words


def _sampled(
    starts: NDArray[np.float64], ends: NDArray[np.float64], names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Of more blocks than can be told apart, what lies at the middle of each column of two pixels."""
    middles = np.arange(LEFT + _COLUMN / 2, LEFT + PLOT, _COLUMN)
    place = np.searchsorted(starts, middles, side="right") - 1
    there = np.flatnonzero((place >= 0) & (middles < ends[place]))
    left = middles[there] - _COLUMN / 2
    return left, left + _COLUMN, [names[i] for i in place[there].tolist()]


def _apart(starts: NDArray[np.float64], ends: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Left edges and widths; what lies nearer than can be seen is one.

    >>> _apart(np.array([0.0, 10.2, 30.0]), np.array([10.0, 20.0, 30.1]))
    [(0.0, 20.0), (30.0, 0.7)]
    """
    found: list[tuple[float, float]] = []
    for a, b in zip(starts.tolist(), ends.tolist(), strict=True):
        if found and a - found[-1][1] < _NEAREST:
            found[-1] = (found[-1][0], max(b, found[-1][1]))
        else:
            found.append((a, b))
    return [(a, max(b - a, _NARROWEST)) for a, b in found]


def _names(blocks: DrawnBlocks, starts: NDArray[np.float64], ends: NDArray[np.float64], y: int) -> str:
    room = np.array([_LETTER * len(name) + 4 for name in blocks.names])
    wide = np.flatnonzero(ends - starts > room)[:_MOST_NAMES].tolist()
    return "".join(
        f'<text x="{(starts[place] + ends[place]) / 2:.0f}" y="{y}" text-anchor="middle" '
        f'fill="{ink_on(blocks.colours[place])}">{escape(blocks.names[place])}</text>'
        for place in wide
    )


def _edges(scene: Scene, axis: PixelAxis, y: int, high: int) -> str:
    """Where blocks begin and end, through the rows of units below them."""
    if scene.motifs is None:
        return ""
    edges = np.unique(np.concatenate([scene.motifs.starts, scene.motifs.ends]))
    if edges.size > _MOST_EDGES or not high:
        return ""
    path = "".join(f"M{x:.1f} {y}v{high}" for x in axis.x(scene.time.at(edges)).tolist())
    return f'<path d="{path}" stroke="currentColor" stroke-width=".6" opacity=".35"/>'


def _time(marks: Ticks, axis: PixelAxis, y: int) -> str:
    x = axis.x(np.array(marks.at)).tolist()
    lines = "".join(f"M{place:.1f} {y}v4" for place in x)
    words = "".join(f'<text x="{place:.0f}" y="{y + 15}" text-anchor="middle">{word}</text>'
                    for place, word in zip(x, marks.words, strict=True))  # fmt: skip
    rule = f'<path d="M{LEFT} {y}h{PLOT}{lines}" stroke="currentColor" fill="none" stroke-width=".7"/>'
    is_long = len(marks.unit) > _LONGEST_UNIT
    place = (
        f'x="{WIDTH - RIGHT}" y="{y + 29}" text-anchor="end"'
        if is_long
        else f'x="{LEFT - 22}" y="{y + 15}" text-anchor="end"'
    )
    return f'<g opacity=".75">{rule}{words}<text {place}>{marks.unit}</text></g>'


def swatch(colour: str) -> str:
    """A small square of a colour, as HTML."""
    style = f"display:inline-block;width:.8em;height:.8em;border-radius:2px;background:{colour}"
    return f'<span style="{style}"></span>'
