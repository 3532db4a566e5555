"""How many messages a second the Kafka feed gives, from librdkafka's mock cluster on loopback.

    python -m benchmarks.bench_kafka_feed

Messages of 50 rows in 9 channels, as packed arrays and as JSON: 8,000 over four partitions, of which the mock broker
keeps 5 MB each. A real broker is behind a network; what is measured is our side: librdkafka, and a Python call each.
"""

from __future__ import annotations

import io
import json
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from rondo.live.inbox import FeedStore
from rondo.live.kafka import FEED
from rondo.live.source import FeedRequest
from tests.live.mock_kafka import MockKafka, mock_kafka

N_ROWS, N_CHANNELS, N_DEVICES, N_PARTITIONS, N_REPEATS = 50, 9, 200, 4, 5
PARTITION_BYTES = 5_000_000


def payload_of(kind: str) -> bytes:
    rows = np.random.default_rng(0).standard_normal((N_ROWS, N_CHANNELS)).astype(np.float32)
    if kind == "json":
        return json.dumps(np.round(rows, 4).astype(float).round(4).tolist()).encode()
    content = io.BytesIO()
    np.save(content, rows)
    return content.getvalue()


def seconds_for(cluster: MockKafka, topic: str, n_messages: int, folder: Path) -> float:
    """From the first message to the last."""
    request = FeedRequest(FeedStore(folder), (), None, lambda _: None, lambda _: None)
    n_given, start = 0, 0.0
    with closing(FEED.open(cluster.address(topic), request)) as feed:
        while n_given < n_messages:
            given = feed.poll(0.1)
            start = time.perf_counter() if given and not n_given else start
            n_given += len(given)
        return time.perf_counter() - start


def main() -> None:
    with mock_kafka() as cluster:
        for kind in ("packed", "json"):
            payload = payload_of(kind)
            n_messages = N_PARTITIONS * min(2000, PARTITION_BYTES // (len(payload) + 100))
            cluster.send(kind, [(i % N_PARTITIONS, f"device-{i % N_DEVICES}", payload) for i in range(n_messages)])
            seconds = []
            for _ in range(N_REPEATS):
                with tempfile.TemporaryDirectory() as folder:
                    seconds.append(seconds_for(cluster, kind, n_messages, Path(folder)))
            rates = sorted(n_messages / one for one in seconds)
            print(
                f"{kind}: {len(payload):,} bytes each, {n_messages:,} messages; {rates[0]:,.0f} to {rates[-1]:,.0f} "
                f"messages/s, median {rates[len(rates) // 2]:,.0f}"
            )


if __name__ == "__main__":
    main()
