"""The simplest engine: order, failures that stop nothing, and what is measured."""

from __future__ import annotations

import time

import pytest

from rondo.errors import RecordingError, SettingError
from rondo.many.driver import Serial, engine_of


def work(number: int) -> int:
    if number == 2:
        raise RecordingError("no frames\n in it")
    if number == 3:
        raise ZeroDivisionError("by nought")
    time.sleep(0.01 * number)
    return 10 * number


def test_every_task_is_tried_whatever_happens_to_the_others() -> None:
    done = list(Serial().run(work, [1, 2, 3, 4]))
    assert [(one.index, one.result) for one in done] == [(0, 10), (1, None), (2, None), (3, 40)]
    assert [one.failure for one in done] == [None, "no frames in it", "ZeroDivisionError: by nought", None]


def test_time_and_memory_are_measured() -> None:
    (done,) = Serial().run(work, [5])
    assert done.seconds >= 0.05 and done.seconds > done.cpu_seconds >= 0  # it sleeps most of the time
    assert 10 < done.peak_mb < 100_000


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    list(Serial().run(work, [1, 4], lambda *said: told.append(said)))
    assert told == [("tasks", 0, 2), ("tasks", 1, 2), ("tasks", 2, 2)]


def test_engines_go_by_name() -> None:
    assert isinstance(engine_of("serial"), Serial)
    with pytest.raises(SettingError, match="did you mean 'serial'"):
        engine_of("serail")
