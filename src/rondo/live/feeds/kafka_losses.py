"""KafkaLosses: which message of each device is the first after messages that the broker deleted before we read them.

That must not depend on when a process was killed, nor on which one reads the partition now. So a partition that lost
messages has a small file with the first offset of each device since, written before those messages are given:

    OUT/feed/lost/rows%2F0.json    {"partition": "rows/0", "first_offsets": {"press 7": 1042}}
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from rondo.errors import ModelError
from rondo.store.folder import make_folder, write_json
from rondo.store.reading import read_regular


class KafkaLosses:
    """The partitions that this process reads, as far as they have lost messages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "lost"
        self._first_offsets: dict[str, dict[str, int]] = {}  # of each partition, by device
        self._changed: set[str] = set()

    def load(self, partition: str) -> None:
        """This process gets the partition."""
        path = self._path(partition)
        try:
            found = json.loads(read_regular(path))["first_offsets"]
            self._first_offsets[partition] = {str(device): int(offset) for device, offset in found.items()}
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelError(
                f"{path}: expected the first messages after a loss, but {error}; put it back, or begin again with "
                "another --out"
            ) from None

    def drop(self, partition: str) -> None:
        """Another process gets it. What is not written yet was given to nobody."""
        self._first_offsets.pop(partition, None)
        self._changed.discard(partition)

    def begin(self, partition: str) -> None:
        """Messages are gone: the next one of every device comes after that."""
        self._first_offsets[partition] = {}
        self._changed.add(partition)

    def is_first(self, partition: str, device: str, offset: int) -> bool:
        """Whether this message is the first of its device since the last loss of its partition."""
        known = self._first_offsets.get(partition)
        if known is None:
            return False
        if device not in known:
            known[device] = offset
            self._changed.add(partition)
        return known[device] == offset

    def keep(self) -> None:
        """Bring what has changed to the disk."""
        for partition in sorted(self._changed):
            make_folder(self._folder)
            about = {"partition": partition, "first_offsets": self._first_offsets[partition]}
            write_json(self._path(partition), about)
        self._changed.clear()

    def _path(self, partition: str) -> Path:
        return self._folder / f"{quote(partition, safe='')}.json"
