"""What figures have in common: matplotlib itself, colours on light and dark paper, and how wide a text is."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rondo.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
