"""One unit or motif as a matplotlib figure: its occurrences over each other in the channels that set it apart.

The figures are those of the panel of the report (`rondo.report.panel`); here they are only drawn.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.shape import occurrence_columns, standardised
from rondo.editing.names import EntryId
from rondo.errors import SettingError
from rondo.lazy import Lazy
from rondo.plot.recording import (
    DARK,
    LIGHT,
    NORMAL,
    SMALL,
    Paper,
    add_axes,
    cut,
    new_figure,
    text_inches,
    ticks,
    title_size,
    write,
)
from rondo.report.panel import panel_entries
from rondo.run.overview import Overview
from rondo.run.segments import segments_of
from rondo.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rondo.result import Result
    from rondo.run.summary import EntrySummary, RecordingSummary

_MOST_RECORDINGS = 24  # that are read for it
_TOP, _BOTTOM, _ROW, _GAP, _RIGHT, _BESIDE, _BAR = 0.66, 0.36, 0.95, 0.12, 0.2, 1.95, 0.6
_MISSING = 255


def entry_figure(
    result: Result, entry: str, recording: int | str | None, figsize: tuple[float, float] | None, dark: bool
) -> Figure:
    """The figure of one entry."""
    wanted = EntryId.parse(entry)
    within = None if recording is None else result[recording].recording_id
    found = _entry(result, wanted)
    drawn = _recordings_with(result, wanted, within)
    ids = [one.id for one in drawn]
    overviews = Lazy(ids, result.overviews.__getitem__)
    (about,) = panel_entries(wanted.level, [found], segments_of(result, ids), overviews, drawn).values()
    about |= {"lines": _lines(about, overviews, ids), "made_of": found.composition}
    rates = {one.rate for one in drawn}
    return _draw(about, rates.pop() if len(rates) == 1 else None, figsize, DARK if dark else LIGHT)


def _entry(result: Result, wanted: EntryId) -> EntrySummary:
    same = [one for level, one in result.entries if level == wanted.level and one.in_labels]
    found = next((one for one in same if one.id == wanted.id), None)
    if found is None:
        known = ", ".join(str(EntryId(wanted.level, one.id)) for one in same[:8]) or f"no {wanted.level}"
        raise SettingError(f"there is no {wanted} in this result; it has {known}")
    return found


def _recordings_with(result: Result, wanted: EntryId, within: str | None) -> list[RecordingSummary]:
    table = result.tables["segments"]
    own = table.filter((table["level"] == wanted.level) & (table["id"] == wanted.id))["recording"].unique().to_list()
    if within is not None and within not in own:
        raise SettingError(f"{wanted} does not occur in recording '{within}'")
    names = own if within is None else [within]
    return [one for one in result.recordings if one.id in set(names)][:_MOST_RECORDINGS]


def _lines(about: dict[str, Any], overviews: Mapping[str, Overview], ids: Sequence[str]) -> list[NDArray[np.float64]]:
    """The occurrences that the panel draws, on the columns of its mean: (n_rows, n_columns) each."""
    lines = []
    for place, id in enumerate(ids if about["rows"] else ()):
        overview = standardised(overviews[id])
        rows = np.array([overview.channels.index(name) for name in about["rows"]])
        for one in about["occurrences"]:
            if one["timeline"] == place:
                span = (one["start"], one["end"], about["reach"], about["aligned"][0]["columns"])
                lines.append(occurrence_columns(overview, *span, rows))
    return lines


# ---------------------------------------------------------------- drawing


def _draw(about: dict[str, Any], rate: float | None, figsize: tuple[float, float] | None, paper: Paper) -> Figure:
    n_rows = max(1, len(about["rows"]))
    size = figsize or (8.0, _TOP + n_rows * (_ROW + _GAP) + _BOTTOM)
    figure = new_figure("Result.plot_entry", size, paper)
    left = 0.7 + max([*(text_inches(cut(name), NORMAL) for name in about["rows"]), text_inches("moves more", SMALL)])
    right = _BESIDE if size[0] > 5 else 0.0
    width, height = size[0] - left - right - _RIGHT, (size[1] - _TOP - _BOTTOM) / n_rows - _GAP
    top, first = size[1] - _TOP, None
    for place in range(len(about["rows"])):
        axis = add_axes(figure, (left, top - height, width, height), paper, first)
        _draw_channel(axis, about, place, rate, paper, height)
        first, top = first or axis, top - height - _GAP
    if about["rows"]:
        _draw_time(figure.axes[-1], about, rate, paper, width)
    if right:
        _draw_beside(figure, about, paper, size[0] - right + 0.1)
    _draw_title(figure, about, paper)
    return figure


def _draw_channel(axis: Axes, about: dict[str, Any], place: int, rate: float | None, paper: Paper, high: float) -> None:
    """Every occurrence as a thin line, mean and band over them."""
    low, top = about["extents"][place]
    curve, reach = about["aligned"][0], about["reach"] / (rate or 1.0)
    band = low + (top - low) * _decoded(curve["data"], (len(about["rows"]), 3, curve["columns"]))[place]
    at = (np.arange(curve["columns"]) + 0.5) * reach / curve["columns"]
    for occurrence in about["lines"]:
        axis.plot(at, occurrence[place], color=paper.faint, linewidth=0.5, alpha=0.55)
    axis.fill_between(at, band[0], band[2], color=about["colour"], alpha=0.6, linewidth=0)
    axis.plot(at, band[1], color=paper.ink, linewidth=1.6)
    axis.set_xlim(0, reach)
    axis.spines["left"].set(visible=True, color=paper.line)
    _name_channel(axis, about, place, paper, high)


def _name_channel(axis: Axes, about: dict[str, Any], place: int, paper: Paper, high: float) -> None:
    """The channel, how it sets the entry apart, and its extent in standard deviations."""
    name = about["rows"][place]
    write(axis, (-0.54, high / 2 + 0.02), cut(name), ha="right", va="bottom", color=paper.ink)
    apart = next((one for one in about["apart"] if one["channel"] == name), None)
    told = "" if apart is None else f"{apart['words']}\nd = {apart['d']:+.1f}"
    write(axis, (-0.54, high / 2 - 0.02), told, ha="right", va="top", color=paper.faint, fontsize=SMALL)
    for value, y, side in zip(axis.get_ylim(), (0.0, high), ("bottom", "top"), strict=True):
        write(axis, (-0.06, y), f"{value:+.1f} sd", ha="right", va=side, color=paper.faint, fontsize=SMALL - 1)


def _decoded(data: str, shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """What `rondo.report.panel` packed, from 0 to 1 over the extent of each row; NaN where it is missing."""
    codes = np.frombuffer(base64.b64decode(data), np.uint8, int(np.prod(shape))).reshape(shape)
    return np.where(codes == _MISSING, np.nan, codes / 254)


def _draw_time(axis: Axes, about: dict[str, Any], rate: float | None, paper: Paper, width: float) -> None:
    axis.tick_params(bottom=True, labelbottom=True, labelsize=NORMAL, length=3, pad=2, color=paper.faint)
    axis.spines["bottom"].set(visible=True, color=paper.line)
    lasts = about["reach"] / (rate or 1.0)
    marks = ticks(0, lasts, "frames" if rate is None else "seconds", max(2, int(width)))
    axis.set_xticks(marks.at, marks.words)
    unit = "frames" if rate is None else marks.unit
    axis.set_xlabel(f"{unit} from the start of each occurrence", fontsize=NORMAL, color=paper.faint, labelpad=2)


def _draw_beside(figure: Figure, about: dict[str, Any], paper: Paper, left: float) -> None:
    """How long the occurrences last, and when they come."""
    wide, high = figure.get_size_inches()
    bars = [
        (f"durations, median {one['median']}", one["counts"], one["ends"], one["median_at"])
        for one in [about["durations"]]
        if one
    ]
    by = {"hour": "share of time, by hour of day", "place": "share of time, start to end"}
    bars += [(by[one["by"]], [share or 0.0 for share in one["shares"]], one["ends"], None)
             for one in [about["when"]] if one]  # fmt: skip
    for place, (title, heights, ends, line) in enumerate(bars):
        bottom = high - _TOP - _BAR - place * (_BAR + 0.55)
        axis = add_axes(figure, (left, bottom, wide - left - _RIGHT, _BAR), paper, None)
        axis.bar(np.arange(len(heights)) + 0.5, heights, width=0.92, color=about["colour"])
        if line is not None:
            axis.axvline(line * len(heights), color=paper.ink, linewidth=0.8)
        axis.set_xlim(0, len(heights))
        axis.spines["bottom"].set(visible=True, color=paper.line)
        write(axis, (0, _BAR + 0.05), title, fontsize=SMALL, color=paper.faint)
        write(axis, (0, -0.04), ends[0], fontsize=SMALL, color=paper.faint, va="top")
        write(axis, (wide - left - _RIGHT, -0.04), ends[1], fontsize=SMALL, color=paper.faint, va="top", ha="right")


def _draw_title(figure: Figure, about: dict[str, Any], paper: Paper) -> None:
    wide, high = figure.get_size_inches()
    n = about["n_aligned"]
    told = [f"made of {about['made_of']}"] if about["made_of"] else []
    told += [f"mean and the band that holds 80 % of {counted(n, 'occurrence')}"] if n else []
    left = 0.12 / wide
    title = f"{about['name']}: {about['facts']}"
    size = title_size(title, wide - 0.2)
    figure.text(left, 1 - 0.24 / high, title, fontsize=size, weight="bold", color=paper.ink, parse_math=False)
    figure.text(left, 1 - 0.45 / high, "; ".join(told), fontsize=SMALL, color=paper.faint, parse_math=False)
