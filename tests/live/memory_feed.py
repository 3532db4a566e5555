"""A feed that keeps its messages in memory, as Kafka does on its disks; and a model small enough for every test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rondo.live.fleet import DeviceStep, Fleet
from rondo.live.source import FeedKind, FeedRequest, Message
from rondo.model.rondo import Rondo

RATE = 32.0
CHANNELS = ("x", "y", "z")


class MemoryFeed:
    """The messages of a list, a few at a time, from the marks on."""

    ended = False

    def __init__(self, messages: Sequence[Message], request: FeedRequest, at_once: int) -> None:
        self.request, self.at_once = request, at_once
        partitions = {message.partition for message in messages}
        marks = {partition: request.store.mark_of(partition) or 0 for partition in partitions}
        self._ahead = [message for message in messages if message.offset >= marks[message.partition]]
        self.settled: list[dict[str, int]] = []

    def poll(self, seconds: float) -> list[Message]:
        given, self._ahead = self._ahead[: self.at_once], self._ahead[self.at_once :]
        return given

    def settle(self, marks: Mapping[str, int]) -> None:
        self.settled.append(dict(marks))

    @property
    def backlog(self) -> int:
        return len(self._ahead)

    def close(self) -> None:
        self._ahead = []


def memory_kind(messages: Sequence[Message], at_once: int = 7) -> FeedKind:
    return FeedKind(
        "memory", "memory:", "for tests", ("memory",), lambda _, request: MemoryFeed(messages, request, at_once)
    )


def signal(seed: int, n_rows: int) -> np.ndarray[Any, Any]:
    """Three kinds of movement in turn, with a clock."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat(rng.permutation(np.arange(n_rows // 96 + 1) % 3), 96)[:n_rows]
    time_s = np.arange(n_rows) / RATE
    waves = np.sin(2 * np.pi * np.array([1.0, 3.0, 6.0])[kinds] * time_s)
    values = waves[:, None] * np.array([1.0, 0.5, -1.0]) + kinds[:, None] + 0.1 * rng.standard_normal((n_rows, 3))
    return np.column_stack([time_s, values.astype(np.float32)])


def sent(device: str, rows: np.ndarray[Any, Any], n_messages: int) -> list[tuple[str, bytes]]:
    """Rows as the payloads of that many messages."""
    names = ("time", *CHANNELS)
    return [
        (device, json.dumps([dict(zip(names, row, strict=True)) for row in part.tolist()]).encode())
        for part in np.array_split(rows, n_messages)
    ]


def numbered(payloads: Sequence[tuple[str, bytes]], partition: str = "p") -> list[Message]:
    return [
        Message(device, payload, partition, place, float(place)) for place, (device, payload) in enumerate(payloads)
    ]


@cache
def small_model(folder: Path) -> tuple[Rondo, Path]:
    """Fitted on a minute of movement, and stored."""
    import rondo

    rows = signal(0, 6000)
    recording = rondo.Recording(rows[:, 1:], RATE, CHANNELS, "known")
    model = Rondo(window="1s").fit(recording)
    model.save(folder)
    return Rondo.load(folder), folder


def run_to_end(fleet: Fleet, n_steps: int | None = None) -> list[DeviceStep]:
    """All that is written, or that many steps."""
    steps: list[DeviceStep] = []
    while fleet.feed.backlog and n_steps != 0:
        steps += fleet.step(0.0)
        n_steps = None if n_steps is None else n_steps - 1
    return steps


def files_of(out: Path) -> dict[str, bytes]:
    """What must not depend on how often the fleet was begun."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.name in ("labels.csv", "events.jsonl")
    }
