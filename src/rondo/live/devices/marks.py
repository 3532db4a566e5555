"""Marks: of each partition of a feed, the first message that is needed still; one small file each, written whole.

Two processes that share the partitions of a feed share the folder: who gets a partition finds its mark there.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from rondo.errors import ModelError
from rondo.store.folder import make_folder, write_json
from rondo.store.reading import read_regular

_MOST_BYTES = 4096


class Marks:
    """What is on the disk, and what was put there last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[str, int] = {}

    def of(self, partition: str) -> int | None:
        """From the disk: another process may have had the partition."""
        path = self._path(partition)
        try:
            offset = json.loads(read_regular(path, _MOST_BYTES))["offset"]
            if type(offset) is not int or offset < 0:
                raise ValueError("no offset in it")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ModelError(
                f"{path}: expected the mark of a partition, but {error}; put it back, or begin again with another --out"
            ) from None
        self._written[partition] = offset
        return offset

    def put(self, marks: dict[str, int]) -> dict[str, int]:
        """Bring those that have changed to the disk; gives them."""
        changed = {name: offset for name, offset in marks.items() if self._written.get(name) != offset}
        if changed:
            make_folder(self._folder)
        for partition, offset in changed.items():
            write_json(self._path(partition), {"partition": partition, "offset": offset})
            self._written[partition] = offset
        return changed

    def _path(self, partition: str) -> Path:
        return self._folder / f"{quote(partition, safe='')}.json"
