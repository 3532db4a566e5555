"""Which files go into one task: small ones together, for a task costs more than reading them; large ones alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

BATCH_BYTES = 1 << 24
"""Of values in one task: about a second of work."""

BATCH_FILES = 256
"""What is done again after a kill, at most, in each worker."""


class FileBatch(NamedTuple):
    """Files [first, past) of the run; a part is named after it."""

    first: int
    past: int

    @property
    def name(self) -> str:
        """As in the names of its parts.

        >>> FileBatch(12, 15).name
        '0000012-0000015'
        """
        return f"{self.first:07d}-{self.past:07d}"

    @classmethod
    def named(cls, name: str) -> FileBatch:
        """The batch of a part of this name, whatever its folder and suffix."""
        first, past = name.rpartition("/")[2].partition(".")[0].split("-")
        return cls(int(first), int(past))


def batches_of(places: Sequence[int], n_bytes: Sequence[int]) -> list[FileBatch]:
    """Runs of the files at these places, up to a size and a number; `n_bytes` is expected of every file of the run.

    >>> batches_of([0, 1, 2, 5], [1, 2, BATCH_BYTES, 0, 0, 3])
    [FileBatch(first=0, past=2), FileBatch(first=2, past=3), FileBatch(first=5, past=6)]
    """
    found: list[FileBatch] = []
    held = 0
    for place in places:
        held += n_bytes[place]
        last = found[-1] if found else FileBatch(-1, -1)
        if last.past == place and held <= BATCH_BYTES and place - last.first < BATCH_FILES:
            found[-1] = FileBatch(last.first, place + 1)
        else:
            found.append(FileBatch(place, place + 1))
            held = n_bytes[place]
    return found
