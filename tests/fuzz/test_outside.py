"""Rondo as an outsider sees it: commands on odd files, folders and streams, and commands that are killed.

A few cases by default; `RONDO_FUZZ=500 RONDO_KILLS=300 pytest -m '' tests/fuzz/test_outside.py` runs 500 cases and
kills 300 commands, which takes half an hour.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.corpus.case import cases
from tests.fuzz.killing_deeds import plan
from tests.fuzz.killing_outside import Reference, kill, reference
from tests.fuzz.outside_base import Base
from tests.fuzz.outside_cases import FAMILIES, judge
from tests.fuzz.warm_process import Warm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="commands are forked")]

CASES = int(os.environ.get("RONDO_FUZZ", "20"))
KILLS = int(os.environ.get("RONDO_KILLS", "10"))
NEEDED = sorted({library for case in cases() for library in case.needs})


def test_commands_end_as_the_documentation_says(tmp_path: Path, base: Base, warm: Warm) -> None:
    for library in NEEDED:
        pytest.importorskip(library)
    found = {}
    for number in range(0, CASES * 7, 7) if len(FAMILIES) > CASES else range(CASES):  # 7: some of every kind
        case, outcome, faults = judge(number, tmp_path / str(number), base, warm)
        if wrong := [fault for fault in faults if not fault.startswith("low")]:
            found[f"case {number}, {case.name}"] = [*wrong, outcome.stderr.decode(errors="replace")[-400:]]
    assert not found


def test_killed_commands_leave_nothing_torn_and_the_same_command_completes_them(
    tmp_path: Path, base: Base, warm: Warm
) -> None:
    references: dict[str, Reference] = {}
    found, rng, work = {}, np.random.default_rng(KILLS), tmp_path / "work"
    for number, deed in enumerate(plan(KILLS)):
        if deed.name not in references:
            references[deed.name] = reference(deed, work, base, warm)
        result = kill(deed, references[deed.name], work, base, warm, rng)
        if result is not None and result[1]:
            found[f"{number}: {deed.name}, killed {result[0]}"] = result[1]
    assert not found
