"""The timeline of one recording as one bokeh figure: signal on top, lanes beneath, one x-axis for all.

Signal and lanes share one figure, not two linked ones, so that they are aligned by construction. Its y-axis
counts pixels downwards from the top, which lets every part be placed like type on a page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.report.colours import OTHER_COLOUR, ink_on

if TYPE_CHECKING:
    from bokeh.plotting import figure

Axis = NDArray[np.floating[Any]]

_CHANNEL_PX = 40
_LANE_PX = 34
_BAR_PX = 26
_BREAK_PX = 12
_LONGEST_NAME = 20
_LONGEST_SEQUENCE = 60
_FONT = "system-ui, sans-serif"
_LANE_TITLES = {"unit": "units", "motif": "motifs", "true unit": "true units", "true motif": "true motifs"}

_FIT_NAMES = """
const {start, end} = plot.x_range
const pixels = plot.inner_width / (end - start)
const {left, right, y, name, ink} = bars.data_source.data
const shown = {x: [], y: [], name: [], ink: []}
let n_visible = 0
for (let i = 0; i < left.length; i++) {
  const from = Math.max(left[i], start), to = Math.min(right[i], end)
  if (to <= from) continue
  n_visible++
  if (name[i] !== "OTHER" && (to - from) * pixels > 7 * name[i].length + 6) {
    shown.x.push((from + to) / 2); shown.y.push(y[i]); shown.name.push(name[i]); shown.ink.push(ink[i])
  }
}
names.data = shown
bars.glyph.line_alpha = n_visible * 8 < n_lanes * plot.inner_width ? 1 : 0
"""
"""Names go into the visible part of the segments that are wide enough for them, at every zoom; the white
edges between segments go away when the segments get so thin that nothing else would be left to see."""


def timeline(recording: dict[str, Any]) -> figure:
    """One figure from one element of `summarize(...)["recordings"]`."""
    from bokeh.models import (
        BasicTickFormatter,
        BoxZoomTool,
        PanTool,
        Range1d,
        ResetTool,
        SaveTool,
        WheelZoomTool,
    )
    from bokeh.plotting import figure

    n_channels = len(recording["signal"]["channels"])
    channel_y = -_CHANNEL_PX * (np.arange(n_channels) + 0.5)
    lanes_top = -_CHANNEL_PX * n_channels - _BREAK_PX
    lane_y = lanes_top - _LANE_PX * (np.arange(len(recording["lanes"])) + 0.5)
    height = int(-lanes_top) + _LANE_PX * len(recording["lanes"])
    frame_s = 1.0 if recording["rate"] is None else 1.0 / recording["rate"]
    end = recording["n_frames"] * frame_s

    zoom, pan = WheelZoomTool(dimensions="width"), PanTool(dimensions="width")
    plot = figure(
        frame_height=height,
        sizing_mode="stretch_width",
        x_range=Range1d(start=0, end=end, bounds=(0, end), min_interval=min(4 * frame_s, end)),
        y_range=Range1d(start=-height, end=0),
        x_axis_label="frame" if recording["rate"] is None else "time (s)",
        tools=[pan, zoom, BoxZoomTool(dimensions="width"), ResetTool(), SaveTool()],
        active_drag=pan,
        active_scroll=zoom,
        toolbar_location="above",
        lod_threshold=None,  # bokeh would drop segments while panning, which looks like a fault
        output_backend="canvas",
    )
    plot.toolbar.logo = None
    plot.xaxis.formatter = BasicTickFormatter(use_scientific=False)
    extents = _draw_signal(plot, recording["signal"], channel_y, frame_s)
    _draw_lanes(plot, recording["lanes"], lane_y, frame_s, end, recording["rate"] is not None)
    lane_titles = [_LANE_TITLES[lane["kind"]] for lane in recording["lanes"]]
    _label_rows(plot, [*channel_y, *lane_y], [*recording["signal"]["channels"], *lane_titles])
    _label_extents(plot, channel_y, extents)
    _calm(plot)
    return plot


def _draw_signal(plot: figure, signal: dict[str, Any], centres_y: Axis, frame_s: float) -> list[str]:
    """One min-max band per channel, scaled to its row; returns the range of values that each row spans."""
    edges_x = np.asarray(signal["edges"], dtype=np.float64) * frame_s
    outlines = []
    extents = []
    for centre, lows, highs in zip(centres_y, signal["low"], signal["high"], strict=True):
        low, high = np.asarray(lows, dtype=np.float64), np.asarray(highs, dtype=np.float64)
        known = np.isfinite(low)
        if not known.any():
            extents.append("no values")
            continue
        bottom, top = float(low[known].min()), float(high[known].max())
        scale = 0.85 * _CHANNEL_PX / (top - bottom) if top > bottom else 0.0
        middle = (top + bottom) / 2
        outlines.append(band_outline(edges_x, centre + scale * (low - middle), centre + scale * (high - middle)))
        extents.append(written_extent(bottom, top))
    # one glyph for all channels: bokeh spends more on making and writing a glyph than on its points
    x, y = np.concatenate(outlines, axis=1).astype(np.float32) if outlines else np.empty((2, 0))
    plot.patch(x, y, fill_color="#8b98a8", line_color="#4a5663", line_width=0.8, line_join="bevel")
    return extents


def written_extent(bottom: float, top: float) -> str:
    """A range of values with as many decimals as it takes to tell its ends apart.

    >>> written_extent(998.612, 1001.34), written_extent(-0.4371, 2.38), written_extent(3.0, 3.0)
    ('998.61 … 1001.34', '-0.44 … 2.38', '3')
    """
    if top == bottom or max(abs(bottom), abs(top)) >= 1e7:
        return f"{bottom:.4g}" if top == bottom else f"{bottom:.4g} … {top:.4g}"
    decimals = max(0, 2 - math.floor(math.log10(top - bottom)))
    return f"{bottom:.{decimals}f} … {top:.{decimals}f}" if decimals < 7 else f"{bottom:.2e} … {top:.2e}"


def shortened(name: str) -> str:
    """A name that fits beside the plot; its middle goes first, since channels often differ at the end.

    >>> shortened("left_forearm_sensor_acc_x")
    'left_forea…sor_acc_x'
    """
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[1 - half :]}"


def band_outline(edges: Axis, low: Axis, high: Axis) -> Axis:
    """The closed outline (2, n_points) of a band, each stretch without NaN on its own and ended by a NaN.

    `edges` (n_buckets+1,), `low` and `high` (n_buckets,). Values stand in the middle of their bucket; a
    stretch reaches to its outer edges, so that a lone bucket between two gaps can be seen.

    >>> gap = np.nan
    >>> band_outline(np.array([0.0, 2, 4, 6]), np.array([1.0, 2, gap]), np.array([5.0, 6, gap])).tolist()
    [[0.0, 1.0, 3.0, 4.0, 4.0, 3.0, 1.0, 0.0, nan], [1.0, 1.0, 2.0, 2.0, 6.0, 6.0, 5.0, 5.0, nan]]
    """
    middles = (edges[:-1] + edges[1:]) / 2
    turns = np.flatnonzero(np.diff(np.isfinite(low), prepend=False, append=False))
    stretches = []
    for start, stop in zip(turns[::2], turns[1::2], strict=True):
        x = np.concatenate([edges[[start]], middles[start:stop], edges[[stop]]])
        lower, upper = (np.pad(bound[start:stop], 1, mode="edge") for bound in (low, high))
        forth, back = np.stack([x, lower]), np.stack([x, upper])[:, ::-1]
        stretches += [forth, back, np.full((2, 1), np.nan)]
    return np.concatenate(stretches, axis=1)


def _draw_lanes(
    plot: figure,
    lanes: list[dict[str, Any]],
    lane_y: Axis,
    frame_s: float,
    end: float,
    in_seconds: bool,
) -> None:
    from bokeh.core.properties import value
    from bokeh.models import ColumnDataSource, CustomJS, HoverTool

    plot.hbar(y=lane_y, left=0, right=end, height=_BAR_PX, fill_color=OTHER_COLOUR, line_color=None)
    bars = plot.hbar(
        y="y",
        left="left",
        right="right",
        height=_BAR_PX,
        fill_color="colour",
        line_color="white",
        line_alpha=0,
        source=ColumnDataSource(_segment_columns(lanes, lane_y, frame_s)),
    )
    names = ColumnDataSource({"x": [], "y": [], "name": [], "ink": []})
    plot.text(
        x="x",
        y="y",
        text="name",
        text_color="ink",
        text_font=value(_FONT),  # a bare string would name a column
        text_font_size="11px",
        text_align="center",
        text_baseline="middle",
        source=names,
    )
    plot.add_tools(HoverTool(renderers=[bars], tooltips=_tooltips(in_seconds), point_policy="follow_mouse"))
    fit_names = CustomJS(args={"plot": plot, "bars": bars, "names": names, "n_lanes": len(lanes)}, code=_FIT_NAMES)
    plot.x_range.js_on_change("start", fit_names)
    plot.x_range.js_on_change("end", fit_names)
    plot.js_on_change("inner_width", fit_names)


def _segment_columns(lanes: list[dict[str, Any]], lane_y: Axis, frame_s: float) -> dict[str, Any]:
    """All segments of all lanes as the columns of one source: one glyph and one hover serve them all."""
    sizes = [len(lane["names"]) for lane in lanes]
    starts = np.concatenate([np.asarray(lane["start_frames"], dtype=np.float64) for lane in lanes])
    ends = np.concatenate([np.asarray(lane["end_frames"], dtype=np.float64) for lane in lanes])
    colours = [colour for lane in lanes for colour in lane["colours"]]
    inks = {colour: ink_on(colour) for colour in set(colours)}
    scores = [score for lane in lanes for score in lane["scores"]]
    return {
        "y": np.repeat(lane_y, sizes).astype(np.float32),
        "left": starts * frame_s,
        "right": ends * frame_s,
        "duration": ((ends - starts) * frame_s).astype(np.float32),
        "kind": [lane["kind"] for lane in lanes for _ in lane["names"]],
        "name": [name for lane in lanes for name in lane["names"]],
        "colour": colours,
        "ink": [inks[colour] for colour in colours],
        "score": ["–" if score is None else f"{score:.3g}" for score in scores],
        "units": [_cut_short(units) or "–" for lane in lanes for units in lane["units"]],
    }


def _cut_short(units: str) -> str:
    """A unit sequence that fits a tooltip; segments.csv holds it whole."""
    return units if len(units) <= _LONGEST_SEQUENCE else f"{units[:_LONGEST_SEQUENCE].rsplit(' ', 1)[0]} …"


def _tooltips(in_seconds: bool) -> list[tuple[str, str]]:
    form, axis = ("{0.000}", " s") if in_seconds else ("{0}", "")
    return [
        ("level", "@kind"),
        ("id", "@name"),
        ("start" if in_seconds else "start frame", f"@left{form}{axis}"),
        ("end" if in_seconds else "end frame", f"@right{form}{axis}"),
        ("duration", f"@duration{form}{axis or ' frames'}"),
        ("score", "@score"),
        ("units", "@units"),
    ]


def _label_rows(plot: figure, rows_y: list[float], names: list[str]) -> None:
    from bokeh.models import PlainText

    plot.yaxis.ticker = rows_y
    # PlainText, because bokeh reads a bare string with $$ in it as TeX and goes looking for MathJax
    plot.yaxis.major_label_overrides = {
        y: PlainText(text=shortened(name)) for y, name in zip(rows_y, names, strict=True)
    }


def _label_extents(plot: figure, rows_y: Axis, extents: list[str]) -> None:
    from bokeh.models import LinearAxis

    labels = dict(zip(rows_y.tolist(), extents, strict=True))
    plot.add_layout(
        LinearAxis(
            ticker=rows_y.tolist(),
            major_label_overrides=labels,
            major_label_text_color="#777777",
            major_label_text_font_size="10px",
        ),
        "right",
    )


def _calm(plot: figure) -> None:
    plot.grid.grid_line_color = None
    plot.xgrid.grid_line_color = "#eeeeee"
    plot.outline_line_color = None
    plot.axis.axis_line_color = None
    plot.axis.minor_tick_line_color = None
    plot.yaxis.major_tick_line_color = None
    plot.xaxis.major_tick_line_color = "#999999"
    plot.axis.major_label_text_font = _FONT
    plot.axis.axis_label_text_font = _FONT
    for axis in (*plot.below, *plot.left):
        axis.update(major_label_text_color="#222222", major_label_text_font_size="12px")
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_color = "#555555"
