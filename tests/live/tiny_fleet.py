"""A stand-in for the fleet, small enough to be right: what a feed gives, in one file per device, each message once.

    python -m tests.live.tiny_fleet ADDRESS OUT CHANNEL...

A device has `taken.txt`, a line per message, and a checkpoint that counts its bytes and the offsets in it; a process
that opens a device cuts the file back to its checkpoint, as a session does. The checkpoints of all devices are written
after every few messages and when partitions are given back, then the marks of the partitions, then `settle`. One
process at a time has a device, by a lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import sys
import zlib
from collections.abc import Collection
from pathlib import Path

from rondo.live.inbox import FeedStore
from rondo.live.source import FeedRequest, Message, feed_kind

RATE = 50.0


class Device:
    """Lines of one device."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        with (folder / "readers.txt").open("a") as readers:
            readers.write(f"{os.getpid()}\n")
        self._checkpoint = folder / "checkpoint.json"
        about = json.loads(self._checkpoint.read_text()) if self._checkpoint.exists() else {"n_bytes": 0, "offsets": {}}
        self.offsets: dict[str, int] = about["offsets"]
        self._file = (folder / "taken.txt").open("ab")
        self._file.truncate(about["n_bytes"])

    def take(self, message: Message) -> None:
        if message.offset < self.offsets.get(message.partition, 0):
            return
        self.offsets[message.partition] = message.offset + 1
        text = message.payload.decode() if message.payload.isascii() else f"crc {zlib.crc32(message.payload)}"
        self._file.write(f"{text}{' after-loss' if message.is_after_loss else ''}\n".encode())

    def save(self) -> None:
        self._file.flush()
        n_bytes = os.fstat(self._file.fileno()).st_size
        _write(self._checkpoint, {"n_bytes": n_bytes, "offsets": self.offsets})

    def close(self) -> None:
        self._file.close()
        self._lock.close()


class TinyFleet:
    """Devices and marks below a folder."""

    def __init__(self, where: str, out: Path, channels: tuple[str, ...]) -> None:
        self._out, self._devices, self._ahead = out, dict[str, Device](), dict[str, int]()
        kind = feed_kind(where)
        assert kind is not None
        self._store = FeedStore(out / "feed")
        self.feed = kind.open(where, FeedRequest(self._store, channels, RATE, self._revoked, self._say))

    def _say(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def _revoked(self, partitions: Collection[str]) -> None:
        self.save()
        for name in [name for name, device in self._devices.items() if set(partitions) & set(device.offsets)]:
            self._devices.pop(name).close()
        for partition in partitions:
            self._ahead.pop(partition, None)

    def take(self, messages: list[Message]) -> None:
        for message in messages:
            if message.device not in self._devices:
                self._devices[message.device] = Device(self._out / "devices" / message.device)
            self._devices[message.device].take(message)
            self._ahead[message.partition] = message.offset + 1

    def save(self) -> None:
        for device in self._devices.values():
            device.save()
        self._store.put_marks(self._ahead)

    def settle(self) -> None:
        self.feed.settle(self._ahead)


def _write(path: Path, value: object) -> None:
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(value))
    draft.replace(path)


def main() -> None:
    where, out, *channels = sys.argv[1:]
    fleet, chance = TinyFleet(where, Path(out), tuple(channels)), random.Random(os.getpid())
    is_asked_to_stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: is_asked_to_stop.append(number))
    while not is_asked_to_stop:
        messages = fleet.feed.poll(0.05)
        while messages:  # a checkpoint may come anywhere, also between two messages of one poll
            n_taken = chance.randint(1, 40)
            fleet.take(messages[:n_taken])
            messages = messages[n_taken:]
            if chance.random() < 0.3:
                fleet.save()
                fleet.settle()
        if chance.random() < 0.1:  # the last ones are settled too
            fleet.save()
            fleet.settle()
    fleet.save()
    fleet.settle()
    fleet.feed.close()


if __name__ == "__main__":
    main()
