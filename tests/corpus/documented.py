"""The table of docs/results/programs.md: which program, how the test file is made, what is read, and its source."""

from __future__ import annotations

from tests.corpus import animals, eeg_boards, machines, meters, phones, tables, wearables
from tests.corpus.case import Case

FAMILIES = (wearables, eeg_boards, phones, machines, meters, animals, tables)
"""Programs; `clocks` and `layouts` are ways of writing, which the page explains one by one."""


def corpus_table() -> list[str]:
    """Its lines, in Markdown."""
    head = ["| program | made with | read as | layout looked up in |", "|---|---|---|---|"]
    cases = [case for family in FAMILIES for case in family.CASES]
    return head + [f"| {case.program} | {case.made} | {case.outcome} | {_where(case)} |" for case in cases]


def _where(case: Case) -> str:
    return case.source or f"written by {case.made}"
