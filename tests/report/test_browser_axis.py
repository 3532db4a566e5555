"""Times on the axis and in tooltips, in units that people say: from milliseconds to decades, with dates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.wording import duration_in_words
from tests.report.on_folders import write_report
from tests.report.run_folders import edit_summary, write_run_folder

pytestmark = pytest.mark.browser

DAY = 86_400.0
NOON = 1_794_744_000.0  # 15 November 2026, 12:00
TICKS = """() => { const it = rondoPage.timelines[0], scale = scaleOf(it)
  return scale.ticks(64).map((tick) => [tick.words, scale.contextOf(tick.at), Math.round(it.xOf(tick.frame))]) }"""


def page_of(folder: Path, rate: float | None, start: float | None = None, jump_s: float = 0.0) -> str:
    """6,000 frames; a clock that starts somewhere, and jumps in the middle."""
    run = write_run_folder(folder, n_frames=6_000, rate=rate, channels=("x",), with_truth=False)
    if start is not None and rate is not None:
        recording = json.loads((run / "summary.json").read_text(encoding="utf-8"))["recordings"][0]
        seconds = [start + frame / rate for frame in (0, 2_999, 3_000, 5_999)]
        clock = {"frames": [0, 2_999, 3_000, 5_999], "seconds": [*seconds[:2], *(it + jump_s for it in seconds[2:])]}
        edit_summary(run, recordings=[recording | {"clock": clock}])
    return write_report(run).as_uri()


@pytest.mark.parametrize(
    ("rate", "words", "unit"),
    [
        (20_000.0, ["0 ms", "50 ms", "100 ms"], ""),
        (100.0, ["0 s", "10 s", "20 s"], ""),
        (5.0, ["0:00", "5:00", "10:00"], "min:s"),
        (1 / 10, ["0:00", "3:00", "6:00"], "h:min"),
        (1 / 120, ["0 d", "2 d", "4 d"], ""),
        (1 / DAY, ["0 years", "5 years", "10 years"], ""),
        (None, ["0", "1,000", "2,000"], "frame"),
    ],
)
def test_elapsed_time(opened: Any, tmp_path: Path, rate: float | None, words: list[str], unit: str) -> None:
    page = opened(page_of(tmp_path, rate))
    assert [tick[0] for tick in page.evaluate(TICKS)][:3] == words
    assert page.evaluate("scaleOf(rondoPage.timelines[0]).unit") == unit


@pytest.mark.parametrize(
    ("seconds_per_frame", "words", "context"),
    [
        (0.02, ["12:00:00", "12:00:30"], "Sun 15 Nov 2026"),
        (10.0, ["12:00", "15:00"], "Sun 15 Nov 2026"),
        (100.0, ["16 Nov", "17 Nov"], "2026"),
        (3600.0, ["Jan", "Mar"], "2027"),
        (3 * DAY, ["2030", "2040"], ""),
    ],
)
def test_dates(opened: Any, tmp_path: Path, seconds_per_frame: float, words: list[str], context: str) -> None:
    page = opened(page_of(tmp_path, 1 / seconds_per_frame, NOON))
    ticks = page.evaluate(TICKS)
    assert [tick[0] for tick in ticks][:2] == words
    assert ticks[0][1] == context
    places = [tick[2] for tick in ticks]
    assert min(np.diff(places)) >= 64  # room for words


def test_in_a_jump_of_the_clock_ticks_do_not_pile_up(opened: Any, tmp_path: Path) -> None:
    page = opened(page_of(tmp_path, 1.0, NOON, jump_s=3 * DAY))
    ticks = page.evaluate(TICKS)
    assert {tick[1] for tick in ticks} == {"Sun 15 Nov 2026", "Wed 18 Nov 2026"}
    assert min(np.diff([tick[2] for tick in ticks])) >= 64 and len(ticks) < 20
    assert page.evaluate("rondoPage.timelines[0].timeOf(2999)") == "12:49:59"
    assert page.evaluate("rondoPage.timelines[0].timeOf(3000)") == "12:50:00"


def test_moments_and_durations_in_tooltips(opened: Any, tmp_path: Path) -> None:
    page = opened(page_of(tmp_path, 50.0))
    assert page.evaluate("[0, 4001].map((frame) => rondoPage.timelines[0].timeOf(frame))") == ["0:00.00", "1:20.02"]
    seconds = [0.0042, 0.27, 1.5, 90, 119.9, 152.4, 599.7, 2100, 7190, 32_400, 33_000, 90_000, 1.9e6, 3.4e7, 8e7]
    assert page.evaluate("(all) => all.map(durationWords)", seconds) == [duration_in_words(it) for it in seconds]
