"""The table of docs/results/programs.md: which program, how the test file is made, what is read from it."""

from __future__ import annotations

from tests.corpus import animals, devices, machines, tables

FAMILIES = (devices.CASES, machines.CASES, animals.CASES, tables.CASES)
"""Programs; `clocks` and `layouts` are ways of writing, which the page explains one by one."""


def corpus_table() -> list[str]:
    """Its lines, in Markdown."""
    head = ["| program | made with | read as |", "|---|---|---|"]
    return head + [f"| {case.program} | {case.made} | {case.outcome} |" for family in FAMILIES for case in family]
