"""Where the numbers of an HDF5 dataset lie: in this file, or in others that whoever sends it has chosen."""

from __future__ import annotations

from typing import Any

from rondo.errors import RecordingError


def lies_elsewhere(dataset: Any) -> bool:
    """Whether the numbers of a dataset are in other files."""
    return bool(dataset.is_virtual or dataset.id.get_create_plist().get_external_count())


def refuse_elsewhere(dataset: Any, name: str) -> None:
    """Refuse a dataset whose numbers are in other files."""
    if lies_elsewhere(dataset):
        raise RecordingError(
            f"the numbers of dataset '{name}' lie in other files (external or virtual storage), and only this one is "
            "read; copy them into it"
        )
