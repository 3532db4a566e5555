"""Figures: drawn where matplotlib is, one clear line where it is not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rondo.errors import MissingExtraError
from rondo_bench.experiments.figures import _curves, _pyplot, draw, mapped_track
from rondo_bench.experiments.rows import as_runs, open_rows
from rondo_bench.experiments.spec import read_data_sets, read_experiment
from rondo_bench.experiments.summary import summarise
from tests.bench.experiments.made_rows import row
from tests.cli.running import Command

TRUTH = [5, 5, 5, 2, 2, 2, 5, 5]
SEGMENTED = replace(
    row("one", "rondo", 50.0, experiment="qualitative"),
    details={"truth": as_runs(TRUTH), "labels": as_runs([7, 7, 3, 3, 3, 3, -1, -1])},
)


def test_labels_take_the_class_they_map_to() -> None:
    assert mapped_track(SEGMENTED).tolist() == [5, 5, 2, 2, 2, 2, 5, 5]


def test_without_matplotlib_it_says_what_to_install(
    rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with open_rows(here / "out") as store:
        store.add([SEGMENTED])
    outcome = rondo("bench", "figure", "segmentation", "figure.png", "--out", "out")
    assert outcome.code == 2
    assert "'matplotlib': pip install 'rondo-ts[bench]'" in outcome.err
    with pytest.raises(MissingExtraError):
        draw("scores", here / "f.png", [SEGMENTED], read_experiment("qualitative"), read_data_sets())


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # matplotlib's own
def test_every_figure_can_be_drawn(rondo: Command, here: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [SEGMENTED, row("one", "ticc", 50.0), row("one", "rondo", 60.0)]
    rows.append(replace(row("one", "ticc", 0.0, data_set="lara"), status="failed", error="no room", scores={}))
    streamed = row("one", "denstream", 10.0, experiment="continual", data_set="pamap2")
    rows.append(replace(streamed, scores={**streamed.scores, "h_40": 20.0, "h_60": None, "h_80": 3.0, "h_100": 4.0}))
    with open_rows(here / "out") as store:
        store.add(rows)
    for kind in ("segmentation", "continual", "scores"):
        outcome = rondo("bench", "figure", kind, f"{kind}.png", "--out", "out")
        assert (outcome.code, outcome.out) == (0, f"{kind}.png\n")
        assert (here / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert rondo("bench", "figure", "scores", "scores.doc", "--out", "out").err.startswith("error: scores.doc: ")


@pytest.mark.filterwarnings("default")  # matplotlib's own
def test_a_method_has_one_colour_and_the_published_curve_is_drawn_once() -> None:
    pytest.importorskip("matplotlib")
    made = {"pamap2": ("rondo", "denstream", "dbstream"), "opportunity": ("denstream", "dbstream")}
    stages = {"h_40": 20.0, "h_60": None, "h_80": 3.0, "h_100": 4.0}
    rows = [
        row("one", method, 10.0, experiment="continual", data_set=data_set)
        for data_set, methods in made.items()
        for method in methods
    ]
    rows = [replace(own, scores={**own.scores, **stages}) for own in rows]
    summary = summarise(rows, read_experiment("continual"), read_data_sets())
    published = {"h_40": 50.0, "h_60": 51.0, "h_80": 52.0, "h_100": 53.0}
    sections = [
        replace(
            section,
            lines=tuple(replace(line, published=published if i < 2 else {}) for i, line in enumerate(section.lines)),
        )
        for section in summary.sections
    ]
    figure = _curves(_pyplot(), replace(summary, sections=tuple(sections)))
    of_label = {handle.get_label(): handle.get_color() for handle in figure.legends[0].legend_handles}
    assert list(of_label) == list(dict.fromkeys(line.title for part in sections for line in part.lines))
    assert len(set(of_label.values())) == 3
    for axis, section in zip(figure.axes, sections, strict=True):
        solid = [line.get_color() for line in axis.lines if line.get_linestyle() == "-"]
        assert solid == [of_label[line.title] for line in section.lines]
        (dashed,) = (line for line in axis.lines if line.get_linestyle() == "--")
        assert (list(dashed.get_ydata()), dashed.get_color()) == (list(published.values()), solid[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("continual", "f.png", "--experiment", "static"), "the figure 'continual'"),
        (("scores", "f.png", "--methods", "rondo,tick"), "did you mean 'ticc'?"),
        (("segmentation", "f.png", "--only", "two"), "those of mocap one"),
        (("segmentation", "f.png", "--datasets", "mocap,lara"), "no labels are kept for lara"),
    ],
)
@pytest.mark.filterwarnings("default")  # matplotlib's own
def test_what_cannot_be_drawn_is_one_line(rondo: Command, here: Path, arguments: tuple[str, ...], message: str) -> None:
    pytest.importorskip("matplotlib")
    with open_rows(here / "out") as store:
        store.add([SEGMENTED, row("one", "ticc", 50.0), row("one", "rondo", 60.0)])
    outcome = rondo("bench", "figure", *arguments, "--out", "out")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err
