"""A folder that parts of a run are put into, each whole or not at all: of this machine, or in a bucket."""

from __future__ import annotations

from typing import Protocol


class PartFolder(Protocol):
    """Files by their names relative to the folder, as `labels/a.npy`."""

    @property
    def url(self) -> str:
        """Where it is."""

    def names(self, under: str = "") -> set[str]:
        """Of the files that are whole, in all of it or under one folder of it."""

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all; a file of that name is replaced."""

    def read(self, name: str) -> bytes:
        """FileNotFoundError where there is none."""

    def remove(self, name: str) -> None:
        """Take a file away."""
