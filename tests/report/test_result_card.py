"""What a notebook shows of a Result: small, still, escaped, and without matplotlib."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from rondo.editing.edits import Edits
from rondo.report.lanes import colour_of
from rondo.report.notebook import MOST_BYTES
from rondo.result import Result, make_result
from tests.report.by_hand import result_by_hand
from tests.report.stream_folders import write_stream_folder

EVIL = "<script>alert('x')</script> & \"co\""
TAGS = {"div", "b", "span", "code", "table", "thead", "tbody", "tr", "th", "td", "svg", "title", "text", "path", "g"}
SVG = "{http://www.w3.org/2000/svg}"


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


def pictures_in(html: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def texts(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def test_the_finding_the_picture_and_the_entries() -> None:
    html = result_by_hand()._repr_html_()
    words = Shown(html).words
    assert "4 units and 2 motifs found in 8 s of 2 channels; 0 % OTHER" in words
    assert {"m0", "m1", "u0", "u3", "25 %", "1 s", 'result.report("report.html")'} <= set(words)
    (picture,) = pictures_in(html)
    assert {"x", "y", "motifs", "m0", "m1", "u0", "u1", "u2", "u3", "s"} <= set(texts(picture))
    fills = [path.get("fill") for path in picture.iter(f"{SVG}path")]
    assert {colour_of("unit", 2), colour_of("motif", 1)} <= set(fills)
    assert "<script" not in html and "<iframe" not in html


def test_a_block_stands_where_its_segment_is() -> None:
    (picture,) = pictures_in(result_by_hand()._repr_html_())
    (block,) = [path for path in picture.iter(f"{SVG}path") if path.get("fill") == colour_of("motif", 1)]
    left, width = (float(part) for part in re.match(r"M([\d.]+) \d+h([\d.]+)", block.get("d", "")).groups())  # type: ignore[union-attr]
    assert (left, width) == (118 + 760 / 2, 760 / 2)  # the second half


def test_names_cannot_break_out() -> None:
    edits = Edits().named("u0", EVIL).named("m0", EVIL)
    result = result_by_hand((EVIL.replace("/", ""),), channels=(EVIL, "y"), edits=edits)
    words = Shown(result._repr_html_()).words
    assert f"u0 {EVIL}" in words
    assert [texts(picture) for picture in pictures_in(result._repr_html_())]


def test_of_several_recordings_each_has_a_lane() -> None:
    html = result_by_hand(tuple(f"person {i}" for i in range(30)))._repr_html_()
    (picture,) = pictures_in(html)
    assert [word for word in texts(picture) if word.startswith("person")] == [f"person {i}" for i in range(20)]
    assert "and 10 more recordings" in Shown(html).words
    assert len(pictures_in(result_by_hand(("a", "b"))._repr_html_())) == 2


def test_recordings_with_and_without_a_jump_share_an_axis_of_frames() -> None:
    times = np.arange(400) / 50
    times[100:] += 5000
    jumps, even = result_by_hand(("a",), timestamps_s=times), result_by_hand(("b", "c"))
    recordings = [*jumps.at_hand.values(), *even.at_hand.values()]
    (picture,) = pictures_in(make_result("by hand", recordings, [*jumps, *even])._repr_html_())
    assert {"frame", "400"} <= set(texts(picture))


@pytest.mark.parametrize(("n", "n_segments"), [(1, 400), (1, 8_000), (25, 1_000)])
def test_it_is_small_however_much_there_is(n: int, n_segments: int) -> None:
    rng = np.random.default_rng(0)
    units = (*range(60), *rng.integers(0, 60, n_segments).tolist())
    motifs = tuple(unit // 3 for unit in units)
    result = result_by_hand(tuple(f"r{i}" for i in range(n)), units=units, motifs=motifs, channels=tuple("abcdefgh"))
    html = result._repr_html_()
    assert len(html.encode()) < MOST_BYTES
    assert "and 48 more units" in Shown(html).words and len(pictures_in(html)) == 1


def test_a_stream_without_a_signal(tmp_path: Path) -> None:
    html = Result.load(write_stream_folder(tmp_path / "stream"))._repr_html_()
    (picture,) = pictures_in(html)
    assert {"u0", "u1"} <= set(texts(picture))


def test_no_matplotlib_is_needed(tmp_path: Path) -> None:
    result_by_hand().save(tmp_path / "run")
    code = f"""
import sys
sys.modules["matplotlib"] = None
import rondo
print("<svg" in rondo.Result.load({str(tmp_path / "run")!r})._repr_html_())
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "True\n"
