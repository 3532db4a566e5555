"""Alarms, health and exit codes around the labelling of one stream or of many."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rondo.continual.journal import Event
from rondo.editing.edits import Edits
from rondo.errors import RecordingError, SettingError
from rondo.live.session import Counters, Written
from rondo.live.supervising.alarm_limits import DEFAULT_LIMITS, parse_alarms, parse_fail_on, parse_seconds
from rondo.live.supervising.alarms import misfit_at_end
from rondo.live.supervising.health import Health, judged, read_health, write_health
from rondo.live.supervising.supervision import STOPPED_BY_ALARM, Supervision
from rondo.run.decisions import COLUMNS, Label
from tests.live.servers import web_page
from tests.systems import needs_posix

WINDOW_S, WINDOW_FRAMES = 1.0, 50


class Device:
    """A session as far as it is watched: units come in, labels.csv grows."""

    def __init__(self, around: Supervision, folder: Path, name: str = "d", kept: int = 0) -> None:
        """With the first `kept` of its labels on the disk already."""
        self.around, self.folder, self.name = around, folder, name
        folder.mkdir(exist_ok=True)
        path = folder / "labels.csv"
        lines = path.read_text().splitlines(keepends=True)[: 1 + kept] if path.exists() else [",".join(COLUMNS) + "\n"]
        path.write_text("".join(lines))
        self.session: Any = SimpleNamespace(counters=Counters(n_rows=50 * kept, n_windows=kept), edits=Edits())
        around.begin(name, folder, self.session)

    def step(self, units: list[int], n_skipped: int = 0, events: tuple[Event, ...] = ()) -> None:
        n = self.session.counters.n_windows
        labels = [self._label(n + i, unit) for i, unit in enumerate(units)]
        with (self.folder / "labels.csv").open("a") as file:
            file.writelines(",".join(str(value) for value in label.values()) + "\n" for label in labels)
        before = self.session.counters
        self.session.counters = Counters(
            n_rows=before.n_rows + WINDOW_FRAMES * len(units),
            n_windows=n + len(units),
            n_skipped_lines=before.n_skipped_lines + n_skipped,
        )
        self.around.after(self.name, self.folder, Written(labels, list(events)), self.session)

    def _label(self, n: int, unit: int) -> Label:
        row = (WINDOW_FRAMES * n, WINDOW_FRAMES * (n + 1), n * WINDOW_S, (n + 1) * WINDOW_S, unit, 0, 0.5, 0.5)
        return dict(zip(COLUMNS, row, strict=True))


def alarms_in(folder: Path) -> list[dict[str, Any]]:
    path = folder / "alarms.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def shown(folder: Path) -> list[tuple[str, str]]:
    return [(line["alarm"], line["state"]) for line in alarms_in(folder)]


# ------------------------------------------------------------ alarms that follow from the data


@pytest.mark.parametrize("n_each", [1, 7, 100])
def test_nothing_fits_is_raised_once_and_cleared_once_whatever_the_chunks(tmp_path: Path, n_each: int) -> None:
    said: list[str] = []
    device = Device(Supervision(tmp_path, say=said.append), tmp_path)
    units = [1] * 10 + [-1] * 29 + [2] + [-1] * 35 + [3] * 5 + [-1] * 10
    for start in range(0, len(units), n_each):
        device.step(units[start : start + n_each])
    first, last = alarms_in(tmp_path)
    assert (first["alarm"], first["state"], first["frame"], first["data_s"]) == ("nothing-fits", "raised", 2000, 40.0)
    assert (last["state"], last["frame"], last["lasted_s"]) == ("cleared", 2000, 35.0)
    assert said == [
        "alarm: d: nothing-fits: no unit fits since 40.0 s, 30 s of data",
        "alarm over: d: nothing-fits: a unit fits again after 35 s of data",
    ]


def test_a_gap_in_the_data_is_not_a_time_without_a_unit(tmp_path: Path) -> None:
    device = Device(Supervision(tmp_path), tmp_path)
    device.step([1, -1])
    device.session.counters = Counters(n_rows=0, n_windows=4000)
    device.step([-1, 1])
    assert alarms_in(tmp_path) == []


@pytest.mark.parametrize("kept", [0, 15, 38, 60, 74])
def test_a_run_that_goes_on_does_not_repeat_its_alarms(tmp_path: Path, kept: int) -> None:
    units = [1] * 10 + [-1] * 40 + [2] * 10 + [-1] * 35
    promoted = Event("promote", "unit", 500, 10.0, (4,), {"support": 9.0})
    device = Device(Supervision(tmp_path), tmp_path)
    device.step(units[:75], events=(promoted,))
    before = alarms_in(tmp_path)
    said: list[str] = []
    again = Device(Supervision(tmp_path, say=said.append), tmp_path, kept=kept)
    again.step(units[kept:75], events=(promoted,))
    assert (alarms_in(tmp_path), said) == (before, [])
    again.step(units[75:])
    assert shown(tmp_path) == [
        ("nothing-fits", "raised"),
        ("nothing-fits", "cleared"),
        ("new-unit", "noted"),
        ("nothing-fits", "raised"),
    ]


def test_a_run_that_goes_on_in_alarm_is_in_alarm_and_clears_it(tmp_path: Path) -> None:
    Device(Supervision(tmp_path), tmp_path).step([-1] * 40)
    around = Supervision(tmp_path)
    device = Device(around, tmp_path, kept=40)
    around.tick(time.monotonic())
    health = read_health(tmp_path)
    assert health is not None
    assert (health.state, health.alarms) == ("alarm", {"d": ["nothing-fits"]})
    device.step([5])
    assert shown(tmp_path) == [("nothing-fits", "raised"), ("nothing-fits", "cleared")]


def test_the_stretch_that_labels_end_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondo.live.supervising.alarms._BLOCK_BYTES", 64)
    device = Device(Supervision(tmp_path), tmp_path)
    assert misfit_at_end(tmp_path / "labels.csv") is None
    device.step([-1] * 3)
    assert misfit_at_end(tmp_path / "labels.csv") == (0, 0.0, 3.0)
    device.step([1] + [-1] * 20)
    assert misfit_at_end(tmp_path / "labels.csv") == (200, 4.0, 20.0)


def test_promotions_are_noted_and_merges_are_not(tmp_path: Path) -> None:
    device = Device(Supervision(tmp_path, fail_on=[]), tmp_path)
    events = [Event(kind, "unit", 70, 1.4, (4,), {}) for kind in ("promote", "merge")]  # type: ignore[arg-type]
    device.step([1], events=tuple(events))
    assert [line["message"] for line in alarms_in(tmp_path)] == ["unit 4 is new at 1.4 s"]


# ------------------------------------------------------------ alarms of the wall clock


def test_silence_is_raised_and_cleared_with_its_length(tmp_path: Path) -> None:
    around = Supervision(tmp_path, following=True)
    device = Device(around, tmp_path)
    now = time.monotonic()
    around.tick(now + 59)
    assert alarms_in(tmp_path) == []
    around.tick(now + 61)
    around.tick(now + 90)
    assert shown(tmp_path) == [("silent", "raised")]
    device.step([1])
    assert shown(tmp_path) == [("silent", "raised"), ("silent", "cleared")]
    assert alarms_in(tmp_path)[1]["lasted_s"] >= 60


def test_silence_is_no_alarm_where_nobody_follows(tmp_path: Path) -> None:
    around = Supervision(tmp_path, following=False)
    Device(around, tmp_path)
    around.tick(time.monotonic() + 1000)
    assert alarms_in(tmp_path) == []


def test_silence_that_a_run_left_open_is_not_raised_again(tmp_path: Path) -> None:
    for _ in range(2):
        around = Supervision(tmp_path, following=True)
        device = Device(around, tmp_path)
        around.tick(time.monotonic() + 100)
    assert shown(tmp_path) == [("silent", "raised")]
    device.step([1])
    assert shown(tmp_path) == [("silent", "raised"), ("silent", "cleared")]


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    around = Supervision(tmp_path)
    device = Device(around, tmp_path)
    device.step([1, 1])
    device.step([1], n_skipped=50)
    assert alarms_in(tmp_path) == []  # half of the last 100, not more
    around.unreadable("d", 51)
    assert shown(tmp_path) == [("unreadable", "raised")]
    device.step([1])
    assert shown(tmp_path) == [("unreadable", "raised")]
    device.step([1])
    assert shown(tmp_path) == [("unreadable", "raised"), ("unreadable", "cleared")]


def test_what_waits_grows(tmp_path: Path) -> None:
    around = Supervision(tmp_path, limits=parse_alarms(["behind=5min"]))
    Device(around, tmp_path)
    now = time.monotonic()
    for minute, n_bytes in enumerate([0, 1, 2, 3, 4]):
        around.tick(now + 61 * minute, lambda n=n_bytes: 1000 * n)  # type: ignore[misc]
    assert alarms_in(tmp_path) == []
    around.tick(now + 61 * 5, lambda: 9000)
    assert [line["message"] for line in alarms_in(tmp_path)] == ["what waits has grown for 5 min 5 s, to 9 kB"]
    around.tick(now + 61 * 6, lambda: 0)
    assert shown(tmp_path) == [("behind", "raised"), ("behind", "cleared")]


def test_a_device_that_is_refused_and_comes_back(tmp_path: Path) -> None:
    around = Supervision(tmp_path)
    for _ in range(3):
        around.refused("b", "it lacks the channel 'x'")
    around.tick(time.monotonic())
    health = read_health(tmp_path)
    assert health is not None
    assert (health.state, health.n_refused, health.n_devices) == ("alarm", 1, 0)
    assert [(line["device"], line["message"]) for line in alarms_in(tmp_path)] == [("b", "it lacks the channel 'x'")]
    Device(around, tmp_path / "b", "b")
    assert shown(tmp_path) == [("refused", "raised"), ("refused", "cleared")]


def test_alarms_reach_every_sink_under_the_name_of_their_device(tmp_path: Path) -> None:
    with web_page() as page:
        around = Supervision(tmp_path, [page.address], parse_alarms(["behind=1s"]), following=True)
        devices = [Device(around, tmp_path / name, name) for name in ("a", "b")]
        devices[0].step([-1] * 30)
        around.refused("c", "no")
        around.close("stopped")
        got = [json.loads(line) for body in page.bodies for line in body.splitlines()]
    assert [(one["device"], one["n"]) for one in got if one["type"] == "label"] == [("a", n) for n in range(30)]
    alarms = {(one["device"], one["alarm"], one["n"]) for one in got if one["type"] == "alarm"}
    assert alarms == {("a", "nothing-fits", 0), ("c", "refused", 0)}


def test_a_torn_line_of_alarms_is_taken_away(tmp_path: Path) -> None:
    Device(Supervision(tmp_path), tmp_path).step([-1] * 40)
    whole = (tmp_path / "alarms.jsonl").read_bytes()
    with (tmp_path / "alarms.jsonl").open("ab") as file:
        file.write(b'{"alarm": "sil')
    Device(Supervision(tmp_path), tmp_path, kept=40)
    assert (tmp_path / "alarms.jsonl").read_bytes() == whole


# ------------------------------------------------------------ what people choose


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["nothing-fit=3s"], "did you mean 'nothing-fits'"),
        (["silent=3"], "expected a time (30s, 500ms, 5min, 1h), found '3'"),
        (["silent=0s"], "expected a time"),
        (["unreadable=3s"], "expected a share"),
        (["new-unit=3s"], "it has no limit to choose"),
    ],
)
def test_alarms_that_do_not_exist(texts: list[str], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_alarms(texts)
    assert message in str(caught.value)


def test_an_alarm_that_is_off_cannot_end_a_run() -> None:
    with pytest.raises(SettingError, match="this alarm is off"):
        parse_fail_on(["behind"], DEFAULT_LIMITS)
    with pytest.raises(SettingError, match="did you mean 'silent'"):
        parse_fail_on(["silnt"], DEFAULT_LIMITS)
    assert parse_seconds("2h", "--stale") == 7200


def test_an_alarm_ends_the_run_once(tmp_path: Path) -> None:
    around = Supervision(tmp_path, fail_on=["nothing-fits"])
    device = Device(around, tmp_path)
    device.step([-1] * 29)
    assert around.failure is None
    device.step([-1])
    assert around.failure == STOPPED_BY_ALARM
    again = Supervision(tmp_path, fail_on=["nothing-fits"])
    Device(again, tmp_path, kept=30).step([-1] * 10)
    assert again.failure is None  # it was said before: a restarted run goes on


# ------------------------------------------------------------ health


def test_health_while_it_runs_and_when_it_has_ended(tmp_path: Path) -> None:
    around = Supervision(tmp_path)
    device = Device(around, tmp_path)
    device.step([1, 2, 3])
    around.tick(time.monotonic(), lambda: 2000)
    health = read_health(tmp_path)
    assert health is not None
    assert (health.pid, health.n_rows, health.n_windows, health.backlog_bytes) == (os.getpid(), 150, 3, 2000)
    assert judged(health, 30.0, time.time()) == (0, "ok: 1 device, 150 rows, 3 windows, 2 kB behind")
    assert judged(health, 30.0, time.time() + 60)[0] == 2
    around.close("finished")
    health = read_health(tmp_path)
    assert judged(health, 30.0, time.time() + 1e6) == (0, "finished: 1 device, 150 rows, 3 windows")


@needs_posix
def test_a_process_that_is_gone_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    write_health(tmp_path, Health("ok", time.time(), pid=process.pid))
    code, words = judged(read_health(tmp_path), 30.0, time.time())
    assert (code, words.startswith(f"dead: process {process.pid} is gone")) == (2, True)


@pytest.mark.parametrize("content", ["", "[]", '{"state": "ok"}', '{"state": "good", "written_s": 1}', '{"state": 1}'])
def test_what_is_no_health(tmp_path: Path, content: str) -> None:
    (tmp_path / "health.json").write_text(content)
    assert read_health(tmp_path) is None
    assert judged(None, 30.0, 0.0)[0] == 2


def test_a_source_that_is_refused_is_an_alarm_and_the_end(tmp_path: Path) -> None:
    with pytest.raises(RecordingError), Supervision(tmp_path) as around:
        Device(around, tmp_path)
        raise RecordingError("x.csv: it lacks the channel 'b'")
    assert shown(tmp_path) == [("refused", "raised")]
    health = read_health(tmp_path)
    assert health is not None
    assert (health.state, health.exit_code, judged(health, 30.0, time.time())[0]) == ("stopped", 2, 2)


def test_before_anything_is_opened_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(RecordingError), Supervision(tmp_path):
        raise RecordingError("no such file")
    assert list(tmp_path.iterdir()) == []


@needs_posix
@pytest.mark.parametrize("is_abstract", [False, True])
def test_systemd_hears_that_it_is_ready_alive_and_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_abstract: bool
) -> None:
    if is_abstract and not sys.platform.startswith("linux"):
        pytest.skip("names without a file are Linux's own")
    name = f"@rondo-test-{os.getpid()}" if is_abstract else os.path.relpath(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", name if is_abstract else str(tmp_path / "notify"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(30)
        listener.bind(name.replace("@", "\0") if is_abstract else name)
        around = Supervision(tmp_path)
        Device(around, tmp_path)
        around.tick(time.monotonic())
        assert listener.recv(4096) == b"READY=1\nWATCHDOG=1\nSTATUS=ok: 1 device, 0 rows, 0 windows"
        around.tick(time.monotonic() + 6)
        assert listener.recv(4096).startswith(b"WATCHDOG=1")
        around.close("stopped")
        assert listener.recv(4096) == b"STOPPING=1"
