"""The benchmarks are run by hand: their imports must still be there then, and the guard must name drops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.benchmark_scripts import NAMES, imported


@pytest.mark.parametrize("name", NAMES)
def test_imports(name: str) -> None:
    with imported(name) as module:
        assert name == "sources" or name.endswith("_studies") or callable(module.main)


@pytest.fixture(scope="module")
def guard() -> Iterator[ModuleType]:
    with imported("guard") as module:
        yield module


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
    (line,) = guard.drops({"MoCap": {"pairs": {}}}, {"MoCap": _summary(80.0)})
    assert line.startswith("MoCap, units vs y")


def test_guard_continues_from_a_cache_with_a_torn_line(guard: ModuleType, tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    first, second = ({"source": "a", "set": "MoCap", "recording": id, "seed": 0} for id in ("one", "two"))
    guard.append(cache, first)
    with cache.open("a") as file:
        file.write('\n{"source": "a", "se')
    guard.append(cache, second)
    assert list(guard.cached_rows(cache, "a").values()) == [first, second]
    assert guard.cached_rows(cache, "b") == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("what", "most"), [("frames", 1.05), ("channels", 1.2), ("recordings", 1.05)])
def test_time_grows_hardly_faster_than_the_size(what: str, most: float) -> None:
    """Two measurements of one run; a machine that is busy in the second alone gets another chance."""
    with imported("speed") as speed:
        assert min(speed.growth(what) for _ in range(2)) <= most
