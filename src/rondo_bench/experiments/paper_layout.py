"""Summary -> LaTeX in the layout of the paper: its columns, its methods in its order, and nothing else.

Two data sets stand side by side; streams, which have more columns, one below the other. Best and second are marked
among our rows, and the published row stands under the first of ours that it is of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from rondo.errors import SettingError
from rondo_bench.experiments.rows import Row
from rondo_bench.experiments.spec import PAPER_TABLES, Experiment, SetSpec
from rondo_bench.experiments.summary import Cell, Column, Line, Section, Summary, paper_columns, published_order
from rondo_bench.experiments.tables import (
    IN_LATEX,
    escaped,
    marked,
    published_cells,
    published_title,
    shown_cell,
    size_of,
)
from rondo_bench.experiments.tasks import refuse_unknown

_GAP = " @{\\hspace{8pt}} "


def methods_of_paper(experiment: Experiment, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """The methods that have a row in the paper's table of this experiment; others must not be asked for."""
    refuse_unknown(asked, tuple(experiment.methods), f"method of '{experiment.name}'")
    own = tuple(name for name, method in experiment.methods.items() if method.paper)
    if not own:
        raise SettingError(
            f"'{experiment.name}' is in no table of the paper; --paper-columns is for {', '.join(PAPER_TABLES)}"
        )
    other = next((name for name in asked if name not in own), None)
    if other is not None:
        raise SettingError(f"{other} is in no table of the paper; with --paper-columns choose from {', '.join(own)}")
    return tuple(asked) or own


def choice_of_paper(
    experiment: Experiment,
    sets: Mapping[str, SetSpec],
    rows: Sequence[Row],
    data_sets: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paper's data sets and methods that have rows, unless others were asked for; where none has, all that do."""
    own = methods_of_paper(experiment, methods)
    keys = [row.key for row in rows if row.key.experiment == experiment.name]
    there = tuple(dict.fromkeys(key.data_set for key in keys if sets.get(key.data_set, SetSpec()).paper))
    made = {key.method for key in keys}
    return tuple(data_sets) or there, tuple(methods) or tuple(name for name in own if name in made) or own


def paper_latex(summary: Summary, *, deviations: bool = False) -> str:
    """A `table` with booktabs; of means, or with the `deviations` over seeds."""
    columns = paper_columns(summary.experiment)
    sections = _in_order(summary)
    n_beside = 2 if len(columns) < 6 and len(sections) > 1 else 1
    head = ["Method", *("$M_f$" if column.title == "M_f" else escaped(column.title) for column in columns)]
    lines = ["% needs \\usepackage{booktabs}", "\\begin{table}[t]", "\\centering"]
    lines += [f"\\caption{{{escaped(summary.experiment.title)}.}}", f"\\label{{tab:{summary.experiment.name}}}"]
    lines += ["\\scriptsize", f"\\begin{{tabular}}{{{_GAP.join(['l' + 'c' * len(columns)] * n_beside)}}}", "\\toprule"]
    lines += [" & ".join(head * n_beside) + " \\\\"]
    empty = " & " * len(columns)
    for at in range(0, len(sections), n_beside):
        beside = sections[at : at + n_beside]
        titles = [f"\\multicolumn{{{len(head)}}}{{c}}{{\\textbf{{{_title(summary, own)}}}}}" for own in beside]
        blocks = [_rows(own, columns, deviations) for own in beside]
        missing = n_beside - len(beside)
        lines += ["\\midrule", " & ".join([*titles, *[empty] * missing]) + " \\\\", "\\midrule"]
        blocks += [[]] * missing
        lines += [" & ".join(row) + " \\\\" for row in zip_longest(*blocks, fillvalue=empty)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}"]) + "\n"


def _in_order(summary: Summary) -> list[Section]:
    """The sets and methods of the paper's table as they stand there, then the other sets."""
    sets, names = published_order(summary.experiment.paper_table)
    places = {title: place for place, title in enumerate(sets)}
    sections = [
        replace(own, lines=tuple(sorted(own.lines, key=lambda line: names.index(line.published_as))))
        for own in summary.sections
        if own.lines
    ]
    return sorted(sections, key=lambda own: places.get(own.title, len(places)))


def _title(summary: Summary, section: Section) -> str:
    """The name of a set; where ours is not the whole of it, how much there is."""
    is_part = section.n_recordings < section.n_in_set
    return escaped(f"{section.title} ({size_of(summary, section)})" if is_part else section.title)


def _rows(section: Section, columns: Sequence[Column], deviations: bool) -> list[str]:
    rows = []
    for line in section.lines:
        ours = [_cell(line, column, deviations) for column in columns]
        rows.append(" & ".join([escaped(line.title), *ours]))
        if line.published:
            published = published_cells(line, columns, deviations=deviations)
            rows.append(" & ".join(map(escaped, [published_title(line), *published])))
    return rows


def _cell(line: Line, column: Column, deviations: bool) -> str:
    cell = line.cells[column.name]
    text = shown_cell(cell if deviations else Cell(cell.mean), column)
    return marked(escaped(text), line.ranks.get(column.name, 0), IN_LATEX)
