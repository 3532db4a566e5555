"""`rondo stream --source kafka://...` as processes: killed at any moment, the files are those of an undisturbed run."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from rondo.live.inbox import FeedStore
from tests.live.memory_feed import files_of, sent, signal, small_model
from tests.live.mock_kafka import MockKafka, mock_kafka
from tests.live.rondo_process import Begin, RondoProcess, n_labels, rondo_processes, wait_for

pytestmark = [pytest.mark.broker, pytest.mark.slow]

DEVICES = ("a", "b", "c", "d")  # a and c in partition 0, b and d in 2
N_MESSAGES = 240  # of each device, 25 rows each


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockKafka]:
    with mock_kafka() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model") / "m")[1]


@pytest.fixture(scope="module", autouse=True)
def _short_sessions() -> Iterator[None]:
    """So that the partitions of a killed reader are free soon; the mock broker lets a group wait for 3 s."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RONDO_KAFKA_SESSION_TIMEOUT_MS", "4500")
        patch.setenv("RONDO_KAFKA_HEARTBEAT_INTERVAL_MS", "300")
        yield


@pytest.fixture
def begin() -> Iterator[Begin]:
    with rondo_processes() as begin:
        yield begin


Keyed = tuple[int, str | None, bytes | None]


@pytest.fixture(scope="module")
def messages() -> list[Keyed]:
    """Of four devices in turn, over two partitions; of two processes one gets 0 and 1, the other 2 and 3."""
    payloads = [sent(name, signal(i + 1, 25 * N_MESSAGES), N_MESSAGES) for i, name in enumerate(DEVICES)]
    turns = zip(*payloads, strict=True)
    return [(place % 2 * 2, device, payload) for turn in turns for place, (device, payload) in enumerate(turn)]


def is_kept(out: Path) -> bool:
    """Whether every message is in a checkpoint."""
    if not (out / "feed" / "feed.sqlite").exists():
        return False
    with closing(FeedStore(out / "feed")) as store:
        marks = store.rows("SELECT value FROM known WHERE name LIKE 'mark %'")
    return sum(int(mark) for (mark,) in marks) == len(DEVICES) * N_MESSAGES


@pytest.fixture(scope="module")
def expected(
    cluster: MockKafka, model: Path, messages: list[Keyed], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """What a run writes that nothing disturbs."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    cluster.send("undisturbed", messages)
    with rondo_processes() as begin:
        process = begin(model, cluster.address("undisturbed"), out)
        wait_for(lambda: is_kept(out), "all messages", process)
        process.stop()
    found = files_of(out)
    assert {name.split("/")[0] for name in found} == set(DEVICES)
    assert min(own.count(b"\n") for name, own in found.items() if name.endswith("csv")) > 200
    return found


def portions(messages: list[Keyed], n: int) -> list[list[Keyed]]:
    """The messages in so many parts, so that there are some in every phase of a test, however busy the machine."""
    ends = [round(i * len(messages) / n / 8) * 8 for i in range(n)] + [len(messages)]
    return [messages[start:stop] for start, stop in pairwise(ends)]


def finish(out: Path, *running: RondoProcess) -> None:
    wait_for(lambda: is_kept(out), "all messages", *running)
    for process in running:
        process.stop()


def test_killed_at_random_moments(
    cluster: MockKafka,
    model: Path,
    messages: list[Keyed],
    expected: dict[str, bytes],
    begin: Begin,
    tmp_path: Path,
) -> None:
    chance, out, where = random.Random(5), tmp_path / "out", cluster.address("killed")
    *some, last = portions(messages, 7)
    for part in some:
        cluster.send("killed", part)
        n_before, process = n_labels(out), begin(model, where, out)
        wait_for(lambda n=n_before: n_labels(out) != n, "new labels", process)
        time.sleep(chance.uniform(0, 2))
        process.kill()
    cluster.send("killed", last)
    finish(out, begin(model, where, out))
    assert files_of(out) == expected


def test_two_processes_share_the_partitions(
    cluster: MockKafka,
    model: Path,
    messages: list[Keyed],
    expected: dict[str, bytes],
    begin: Begin,
    tmp_path: Path,
) -> None:
    """The second one comes, is killed, comes again and goes; each time partitions change hands."""
    chance, out, where = random.Random(6), tmp_path / "out", cluster.address("shared")

    def n_deals(process: RondoProcess) -> int:
        return process.notes.count("this process reads")

    some, *parts, last = portions(messages, 5)
    cluster.send("shared", some)
    first = begin(model, where, out)
    wait_for(lambda: n_labels(out) > 0, "labels of the first", first)
    for end, part in zip(("kill", "stop", "kill"), parts, strict=True):
        n_before, second = n_deals(first), begin(model, where, out)
        wait_for(lambda second=second: n_deals(second), "partitions of the second", first, second)
        wait_for(lambda n=n_before: n_deals(first) > n, "a rebalance", first, second)
        cluster.send("shared", part)
        wait_for(lambda second=second: "2 devices, " in second.notes, "devices of the second", first, second)
        time.sleep(chance.uniform(0, 3))
        n_before = n_deals(first)
        second.stop() if end == "stop" else second.kill()
        wait_for(lambda n=n_before: n_deals(first) > n, "all partitions for the first", first)
    cluster.send("shared", last)
    finish(out, first)
    assert files_of(out) == expected


def test_one_that_sleeps_keeps_its_devices_until_it_wakes(
    cluster: MockKafka,
    model: Path,
    messages: list[Keyed],
    expected: dict[str, bytes],
    begin: Begin,
    tmp_path: Path,
) -> None:
    """The broker takes it for dead and gives its partitions away while it still has the files of the devices open."""
    out, where = tmp_path / "out", cluster.address("asleep")
    cluster.send("asleep", messages[:400])
    first = begin(model, where, out)
    wait_for(lambda: n_labels(out) > 20, "labels of the first", first)
    first.sleep()
    second = begin(model, where, out)
    wait_for(lambda: "this process reads" in second.notes, "partitions of the second", second)
    time.sleep(3)  # it wants the devices of the sleeping one
    first.wake()
    cluster.send("asleep", messages[400:])
    finish(out, first, second)
    assert files_of(out) == expected
