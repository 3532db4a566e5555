"""Alarms, health.json and exit codes around the labelling of one stream or of many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rondo import Recording
from rondo.config.settings import PreprocessConfig
from rondo.continual.journal import Event
from rondo.data.preparation import Preparation
from rondo.data.scaling import Preprocessor
from rondo.editing.edits import Edits
from rondo.errors import RecordingError
from rondo.live.health import DEVICES_REFUSED, Health
from rondo.live.session import Counters, Written
from rondo.run.decisions import COLUMNS, Label
from rondo.run.health import HealthReport, devices_of, judged, read_health, write_health
from tests.systems import needs_posix

WINDOW_S, WINDOW_FRAMES = 1.0, 50


class Device:
    """A session as far as it is watched: units come in, labels.csv grows."""

    def __init__(self, health: Health, folder: Path, name: str = "d") -> None:
        self.health, self.folder, self.name = health, folder, name
        folder.mkdir(exist_ok=True)
        (folder / "labels.csv").write_text(",".join(COLUMNS) + "\n")
        self.session: Any = SimpleNamespace(counters=Counters(), edits=Edits(), fit="")
        health.begin(name, folder, self.session)

    def step(self, units: list[int], events: Sequence[Event] = ()) -> None:
        before = self.session.counters
        labels = [self._label(before.n_windows + i, unit) for i, unit in enumerate(units)]
        with (self.folder / "labels.csv").open("a") as file:
            file.writelines(",".join(str(value) for value in label.values()) + "\n" for label in labels)
        n_rows, n_windows = before.n_rows + WINDOW_FRAMES * len(units), before.n_windows + len(units)
        self.session.counters = Counters(n_rows=n_rows, n_windows=n_windows)
        self.health.after(self.name, self.folder, Written(labels, list(events)), self.session)

    def _label(self, n: int, unit: int) -> Label:
        row = (WINDOW_FRAMES * n, WINDOW_FRAMES * (n + 1), n * WINDOW_S, (n + 1) * WINDOW_S, unit, 0, 0.5, 0.5)
        return dict(zip(COLUMNS, row, strict=True))


def stored(folder: Path) -> HealthReport:
    found = read_health(folder)
    assert found is not None
    return found


@pytest.mark.parametrize("n_each", [1, 100])
def test_nothing_fits_is_raised_once_and_cleared_once_whatever_the_chunks(tmp_path: Path, n_each: int) -> None:
    lines: list[str] = []
    device = Device(Health(tmp_path, say=lines.append), tmp_path)
    units = [1] * 10 + [-1] * 29 + [2] + [-1] * 35 + [3] * 5 + [-1] * 10
    for start in range(0, len(units), n_each):
        device.step(units[start : start + n_each])
    assert lines == [
        "alarm: d: nothing-fits: no unit fits since 40.0 s, 30 s of data",
        "alarm over: d: nothing-fits: a unit fits again after 35 s of data",
    ]


def test_doubtful_labels_are_raised_once_and_cleared_once(tmp_path: Path) -> None:
    lines: list[str] = []
    health = Health(tmp_path, say=lines.append)
    device = Device(health, tmp_path)
    for fit in ("", "fits in part", "does not fit", "does not fit", "fits"):
        device.session.fit = fit
        device.step([1])
        assert ("labels-doubtful" in health._in_alarm().get("d", {})) is (fit == "does not fit")
    assert [line.partition(": d: ")[0] for line in lines] == ["alarm", "alarm over"]
    device.session.fit = "does not fit"  # a session that resumes
    lines.clear()
    Device(Health(tmp_path, say=lines.append), tmp_path)
    assert not lines
    other = Health(tmp_path, say=lines.append)
    other.begin("d", tmp_path, device.session)
    assert len(lines) == 1


@pytest.mark.parametrize("n_each", [7, 4_000])
def test_a_stuck_channel_and_one_far_outside_are_alarms_with_channel_and_time(tmp_path: Path, n_each: int) -> None:
    rows = np.random.default_rng(0).normal(size=(4_000, 3))
    fitted = Preprocessor.fit([Recording(rows, 50.0, ("x", "y", "z"))], PreprocessConfig())
    rows[500:1_500, 0] = rows[500, 0]  # 10 s to 30 s: known to be stuck after 10 s
    rows[2_000, 2] = 65_535
    rows[2_020:2_100, 1:] = 65_535
    preparation, lines = Preparation(fitted.row_plan(50.0)), list[str]()
    device = Device(Health(tmp_path, say=lines.append), tmp_path)
    for start in range(0, len(rows), n_each):
        preparation.push(rows[start : start + n_each], np.arange(start, min(start + n_each, len(rows))) / 50.0)
        device.step([], [Event(kind, "input", *event, (), about) for kind, *event, about in preparation.take_events()])
    raised, cleared = ([line for line in lines if line.startswith(word)] for word in ("alarm: d", "alarm over: d"))
    assert [line.split(": ")[2] for line in lines] == ["stuck", "stuck", "outside", "outside"]
    assert "'x'" in raised[0] and "20.0 s" in raised[0] and "501 such rows" in cleared[0]
    assert "'z'" in raised[1] and "40.0 s" in raised[1] and len(cleared) == 2
    device.health.close("finished")
    assert not stored(tmp_path).alarms


def test_silence_is_raised_once_and_cleared_with_its_length(tmp_path: Path) -> None:
    lines: list[str] = []
    health = Health(tmp_path, silent_s=60.0, say=lines.append)
    device, now = Device(health, tmp_path), time.monotonic()
    health.tick(now + 59)
    assert (lines, stored(tmp_path).state) == ([], "ok")
    health.tick(now + 61)
    health.tick(now + 90)
    assert len(lines) == 1 and lines[0].startswith("alarm: d: silent: no row for")
    assert (stored(tmp_path).state, list(stored(tmp_path).alarms["d"])) == ("alarm", ["silent"])
    device.step([1])
    assert len(lines) == 2 and lines[1].startswith("alarm over: d: silent")


def test_a_refused_device_is_named_once_and_decides_the_exit_code(tmp_path: Path) -> None:
    lines: list[str] = []
    health = Health(tmp_path, silent_s=60.0, say=lines.append)
    (tmp_path / "devices").mkdir()
    Device(health, tmp_path / "devices" / "a", "a").step([1])
    assert health.exit_code == 0
    for _ in range(3):
        health.refused("b", "it lacks the channel 'x'")
    health.tick(time.monotonic())
    assert lines == ["alarm: b: refused: it lacks the channel 'x'"]
    found = stored(tmp_path)
    assert (found.state, found.n_refused, found.alarms["b"]["refused"]) == ("alarm", 1, "it lacks the channel 'x'")
    assert health.exit_code == DEVICES_REFUSED == 3
    (tmp_path / "devices" / "a" / "summary.json").write_text("{}")
    assert [device.in_words().partition(",")[0] for device in devices_of(tmp_path, found, time.time())] == [
        "a: ok",
        "b: alarm (refused: it lacks the channel 'x')",
    ]


def test_health_while_it_runs_and_when_it_has_ended(tmp_path: Path) -> None:
    health = Health(tmp_path)
    Device(health, tmp_path).step([1, 2, 3])
    health.tick(time.monotonic(), lambda: 2000)
    found = stored(tmp_path)
    assert (found.pid, found.n_rows, found.n_windows, found.backlog_bytes) == (os.getpid(), 150, 3, 2000)
    assert judged(found, 30.0, time.time()) == (0, "ok: 1 device, 150 rows, 3 windows, 2 kB behind")
    assert judged(found, 30.0, time.time() + 60)[0] == 2
    health.tick(time.monotonic() + 1000)
    assert stored(tmp_path).alarms == {}  # silence is none where the source ends
    health.close("finished")
    assert judged(stored(tmp_path), 30.0, time.time() + 1e6) == (0, "finished: 1 device, 150 rows, 3 windows")


@needs_posix
def test_a_process_that_is_gone_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    write_health(tmp_path, HealthReport("ok", time.time(), pid=process.pid))
    code, words = judged(read_health(tmp_path), 30.0, time.time())
    assert (code, f"process {process.pid} is gone" in words) == (2, True)


BEGUN = '{"state": "ok", "written_s": 1, '


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", '{"state": "ok"}', '{"state": "good", "written_s": 1}', '{"state": 1}', "[" * 100_000,
        '{"a":' * 100_000, '{"state": "ok", "written_s": NaN}', f'{{"state": "ok", "written_s": {"9" * 400}}}',
        f'{{"state": "ok", "written_s": {"9" * 5000}}}', f'{BEGUN}"pid": {"9" * 400}}}', f'{BEGUN}"pid": 0}}',
        f'{BEGUN}"backlog_bytes": {"9" * 400}}}', f'{BEGUN}"n_rows": "x"}}', f'{BEGUN}"alarms": {{"d": 3}}}}',
        f'{BEGUN}"alarms": [3]}}', f'{BEGUN}"sinks": [[]]}}', f'{BEGUN}"sinks": 3}}', f'{BEGUN}"pid": []}}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_health(tmp_path: Path, content: str) -> None:
    (tmp_path / "health.json").write_text(content)
    found = read_health(tmp_path)
    assert found is None
    assert judged(found, 30.0, 0.0)[0] == 2


@pytest.mark.parametrize("alarm", ["nan", "²", "9" * 400, "\x1b[31m", "\0"])
def test_odd_words_in_a_health_are_words(tmp_path: Path, alarm: str) -> None:
    about = {"state": "alarm", "written_s": 1.0, "pid": 1, "n_rows": 10**400, "alarms": {alarm: {alarm: alarm}}}
    (tmp_path / "health.json").write_text(json.dumps(about | {"last_row_s": float("nan"), "exit_code": alarm}))
    found = read_health(tmp_path)
    assert found is not None and judged(found, 30.0, 0.0)[1]
    assert [each.alarms for each in devices_of(tmp_path, found, 0.0)] == [{alarm: alarm}]


def test_a_source_that_is_refused_is_an_alarm_and_the_end(tmp_path: Path) -> None:
    with pytest.raises(RecordingError), Health(tmp_path) as health:
        Device(health, tmp_path)
        raise RecordingError("x.csv: it lacks the channel 'b'")
    found = stored(tmp_path)
    assert (found.state, found.exit_code, judged(found, 30.0, time.time())[0]) == ("stopped", 2, 2)
    assert list(found.alarms["d"]) == ["refused"]


def test_before_anything_is_opened_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(RecordingError), Health(tmp_path):
        raise RecordingError("no such file")
    assert list(tmp_path.iterdir()) == []
