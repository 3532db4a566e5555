"""MqttFeed: the messages of a topic, each exactly once from our side on.

    broker -> connection -> inbox on the disk -> confirmed to the broker -> given -> checkpoints -> settled

Messages are confirmed as soon as they are on the disk, not when they are in a checkpoint: brokers have few messages on
their way at once (mosquitto 20), and keep few that wait (mosquitto 1,000) before they drop some.

What Rondo promises begins with the broker: messages sent with QoS 1 while Rondo is away are kept there as long as its
own limits allow. Where a broker has forgotten our session, the next message of every device is after a loss.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rondo.errors import SettingError, SourceLostError
from rondo.live.address import Address, parse_address
from rondo.live.devices.messages import FeedKind, FeedRequest, Message
from rondo.live.feeds.inbox import LIMIT_BYTES, PARTITION, Inbox
from rondo.live.feeds.mqtt_connection import MqttConnection, Subscription
from rondo.live.feeds.receipts import MqttDelivery, Receipts
from rondo.live.quantities import bytes_in, seconds_in
from rondo.store.folder import make_folder, write_text
from rondo.store.reading import read_regular

_OPTIONS = ("qos", "client", "version", "retained", "inbox", "patience", "expiry")
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_AT_ONCE = 500  # messages that are given at once
_MOST_PENDING = 2000  # deliveries that wait for the disk: more than are ever confirmed late, so only QoS 0 gets there
_SHARED = "$share/"


class MqttFeed:
    """What a subscription delivers, by way of an inbox."""

    ended = False

    def __init__(self, where: str, request: FeedRequest) -> None:
        address = parse_address(where, tuple(_PORTS), _OPTIONS)
        subscription = _subscription(address, request.folder)
        patience = address.options.get("patience")
        self._patience_s = None if patience is None else seconds_in(patience, "patience")
        limit = bytes_in(address.options["inbox"], "inbox") if "inbox" in address.options else LIMIT_BYTES
        self._shown, self._say = subscription.shown, request.say
        self._inbox = Inbox(request.folder / "inbox", request.mark_of(PARTITION), limit)
        self._receipts = Receipts(self._inbox.head, self._inbox.tail)
        self._pending: list[MqttDelivery] = []
        self._changed = threading.Condition()
        self._is_closing, self._is_full = False, False
        self._failure: Exception | None = None
        try:
            self._connection = MqttConnection(subscription, self._deliver)
        except BaseException:
            self._inbox.close()
            raise
        self._writer = threading.Thread(target=self._write, name="rondo-inbox", daemon=True)
        self._writer.start()

    # ------------------------------------------------------------ from the broker to the disk

    def _deliver(self, delivery: MqttDelivery) -> None:
        """In the thread of the connection. Waiting here stops reading from the socket: the broker has to keep it."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._pending) < _MOST_PENDING or self._is_closing)
            self._pending.append(delivery)
            self._changed.notify_all()

    def _write(self) -> None:
        """In a thread of its own: all that has come goes to the disk at once, and is confirmed then."""
        try:
            while batch := self._batch():
                self._inbox.roll(self._receipts.head)
                arrivals = [self._receipts.arrival(delivery) for delivery in batch]
                self._inbox.append(arrival for arrival in arrivals if arrival is not None)
                self._connection.confirm(batch)
                with self._changed:
                    self._changed.notify_all()
        except Exception as error:  # noqa: BLE001 - `poll` raises it; a thread must not end silently
            self._failure = error

    def _batch(self) -> list[MqttDelivery]:
        """What waits for the disk, as soon as there is something, and room for it; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing or (self._pending and self._has_room()))
            batch, self._pending = self._pending, []
            self._changed.notify_all()
            return [] if self._is_closing else batch

    def _has_room(self) -> bool:
        self._is_full = self._inbox.is_full
        return not self._is_full

    # ------------------------------------------------------------ as a feed

    def poll(self, seconds: float) -> list[Message]:
        self._tell()
        messages = self._inbox.read(_AT_ONCE)
        if not messages and self._failure is None and self._connection.failure is None:
            with self._changed:
                self._changed.wait_for(lambda: self._inbox.backlog > 0 or self._failure is not None, seconds)
            messages = self._inbox.read(_AT_ONCE)
        if not messages:
            self._raise_failure()
        return messages

    def _tell(self) -> None:
        for line in self._connection.lines():
            self._say(line)
        if self._is_full != self._was_full:
            self._was_full = self._is_full
            self._say(
                f"{self._shown}: the inbox is full, the broker has to keep what comes; ?inbox=SIZE gives it more room"
                if self._is_full
                else f"{self._shown}: the inbox has room again"
            )

    _was_full = False

    def _raise_failure(self) -> None:
        failure = self._failure or self._connection.failure
        if failure is not None:
            self._tell()
            raise failure
        since, patience_s = self._connection.lost_since, self._patience_s
        if since is not None and patience_s is not None and time.monotonic() - since > patience_s:
            raise SourceLostError(
                f"{self._shown}: not connected for {patience_s:g} s ({self._connection.lost_because}); once the "
                "broker is there, start the same command again"
            )

    def settle(self, marks: Mapping[str, int]) -> None:
        if PARTITION in marks:
            self._inbox.settle(marks[PARTITION])
            with self._changed:
                self._changed.notify_all()

    @property
    def backlog(self) -> int:
        return self._inbox.backlog + len(self._pending)

    def close(self) -> None:
        """What is not on the disk was not confirmed: the broker delivers it again."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._connection.close()
        self._writer.join()
        self._inbox.close()


# ---------------------------------------------------------------- what an address says


def _subscription(address: Address, folder: Path) -> Subscription:
    options = address.options
    qos, version = int(_one_of(options, "qos", ("1", "0"))), int(_one_of(options, "version", ("5", "3")))
    retained = _one_of(options, "retained", ("0", "1")) == "1"
    if retained and version == 3:
        raise SettingError("retained=1 needs MQTT 5: version 3 sends retained messages again with every connection")
    port = _PORTS[address.scheme] if address.port is None else address.port
    topic = checked_topic(address.path)
    shown = f"{address.scheme}://{f'[{address.host}]' if ':' in address.host else address.host}:{port}/{topic}"
    return Subscription(
        shown=shown,
        host=address.host,
        port=port,
        is_secure=address.scheme == "mqtts",
        topic=topic,
        client_id=options.get("client") or _kept_client_id(folder, shown),
        device_of=partial(device_of, topic),
        qos=qos,
        version=version,
        takes_retained=retained,
        expiry_s=min(seconds_in(options.get("expiry", "7d"), "expiry"), 0xFFFF_FFFE),
    )


def _one_of(options: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    value = options.get(name, values[0])
    if value not in values:
        raise SettingError(f"{name}={value}: expected {name}={' or '.join(sorted(values))}; correct the address")
    return value


def _kept_client_id(folder: Path, shown: str) -> str:
    """By which the broker knows us again: the same as long as the folder is there, another one for another topic."""
    path = folder / "mqtt-client.txt"
    try:
        id, _, of = read_regular(path, 1 << 17).decode().strip().partition(" ")
        if of == shown and id:
            return id
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_folder(folder)
    id = f"rondo-{secrets.token_hex(8)}"
    write_text(path, f"{id} {shown}\n")
    return id


def checked_topic(topic: str) -> str:
    """
    >>> checked_topic("sensors/+/imu")
    'sensors/+/imu'
    """
    levels = topic.split("/")
    if not topic or "\0" in topic or len(topic.encode()) > 65_535:
        raise SettingError(f"expected a topic behind the host, found '{topic}'; write mqtt://host/sensors/#")
    if topic.startswith(_SHARED):
        raise SettingError(
            f"'{topic}' is shared among readers, which would tear the rows of one device apart; name the topic itself"
        )
    if any(("#" in level and (level != "#" or place < len(levels) - 1)) for place, level in enumerate(levels)):
        raise SettingError(f"'{topic}': expected # as the last level and alone, as in sensors/#")
    if any("+" in level and level != "+" for level in levels):
        raise SettingError(f"'{topic}': expected + alone in its level, as in sensors/+/imu")
    return topic


def device_of(filter: str, topic: str) -> str:
    """The device that sends to a topic: the levels from the first wildcard of the filter on, else the last level.

    >>> device_of("sensors/#", "sensors/hall/7"), device_of("a/+/imu", "a/7/imu"), device_of("a/b", "a/b")
    ('hall/7', '7/imu', 'b')
    """
    wanted, levels = filter.split("/"), topic.split("/")
    fixed = next((place for place, level in enumerate(wanted) if level in ("#", "+")), len(wanted))
    return "/".join(levels[fixed:]) or levels[-1] or topic


FEED = FeedKind(
    name="mqtt",
    address="mqtt://HOST[:PORT]/TOPIC",
    help="messages of an MQTT broker (mqtts:// with TLS), one stream for each topic below the wildcard",
    schemes=tuple(_PORTS),
    open=MqttFeed,
    order=10,
)
