"""The benchmarks stand beside the package and are run by hand: their imports must still be there when somebody does."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
NOT_RUN = ("results_page",)  # what the others share


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
    assert path.stem in NOT_RUN or callable(module.main)


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # which guard sets when it is imported; undone after the test
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delitem(sys.modules, "guard", raising=False)
    return importlib.import_module("guard")


def _summary(*means: float) -> dict[str, Any]:
    """What guard stores about a set with one pair; one mean score for each seed."""
    by_seed = {
        score: [mean + offset for mean in means] for score, offset in (("ari", 0), ("ami", 5), ("one_to_one", 9))
    }
    return {"pairs": {"units vs y": {"seeds": by_seed}}}


@pytest.mark.parametrize(("drop", "is_named"), [(1.5, True), (0.5, False), (-1.5, False)])
def test_guard_names_a_drop_of_more_than_a_point(guard: ModuleType, drop: float, is_named: bool) -> None:
    stored = {"MoCap": _summary(80.0, 82.0), "TSSB": _summary(50.0, 50.0)}
    named = guard.drops({"MoCap": _summary(80.0 - drop, 82.0 - drop), "TSSB": _summary(50.0, 50.0)}, stored)
    assert [line.partition(":")[0] for line in named] == ["MoCap, units vs y"] * is_named


def test_guard_compares_the_seeds_that_both_have(guard: ModuleType) -> None:
    assert guard.drops({"MoCap": _summary(80.0)}, {"MoCap": _summary(80.0, 90.0)}) == []


def test_guard_names_a_pair_that_is_no_longer_scored(guard: ModuleType) -> None:
    assert guard.drops({"MoCap": {"pairs": {}}}, {"MoCap": _summary(80.0)}) == [
        "MoCap, units vs y: stored, but not scored now"
    ]


def test_guard_continues_from_a_cache_with_a_torn_line(guard: ModuleType, tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    first, second = ({"source": "a", "set": "MoCap", "recording": id, "seed": 0} for id in ("one", "two"))
    guard.append(cache, first)
    with cache.open("a") as file:
        file.write('\n{"source": "a", "se')
    guard.append(cache, second)
    assert list(guard.cached_rows(cache, "a").values()) == [first, second]
    assert guard.cached_rows(cache, "b") == {}
