"""The corpus: all its cases, by family."""

from __future__ import annotations

from tests.corpus import animals, clocks, devices, layouts, machines, tables
from tests.corpus.case import Case

CASES: tuple[Case, ...] = (
    *devices.CASES,
    *machines.CASES,
    *animals.CASES,
    *tables.CASES,
    *clocks.CASES,
    *layouts.CASES,
)
