"""What every source, feed and sink promises, whatever its kind; what is particular to a kind has a file of its own.

- source: any chunk size, and a restart after every chunk, give the rows of one reading of the whole;
- feed: messages in order, settled ones never again, nothing lost by closing and opening, also what came meanwhile;
- sink: batches arrive in order and are confirmed; one that is down takes or confirms nothing, names its problem, and
  has everything once it is back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondo.errors import SettingError
from rondo.live.device import DeviceRows, MessageRules
from rondo.live.inbox import Arrival, InboxFeed
from rondo.live.lsl import packed
from rondo.live.source import (
    Bookmark,
    Feed,
    FeedRequest,
    Message,
    Request,
    Sink,
    Source,
    feed_kind,
    open_sink,
    open_source,
)
from rondo.live.stdin import StandardInput
from tests.live.feeding import Asked, after_loss, assert_same, collect, read_to_end, read_with_restarts
from tests.live.mock_kafka import mock_kafka
from tests.live.mqtt_devices import sender, subscribed
from tests.live.servers import mosquitto_server, wait_until, web_page
from tests.live.test_sinks import Listener, batch, lines_of, opened, read_topic, send

broker = pytest.mark.broker

CHANNELS = ("a", "b")
LINES = st.sampled_from(["1,2", "3,4", "5,", "6", "7,8,9", "x,y", "x,1", "", "1e99,2", '"8",9'])
ROWS = ("1,2", "3,4", "5,", "x,1", "1e99,2", '"8",9')
OpenAt = Callable[[Bookmark | None], Source]


def table(lines: Sequence[str], *, ends: bool = True, clock: bool = False) -> str:
    timed = [f"{i / 10},{line}" if line and clock else line for i, line in enumerate(lines)]
    return "\n".join([("time," if clock else "") + "a,b", *timed]) + ("\n" if ends else "")


def a_file(folder: Path, lines: Sequence[str], ends: bool, clock: bool) -> OpenAt:
    (folder / "x.csv").write_text(table(lines, ends=ends, clock=clock))
    return lambda mark: open_source(str(folder / "x.csv"), Request(CHANNELS, bookmark=mark))


def a_folder(folder: Path, lines: Sequence[str], ends: bool, clock: bool) -> OpenAt:
    third = -(-len(lines) // 3)
    for i in range(0, len(lines), third):
        (folder / f"{i:03d}.csv").write_text(table(["1,2", *lines[i + (i == 0) : i + third]], ends=ends, clock=clock))
    return lambda mark: open_source(str(folder), Request(CHANNELS, bookmark=mark))


def a_pipe(folder: Path, lines: Sequence[str], ends: bool, clock: bool) -> OpenAt:
    class Pipe(StandardInput):
        def __init__(self, mark: Bookmark | None) -> None:
            self._out, into = os.pipe()
            os.write(into, table(lines, ends=ends, clock=clock).encode())
            os.close(into)
            super().__init__(Request(CHANNELS, bookmark=mark), descriptor=self._out)

        def close(self) -> None:
            os.close(self._out)

    return Pipe


def a_recording(folder: Path, lines: Sequence[str], ends: bool, clock: bool) -> OpenAt:
    values = np.arange(2.0 * len(lines)).reshape(-1, 2)
    times = {"time": np.arange(len(lines)) / 50} if clock and len(lines) > 1 else {}
    np.savez(folder / "x.npz", X=values, channels=np.array(CHANNELS), **times)
    return lambda mark: open_source(str(folder / "x.npz"), Request(CHANNELS, bookmark=mark))


SOURCES = {"file": a_file, "folder": a_folder, "standard input": a_pipe, "recorded file": a_recording}


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("kind", SOURCES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lines=st.lists(LINES, max_size=25), at_most=st.integers(1, 6), ends=st.booleans(), clock=st.booleans())
def test_neither_chunks_nor_restarts_change_what_a_source_gives(
    tmp_path_factory: pytest.TempPathFactory, kind: str, lines: list[str], at_most: int, ends: bool, clock: bool
) -> None:
    lines = ["1,2", *lines]  # a row beneath it shows that the first line is a header
    open_at = SOURCES[kind](tmp_path_factory.mktemp("source"), lines, ends, clock)
    whole = read_to_end(open_at(None), 10_000)
    assert_same(read_to_end(open_at(None), at_most), whole)
    assert_same(read_with_restarts(open_at, at_most), whole)
    if kind in ("file", "standard input"):
        assert len(whole.values) == sum(line in ROWS for line in lines)


N_ROWS = 150
SENT = np.column_stack([np.arange(N_ROWS) / 64, *(f(np.arange(N_ROWS) / 5).astype("f4") for f in (np.sin, np.cos))])
NAMES = ("time", *CHANNELS)
PAYLOADS: dict[str, Callable[[np.ndarray[Any, Any]], bytes]] = {
    "objects": lambda rows: json.dumps([dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]).encode(),
    "columns": lambda rows: json.dumps(dict(zip(NAMES, rows.T.tolist(), strict=True))).encode(),
    "csv": lambda rows: "\n".join(["time,a,b", *(",".join(map(repr, row)) for row in rows.tolist())]).encode(),
    "npy": lambda rows: packed(rows[:, 0], rows[:, 1:]),
}


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("written", PAYLOADS)
@given(cuts=st.lists(st.integers(1, N_ROWS - 1), max_size=8, unique=True), stops=st.sets(st.integers(0, 8)))
@settings(deadline=None, max_examples=25)
def test_nor_do_messages_and_restarts_change_what_a_device_gives(
    written: str, cuts: list[int], stops: set[int]
) -> None:
    messages = [
        Message("d", PAYLOADS[written](part), "p", place, float(place))
        for place, part in enumerate(np.split(SENT, sorted(cuts)))
    ]
    source, found = DeviceRows("d", MessageRules(), Request(CHANNELS, 64.0, True)), []
    for place, own in enumerate(messages):
        assert source.take(own)
        while (rows := source.read(1000)) is not None:
            found.append(rows)
        if place in stops:  # everything before it comes again, too
            kept = json.loads(json.dumps(source.bookmark()))
            source = DeviceRows("d", MessageRules(), Request(CHANNELS, 64.0, True, kept))
            assert not any(source.take(before) for before in messages[: place + 1])
    assert np.array_equal(np.concatenate([rows.values for rows in found]), SENT[:, 1:].astype(np.float32))
    assert np.array_equal(np.concatenate([rows.times_s for rows in found if rows.times_s is not None]), SENT[:, 0])
    assert not any(rows.skipped for rows in found)


Send = Callable[[list[bytes]], None]
FeedSetting = tuple[Callable[[FeedRequest], Feed], Send]


class Delivered(InboxFeed):
    """A network that has delivered everything when the feed is opened."""

    def __init__(self, sent: list[bytes], request: FeedRequest) -> None:
        super().__init__("it", request, {})
        self._inbox.append([Arrival("a", payload, 0.0) for payload in sent])
        sent.clear()

    def poll(self, seconds: float) -> list[Message]:
        return self._inbox.read(7)

    def close(self) -> None:
        self._inbox.close()


@contextmanager
def inbox_feed(folder: Path) -> Iterator[FeedSetting]:
    sent: list[bytes] = []
    yield lambda request: Delivered(sent, request), sent.extend


@contextmanager
def mqtt_feed(folder: Path, version: int = 5) -> Iterator[FeedSetting]:
    with mosquitto_server(folder, needs_mosquitto=True) as server, sender(server.port) as to:

        def open_feed(request: FeedRequest) -> Feed:
            where = f"{server.address}/s/#?version={version}"
            feed = feed_kind(where).open(where, request)  # type: ignore[union-attr]
            subscribed(feed)  # type: ignore[arg-type]
            return feed

        yield open_feed, lambda payloads: to.send_all([("s/a", payload) for payload in payloads])


@contextmanager
def kafka_feed(folder: Path) -> Iterator[FeedSetting]:
    with mock_kafka() as cluster:
        where = cluster.address("rows")
        yield (
            lambda request: feed_kind(where).open(where, request),  # type: ignore[union-attr]
            lambda payloads: cluster.send("rows", [(0, "a", payload) for payload in payloads]),
        )


FEEDS = [
    pytest.param(inbox_feed, id="inbox"),
    pytest.param(mqtt_feed, id="mqtt", marks=broker),
    pytest.param(lambda folder: mqtt_feed(folder, 3), id="mqtt 3.1.1", marks=broker),
    pytest.param(kafka_feed, id="kafka", marks=[broker, pytest.mark.slow]),
]


@pytest.mark.parametrize("setting", FEEDS)
def test_a_feed_gives_everything_in_order_and_what_is_settled_never_again(
    tmp_path: Path, setting: Callable[[Path], AbstractContextManager[FeedSetting]]
) -> None:
    payloads = [b"%d" % i for i in range(90)]
    with setting(tmp_path) as (open_feed, send_all):
        if setting is not kafka_feed:  # whose topic is there once something is in it
            open_feed(Asked(tmp_path / "feed").request).close()  # so that a broker keeps what comes for us
        send_all(payloads[:30])
        with closing(open_feed(Asked(tmp_path / "feed").request)) as first:
            found = collect(first, 30)
            assert [one.payload for one in found] == payloads[:30]
            assert {one.device for one in found} == {"a"} and sum(after_loss(found)) <= 1
            assert not first.ended
            partition, mark = found[0].partition, found[20].offset
            marks = {partition: mark}
            asked = Asked(tmp_path / "feed", marks)
            first.settle(marks)
        send_all(payloads[30:60])  # while nobody reads
        with closing(open_feed(asked.request)) as again:
            rest = collect(again, 40)
            assert rest[:10] == found[20:]
            assert [one.payload for one in rest] == payloads[20:60]
            assert [one.offset for one in rest] == list(range(mark, mark + 40))
        assert asked.revoked == []  # by `close` nothing is: whoever closes has let go of its devices before
        marks = {partition: mark + 40}
        with closing(open_feed(Asked(tmp_path / "feed", marks).request)) as last:
            last.settle(marks)
            send_all(payloads[60:])
            if setting is not inbox_feed:
                assert [one.payload for one in collect(last, 30)] == payloads[60:]
            assert (last.poll(0.3), last.backlog) == ([], 0)


class Receiver:
    """The other side of a sink: where it is, what it got, and how it goes and comes."""

    def __init__(
        self,
        where: str,
        numbers: Callable[[], list[int]],
        stop: Callable[[], None] | None = None,
        start: Callable[[], None] = lambda: None,
    ) -> None:
        self.where, self.numbers, self.stop, self.start = where, numbers, stop, start


@contextmanager
def webhook(folder: Path) -> Iterator[Receiver]:
    with pytest.MonkeyPatch.context() as patch, web_page() as page:
        patch.setattr("rondo.live.sinks._FIRST_S", 0.01)
        patch.setattr("rondo.live.sinks._LONGEST_S", 0.05)
        yield Receiver(page.address, lambda: lines_of(page.bodies), page.stop, page.start)


@contextmanager
def mqtt_topic(folder: Path) -> Iterator[Receiver]:
    with mosquitto_server(folder, persistence=True) as server:
        listener = Listener(server, "labels")
        yield Receiver(f"{server.address}/labels", lambda: listener.numbers, server.stop, server.start)
        listener.close()


@contextmanager
def kafka_topic(folder: Path) -> Iterator[Receiver]:
    with mock_kafka() as cluster:

        def numbers() -> list[int]:
            found = read_topic(cluster.server, "labels", lambda found: len(found) >= 30)
            assert {key for key, _ in found} == {"a"}
            return [message["n"] for _, message in found]

        yield Receiver(f"kafka://{cluster.server}/labels", numbers)


SINKS = [
    pytest.param(webhook, id="webhook"),
    pytest.param(mqtt_topic, id="mqtt", marks=broker),
    pytest.param(kafka_topic, id="kafka", marks=[broker, pytest.mark.slow]),
]


def arrived(sink: Sink, n_batches: int) -> None:
    wait_until(lambda: sink.n_confirmed() >= n_batches, f"{n_batches} batches confirmed")


@pytest.mark.parametrize("setting", SINKS)
def test_a_sink_gets_batches_in_order_and_what_it_missed_while_it_was_down(
    tmp_path: Path, setting: Callable[[Path], AbstractContextManager[Receiver]]
) -> None:
    with setting(tmp_path) as other, opened(other.where) as sink:
        send(sink, batch(0, 10))
        send(sink, batch(10, 20))
        arrived(sink, 2)
        assert (sink.problem, sink.n_refused) == (None, 0)
        if other.stop is not None:
            other.stop()
            if setting is webhook:
                sink.send(batch(20, 30))
            wait_until(lambda: sink.problem is not None, "a problem")
            assert (sink.is_ready(), sink.n_confirmed()) == (False, 2)
            other.start()
        if setting is not webhook:
            send(sink, batch(20, 30))
        arrived(sink, 3)
        wait_until(lambda: len(set(other.numbers())) >= 30, "30 messages")
        assert list(dict.fromkeys(other.numbers())) == list(range(30))  # MQTT may bring one twice (QoS 1)
        assert (sink.problem, sink.n_refused) == (None, 0)


@broker
@pytest.mark.parametrize("where", ["mqtt://127.0.0.1:1/labels", "kafka://127.0.0.1:1/labels"])
def test_a_sink_that_nobody_is_behind_names_its_problem_and_confirms_nothing(where: str) -> None:
    pytest.importorskip("paho.mqtt.client" if where.startswith("mqtt") else "confluent_kafka")
    with opened(where) as sink:
        if sink.is_ready():
            sink.send(batch(0, 5))
        wait_until(lambda: sink.n_confirmed() == 0 and sink.problem is not None, "a problem")


TOPICS = "", "/a/#/b", "/a#", "/a/b+", "/$share/group/a", "/a?version=4", "/a?qos=1", "/a?inbox=much"
KAFKA = "", "/a/b", "/t?from=middle", "/t?patience=long", "/t?grop=x"
NO_SINKS = "mqt://h/t mqtt://me:hunter2@h/t mqtt://h/# mqtt://h https://me:hunter2@h/t kafka://h kafka://h/t?acks=0 t"


@pytest.mark.parametrize(
    "where",
    [*(f"mqtt://127.0.0.1:1{rest}" for rest in TOPICS), *(f"kafka://127.0.0.1:1{rest}" for rest in KAFKA)],
)
def test_a_feed_that_cannot_be_is_refused(tmp_path: Path, where: str) -> None:
    refused(lambda where: feed_kind(where).open(where, Asked(tmp_path).request), where)  # type: ignore[union-attr]


@pytest.mark.parametrize("where", NO_SINKS.split())
def test_a_sink_that_cannot_be_is_refused(where: str) -> None:
    refused(open_sink, where)


def refused(open_at: Callable[[str], object], where: str) -> None:
    """In one line, which repeats no password."""
    with pytest.raises(SettingError) as caught:
        open_at(where)
    assert "\n" not in str(caught.value) and "hunter2" not in str(caught.value)
