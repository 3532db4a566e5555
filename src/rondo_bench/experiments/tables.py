"""Summary -> Markdown, CSV, LaTeX: best in bold, second underlined, a published row under the method it is of.

`--paper-columns` is another LaTeX: that of the paper (`experiments/paper_layout.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from rondo.store.csv_text import csv_of_rows
from rondo.wording import counted
from rondo_bench.experiments.summary import FEWEST, RECURRENCE, Cell, Column, Comparison, Line, Section, Summary

NOTHING = "–"
_COMPARED = (*RECURRENCE, Column("mof", "MoF"))
_ABOUT = (
    "Means over recordings with equal weight (SegRatio: all segments together) ± deviation over seeds. Best in bold, "
    "second underlined, SegRatio by |log|; the clock is a control and has no rank. `clock` is the data-blind control "
    "at as many segments as the method has; a claim that something was discovered rests on ARI, AMI and one-to-one. "
    "`Rondo` is the default method, `RONDO (paper)` the published chain by our code, `(published)` a row of the "
    "paper's table."
)
_ABOUT_TESTS = (
    "Wilcoxon's signed ranks over recordings, two-sided, p after Holm over the methods; `+` is how much more "
    "{reference} has, in how many of the recordings. No p for fewer than "
    f"{FEWEST} recordings that differ."
)
_ABOUT_TRANSFER = "A recording is one observation, its score the mean over the participants it was read from."

_ABOUT_STATES = "Covering and F1 of changes (within 1 % of a series) are of the segments that a method gave."
_ABOUT_STORED = (
    "Rows without seconds are of labels that the authors of the CLaP paper stored: nothing was run, and AMI and "
    "covering come out as they published them."
)
_ABOUT_JOINT = (
    "Pooled scores are of all frames of all recordings together, with one vocabulary learned over all of them."
)


def markdown(summary: Summary) -> str:
    parts = [f"## {summary.experiment.title}\n", _about(summary)]
    for section in summary.sections:
        parts.append(f"\n### {section.title}: {size_of(summary, section)}\n")
        if section.lines:
            parts.append(_markdown(_section_rows(section, summary.columns)))
        if section.notes:
            parts.append("\n" + "\n".join(f"- {note}" for note in section.notes))
    tests = _tests(summary)
    if tests:
        reference = tests[0][1][0].reference
        parts.append(f"\n### {reference} against the others\n\n{_ABOUT_TESTS.format(reference=reference)}\n")
        head, *rows = _test_rows(tests)
        parts.append(_markdown([head, ["---"] * len(head), *rows]))
        if summary.experiment.protocol == "transfer":
            parts.append(f"\n{_ABOUT_TRANSFER}")
    return "\n".join(parts) + "\n"


def _about(summary: Summary) -> str:
    if summary.experiment.protocol != "states":
        return _ABOUT
    methods = summary.experiment.methods.values()
    parts = [_ABOUT, _ABOUT_STORED if any(own.stored for own in methods) else "", _ABOUT_STATES]
    parts += [_ABOUT_JOINT if any(own.joint for own in methods) else ""]
    return " ".join(part for part in parts if part)


def _tests(summary: Summary) -> list[tuple[str, Sequence[Comparison]]]:
    """Comparisons on each set and over all of them, where there are any."""
    found = [(section.title, section.comparisons) for section in summary.sections]
    found += [("all sets together", summary.pooled)] if summary.pooled else []
    return [(title, comparisons) for title, comparisons in found if comparisons]


def size_of(summary: Summary, section: Section) -> str:
    """How many recordings, and of how many: a published row beside ours is about all of them."""
    if summary.experiment.protocol == "transfer":
        return counted(section.n_recordings, "pair")
    if section.n_recordings < section.n_in_set:
        return f"{section.n_recordings} of {counted(section.n_in_set, 'recording')}"
    return counted(section.n_recordings, "recording")


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _section_rows(section: Section, columns: Sequence[Column]) -> list[list[str]]:
    titles = ["method", *(column.title for column in columns), "clock: ARI / AMI / one-to-one", "seeds", "s", "MB"]
    rows = [titles, ["---"] * len(titles)]
    for line in section.lines:
        cells = [
            marked(shown_cell(line.cells[own.name], own), line.ranks.get(own.name, 0), _IN_MARKDOWN) for own in columns
        ]
        seeds = str(line.n_seeds) if line.n_seeds else NOTHING
        seconds = NOTHING if line.seconds is None else f"{line.seconds:.1f}"
        megabytes = NOTHING if line.peak_mb is None else f"{line.peak_mb:.0f}"
        rows.append([line.title, *cells, _clock(line), seeds, seconds, megabytes])
        if line.published:
            rows.append([published_title(line), *published_cells(line, columns), NOTHING, *[""] * 3])
    return rows


def _test_rows(tests: Sequence[tuple[str, Sequence[Comparison]]]) -> list[list[str]]:
    """A head, and a row for every method that the reference is compared with."""
    rows = [["data set", "against", "recordings", *(column.title for column in _COMPARED)]]
    for title, comparisons in tests:
        by_method = groupby(sorted(comparisons, key=lambda one: one.method), key=lambda one: one.method)
        for method, group in by_method:
            own = {one.score: one for one in group}
            n_recordings = next(iter(own.values())).n_recordings
            cells = [_test(own[column.name]) if column.name in own else NOTHING for column in _COMPARED]
            rows.append([title, method, str(n_recordings), *cells])
    return rows


def published_title(line: Line) -> str:
    return f"{line.published_as} (published)"


def published_cells(line: Line, columns: Sequence[Column], *, deviations: bool = True) -> list[str]:
    row = line.published
    cells = [(Cell(row.get(own.name), row.get(f"{own.name}_std") if deviations else None), own) for own in columns]
    return [shown_cell(*cell) for cell in cells]


def _test(one: Comparison) -> str:
    p = NOTHING if one.p_holm is None else "< 0.001" if one.p_holm < 0.001 else f"{one.p_holm:.3f}"
    return f"{one.difference:+.1f} ({one.n_better} of {one.n_recordings}), p {p}"


def latex(summary: Summary) -> str:
    """A `table*` with booktabs, as in the paper, below it what was left out; then one of the comparisons."""
    columns = summary.columns
    width = len(columns) + 2
    lines = [
        "% needs \\usepackage{booktabs,graphicx}; tables that are too wide are made smaller",
        "\\begin{table*}[t]",
        "\\centering",
        f"\\caption{{{escaped(summary.experiment.title)}. {escaped(_about(summary).replace('`', ''))}}}",
        f"\\label{{tab:{summary.experiment.name}}}",
        "\\scriptsize",
        _FITTED,
        f"\\begin{{tabular}}{{l{'c' * (width - 1)}}}",
        "\\toprule",
        " & ".join(["Method", *(escaped(column.title) for column in columns), "clock: ARI / AMI / one-to-one"])
        + " \\\\",
    ]
    for section in summary.sections:
        about = f"{escaped(section.title)} ({size_of(summary, section)})"
        lines += ["\\midrule", f"\\multicolumn{{{width}}}{{c}}{{\\textbf{{{about}}}}} \\\\", "\\midrule"]
        lines += [row for line in section.lines for row in _latex_rows(line, columns)]
    lines += ["\\bottomrule", "\\end{tabular}}"]
    lines += [f"\\par\\smallskip {escaped(note)}." for note in notes_of(summary)]
    return "\n".join([*lines, "\\end{table*}", *_latex_tests(summary)]) + "\n"


def _latex_tests(summary: Summary) -> list[str]:
    tests = _tests(summary)
    if not tests:
        return []
    head, *rows = _test_rows(tests)
    about = _ABOUT_TESTS.format(reference=tests[0][1][0].reference).replace("`", "")
    if summary.experiment.protocol == "transfer":
        about += f" {_ABOUT_TRANSFER}"
    lines = ["\\begin{table*}[t]", "\\centering", f"\\caption{{{escaped(about)}}}"]
    lines += [f"\\label{{tab:{summary.experiment.name}-tests}}", "\\scriptsize", _FITTED]
    lines += [f"\\begin{{tabular}}{{ll{'c' * (len(head) - 2)}}}", "\\toprule", latex_row(head), "\\midrule"]
    return [*lines, *map(latex_row, rows), "\\bottomrule", "\\end{tabular}}", "\\end{table*}"]


def latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + " \\\\"


def _latex_rows(line: Line, columns: Sequence[Column]) -> list[str]:
    shown = [escaped(shown_cell(line.cells[column.name], column)) for column in columns]
    cells = [
        marked(text, line.ranks.get(column.name, 0), IN_LATEX) for text, column in zip(shown, columns, strict=True)
    ]
    rows = [" & ".join([escaped(line.title), *cells, _clock(line)]) + " \\\\"]
    if line.published:
        rows.append(latex_row([published_title(line), *published_cells(line, columns), NOTHING]))
    return rows


_FITTED = "\\resizebox{\\ifdim\\width>\\textwidth\\textwidth\\else\\width\\fi}{!}{%"
_ESCAPES = {
    "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$", "–": "--", "|": "$|$", "<": "$<$", ">": "$>$",
}  # fmt: skip


def escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def to_csv(summary: Summary) -> str:
    """Every score there is, one line per data set and method, with published values and p after Holm."""
    lines = [line for section in summary.sections for line in section.lines]
    names = list(dict.fromkeys(name for line in lines for name in line.cells))
    paper = list(dict.fromkeys(name for line in lines for name in line.published))
    scores = [column for name in names for column in (name, f"{name}_std")]
    clock = [f"clock_{column.name}" for column in RECURRENCE]
    head = ["experiment", "data_set", "method", "n_recordings", "n_seeds", *scores, *clock, "seconds", "peak_mb"]
    compared = ["against", *(f"p_{column.name}" for column in _COMPARED)]
    columns, rows = [*head, *(f"paper_{name}" for name in paper), *compared], []
    for section in summary.sections:
        for line in section.lines:
            own = [number for name in names for number in line.cells.get(name, Cell(None))]
            controls = [line.clock.get(column.name) for column in RECURRENCE]
            about = [summary.experiment.name, section.data_set, line.method, section.n_recordings, line.n_seeds]
            numbers = [*own, *controls, line.seconds, line.peak_mb, *(line.published.get(name) for name in paper)]
            tested = {one.score: one for one in section.comparisons if one.method == line.method}
            ps = [tested[column.name].p_holm if column.name in tested else None for column in _COMPARED]
            against = next((one.reference for one in tested.values()), "")
            shown = [None if number is None else Decimal(f"{number:.4f}") for number in (*numbers, *ps)]
            rows.append([*about, *shown[: len(numbers)], against, *shown[len(numbers) :]])
    return csv_of_rows(columns, rows)


def notes_of(summary: Summary) -> list[str]:
    """What was left out and why, each with the name of its set: Markdown and LaTeX have it, in CSV there is no room."""
    return [f"{section.title}: {note}" for section in summary.sections for note in section.notes]


_IN_MARKDOWN = {1: ("**", "**"), 2: ("<ins>", "</ins>")}
IN_LATEX = {1: ("\\textbf{", "}"), 2: ("\\underline{", "}")}


def shown_cell(cell: Cell, column: Column) -> str:
    if cell.mean is None:
        return NOTHING
    mean = f"{round(cell.mean, column.digits) + 0.0:.{column.digits}f}"  # no -0.00
    return mean if cell.std is None else f"{mean} ± {cell.std:.{column.digits}f}"


def _clock(line: Line) -> str:
    return " / ".join(f"{line.clock[column.name]:.1f}" for column in RECURRENCE) if line.clock else NOTHING


def marked(text: str, rank: int, marks: Mapping[int, tuple[str, str]]) -> str:
    before, after = marks.get(rank, ("", ""))
    return f"{before}{text}{after}"


FORMATS: Mapping[str, Callable[[Summary], str]] = {"markdown": markdown, "csv": to_csv, "latex": latex}
