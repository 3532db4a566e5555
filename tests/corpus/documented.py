"""The table of docs/results/programs.md: which program, how the test file is made, what is read, and its source."""

from __future__ import annotations

from tests.corpus import animals, devices, machines, tables
from tests.corpus.case import Case

FAMILIES = (devices.CASES, machines.CASES, animals.CASES, tables.CASES)
"""Programs; `clocks` and `layouts` are ways of writing, which the page explains one by one."""


def corpus_table() -> list[str]:
    """Its lines, in Markdown."""
    head = ["| program | made with | read as | layout looked up in |", "|---|---|---|---|"]
    cases = [case for family in FAMILIES for case in family]
    return head + [f"| {case.program} | {case.made} | {case.outcome} | {_where(case)} |" for case in cases]


def _where(case: Case) -> str:
    return case.source or f"written by {case.made}"
