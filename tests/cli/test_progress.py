"""Plain progress: a line for each piece of work, an estimate for long ones, and no flood."""

from __future__ import annotations

import pytest

from rondo.cli.terminal import plain_lines


def test_lines_say_what_how_far_and_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    tell = plain_lines(lambda: now)
    for step in range(100):  # half a second each
        tell("encoder: training", step + 1, 100)
        now += 0.5
    tell("units", 2, 4)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[1/100] encoder: training"
    assert lines[1].startswith("[5/100] encoder") and "48 s" in lines[1]
    assert len(lines) == 26
    assert lines[-1] == "[2/4] units"


def test_quick_work_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell = plain_lines(lambda: 3.0)
    for step in range(1000):
        tell("encoder: training", step + 1, 1000)
    assert capsys.readouterr().err == "[1/1000] encoder: training\n"
