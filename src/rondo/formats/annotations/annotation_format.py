"""A format of annotations as the registry finds it: one value at the top of the file that reads and writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rondo.formats.annotations.exported import Export
from rondo.formats.annotations.tracks import Track
from rondo.registry import Registry


@dataclass(frozen=True, kw_only=True)
class AnnotationFormat:
    """How the files of one program are read and written.

    Parameters
    ----------
    name
        As in `rondo export --format NAME`.
    program
        What the files are for, as its makers write it.
    suffixes
        Of the files; the first one for those that are written.
    read
        Every track of a file. None: such files are only written.
    recognises
        Whether a file with one of the suffixes is of this format, where others have the suffix too.
    write
        The contents of the files. By the recording (and what else tells them apart) where `one_per_recording`;
        otherwise by what takes the place of the suffix, "" for the file itself. None: such files are only read.
    needs_seconds
        Whether it knows nothing but time, so that recordings without a rate cannot be written.
    order
        Its place in lists, and among formats that share a suffix.
    """

    name: str
    program: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], list[Track]] | None = None
    recognises: Callable[[Path], bool] = lambda path: True
    write: Callable[[Export], Mapping[str, bytes]] | None = None
    one_per_recording: bool = False
    needs_seconds: bool = False
    order: int = 100


ANNOTATION_FORMATS: Registry[AnnotationFormat] = Registry(
    AnnotationFormat, ("rondo.formats.annotations",), "rondo.annotation_formats"
)
