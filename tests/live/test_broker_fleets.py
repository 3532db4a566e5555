"""`rondo stream` of a broker, as processes: none lost, none twice, whoever is killed, put to sleep or restarted."""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rondo.live import fleet as fleet_module
from rondo.live import session
from rondo.live.fleet import Fleet
from tests.live.lsl_outlet import Outlet, OutletPlan, configure
from tests.live.memory_feed import (
    CHANNELS,
    RATE,
    files_of,
    memory_kind,
    numbered,
    run_to_end,
    sent,
    signal,
    small_model,
)
from tests.live.mock_kafka import MockKafka, mock_kafka
from tests.live.mqtt_devices import sender
from tests.live.rondo_process import Begin, RondoProcess, n_labels, rondo_processes, wait_for
from tests.live.servers import mosquitto_server

pytestmark = [
    pytest.mark.broker,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning"),
]
Sent = Sequence[tuple[str, bytes]]
DEVICES = ("a", "hall/7", "c", "d")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model") / "m")[1]


@pytest.fixture(scope="module")
def messages() -> Sent:
    """Of four devices in turn."""
    payloads = [sent(name, signal(seed, 4000), 160) for seed, name in enumerate(DEVICES, start=1)]
    return [message for turn in zip(*payloads, strict=True) for message in turn]


@pytest.fixture(scope="module")
def expected(model: Path, messages: Sent, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a fleet writes that gets every message once, in order, in one go and without a broker."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet_module, "feed_kind", lambda where: memory_kind(numbered(messages)))
        patch.setattr(session, "WINDOWS_BETWEEN", 40)
        with closing(Fleet(*small_model(model), "memory:", out)) as fleet:
            run_to_end(fleet)
            fleet.stop()
    found = files_of(out)
    assert len(found) == 2 * len(DEVICES)
    assert all(content.count(b"\n") > 200 for name, content in found.items() if name.endswith("csv"))
    return found


@pytest.fixture
def begin() -> Iterator[Begin]:
    with rondo_processes() as begin:
        yield begin


def finish(out: Path, expected: Mapping[str, bytes], *running: RondoProcess) -> None:
    """Wait until there is as much as is expected, stop, and compare."""

    def is_all() -> bool:
        found = files_of(out)
        return all(len(found.get(name, b"")) >= len(content) for name, content in expected.items())

    wait_for(is_all, f"as many labels in {out}", *running)
    time.sleep(2.0)  # for labels that would be there twice
    for process in running:
        process.stop()
    assert files_of(out) == expected


def test_mqtt_through_kills_of_us_and_restarts_of_the_broker(
    tmp_path: Path, model: Path, messages: Sent, expected: dict[str, bytes], begin: Begin
) -> None:
    chance, out = random.Random(18), tmp_path / "out"

    def send(part: Sent) -> None:
        for device, payload in part:
            to.send(f"sensors/{device}", payload)
            time.sleep(0.02)

    def connected(process: RondoProcess) -> None:
        wait_for(lambda: "connected as" in process.notes, "a connection", process)

    with mosquitto_server(tmp_path, persistence=True) as server, sender(server.port) as to:
        where = f"{server.address}/sensors/#"
        process = begin(model, where, out)
        connected(process)
        for place in range(0, len(messages), 80):
            sending = threading.Thread(target=send, args=(messages[place : place + 80],))
            sending.start()
            if place % 3 != 2:  # else it is killed while it starts, or has much to catch up with
                connected(process)
            if place // 80 % 2:
                with to.between:
                    server.stop()
                    time.sleep(chance.random())
                    server.start()
            time.sleep(chance.random() * 1.5)
            process.kill()
            process = begin(model, where, out)
            sending.join()
        connected(process)
        finish(out, expected, process)


class Topic:
    """A topic of Kafka over two partitions; of two processes one gets 0 and 1, the other 2 and 3."""

    def __init__(self, cluster: MockKafka, name: str) -> None:
        self._cluster, self._name, self.where = cluster, name, cluster.address(name)

    def send(self, part: Sent) -> None:
        keyed = [(DEVICES.index(device) % 2 * 2, device, payload) for device, payload in part]
        self._cluster.send(self._name, keyed)


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topic]:
    # so that the partitions of a killed reader are free soon; the mock broker lets a group wait for 3 s
    monkeypatch.setenv("RONDO_KAFKA_SESSION_TIMEOUT_MS", "4500")
    monkeypatch.setenv("RONDO_KAFKA_HEARTBEAT_INTERVAL_MS", "300")
    with mock_kafka() as cluster:
        yield Topic(cluster, "rows")


def portions(messages: Sent, n: int) -> list[Sent]:
    """The messages in so many parts, so that there are some in every phase of a test, however busy the machine."""
    ends = [round(i * len(messages) / n / 8) * 8 for i in range(n)] + [len(messages)]
    return [messages[start:stop] for start, stop in pairwise(ends)]


def test_kafka_killed_at_random_moments(
    topic: Topic, model: Path, messages: Sent, expected: dict[str, bytes], begin: Begin, tmp_path: Path
) -> None:
    chance, out = random.Random(5), tmp_path / "out"
    *some, last = portions(messages, 6)
    for part in some:
        topic.send(part)
        n_before, process = n_labels(out), begin(model, topic.where, out)
        wait_for(lambda n=n_before: n_labels(out) != n, "new labels", process)
        time.sleep(chance.uniform(0, 2))
        process.kill()
    topic.send(last)
    finish(out, expected, begin(model, topic.where, out))


def test_kafka_two_processes_share_the_partitions(
    topic: Topic, model: Path, messages: Sent, expected: dict[str, bytes], begin: Begin, tmp_path: Path
) -> None:
    """The second one comes, is killed, comes again and goes; each time partitions change hands."""
    chance, out = random.Random(6), tmp_path / "out"

    def n_deals(process: RondoProcess) -> int:
        return process.notes.count("this process reads")

    some, *parts, last = portions(messages, 4)
    topic.send(some)
    first = begin(model, topic.where, out)
    wait_for(lambda: n_labels(out) > 0, "labels of the first", first)
    for end, part in zip(("kill", "stop"), parts, strict=True):
        n_before, second = n_deals(first), begin(model, topic.where, out)
        wait_for(lambda second=second: n_deals(second), "partitions of the second", first, second)
        wait_for(lambda n=n_before: n_deals(first) > n, "a rebalance", first, second)
        topic.send(part)
        wait_for(lambda second=second: "2 devices, " in second.notes, "devices of the second", first, second)
        time.sleep(chance.uniform(0, 3))
        n_before = n_deals(first)
        second.stop() if end == "stop" else second.kill()
        wait_for(lambda n=n_before: n_deals(first) > n, "all partitions for the first", first)
    topic.send(last)
    finish(out, expected, first)


def test_kafka_one_that_sleeps_keeps_its_devices_until_it_wakes(
    topic: Topic, model: Path, messages: Sent, expected: dict[str, bytes], begin: Begin, tmp_path: Path
) -> None:
    """The broker takes it for dead and gives its partitions away while it still has the files of the devices open."""
    out = tmp_path / "out"
    topic.send(messages[:320])
    first = begin(model, topic.where, out)
    wait_for(lambda: n_labels(out) > 20, "labels of the first", first)
    first.sleep()
    second = begin(model, topic.where, out)
    wait_for(lambda: "this process reads" in second.notes, "partitions of the second", second)
    time.sleep(3)  # it wants the devices of the sleeping one
    first.wake()
    topic.send(messages[320:])
    finish(out, expected, first, second)


def test_lsl_killed_and_started_again_is_a_boundary_in_the_journal(
    tmp_path: Path, model: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pylsl")
    monkeypatch.setenv("LSLAPICFG", str(configure(tmp_path)))
    device, out = f"imu-{uuid.uuid4().hex[:12]}", tmp_path / "out"
    np.save(tmp_path / "rows.npy", signal(3, round(600 * RATE))[:, 1:])
    plan = OutletPlan(device, CHANNELS, rate=RATE, source_id=device, signal=str(tmp_path / "rows.npy"))

    def spans() -> list[list[int]]:
        lines = (out / "devices" / device / "labels.csv").read_text().splitlines()[1:]
        return [[int(cell) for cell in line.split(",")[:2]] for line in lines]

    with closing(Outlet(plan)):
        process = begin(model, f"lsl:{device}", out)
        wait_for(lambda: n_labels(out) > 15, "labels", process)
        process.kill()
        n_before, n_frames = n_labels(out), spans()[-1][1]
        process = begin(model, f"lsl:{device}", out)
        wait_for(lambda: n_labels(out) > n_before, "labels after the restart", process)
        process.stop()
    events = [json.loads(line) for line in (out / "devices" / device / "events.jsonl").read_text().splitlines()]
    (lost,) = [event for event in events if event["evidence"].get("cause") == "messages were lost before this one"]
    assert (lost["kind"], lost["frame"] >= n_frames) == ("gap", True)  # what was labelled before the kill is not lost
    ends = [0] + [end for _, end in spans()]
    assert [start for start, _ in spans()] == ends[:-1]  # without a hole
    assert lost["frame"] in ends  # everything before the boundary has its label
