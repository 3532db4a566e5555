"""MqttFeed in a process that is killed at any moment, while the broker may stop too."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.live.mqtt_devices import Sender, sender
from tests.live.servers import mosquitto_server, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]


READER = """
import json, random, sys, time
from pathlib import Path
from rondo.live.inbox import FeedStore
from rondo.live.mqtt import MqttFeed
from rondo.live.source import FeedRequest
where, folder, chance = sys.argv[1], Path(sys.argv[2]), random.Random(int(sys.argv[3]))
kept = folder / "kept.jsonl"  # stands for the checkpoints: all before the mark, once
lines = kept.read_text().splitlines(keepends=True) if kept.exists() else []
lines = [line for line in lines if line.endswith("\\n")]
kept.write_text("".join(lines))
mark = json.loads(lines[-1])[0] + 1 if lines else None
store = FeedStore(folder / "feed")
if mark is not None:
    store.put_marks({"inbox": mark})
feed = MqttFeed(where, FeedRequest(store, (), None, lambda _: None, lambda _: None))
while not feed._connection.is_subscribed:
    time.sleep(0.01)
print("ready", flush=True)
while True:
    messages = feed.poll(0.1)
    with kept.open("a") as file:
        for message in messages:
            file.write(json.dumps([message.offset, message.device, message.payload.decode()]) + "\\n")
    if messages and chance.random() < 0.5:
        feed.settle({"inbox": messages[-1].offset + 1})
"""


class Reader:
    """A process that reads, and can be killed and started again."""

    def __init__(self, where: str, folder: Path) -> None:
        self._where, self._folder, self._n_starts = where, folder, 0
        folder.mkdir()
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", READER, self._where, str(self._folder), str(self._n_starts)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        self._n_starts += 1

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    close = kill


def kept(folder: Path) -> list[list[Any]]:
    text = (folder / "kept.jsonl").read_text() if (folder / "kept.jsonl").exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [False, True])
def test_kill_9_at_any_moment_loses_nothing_and_doubles_nothing(tmp_path: Path, restarts: bool) -> None:
    """The payloads are few and come again and again: a message is not known by what is in it."""
    chance, folder = random.Random(int(restarts)), tmp_path / "reader"
    sent: list[tuple[str, str]] = []
    is_over = threading.Event()

    def send_on(to: Sender) -> None:
        while not is_over.wait(0.001):
            sent.append((f"{len(sent) % 3}", str(chance.randrange(4))))
            to.send(f"s/{sent[-1][0]}", sent[-1][1].encode())

    with (
        mosquitto_server(tmp_path, persistence=True) as server,
        closing(Reader(f"{server.address}/s/#", folder)) as reader,
        sender(server.port) as to,
    ):
        sending = threading.Thread(target=send_on, args=(to,))
        sending.start()
        for n_kill in range(1, 13):
            time.sleep(chance.random() * 0.6)
            reader.kill()
            if restarts and n_kill % 3 == 0:
                with to.between:
                    server.stop()
                    server.start()
            reader.start()
        is_over.set()
        sending.join()
        wait_until(lambda: len(kept(folder)) >= len(sent), "all messages")
        time.sleep(0.5)
    assert [(device, payload) for _, device, payload in kept(folder)] == sent
