"""The tests themselves: no deadlines, rounding told from errors, and the script that runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from rondo.checks.rounding import assert_equal_but_for_rounding
from scripts import check

DISPATCHED = """
import numpy, torch
from numpy._core._multiarray_umath import __cpu_dispatch__ as built, __cpu_features__ as here
print([name for name in built if here[name]], torch.backends.cpu.get_cpu_capability())
"""


def test_no_property_test_has_a_deadline() -> None:
    assert settings.default is not None and settings.default.deadline is None
    own = [path for path in Path(__file__).parent.rglob("*.py") if re.search(r"deadline=\d", path.read_text("utf-8"))]
    assert own == []


def test_rounding_is_told_from_errors() -> None:
    some = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    product = some @ some.T
    assert_equal_but_for_rounding(np.stack([row @ some.T for row in some]), product)
    assert_equal_but_for_rounding([np.inf, 1.0], [np.inf, 1.0])
    for wrong in (product[::-1], product + np.float32(0.001), np.where(product == product.max(), np.nan, product)):
        with pytest.raises(AssertionError):
            assert_equal_but_for_rounding(wrong, product)


@pytest.mark.slow
def test_kernels_are_forced_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PYTHON", Path(sys.executable))
    for name in ("NPY_DISABLE_CPU_FEATURES", "ATEN_CPU_CAPABILITY"):
        monkeypatch.delenv(name, raising=False)
    environment = os.environ | check.plainest()
    command = [sys.executable, "-W", "error", "-c", DISPATCHED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["[]", "DEFAULT"], "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], list(check.STEPS.values())),
        (["lint", "types"], [check.STEPS["lint"], check.STEPS["types"]]),
        (["tests", "-k", "csv"], [[*check.STEPS["tests"], "-k", "csv"]]),
        (["tests", "--anywhere", "-x"], [[*check.STEPS["tests"], "-x"]]),
    ],
)
def test_steps_are_chosen_by_name(
    arguments: list[str], expected: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], variables: dict[str, str]) -> int:
        ran.append((command, variables))
        return 0

    monkeypatch.setattr(check, "set_up", lambda: None)
    monkeypatch.setattr(check, "plainest", lambda: {"plain": "1"})
    monkeypatch.setattr(check, "run", run)
    assert check.main(arguments) == 0
    assert [command for command, _ in ran] == expected
    assert all(variables == ({"plain": "1"} if "--anywhere" in arguments else {}) for _, variables in ran)
