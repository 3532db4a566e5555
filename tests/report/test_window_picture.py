"""The picture of the window curve: a point for every candidate, the chosen one marked, valid XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from rondo.data.window_lengths import Candidate
from rondo.report.window_picture import window_picture
from rondo.stability import WindowFit

CURVE = [Candidate(25, 6, 100, 0.5, 0.2), Candidate(50, 12, 50, 1.0, 0.5), Candidate(100, 25, 20, 2.0, 0.9)]
FITS = [WindowFit(25, 8, 30.0, None), WindowFit(50, 5, 60.0, 0.9), WindowFit(100, 2, 90.0, -0.1)]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture: str, tag: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(picture).findall(f"{SVG}{tag}")


def test_every_window_is_a_point_and_longer_ones_hold_more() -> None:
    picture = window_picture(CURVE, 50.0, 50, title="<walk & run>")
    points = [(float(it.attrib["cx"]), float(it.attrib["cy"])) for it in drawn(picture, "circle")]
    assert len(points) == 3
    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.2)  # doubled each time
    assert points[0][1] > points[1][1] > points[2][1]
    words = [it.text for it in drawn(picture, "text")]
    assert {"<walk & run>", "chosen: 50 frames, 1 s", "20%", "50%", "90%", "0.5", "1", "2", "window (s)"} <= set(words)
    line = next(it for it in drawn(picture, "line") if "stroke-dasharray" in it.attrib)
    assert float(line.attrib["x1"]) == pytest.approx(points[1][0], abs=0.1)


def test_what_each_window_finds_has_lines_of_its_own() -> None:
    picture = window_picture(CURVE, None, 50, FITS)
    assert len(drawn(picture, "polyline")) == 3
    assert len(drawn(picture, "circle")) == 3 + 3 + 2  # the shortest window has none to be like
    words = [it.text for it in drawn(picture, "text")]
    assert {"8", "5", "2", "0.90", "-0.10", "chosen: 50 frames", "window (frames)"} <= set(words)
    heights = [float(it.attrib["cy"]) for it in drawn(picture, "circle")]
    bottom = float(ElementTree.fromstring(picture).attrib["height"])
    assert all(0 < height < bottom for height in heights)


def test_a_chosen_window_beyond_the_candidates_and_a_single_one() -> None:
    assert "chosen: 999 frames" in window_picture(CURVE, None, 999)
    assert len(drawn(window_picture(CURVE[:1], None, 25), "circle")) == 1
