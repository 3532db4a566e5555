"""A format of recordings as the registry finds it: one value at the top of the file that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rondo.data.recording import Recording
from rondo.registry import Registry


@dataclass(frozen=True, kw_only=True)
class RecordingFormat:
    """How files with some suffixes are read.

    Parameters
    ----------
    name
        One word.
    suffixes
        In small letters, with the dot.
    read
        `read(path, rate=…, label_columns=…)` gives the recording, called by the file name without its suffix. Whatever
        it raises becomes one line that names the file.
    read_parts
        `read_parts(path, split_by, rate=…, label_columns=…)` gives the recordings that a column tells apart; None where
        files are no tables.
    takes_key
        Whether a file holds several recordings, so that `read` (and `read_parts`) also has a parameter `key`.
    extra
        The extra of Rondo (or the name of another package) without which it cannot be read; imported inside `read`.
    help
        What is read, for the table in the documentation.
    order
        Its place in lists, and among formats that share a suffix.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., Recording]
    read_parts: Callable[..., list[Recording]] | None = None
    takes_key: bool = False
    extra: str = ""
    help: str
    order: int = 100


RECORDING_FORMATS: Registry[RecordingFormat] = Registry(RecordingFormat, ("rondo.formats",), "rondo.recording_formats")
