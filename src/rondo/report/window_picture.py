"""The curve behind a suggested window as a small SVG that needs no library: `rondo suggest --picture curve.svg`.

Window lengths stand on a logarithmic axis, since candidates are multiples of each other. Above, the share of the
signal's power at periods that fit into a window; below, where units were found with each window, how many there are and
how far they agree with those of the next shorter one. The chosen window is a line through all of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from rondo.data.window_lengths import Candidate
from rondo.stability import WindowFit
from rondo.wording import duration_in_words

_WIDTH, _PANEL, _GAP = 720, 140, 14
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 50, 64, 58
_BLUE, _ORANGE, _GREEN, _GREY = "#0072b2", "#d55e00", "#007a5a", "#666"


class _Curve(NamedTuple):
    """One line: heights between 0 and 1, None where there is no point, and what is written at its points."""

    title: str
    colour: str
    heights: Sequence[float | None]
    words: Sequence[str]


def window_picture(
    curve: Sequence[Candidate], rate: float | None, chosen: int, fits: Sequence[WindowFit] = (), title: str = ""
) -> str:
    """SVG of the curve, with the chosen window (frames) marked; `fits` as `rondo suggest --fit` finds them."""
    powers = [one.power_within for one in curve]
    lines = [_Curve("power at periods that fit into the window", _BLUE, powers, [f"{power:.0%}" for power in powers])]
    if fits:
        most = max(fit.n_units for fit in fits)
        counts = [str(fit.n_units) for fit in fits]
        lines.append(_Curve("units found", _ORANGE, [fit.n_units / most for fit in fits], counts))
        alike = [None if fit.ari is None else max(0.0, fit.ari) for fit in fits]
        words = ["" if fit.ari is None else f"{fit.ari:.2f}" for fit in fits]
        lines.append(_Curve("how alike the units are to those of the window to the left (ARI)", _GREEN, alike, words))
    lengths = [one.length_frames for one in curve]
    height = _TOP + len(lines) * (_PANEL + _GAP) - _GAP + _BOTTOM
    parts = [_text(_LEFT, 24, title or "Which window?", size=15, weight="bold")]
    parts += _marked(lengths, chosen, rate, height)
    for place, line in enumerate(lines):
        parts += _panel(line, lengths, _TOP + place * (_PANEL + _GAP))
    parts += _axis(lengths, rate, height)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="sans-serif" role="img">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _x(length: int, lengths: Sequence[int]) -> float:
    low, high = math.log(lengths[0]), math.log(lengths[-1])
    share = 0.5 if low == high else (math.log(length) - low) / (high - low)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _marked(lengths: Sequence[int], chosen: int, rate: float | None, height: int) -> list[str]:
    """A line at the chosen window, also where it is none of the candidates."""
    x = _x(min(max(chosen, lengths[0]), lengths[-1]), lengths)
    bottom = height - _BOTTOM
    words = f"chosen: {chosen} frames" + ("" if rate is None else f", {duration_in_words(chosen / rate)}")
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="#222" stroke-dasharray="4 3"/>'
    return [line, _text(x, _TOP - 6, words, anchor="middle")]


def _panel(line: _Curve, lengths: Sequence[int], top: int) -> list[str]:
    bottom = top + _PANEL
    points = [
        (_x(length, lengths), bottom - share * (_PANEL - 40), word)
        for length, share, word in zip(lengths, line.heights, line.words, strict=True)
        if share is not None
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    parts = [
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}" stroke="{_GREY}"/>',
        f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="2"/>',
        _text(_LEFT, top + 12, line.title, colour=line.colour, size=13),
    ]
    for x, y, word in points:
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{line.colour}"/>')
        parts.append(_text(x, y - 9, word, colour=line.colour, anchor="middle"))
    return parts


def _axis(lengths: Sequence[int], rate: float | None, height: int) -> list[str]:
    bottom = height - _BOTTOM
    parts = []
    for length in lengths:
        x = _x(length, lengths)
        words = str(length) if rate is None else f"{length / rate:.3g}"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}" stroke="{_GREY}"/>')
        parts.append(_text(x, bottom + 19, words, anchor="middle"))
    unit = "window (frames)" if rate is None else "window (s)"
    return [*parts, _text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 42, unit, anchor="middle", size=13)]


def _text(
    x: float,
    y: float,
    words: str,
    *,
    colour: str = "#222",
    size: int = 12,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}" stroke="white" stroke-width="4" paint-order="stroke">{escape(words)}</text>'
    )
