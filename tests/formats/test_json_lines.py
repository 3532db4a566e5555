"""JSON lines are a recording: keys are channels, and the rest is as for any text table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

LINES = [
    '{"time": 1700000000000, "x": 1.5, "y": -2, "activity": "sit", "state": "ok", "at": {"lat": 1}}',
    '{"y": 0.25, "time": 1700000000020, "x": null, "state": "off"}',
    '{"x": "3", "y": 1e6, "time": 1700000000040, "on": true}',
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.txt"])
def test_keys_are_channels_in_any_order(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, "\n".join(LINES))
    assert "--keep-column 'on'" in " ".join(read_one(path).notes)
    recording = read_one(path, keep=["on"])
    assert recording.channels == ("x", "y", "on")
    npt.assert_array_equal(recording.values, [[1.5, -2, np.nan], [np.nan, 0.25, np.nan], [3, 1e6, 1]])
    npt.assert_allclose(recording.timestamps_s, 1.7e9 + np.arange(3) * 0.02, rtol=1e-15)
    assert all(
        word in note
        for word, note in zip(
            (
                "holds labels; --keep-column 'activity'",
                "column 'state' left out",
                "column 'at' left out",
                "clock 'time' read",
            ),
            recording.notes,
            strict=True,
        )
    )


def test_it_is_read_as_the_same_table_in_csv(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"2024-05-01T12:00:{i / 50:06.3f}", *map(float, rng.normal(size=2))) for i in range(200)]
    table = write(tmp_path, "a.csv", "when,x,y\n" + "".join(f"{t},{x!r},{y!r}\n" for t, x, y in rows))
    lines = [f'{{"when": "{t}", "x": {x!r}, "y": {y!r}}}\r\n' for t, x, y in rows]
    lines.insert(100, "\r\n")
    json_lines, stored = read_one(write(tmp_path, "a.jsonl", "".join(lines))), read_one(table)
    npt.assert_array_equal(json_lines.values, stored.values)
    npt.assert_array_equal(json_lines.timestamps_s, stored.timestamps_s)
    assert (json_lines.channels, json_lines.rate) == (stored.channels, stored.rate)
    assert json_lines.notes == (*stored.notes, "1 blank line skipped")


def test_keys_that_come_later_are_noted_and_a_torn_end_left_out(tmp_path: Path) -> None:
    text = '{"x": 1}\n{"x": 2}\n' * 40 + '{"x": 3, "hr": 60}\n{"x": 4, "h'
    recording = read_one(write(tmp_path, "a.jsonl", text))
    assert (recording.n_frames, recording.values[-1, 0]) == (81, 3)
    words = ("last line is torn", "first 64 lines")
    assert all(word in note for word, note in zip(words, recording.notes, strict=True))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x,y\n1,2\n", "its first line is not a whole JSON object; expected one object per line"),
        ('[{"x": 1}]\n', "its first line is not a whole JSON object"),
        ('{"x": 1}\n{"x": 2\n{"x": 3}\n', "line 2: not a JSON object; correct the line or delete it"),
        ('{"x": 1}\n{"x": "oops"}\n', "line 2, column 'x': 'oops' is not a number"),
        ('{"x": 1}\n{"x": [2]}\n', "line 2, column 'x': '…' is not a number"),
        ("{}\n", "its objects are empty; expected one key per channel"),
        ('{"x": "a"}\n', "no column holds numbers"),
        ('{"x": 1e39}\n', "infinite (or beyond float32) value in frame 0, channel 'x'"),
        ("\n", "it has no rows"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, "a.jsonl", text)
    assert says in refusal(lambda: read_one(path), naming=path)
