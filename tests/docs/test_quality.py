"""The scores that the README shows are those that are stored, and its sentence about them holds."""

from __future__ import annotations

import importlib
import sys
from statistics import mean
from types import ModuleType

import pytest

from tests.docs.executed_pages import ROOT

COMMAND = "run: python benchmarks/guard.py --page docs/results/quality.md"


@pytest.fixture
def quality(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.delitem(sys.modules, "quality_page", raising=False)
    return importlib.import_module("quality_page")


def test_the_page_is_what_is_stored(quality: ModuleType) -> None:
    page = (ROOT / "docs" / "results" / "quality.md").read_text(encoding="utf-8")
    assert page == quality.page_text(*quality.stored_scores()), COMMAND


def test_the_readme_has_the_same_table(quality: ModuleType) -> None:
    table = quality.quality_table(*quality.stored_scores())
    assert table in (ROOT / "README.md").read_text(encoding="utf-8"), f"the table of the README should be:\n{table}"


def test_no_peer_is_ahead_on_average_as_the_readme_says(quality: ModuleType) -> None:
    assert "No peer is ahead of Rondo on average over its own rows" in (ROOT / "README.md").read_text(encoding="utf-8")
    for way, pairs in quality.averages(*quality.stored_scores()).items():
        theirs, ours = (mean(column) for column in zip(*pairs, strict=True))
        assert theirs < ours, way


def test_the_best_peer_has_the_highest_mean_of_three_scores(quality: ModuleType) -> None:
    a, b, c = _scores(50, 50, 50), _scores(90, 40, 30), _scores(99, 99, 99)
    peers = {"set": {"a": {"y": a}, "b": {"y": b}, "c": {"y2": c}}}
    assert quality.best_of(peers, "set", "y") == ("b", b)
    assert quality.best_of(peers, "another", "y") is None


def _scores(ari: float, ami: float, one_to_one: float) -> dict[str, float]:
    return {"ari": ari, "ami": ami, "one_to_one": one_to_one}
