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
from rondo.files.read import read_recording
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


def assert_cut_short_anywhere(path: Path, read: Callable[[Path], Recording], file: Path | None = None) -> int:
    """Cut at each twentieth of its length, a file is refused in one line or gives the beginning of what it held.

    `file` is the one to cut, where it is not the one that is read. Returns how many of the cut files were read.
    """
    cut, whole = file or path, read(path)
    content, n_read = cut.read_bytes(), 0
    for part in range(20):
        cut.write_bytes(content[: len(content) * part // 20])
        try:
            found = read(path)
        except RecordingError as error:
            assert "\n" not in str(error)
            continue
        n_read += 1
        assert 0 < found.n_frames < whole.n_frames
        np.testing.assert_array_equal(found.values, whole.values[: found.n_frames])
    cut.write_bytes(content)
    return n_read
