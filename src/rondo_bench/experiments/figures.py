"""Figures from rows, with matplotlib (extra `bench`), which is imported when one is drawn.

segmentation   labels of one recording of each data set, coloured by the class they map to, truth at the bottom
continual      H-score over the stream, the published curves dashed
scores         a dot per method and data set with its deviation over seeds, the published value as a ring
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.errors import InputError, MissingExtraError, OutputError, SettingError
from rondo.metrics.overlap import Overlap, class_of_cluster
from rondo.store.folder import whole_file
from rondo_bench.experiments.rows import Row, from_stored
from rondo_bench.experiments.spec import Experiment, SetSpec
from rondo_bench.experiments.summary import Summary, current_rows, settings_now, summarise, title_of
from rondo_bench.experiments.tasks import EVERYTHING, Choice, refuse_unknown

FIGURES: Mapping[str, str] = MappingProxyType(
    {"segmentation": "qualitative", "continual": "continual", "scores": "static"}
)
"""Each figure, and the experiment whose rows it shows unless another is named."""

_STAGES = (40, 60, 80, 100)


def draw(
    kind: str,
    path: Path,
    rows: Sequence[Row],
    experiment: Experiment,
    sets: Mapping[str, SetSpec],
    choice: Choice = EVERYTHING,
) -> None:
    """Write one figure of what was chosen; its kind of file is that of the path."""
    if kind == "continual" and experiment.protocol != "continual":
        raise SettingError(f"the figure 'continual' shows how a stream goes on, which '{experiment.name}' does not ask")
    pyplot = _pyplot()
    if kind == "segmentation":
        figure = _segmentation(pyplot, panels_of(rows, experiment, sets, choice), experiment, sets)
    else:
        summary = summarise(rows, experiment, sets, choice.data_sets, choice.methods)
        figure = _BY_SUMMARY[kind](pyplot, summary)
    try:
        with whole_file(path, "give another place") as file:
            figure.savefig(file, format=path.suffix.removeprefix("."), dpi=150, bbox_inches="tight")
    except ValueError as error:
        raise OutputError(f"{path}: the figure cannot be written ({error}); give a .png, .pdf or .svg") from None
    finally:
        pyplot.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("a figure", "matplotlib", "bench") from None
    matplotlib.use("agg")  # no screen is needed
    from matplotlib import pyplot

    return pyplot


def mapped_track(row: Row) -> NDArray[np.int64]:
    """The class that the label of each frame maps to, many to one, under the numbers that classes have in the truth."""
    truth, labels = (from_stored(row.details[name]) for name in ("truth", "labels"))
    class_of = _as_they_appear(truth)[class_of_cluster(Overlap.of(truth, labels))]  # of clusters as they appear
    clusters = _as_they_appear(labels)
    by_id = np.argsort(clusters)
    return class_of[by_id][np.searchsorted(clusters[by_id], labels)]


def _as_they_appear(track: NDArray[np.int64]) -> NDArray[np.int64]:
    ids, firsts = np.unique(track, return_index=True)
    return ids[firsts.argsort()]


def _segmentation(
    pyplot: Any, panels: Sequence[Sequence[Row]], experiment: Experiment, sets: Mapping[str, SetSpec]
) -> Any:
    """One panel per data set: the recording asked for, or the first that most methods have."""
    heights = [len(panel) + 1 for panel in panels]
    figure, axes = pyplot.subplots(
        len(panels), 1, figsize=(10, 0.35 * sum(heights) + len(panels)), squeeze=False, height_ratios=heights
    )
    for axis, panel in zip(axes[:, 0], panels, strict=True):
        ordered = sorted(panel, key=lambda row: list(experiment.methods).index(row.key.method))
        _paint(axis, pyplot, ordered, experiment, sets)
    figure.tight_layout()
    return figure


def panels_of(
    rows: Sequence[Row], experiment: Experiment, sets: Mapping[str, SetSpec], choice: Choice = EVERYTHING
) -> list[list[Row]]:
    """The rows of each data set that a panel shows, of the settings that a table would be about; seed 0."""
    data_sets, methods = choice.data_sets, choice.methods
    refuse_unknown(methods, tuple(experiment.methods), f"method of '{experiment.name}'")
    own: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.key.experiment == experiment.name and row.key.method in (methods or experiment.methods):
            own.setdefault((row.key.data_set, row.key.method), []).append(row)
    kept: dict[str, list[Row]] = {}
    for (data_set, method), made in own.items():
        current = current_rows(made, settings_now(experiment, method, data_set, sets.get(data_set, SetSpec())))
        shown = [row for row in current if row.key.seed == 0 and row.is_ok and "labels" in row.details]
        kept.setdefault(data_set, []).extend(shown)
    lacking = [name for name in data_sets if not kept.get(name)]
    if lacking or not any(kept.values()):
        what = ", ".join(lacking) if lacking else "that choice"
        raise InputError(f"no labels are kept for {what}; run `rondo bench run qualitative` first")
    panels = [panel for name in data_sets or kept if (panel := _panel(kept[name], choice.recordings))]
    if not panels:
        there = ", ".join(
            dict.fromkeys(f"{row.key.data_set} {row.key.recording}" for shown in kept.values() for row in shown)
        )
        raise InputError(f"no labels are kept for that choice: there are those of {there}")
    return panels


def _panel(rows: Sequence[Row], recordings: Sequence[str]) -> list[Row]:
    by_recording: dict[str, dict[str, Row]] = {}
    for row in rows:
        if not recordings or row.key.recording in recordings:
            by_recording.setdefault(row.key.recording, {})[row.key.method] = row
    return list(max(by_recording.values(), key=len).values()) if by_recording else []


def _paint(axis: Any, pyplot: Any, rows: Sequence[Row], experiment: Experiment, sets: Mapping[str, SetSpec]) -> None:
    tracks = [mapped_track(row) for row in rows] + [from_stored(rows[0].details["truth"])]
    classes = np.unique(tracks[-1])
    colours = pyplot.get_cmap("tab20")(np.linspace(0, 1, max(len(classes), 2), endpoint=False))
    for height, track in enumerate(reversed(tracks)):
        edges = np.flatnonzero(np.diff(track, prepend=track[0] - 1, append=track[-1] - 1))
        spans = [(int(start), int(stop - start)) for start, stop in pairwise(edges)]
        faces = [colours[np.searchsorted(classes, track[start])] for start, _ in spans]
        axis.broken_barh(spans, (height - 0.4, 0.8), facecolors=faces)
    titles = [experiment.methods[row.key.method].title for row in rows] + ["truth"]
    axis.set_yticks(range(len(tracks)), list(reversed(titles)))
    axis.set_xlim(0, tracks[-1].size)
    key = rows[0].key
    axis.set_title(f"{title_of(key.data_set, sets)}, {key.recording}", fontsize=9)
    axis.set_xlabel("frame", fontsize=8)


def _curves(pyplot: Any, summary: Summary) -> Any:
    """A panel for each data set; a method has one colour in all of them, a published curve that of its first method."""
    lines = [line for section in summary.sections for line in section.lines]
    titles = list(dict.fromkeys(line.title for line in lines))
    colours = dict(zip(titles, pyplot.get_cmap("tab20").colors * (1 + len(titles) // 20), strict=False))
    figure, axes = pyplot.subplots(
        1, len(summary.sections), figsize=(4 * len(summary.sections), 3.2), squeeze=False, sharey=True
    )
    for axis, section in zip(axes[0], summary.sections, strict=True):
        drawn: list[list[float]] = []  # of the paper
        for line in section.lines:
            colour = colours[line.title]
            ours = [line.cells[f"h_{percent}"].mean for percent in _STAGES]
            axis.plot(_STAGES, [np.nan if own is None else own for own in ours], "o-", color=colour)
            paper = [line.published.get(f"h_{percent}", np.nan) for percent in _STAGES]
            if line.published and paper not in drawn:
                drawn.append(paper)
                axis.plot(_STAGES, paper, "--", color=colour, alpha=0.6)
        axis.set_title(section.title, fontsize=9)
        axis.set_xlabel("% of the stream seen")
        axis.set(xticks=_STAGES, xlim=(_STAGES[0] - 4, _STAGES[-1] + 4), ylim=(0, 100))
    axes[0][0].set_ylabel("H-score (dashed: paper)")
    handles = [pyplot.Line2D([], [], color=colours[title], marker="o", label=title) for title in titles]
    figure.tight_layout()
    figure.legend(handles=handles, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _dots(pyplot: Any, summary: Summary) -> Any:
    columns = [column for column in summary.columns if column.name in ("mof", "ari", "ami", "one_to_one")]
    n_rows = len(summary.sections)
    most = max(len(section.lines) for section in summary.sections)
    figure, axes = pyplot.subplots(
        n_rows, len(columns), figsize=(3 * len(columns), (0.28 * most + 0.8) * n_rows), squeeze=False, sharey="row"
    )
    for row, section in zip(axes, summary.sections, strict=True):
        places = np.arange(len(section.lines))[::-1]
        for axis, column in zip(row, columns, strict=True):
            cells = [line.cells[column.name] for line in section.lines]
            means = [np.nan if own.mean is None else own.mean for own in cells]
            spreads = [own.std or 0.0 for own in cells]
            axis.errorbar(means, places, xerr=spreads, fmt="o", markersize=4)
            paper = [
                (line.published[column.name], place)
                for line, place in zip(section.lines, places, strict=True)
                if column.name in line.published
            ]
            axis.plot([x for x, _ in paper], [y for _, y in paper], "o", markerfacecolor="none", color="grey")
            axis.set_title(f"{section.title}: {column.title}", fontsize=8)
            axis.set_xlim(min([0.0, *(mean - spread - 1 for mean, spread in zip(means, spreads, strict=True))]), 100)
            axis.set_ylim(-0.6, len(places) - 0.4)
        row[0].set_yticks(places, [line.title for line in section.lines], fontsize=7)
    figure.supxlabel("dots: ours, with the deviation over seeds; rings: published", fontsize=7)
    figure.tight_layout()
    return figure


_BY_SUMMARY: Mapping[str, Callable[[Any, Summary], Any]] = MappingProxyType({"continual": _curves, "scores": _dots})
