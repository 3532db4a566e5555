"""Every number that a learner uses has its source beside it."""

from __future__ import annotations

from rondo.config.constants import LEARNERS, constants_in, learner_constants
from tests.cli.running import call


def test_learner_constants_have_sources() -> None:
    rooms = tuple(room for room in LEARNERS if room != "data")  # the rest is counted by scripts/rulers.py
    without = [f"{own.module}:{own.line} {own.name}" for own in learner_constants(rooms) if not own.source]
    assert not without


def test_what_counts_as_a_constant_and_as_its_source() -> None:
    code = '"""Doc."""\nA, B = 1, -2.5  # both\n# above\nC = 1 << 4\nD = (1, 2)\n\nE = 3\nF = "3"\nG = True\n'
    found = {own.name: (own.value, own.source) for own in constants_in(code, "m")}
    assert found == {
        "A, B": ("1, -2.5", "both"),
        "C": ("1 << 4", "above"),
        "D": ("(1, 2)", "above"),
        "E": ("3", ""),
    }


def test_the_command_prints_them() -> None:
    done = call("config", "constants")
    assert done.code == 0
    assert "rondo.evidence.verdicts" in done.out
