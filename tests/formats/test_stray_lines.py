"""A line that is no row, far down in a table: the rows above it are never left out as if they were a heading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

VALUES = np.random.default_rng(0).normal(size=(2100, 3)).astype(np.float32)
CSV = [",".join(map(repr, row)) for row in VALUES.tolist()]
JSON = [json.dumps(dict(zip("xyz", row, strict=True))) for row in VALUES.tolist()]
PLACES = (10, 30, 63, 300, 1200, 1720, 1999)  # the layout is told from 64 lines, a heading looked for in 2,000


def with_lines(name: str, rows: Sequence[str], place: int) -> tuple[str, list[str]]:
    """The file with other lines after so many rows."""
    above, below = rows[:place], rows[place:]
    labelled = [f"{row},walk" for row in rows]
    narrow = [",".join(row.split(",")[:2]) for row in above]
    return {
        "json": ("a.jsonl", [*above, "WiFi reconnected", *below]),
        "json in text": ("a.txt", [*above, "WiFi reconnected", *below]),
        "no header": ("a.csv", [*above, "logger restarted", *below]),
        "header": ("a.csv", ["x,y,z", *above, "logger restarted", *below]),
        "header again below": ("a.csv", ["x,y,z", *above, "logger restarted", "x,y,z", *below]),
        "text in each row": ("a.csv", ["x,y,z,l", *labelled[:place], "restarted", "x,y,z,l", *labelled[place:]]),
        "wider from there on": ("a.csv", ["x,y", *narrow, "x,y,z", *below]),
        "wider, with text": ("a.csv", ["x,l", *(f"{row.split(',')[0]},sit" for row in above), "x,y,z,l", *labelled]),
    }[name]


NAMES = ("json", "json in text", "no header", "header", "header again below", "text in each row", "wider from there on",
         "wider, with text")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", PLACES)
def test_it_is_refused_with_its_line(tmp_path: Path, name: str, place: int) -> None:
    file, lines = with_lines(name, JSON if name.startswith("json") else CSV, place)
    said = refusal(lambda: read_one(write(tmp_path, file, "\n".join(lines) + "\n"), rate=50), naming=tmp_path)
    stray = place + (2 if lines[0][0] == "x" else 1)
    if not (name == "wider, with text" and place < 64):  # from the first lines alone, the text is what is wrong
        assert f"line {stray}:" in said


@pytest.mark.parametrize("place", PLACES)
def test_the_header_again_is_left_out_alone(tmp_path: Path, place: int) -> None:
    recording = read_one(write(tmp_path, "a.csv", "\n".join(["x,y,z", *CSV[:place], "x,y,z", *CSV[place:]])), rate=50)
    npt.assert_array_equal(recording.values, VALUES)
    assert ["the header again" in note for note in recording.notes] == [True]
