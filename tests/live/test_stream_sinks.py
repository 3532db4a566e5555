"""`rondo stream` with sinks, and `rondo health`: what arrives, however often the run is killed."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.live import session
from rondo.run.decisions import COLUMNS
from tests.cli.killing import Killer
from tests.cli.running import Command, waves, write_csv
from tests.live.mock_kafka import mock_kafka
from tests.live.servers import mosquitto_server, wait_until, web_page
from tests.live.test_sinks import Found, Listener, read_topic
from tests.systems import needs_posix

N_ROWS = 1500


@pytest.fixture
def fake(fake: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "CHUNK_ROWS", 50)


@pytest.fixture
def rows(here: Path) -> Path:
    return write_csv(here / "day.csv", waves(N_ROWS, seed=5))


def messages(bodies: Iterable[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for body in bodies for line in body.splitlines()]


def labels_of(out: Path) -> list[str]:
    return (out / "labels.csv").read_text().splitlines()[1:]


def events_of(out: Path) -> list[Any]:
    return [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]


def check_that_all_arrived(got: list[dict[str, Any]], out: Path) -> int:
    """Every label and event of the files, and nothing else; repeats have the same content. How many repeats."""
    kept: dict[tuple[str, int], dict[str, Any]] = {}
    found = [one for one in got if one["type"] in ("label", "event")]
    for one in found:
        assert kept.setdefault((one["type"], one["n"]), one) == one
    lines = {n: one for (type, n), one in kept.items() if type == "label"}
    assert [",".join(str(lines[n][name]) for name in COLUMNS) for n in range(len(lines))] == labels_of(out)
    events = {n: one for (type, n), one in kept.items() if type == "event"}
    own = ("type", "device", "n")
    assert [{k: v for k, v in events[n].items() if k not in own} for n in range(len(events))] == events_of(out)
    return len(found) - len(kept)


@pytest.mark.usefixtures("fake")
def test_a_webhook_gets_what_the_files_hold_once(rondo: Command, here: Path, rows: Path, model: Path) -> None:
    with web_page() as page:
        command = ("stream", model, "--source", rows, "--out", "out", "--sink", page.address)
        assert rondo(*command).code == 0
        assert check_that_all_arrived(messages(page.bodies), here / "out") == 0
        n_requests = page.n_requests
        assert rondo(*command).code == 0  # finished, and everything has arrived
        assert page.n_requests == n_requests


@pytest.mark.usefixtures("fake")
def test_a_sink_that_was_away_gets_everything_from_the_same_command(
    rondo: Command, here: Path, rows: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondo.live.health._PATIENCE_S", 0.5)
    with web_page() as page:
        page.stop()
        command = ("stream", model, "--source", rows, "--out", "out", "--sink", page.address)
        done = rondo(*command)
        assert done.code == 0
        assert "arrived (http://127.0.0.1: no answer" in done.err
        page.start()
        assert rondo(*command).code == 0
        assert check_that_all_arrived(messages(page.bodies), here / "out") == 0


@pytest.mark.usefixtures("fake")
def test_json_goes_on_after_what_was_printed(
    rondo: Command, here: Path, rows: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = here / "part" / "day.csv"
    part.parent.mkdir()
    part.write_text("".join(rows.read_text().splitlines(keepends=True)[:700]))
    command = ("stream", model, "--source", part, "--out", "out", "--sink", "-")
    real = session.Session.step

    def stopping(self: session.Session) -> object:
        written = real(self)
        if self.counters.n_rows >= 500:
            os.kill(os.getpid(), signal.SIGTERM)
        return written

    with monkeypatch.context() as patched:
        patched.setattr(session.Session, "step", stopping)
        first = rondo(*command)
    assert first.code == 0 and "stopped after" in first.err
    part.write_text(rows.read_text())
    second = rondo(*command)
    assert second.code == 0
    got = [json.loads(line) for line in (first.out + second.out).splitlines()]
    assert check_that_all_arrived(got, here / "out") == 0
    assert got[-1]["type"] == "summary"


def test_sinks_and_alarms_that_cannot_be_leave_nothing(rondo: Command, here: Path, rows: Path, model: Path) -> None:
    for option, value, message in (
        ("--sink", "mqt://h/t", "did you mean mqtt://?"),
        ("--sink", "mqtt://me:hunter2@h/t", "set RONDO_MQTT_USERNAME"),
        ("--silent", "soon", "expected a time"),
    ):
        done = rondo("stream", model, "--source", rows, "--out", "out", option, value)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert message in done.err
        assert "hunter2" not in done.err
        assert not (here / "out").exists()


def kill_until_done(killer: Killer, command: list[object], out: Path, after: Callable[[int], None]) -> None:
    """Kill again and again once labels.csv has grown by a random number of bytes, until one run comes to its end."""
    rng, n_kills, n_bytes = np.random.default_rng(3), 0, 0
    while (code := killer.rondo(*command, "--out", out, once=(out / "labels.csv", n_bytes))) == -signal.SIGKILL:
        size = (out / "labels.csv").stat().st_size if (out / "labels.csv").exists() else 0
        n_kills, n_bytes = n_kills + 1, size + int(rng.integers(2000, 6000))
        after(n_kills)
    assert code == 0, killer.err.read_text()
    assert n_kills >= 2


def nothing(_: int) -> None:
    """Between two runs."""


@pytest.mark.slow
@needs_posix
def test_a_webhook_misses_nothing_of_a_run_that_is_killed(here: Path, rows: Path, model: Path) -> None:
    with web_page() as page, Killer(here, "fake") as killer:
        command: list[object] = ["stream", model, "--source", rows]
        kill_until_done(killer, [*command, "--sink", page.address], here / "out", nothing)
        check_that_all_arrived(messages(page.bodies), here / "out")


@pytest.mark.slow
@needs_posix
@pytest.mark.broker
def test_mqtt_misses_nothing_of_a_run_and_a_broker_that_are_killed(here: Path, rows: Path, model: Path) -> None:
    with mosquitto_server(here, persistence=True) as server, Killer(here, "fake") as killer:
        listener = Listener(server, "labels/+")

        def restart_the_broker(n_kills: int) -> None:
            if n_kills % 2:
                server.stop()  # which brings to the disk what it has acknowledged
                server.start()

        sink = f"{server.address}/labels/{{device}}"
        command: list[object] = ["stream", model, "--source", rows]
        kill_until_done(killer, [*command, "--sink", sink], here / "out", restart_the_broker)
        n_labels = len(labels_of(here / "out"))

        def is_there() -> bool:
            return len({one["n"] for _, one in list(listener.got) if one["type"] == "label"}) == n_labels

        wait_until(is_there, f"{n_labels} labels")
        time.sleep(0.2)  # events come behind them
        listener.close()
        assert {topic for topic, _ in listener.got} == {"labels/day"}
        check_that_all_arrived([message for _, message in listener.got], here / "out")


@pytest.mark.slow
@needs_posix
@pytest.mark.broker
def test_kafka_misses_nothing_of_a_run_that_is_killed(here: Path, rows: Path, model: Path) -> None:
    with mock_kafka() as cluster, Killer(here, "fake") as killer:
        command: list[object] = ["stream", model, "--source", rows]
        kill_until_done(killer, [*command, "--sink", f"kafka://{cluster.server}/labels"], here / "out", nothing)
        n_lines = len(labels_of(here / "out")) + len(events_of(here / "out"))

        def is_all(found: Found) -> bool:  # some came twice
            return len({(one["type"], one["n"]) for _, one in found}) >= n_lines

        found = read_topic(cluster.server, "labels", is_all)
        assert {key for key, _ in found} == {"day"}
        check_that_all_arrived([message for _, message in found], here / "out")


@pytest.mark.slow
@needs_posix
def test_health_of_a_run_that_follows_falls_silent_and_is_killed(here: Path, rows: Path, model: Path) -> None:
    with Killer(here, "fake") as killer:
        order = ["stream", model, "--source", rows, "--follow", "--out", here / "out", "--silent", "500ms"]
        alarm = "alarm: day: silent: no row for"
        assert killer.rondo(*order, until=alarm) == -signal.SIGKILL
        assert alarm in killer.err.read_text()
        assert killer.rondo("health", here / "out") == 2
        assert "dead: process" in killer.out.read_text()


def test_health_of_what_is_no_stream(rondo: Command, here: Path) -> None:
    done = rondo("health", "nowhere", "--json")
    about = json.loads(done.out)
    assert (done.code, about["exit_code"], about["health"]) == (2, 2, None)
    assert rondo("health", here, "--stale", "soon").code == 2


def test_health_lists_the_devices_of_a_fleet(rondo: Command, here: Path) -> None:
    about = {"state": "finished", "written_s": 1.0, "pid": 1, "alarms": {"hall 2/pump": {"silent": "no row"}}}
    for name in ("press", "hall 2%2Fpump", "begun"):
        (here / "live" / "devices" / name).mkdir(parents=True)
    (here / "live" / "health.json").write_text(json.dumps(about), encoding="utf-8")
    for name in ("press/summary.json", "press/labels.csv", "hall 2%2Fpump/summary.json"):
        (here / "live" / "devices" / name).write_text("")
    done = rondo("health", "live")
    assert (done.code, done.out.splitlines()[1]) == (0, "  hall 2/pump: alarm (silent: no row), no label yet")
    assert done.out.splitlines()[2].startswith("  press: ok, last label ")
    devices = json.loads(rondo("health", "live", "--json").out)["devices"]
    assert [(it["device"], list(it["alarms"])) for it in devices] == [("hall 2/pump", ["silent"]), ("press", [])]
