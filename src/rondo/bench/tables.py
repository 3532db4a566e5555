"""Summary -> Markdown, CSV, LaTeX: best in bold, second underlined, the published row under ours."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from rondo.bench.columns import RECURRENCE, Column
from rondo.bench.significance import FEWEST, Comparison
from rondo.bench.summary import Cell, Line, Section, Summary

NOTHING = "–"
_COMPARED = (*RECURRENCE, Column("mof", "MoF"))
_ABOUT = (
    "Means over recordings with equal weight (SegRatio: all segments together) ± deviation over seeds. Best in bold, "
    "second underlined, SegRatio by |log|; the clock is a control and has no rank. `clock` is the data-blind control "
    "at as many segments as the method has; a claim that something was discovered rests on ARI, AMI and one-to-one. "
    "`paper` is the published row."
)
_ABOUT_TESTS = (
    "Wilcoxon's signed ranks over recordings, two-sided, p after Holm over the methods; `+` is how much more "
    "{reference} has, in how many of the recordings. No p for fewer than "
    f"{FEWEST} recordings that differ."
)


# ---------------------------------------------------------------- Markdown


def markdown(summary: Summary) -> str:
    """For people and documentation."""
    parts = [f"## {summary.experiment.title}\n", _ABOUT]
    for section in summary.sections:
        parts.append(f"\n### {section.title}: {section.n_recordings} {_unit(summary, section.n_recordings)}\n")
        if section.lines:
            parts.append("\n".join(_markdown_rows(section, summary.columns)))
        if section.notes:
            parts.append("\n" + "\n".join(f"- {note}" for note in section.notes))
    tests = [(section.title, section.comparisons) for section in summary.sections]
    tests += [("all sets together", summary.pooled)] if summary.pooled else []
    tests = [(title, found) for title, found in tests if found]
    if tests:
        reference = tests[0][1][0].reference
        parts.append(f"\n### {reference} against the others\n\n{_ABOUT_TESTS.format(reference=reference)}\n")
        parts.append("\n".join(_markdown_tests(tests)))
        if summary.experiment.protocol == "transfer":
            parts.append("\nPairs that share a target are not independent: take their p with care.")
    return "\n".join(parts) + "\n"


def _unit(summary: Summary, count: int) -> str:
    what = "pair" if summary.experiment.protocol == "transfer" else "recording"
    return what if count == 1 else f"{what}s"


def _markdown_rows(section: Section, columns: Sequence[Column]) -> list[str]:
    titles = ["method", *(column.title for column in columns), "clock: ARI / AMI / one-to-one", "seeds", "s", "MB"]
    rows = [titles, ["---"] * len(titles)]
    for line in section.lines:
        cells = [
            _marked(_shown(line.cells[own.name], own), line.ranks.get(own.name, 0), _IN_MARKDOWN) for own in columns
        ]
        rows.append([line.title, *cells, _clock(line), str(line.n_seeds), f"{line.seconds:.1f}", f"{line.peak_mb:.0f}"])
        if line.published:
            paper = [_shown(_published(line.published, column), column) for column in columns]
            rows.append(["*paper*", *paper, NOTHING, *[""] * 3])
    return ["| " + " | ".join(row) + " |" for row in rows]


def _markdown_tests(tests: Sequence[tuple[str, Sequence[Comparison]]]) -> list[str]:
    titles = ["data set", "against", "recordings", *(column.title for column in _COMPARED)]
    rows = [titles, ["---"] * len(titles)]
    for title, comparisons in tests:
        by_method = groupby(sorted(comparisons, key=lambda one: one.method), key=lambda one: one.method)
        for method, group in by_method:
            own = {one.score: one for one in group}
            n_recordings = next(iter(own.values())).n_recordings
            cells = [_test(own[column.name]) if column.name in own else NOTHING for column in _COMPARED]
            rows.append([title, method, str(n_recordings), *cells])
    return ["| " + " | ".join(row) + " |" for row in rows]


def _test(one: Comparison) -> str:
    p = NOTHING if one.p_holm is None else "< 0.001" if one.p_holm < 0.001 else f"{one.p_holm:.3f}"
    return f"{one.difference:+.1f} ({one.n_better} of {one.n_recordings}), p {p}"


# ---------------------------------------------------------------- LaTeX


def latex(summary: Summary) -> str:
    """A `table*` with booktabs, as in the paper."""
    columns = summary.columns
    width = len(columns) + 2
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table*}[t]",
        "\\centering",
        f"\\caption{{{_escaped(summary.experiment.title)}. {_escaped(_ABOUT.replace('`', ''))}}}",
        f"\\label{{tab:{summary.experiment.name}}}",
        "\\scriptsize",
        f"\\begin{{tabular}}{{l{'c' * (width - 1)}}}",
        "\\toprule",
        " & ".join(["Method", *(_escaped(column.title) for column in columns), "clock: ARI / AMI / one-to-one"])
        + " \\\\",
    ]
    for section in summary.sections:
        about = f"{_escaped(section.title)} ({section.n_recordings} {_unit(summary, section.n_recordings)})"
        lines += ["\\midrule", f"\\multicolumn{{{width}}}{{c}}{{\\textbf{{{about}}}}} \\\\", "\\midrule"]
        lines += [row for line in section.lines for row in _latex_rows(line, columns)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table*}"]) + "\n"


def _latex_rows(line: Line, columns: Sequence[Column]) -> list[str]:
    shown = [_escaped(_shown(line.cells[column.name], column)) for column in columns]
    marked = [
        _marked(text, line.ranks.get(column.name, 0), _IN_LATEX) for text, column in zip(shown, columns, strict=True)
    ]
    rows = [" & ".join([_escaped(line.title), *marked, _clock(line)]) + " \\\\"]
    if line.published:
        paper = [_escaped(_shown(_published(line.published, column), column)) for column in columns]
        rows.append(" & ".join(["\\quad\\textit{paper}", *paper, "--"]) + " \\\\")
    return rows


_ESCAPES = {
    "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$", "–": "--", "|": "$|$", "<": "$<$", ">": "$>$",
}  # fmt: skip


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


# ---------------------------------------------------------------- CSV


def to_csv(summary: Summary) -> str:
    """Every score there is, one line per data set and method, the published value in columns of their own."""
    names = list(dict.fromkeys(name for section in summary.sections for line in section.lines for name in line.cells))
    paper = list(
        dict.fromkeys(name for section in summary.sections for line in section.lines for name in line.published)
    )
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    scores = [column for name in names for column in (name, f"{name}_std")]
    clock = [f"clock_{column.name}" for column in RECURRENCE]
    head = ["experiment", "data_set", "method", "n_recordings", "n_seeds", *scores, *clock, "seconds", "peak_mb"]
    writer.writerow([*head, *(f"paper_{name}" for name in paper)])
    for section in summary.sections:
        for line in section.lines:
            own = [number for name in names for number in line.cells.get(name, Cell(None))]
            controls = [line.clock[column.name] for column in RECURRENCE]
            about = [summary.experiment.name, section.data_set, line.method, section.n_recordings, line.n_seeds]
            numbers = [*own, *controls, line.seconds, line.peak_mb, *(line.published.get(name) for name in paper)]
            writer.writerow([*about, *("" if number is None else f"{number:.4f}" for number in numbers)])
    return written.getvalue()


# ---------------------------------------------------------------- cells

_IN_MARKDOWN = {1: ("**", "**"), 2: ("<ins>", "</ins>")}
_IN_LATEX = {1: ("\\textbf{", "}"), 2: ("\\underline{", "}")}


def _shown(cell: Cell, column: Column) -> str:
    if cell.mean is None:
        return NOTHING
    mean = f"{cell.mean:.{column.digits}f}"
    return mean if cell.std is None else f"{mean} ± {cell.std:.{column.digits}f}"


def _clock(line: Line) -> str:
    return " / ".join(f"{line.clock[column.name]:.1f}" for column in RECURRENCE)


def _published(row: Mapping[str, float], column: Column) -> Cell:
    return Cell(row.get(column.name), row.get(f"{column.name}_std"))


def _marked(text: str, rank: int, marks: Mapping[int, tuple[str, str]]) -> str:
    before, after = marks.get(rank, ("", ""))
    return f"{before}{text}{after}"


FORMATS: Mapping[str, Callable[[Summary], str]] = {"markdown": markdown, "csv": to_csv, "latex": latex}
