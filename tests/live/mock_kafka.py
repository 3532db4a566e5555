"""librdkafka's mock cluster in a process of its own, so that it can be stopped, and outlives the readers.

    python -m tests.live.mock_kafka

Topics are made by the first message, with 4 partitions; a partition keeps its last 5 MB.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class MockKafka:
    """One broker on loopback."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.live.mock_kafka"]
        root = Path(__file__).parents[2]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
        assert self.process.stdout is not None
        self.server = self.process.stdout.readline().strip()
        assert self.server, "the mock cluster did not start"
        self.host, _, port = self.server.partition(":")
        self.port = int(port)

    def address(self, topic: str, **options: str) -> str:
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"kafka://{self.server}/{topic}" + (f"?{query}" if query else "")

    def send(self, topic: str, messages: Iterable[tuple[int, str | None, bytes | None]]) -> None:
        """Messages as (partition, key, payload), all of them in the log when this returns."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.server, "linger.ms": 5, "log_level": 0})
        failed: list[Any] = []
        for partition, key, payload in messages:
            about: dict[str, Any] = {"on_delivery": lambda error, _: failed.append(error) if error else None}
            producer.produce(topic, payload, key, partition, **about)
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed, failed[0]

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """What the group has committed."""
        from confluent_kafka import Consumer, TopicPartition

        about = {"bootstrap.servers": self.server, "group.id": group, "log_level": 0}
        watcher = Consumer(about)
        found = watcher.committed([TopicPartition(topic, number) for number in range(4)], timeout=30)
        watcher.close()
        return {place.partition: place.offset for place in found if place.offset >= 0}

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def mock_kafka() -> Iterator[MockKafka]:
    pytest.importorskip("confluent_kafka")
    cluster = MockKafka()
    try:
        yield cluster
    finally:
        cluster.kill()


def main() -> None:
    from confluent_kafka import Producer

    owner = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = owner.list_topics(timeout=60).brokers.values()
    sys.stdout.write(f"{broker.host}:{broker.port}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it is gone


if __name__ == "__main__":
    main()
