"""One unit or motif as a matplotlib figure: its occurrences over each other in the channels that set it apart.

The numbers are those of the panel of the report (`rondo.report.panel`).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.shape import occurrence_columns, standardised
from rondo.arrays import Lazy
from rondo.editing.names import EntryId
from rondo.errors import SettingError
from rondo.plot.recording import DARK, LIGHT, NORMAL, SMALL, Paper, cut, text_inches, title_size
from rondo.report.panel import panel_entries
from rondo.run.overview import Overview
from rondo.run.segments import segments_of
from rondo.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rondo.plot.shown import Figure
    from rondo.result import Result

_MOST_RECORDINGS = 24  # that are read for it
_MISSING = 255


def entry_figure(
    result: Result, entry: str, recording: int | str | None, figsize: tuple[float, float] | None, dark: bool
) -> Figure:
    wanted = EntryId.parse(entry)
    within = None if recording is None else result[recording].recording_id
    entries = {it.id: it for level, it in result.entries if level == wanted.level and it.in_labels}
    if wanted.id not in entries:
        known = ", ".join(str(EntryId(wanted.level, id)) for id in [*entries][:8]) or f"no {wanted.level}"
        raise SettingError(f"there is no {wanted} in this result; it has {known}")
    table = result.run.tables["segments"]
    ids = set(table.filter((table["level"] == wanted.level) & (table["id"] == wanted.id))["recording"])
    if within is not None and within not in ids:
        raise SettingError(f"{wanted} does not occur in recording '{within}'")
    drawn = [it for it in result.recordings if it.id in ids and within in (None, it.id)][:_MOST_RECORDINGS]
    names = [it.id for it in drawn]
    overviews = Lazy(names, result.run.overviews.__getitem__)
    (panel,) = panel_entries(wanted.level, [entries[wanted.id]], segments_of(result, names), overviews, drawn).values()
    panel |= {"lines": _lines(panel, overviews, names), "made_of": entries[wanted.id].composition}
    rates, paper = {it.rate for it in drawn}, DARK if dark else LIGHT
    with paper.style("Result.plot_entry"):
        return _draw(panel, rates.pop() if len(rates) == 1 else None, figsize, paper)


def _lines(panel: dict[str, Any], overviews: Mapping[str, Overview], ids: Sequence[str]) -> list[NDArray[np.float64]]:
    """The occurrences that the panel draws, on the columns of its mean: (n_rows, n_columns) each."""
    lines = []
    for index, id in enumerate(ids if panel["rows"] else ()):
        overview = standardised(overviews[id])
        rows = np.array([overview.channels.index(name) for name in panel["rows"]])
        for occurrence in panel["occurrences"]:
            if occurrence["timeline"] == index:
                cuts = [(panel["reach"], panel["aligned"][0]["columns"])]
                lines += occurrence_columns(overview, occurrence["start"], occurrence["end"], cuts, rows)
    return lines


def _draw(panel: dict[str, Any], rate: float | None, figsize: tuple[float, float] | None, paper: Paper) -> Figure:
    """A row for each channel; at the right, how long occurrences last and when they come."""
    from rondo.plot.shown import Figure

    n_rows = max(1, len(panel["rows"]))
    size = figsize or (8.0, 1.05 + 1.07 * n_rows)
    figure = Figure(figsize=size)
    names = [cut(name) for name in panel["rows"]] or [""]
    left = 0.75 + max(text_inches(name, NORMAL) for name in (*names, "moves more"))
    edges = {"left": left / size[0], "right": 1 - 0.2 / size[0], "bottom": 0.42 / size[1], "top": 1 - 0.66 / size[1]}
    wide = size[0] > 5
    outer = figure.add_gridspec(1, 2, width_ratios=(1, 0.4) if wide else (1, 1e-9), wspace=0.15 if wide else 0, **edges)
    cells = outer[0].subgridspec(n_rows, 1, hspace=0.12)
    for row in range(len(panel["rows"])):
        axis = figure.add_subplot(cells[row], sharex=figure.axes[0] if row else None)
        _draw_channel(axis, panel, row, rate, paper)
        if row == n_rows - 1:
            axis.tick_params(bottom=True, labelbottom=True, pad=2)
            axis.spines["bottom"].set(visible=True, color=paper.line)
            axis.set_xlabel(f"{'frames' if rate is None else 's'} from the start of each occurrence", labelpad=2)
    if wide:
        _draw_bars(figure, outer[1], panel, paper)
    title, n = f"{panel['name']}: {panel['facts']}", panel["n_aligned"]
    notes = [f"made of {panel['made_of']}"] if panel["made_of"] else []
    notes += [f"mean and the band that holds 80 % of {counted(n, 'occurrence')}"] if n else []
    bold: dict[str, Any] = {"fontsize": title_size(title, size[0] - 0.2), "weight": "bold"}
    figure.text(0.12 / size[0], 1 - 0.24 / size[1], title, **bold)
    figure.text(0.12 / size[0], 1 - 0.45 / size[1], "; ".join(notes), fontsize=SMALL, color=paper.faint)
    return figure


def _draw_channel(axis: Axes, panel: dict[str, Any], row: int, rate: float | None, paper: Paper) -> None:
    """Every occurrence as a thin line, with mean and band, in standard deviations of the channel."""
    name, (low, high) = panel["rows"][row], panel["extents"][row]
    curve, reach = panel["aligned"][0], panel["reach"] / (rate or 1.0)
    shape = (len(panel["rows"]), 3, curve["columns"])
    codes = np.frombuffer(base64.b64decode(curve["data"]), np.uint8, int(np.prod(shape))).reshape(shape)[row]
    band = np.where(codes == _MISSING, np.nan, low + (high - low) * codes / 254)
    x = (np.arange(curve["columns"]) + 0.5) * reach / curve["columns"]
    for occurrence in panel["lines"]:
        axis.plot(x, occurrence[row], color=paper.faint, linewidth=0.5, alpha=0.55)
    axis.fill_between(x, band[0], band[2], color=panel["colour"], alpha=0.6, linewidth=0)
    axis.plot(x, band[1], color=paper.ink, linewidth=1.6)
    axis.set_xlim(0, reach)
    axis.spines["left"].set(visible=True, color=paper.line)
    axis.tick_params(bottom=False, labelbottom=False, colors=paper.faint)
    ends = axis.get_ylim()
    axis.set_yticks(ends, [f"{value:+.1f} sd" for value in ends], fontsize=SMALL - 1)
    axis.get_yticklabels()[0].set_verticalalignment("bottom")
    axis.get_yticklabels()[1].set_verticalalignment("top")
    difference = next((f"\n{it['words']}\nd = {it['d']:+.1f}" for it in panel["apart"] if it["channel"] == name), "")
    axis.set_ylabel(f"{cut(name)}{difference}", rotation=0, ha="right", va="center", labelpad=2)


def _draw_bars(figure: Figure, cell: Any, panel: dict[str, Any], paper: Paper) -> None:
    by = {"hour": "share of time, by hour of day", "place": "share of time, start to end"}
    durations, when = panel["durations"], panel["when"]
    bars = [(f"durations, median {durations['median']}", durations["counts"], durations)] if durations else []
    bars += [(by[when["by"]], [share or 0.0 for share in when["shares"]], when)] if when else []
    cells = cell.subgridspec(2, 1, hspace=0.9)
    for row, (title, heights, data) in enumerate(bars):
        axis = figure.add_subplot(cells[row])
        axis.bar(np.arange(len(heights)) + 0.5, heights, width=0.92, color=panel["colour"])
        if "median_at" in data:
            axis.axvline(data["median_at"] * len(heights), color=paper.ink, linewidth=0.8)
        axis.spines["bottom"].set(visible=True, color=paper.line)
        axis.set(xlim=(0, len(heights)), yticks=[])
        axis.set_xticks([0, len(heights)], data["ends"], fontsize=SMALL, color=paper.faint)
        axis.set_title(title, loc="left", fontsize=SMALL, color=paper.faint, pad=3)
