"""`--paper-columns`: the columns, methods and order of the paper's tables, and nothing else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rondo.errors import SettingError
from rondo_bench.experiments.paper_layout import choice_of_paper, paper_latex
from rondo_bench.experiments.rows import Row
from rondo_bench.experiments.spec import PAPER_TABLES, read_data_sets, read_experiment
from rondo_bench.experiments.summary import published, published_order, summarise
from tests.bench.experiments.made_rows import row
from tests.bench.experiments.test_tables import is_balanced

SETS = read_data_sets()
COLUMNS = ["MoF", "Recall", "F1@50", "Edit", "SegRatio"]
STREAMS = {"h_40": 60.0, "h_60": 61.0, "h_80": 62.0, "h_100": 63.0, "forgetting": 4.0}


def text_of(experiment: str, rows: list[Row], **how: Any) -> str:
    spec = read_experiment(experiment)
    chosen = choice_of_paper(spec, SETS, rows, how.pop("data_sets", ()), how.pop("methods", ()))
    return paper_latex(summarise(rows, spec, SETS, *chosen), **how)


def body(text: str) -> list[list[str]]:
    """The cells of each row of the table."""
    return [line.removesuffix(" \\\\").split(" & ") for line in text.splitlines() if line.endswith(" \\\\")]


def static_rows(*methods: str, data_set: str = "mocap", value: float = 50.0) -> list[Row]:
    return [row("one", method, value, seed, data_set=data_set) for method in methods for seed in (0, 1)]


def test_sets_stand_side_by_side_with_the_papers_columns_only() -> None:
    rows = static_rows("rondo", "rondo-paper", "clock", "ticc") + static_rows("ticc", data_set="actrectut")
    text = text_of("static", rows)
    assert is_balanced(text)
    assert "\\begin{tabular}{lccccc @{\\hspace{8pt}} lccccc}" in text
    head, titles, *lines = body(text)
    assert head == ["Method", *COLUMNS] * 2
    assert [re.sub(r".*bf{(.*?)}.*", r"\1", title) for title in titles] == [
        "MoCap (1 of 9 recordings)", "ActRecTut (1 of 4 recordings)"
    ]  # fmt: skip
    assert [line[0] for line in lines] == ["TICC", "TICC (published)", "RONDO (paper)", "RONDO (published)"]
    assert [line[6].strip() for line in lines] == ["TICC", "TICC (published)", "", ""]
    assert lines[1][:6] == ["TICC (published)", "86.61", "84.52", "79.39", "83.18", "2.19"]
    assert {len(line) for line in lines} == {12}


def test_the_full_table_has_deviations() -> None:
    rows = static_rows("ticc") + static_rows("rondo-paper")
    assert "$\\pm$" not in text_of("static", rows)
    assert "TICC (published) & 86.61 $\\pm$ 0.00 & " in text_of("static", rows, deviations=True)


def test_streams_have_their_columns_and_stand_one_below_the_other() -> None:
    rows = []
    for data_set in ("pamap2", "opportunity"):
        for method in ("rondo", "rondo-paper", "denstream"):
            made = row("one", method, 50.0, experiment="continual", data_set=data_set)
            rows.append(Row(made.key, "ok", "", {**made.scores, **STREAMS}, made.clock, made.counts, seconds=1.0))
    head, first, *lines = body(text_of("continual", rows))
    assert head == ["Method", *COLUMNS, "H@40", "H@60", "H@80", "H@100", "$M_f$"]
    assert "OPPORTUNITY" in first[0] and "PAMAP2" in lines[4][0]  # as in the paper
    assert [line[0] for line in lines[:4]] == [
        "DenStream@20", "DenStream@20 (published)", "RONDO@20 (paper), TS2Vec", "RONDO@20 (published)"
    ]  # fmt: skip
    assert lines[3][-2:] == ["63.50", "14.60"]


def test_sets_that_the_paper_has_not_are_shown_where_they_are_asked_for_or_alone() -> None:
    rows = static_rows("ticc") + static_rows("ticc", data_set="openpack")
    assert "OpenPack" not in text_of("static", rows)
    assert "OpenPack" in text_of("static", rows, data_sets=("openpack",))
    assert "OpenPack" in text_of("static", static_rows("ticc", data_set="openpack"))


def test_where_all_has_failed_there_is_a_table_without_rows() -> None:
    failed = Row(row("one", "ticc", 0.0).key, "failed", "no room")
    assert body(text_of("static", [failed])) == [["Method", *COLUMNS]]


def test_what_is_in_no_table_of_the_paper_is_refused() -> None:
    for experiment, methods, message in (
        ("static", ("rondo",), "rondo is in no table of the paper.*rondo-paper"),
        ("static", ("tic",), "did you mean 'ticc'"),
        ("qualitative", (), "'qualitative' is in no table of the paper.*table1"),
    ):
        with pytest.raises(SettingError, match=message):
            text_of(experiment, static_rows("ticc"), methods=methods)


@pytest.mark.parametrize("table", PAPER_TABLES)
def test_every_row_of_a_table_of_the_paper_can_be_made(table: str) -> None:
    spec = read_experiment(table)
    sets, names = published_order(spec.paper_table)
    assert {method.paper for method in spec.methods.values()} - {""} == set(names)
    assert {SETS[name].paper for name in spec.data_sets} >= set(sets)
    assert all(published(spec.paper_table, data_set, name) for data_set in sets for name in names)
