"""What a notebook shows of a Result: small, escaped, and without matplotlib."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rondo.editing.edits import Edits
from rondo.report.lanes import look_of
from tests.report.by_hand import result_by_hand

EVIL = "<script>alert('x')</script> & \"co\""
TAGS = {"div", "b", "span", "code", "table", "thead", "tbody", "tr", "th", "td"}
MOST_BYTES = 12_000


class Shown(HTMLParser):
    """Tags that are known to be harmless, closed in their order; no attribute that could run anything."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_finding_and_the_entries() -> None:
    html = result_by_hand()._repr_html_()
    words = Shown(html).words
    assert "2 motifs made of 4 units" in "\n".join(words)
    assert {"m0", "m1", "u0", "u3", "25 %", "1 s", 'result.report("report.html")'} <= set(words)
    assert all(look_of(level, id).colour in html for level, id in (("unit", 2), ("motif", 1)))
    assert "<script" not in html and "<iframe" not in html


def test_names_cannot_break_out() -> None:
    edits = Edits().named("u0", EVIL).named("m0", EVIL)
    result = result_by_hand((EVIL.replace("/", ""),), channels=(EVIL, "y"), edits=edits)
    words = Shown(result._repr_html_()).words
    assert f"u0 {EVIL}" in words


@pytest.mark.parametrize(("n", "n_segments"), [(1, 400), (1, 8_000), (25, 1_000)])
def test_it_is_small_however_much_there_is(n: int, n_segments: int) -> None:
    rng = np.random.default_rng(0)
    units = (*range(60), *rng.integers(0, 60, n_segments).tolist())
    motifs = tuple(unit // 3 for unit in units)
    result = result_by_hand(tuple(f"r{i}" for i in range(n)), units=units, motifs=motifs, channels=tuple("abcdefgh"))
    html = result._repr_html_()
    assert len(html.encode()) < MOST_BYTES
    assert "and 48 more units" in Shown(html).words


def test_no_matplotlib_is_needed(tmp_path: Path) -> None:
    result_by_hand().save(tmp_path / "run")
    code = f"""
import sys
sys.modules["matplotlib"] = None
import rondo
print("<table" in rondo.Result.load({str(tmp_path / "run")!r})._repr_html_())
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "True\n"
