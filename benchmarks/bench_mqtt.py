"""Messages per second from an MQTT broker, by way of the inbox on the disk, up to where the fleet takes over.

    mosquitto -c FILE               # FILE: listener 18830 127.0.0.1, allow_anonymous true, max_queued_messages 0
    python benchmarks/bench_mqtt.py mqtt://127.0.0.1:18830 SCRATCH [--messages 20000]

The broker is filled while nobody reads; then the time is taken until all messages are on the disk, confirmed and given.
One row of 9 channels in a message, and 50. SCRATCH is emptied afterwards.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from contextlib import closing
from pathlib import Path

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from rondo.live.address import parse_address
from rondo.live.inbox import FeedStore
from rondo.live.mqtt import MqttFeed
from rondo.live.source import FeedRequest

N_DEVICES, N_CHANNELS = 10, 9


def fill(where: str, topic: str, payload: bytes, n_messages: int) -> None:
    """Publish with QoS 1, and return when the broker has all of them."""
    address = parse_address(where, ["mqtt"])
    sender = mqtt.Client(CallbackAPIVersion.VERSION2)
    sender.max_inflight_messages_set(1000)
    sender.connect(address.host, address.port or 1883)
    sender.loop_start()
    for sent in [sender.publish(f"{topic}/{place % N_DEVICES}", payload, 1) for place in range(n_messages)]:
        sent.wait_for_publish(600)
    sender.disconnect()
    sender.loop_stop()


def opened(where: str, folder: Path) -> MqttFeed:
    return MqttFeed(where, FeedRequest(FeedStore(folder), (), None, lambda _: None, lambda _: None))


def measure(where: str, folder: Path, n_rows: int, n_messages: int) -> None:
    row = {"time": 1234.56} | {f"c{place}": round(0.123456 * place, 6) for place in range(N_CHANNELS)}
    payload = json.dumps(row if n_rows == 1 else [row] * n_rows).encode()
    topic = f"bench/{time.time_ns()}"
    with closing(opened(f"{where}/{topic}/#", folder)) as feed:
        while not feed._connection.is_subscribed:
            feed.poll(0.1)
    fill(where, topic, payload, n_messages)
    began, used, n_given = time.perf_counter(), time.process_time(), 0
    with closing(opened(f"{where}/{topic}/#", folder)) as feed:
        while n_given < n_messages:
            n_given += len(feed.poll(1.0))
        took, used = time.perf_counter() - began, time.process_time() - used
    print(
        f"{n_rows:3d} rows in a message of {len(payload):,} bytes: {n_messages / took:,.0f} messages/s, "
        f"{n_messages * n_rows / took:,.0f} rows/s, {1e6 * used / n_messages:.0f} us of CPU for a message"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where")
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--messages", type=int, default=20_000)
    given = parser.parse_args()
    for n_rows in (1, 50):
        try:
            measure(given.where, given.scratch / f"rows-{n_rows}", n_rows, given.messages)
        finally:
            shutil.rmtree(given.scratch / f"rows-{n_rows}", ignore_errors=True)


if __name__ == "__main__":
    main()
