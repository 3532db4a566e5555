"""Pages of `rondo bench table` show the rows that lie beside them, and rows have the settings of now."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from tests.docs.executed_pages import ROOT

NAMES = [path.stem for path in sorted((ROOT / "docs" / "results").glob("*.csv"))]


@pytest.fixture
def table_pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("table_pages")


@pytest.mark.promise
@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_the_rows_beside_it_and_they_have_the_settings_of_now(name: str, table_pages: ModuleType) -> None:
    page = (ROOT / "docs" / "results" / f"{name}.md").read_text(encoding="utf-8")
    body, begin = table_pages.body_of(name), f"<!-- written by {table_pages.PROGRAM}: {name} -->"
    assert f"{begin}\n\n{body}\n\n<!-- end -->" in page, f"run: python {table_pages.PROGRAM} {name}"
    assert "other settings" not in body
