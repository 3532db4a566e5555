"""Every test that a page names is there: those of docs/promises.md, docs/streams.md and SECURITY.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:tests|\.github)/[\w./-]+)(?:::(\w+))?`")


@pytest.mark.parametrize(("page", "at_least"), [("docs/promises.md", 25), ("docs/streams.md", 6), ("SECURITY.md", 8)])
def test_every_test_that_the_page_names_is_there(page: str, at_least: int) -> None:
    named = NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(named) >= at_least
    missing = [file for file, _ in named if not (ROOT / file).exists()]
    assert missing == []
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file, test in named if test}
    assert [f"{file}::{test}" for file, test in named if test and f"\ndef {test}(" not in texts[file]] == []


def test_every_row_of_the_promises_names_its_test() -> None:
    text = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| test |" not in line]
    assert len(rows) > 20
    assert [row for row in rows if not NAMED.search(row) and "pyproject.toml" not in row] == []
