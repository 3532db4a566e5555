"""The programs of benchmarks/, imported as they are when somebody runs one: they import each other by name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in BENCHMARKS.glob("*.py"))


@contextmanager
def imported(name: str) -> Iterator[ModuleType]:
    """One of them; modules, the path and variables that it sets are as before at the end."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
            patch.setenv(variable, "1")
        patch.syspath_prepend(BENCHMARKS)
        for own in NAMES:
            patch.delitem(sys.modules, own, raising=False)
        try:
            yield importlib.import_module(name)
        finally:
            for own in NAMES:
                sys.modules.pop(own, None)
