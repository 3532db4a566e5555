"""What the tests of the readers share: a small recording, ways to store it, and the shape of a refusal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.read import parts_of_frame, read_recording
from rondo.files.reading import Reading, id_of
from rondo.files.text.layout import layout_of
from rondo.files.text.table import BLOCK_BYTES, opened_utf8, read_open_text


def read_one(path: Path, **options: Any) -> Recording:
    """The recording in one file, read with these fields of a Reading."""
    return read_recording(path, Reading(**options))


def read_in_blocks(path: Path, block_bytes: int = BLOCK_BYTES, **options: Any) -> Recording:
    """The recording in a text, read in blocks of so many bytes."""
    with opened_utf8(path) as file:
        return read_open_text(file, layout_of, id_of(path), Reading(**options), block_bytes)


def from_frame(frame: Any, reading: Reading | None = None, id: str = "recording") -> Recording:
    """The recording in a table of pandas, polars or pyarrow."""
    (recording,) = parts_of_frame(frame, reading or Reading(), id)
    return recording


VALUES = np.array([[1.5, -2.0], [np.nan, 0.25], [3.0, 1e6]], dtype=np.float32)


def refusal(read: Callable[[], object], *, naming: Path | str) -> str:
    with pytest.raises(RecordingError) as caught:
        read()
    message = str(caught.value)
    assert message.startswith(str(naming)), message
    assert "\n" not in message
    return message


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def save_h5(path: Path, **arrays: Any) -> None:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def save_array(path: Path, array: np.ndarray) -> None:
    {".npy": np.save, ".npz": lambda p, a: np.savez(p, X=a), ".h5": lambda p, a: save_h5(p, X=a)}[path.suffix](
        path, array
    )
