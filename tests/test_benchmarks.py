"""The benchmarks stand beside the package and are run by hand: their imports must still be there when somebody does."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_imports(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)  # as for `python benchmarks/NAME.py`: they import each other by name
    monkeypatch.delitem(sys.modules, path.stem, raising=False)
    try:
        module = importlib.import_module(path.stem)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("rondo", *(own.stem for own in BENCHMARKS.glob("*.py"))):
            raise
        pytest.skip(f"{path.name} compares with {error.name}, which is not installed")
    finally:
        for own in BENCHMARKS.glob("*.py"):
            sys.modules.pop(own.stem, None)
    assert callable(module.main)
