"""The corpus: all its cases, by family."""

from __future__ import annotations

from tests.corpus import clocks, layouts
from tests.corpus.case import Case
from tests.corpus.documented import FAMILIES

CASES: tuple[Case, ...] = tuple(case for family in (*FAMILIES, clocks, layouts) for case in family.CASES)
