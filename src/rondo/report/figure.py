"""A recording of a result as a matplotlib figure: its signals, the units and the motifs, on one axis of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.errors import MissingExtraError
from rondo.report.colours import ink_on, look_of
from rondo.report.tables import entry_name
from rondo.report.wall_clock import clock_of
from rondo.run.segments import LEVELS
from rondo.times import is_date

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rondo.result import Result

MOST_CHANNELS = 12
_MOST_BUCKETS = 4000
_NAMED_SHARE = 0.02  # of the axis: narrower segments have no room for a name


def figure_of(result: Result, recording_id: str) -> Figure:
    """The figure of one recording; of many channels the first are drawn."""
    try:
        import matplotlib.pyplot  # noqa: F401  # tells notebooks how to show figures
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("Result.plot", "matplotlib", "plot") from None

    overview = result.overviews[recording_id]
    shown = list(range(min(MOST_CHANNELS, len(overview.channels))))
    levels = LEVELS[:1] if result.summary.motifs_are_units else LEVELS
    heights = [1.0] * len(shown) + [0.6] * len(levels)
    figure = Figure(figsize=(10, 1.0 + 0.8 * sum(heights)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    seconds, unit = _axis(result, recording_id)
    _draw_signals(axes[: len(shown)], overview.only(shown), seconds)
    for axis, level in zip(axes[len(shown) :], levels, strict=True):
        _draw_lane(axis, result, recording_id, level, seconds)
    axes[-1].set_xlabel(unit)
    axes[-1].set_xlim(*seconds(np.array([0, max(1, overview.n_frames)])))
    axes[0].set_title(recording_id)
    return figure


def _axis(result: Result, recording_id: str) -> tuple[Any, str]:
    """Where a frame lies on the axis, and what the axis counts."""
    clock = clock_of(result, recording_id)
    if clock is None:
        return (lambda frames: np.asarray(frames, np.float64)), "frame"
    if not is_date(clock.start_s):
        return clock.seconds_at, "seconds"
    return (lambda frames: (1e6 * clock.seconds_at(frames)).round().astype("datetime64[us]")), "time"


def _draw_signals(axes: Any, overview: Any, seconds: Any) -> None:
    """The band between the lowest and the highest value of every bucket."""
    factor = 1
    while -(-overview.n_frames // (factor * overview.bucket_frames)) > _MOST_BUCKETS:
        factor *= 2
    coarse = overview.coarsened(factor * overview.bucket_frames)
    values = coarse.values()
    at = seconds(np.arange(values.shape[0]) * coarse.bucket_frames)
    for place, axis in enumerate(axes):
        low, high = values[:, place, 0], values[:, place, -1]
        axis.fill_between(at, low, high, linewidth=0.8, color="#4a5568", facecolor="#a0aec0", step=None)
        axis.set_ylabel(coarse.channels[place], rotation=0, ha="right", va="center")
        axis.tick_params(axis="y", labelsize="small")


def _draw_lane(axis: Axes, result: Result, recording_id: str, level: str, seconds: Any) -> None:
    """Every segment in the colour that its entry has in the report; wide ones carry its name."""
    table = result.table
    own = table.filter((table["recording"] == recording_id) & (table["level"] == level))
    starts, stops = (seconds(own[name].to_numpy()) for name in ("start_frame", "end_frame"))
    looks = [look_of(level, id) for id in own["id"].to_list()]
    axis.barh(0, stops - starts, left=starts, height=1.0, color=[look.colour for look in looks], linewidth=0)
    ends = seconds(np.array([0, max(1, result.overviews[recording_id].n_frames)]))
    wide = (stops - starts) / (ends[1] - ends[0]) > _NAMED_SHARE
    for place in np.flatnonzero(wide).tolist():
        name = entry_name(level, own["id"][place], own["name"][place])
        middle = starts[place] + (stops[place] - starts[place]) / 2
        ink = ink_on(looks[place].colour)
        axis.text(middle, 0, name, ha="center", va="center", fontsize="x-small", color=ink, clip_on=True)
    axis.set_ylabel(f"{level}s", rotation=0, ha="right", va="center")
    axis.set_yticks([])
    axis.set_ylim(-0.5, 0.5)
