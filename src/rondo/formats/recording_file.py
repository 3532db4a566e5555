"""RecordingFile: a recording that is still in its file. It is small, and can be sent to where it will be read."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.file_names import TEXT_SUFFIXES, id_of, is_folder, packing_of, suffix_of
from rondo.formats.locations import size_of
from rondo.store.urls import is_url

_NUMBER_BYTES = 4  # of a value in memory
_UNPACKED = 2.0  # of formats whose headers are not read here: whole numbers of 16 bits become twice as large


class ExpectedSize(NamedTuple):
    """What a recording will be, from its header alone; frames and channels are None where only the size tells."""

    n_frames: int | None
    n_channels: int | None
    n_bytes: int  # of its values in memory


@dataclass(frozen=True)
class RecordingFile:
    """One file or object, the id that its recording gets, and how it is to be read."""

    url: str
    id: str
    rate: float | None = None
    key: str | None = None
    label_columns: tuple[str, ...] = ()
    session: bool = False  # whether a folder is one session, whatever is in it

    def read(self) -> Recording:
        """The recording; whatever is wrong with the file is a RecordingError of one line that names it."""
        from rondo.formats.files import read_recording  # brings the readers of all formats

        found = read_recording(
            self.url, rate=self.rate, key=self.key, label_columns=self.label_columns, session=self.session
        )
        own = found if found.id == self.id else found.renamed(self.id)
        return own.read_from(self.url)

    def expected(self) -> ExpectedSize:
        """From the header of arrays, Parquet and WFDB, else from the size of the file or of the tables of a session."""
        suffix = suffix_of(self.url)
        with suppress(OSError, ValueError, KeyError, RecordingError, zipfile.BadZipFile):  # reading it will say why
            if not is_url(self.url):
                if is_folder(self.url):
                    return _of_session(Path(self.url))
                if suffix == ".npy":
                    with Path(self.url).open("rb") as file:
                        return _of_array(file)
                if suffix == ".npz":
                    return self._of_archive()
                if suffix == ".parquet":
                    return _of_parquet(Path(self.url))
                if suffix == ".hea":
                    return _of_wfdb(Path(self.url))
                if packing_of(self.url):
                    return _of_packed(Path(self.url))
        factor = 1.0 if suffix in TEXT_SUFFIXES else _UNPACKED
        with suppress(RecordingError):
            return ExpectedSize(None, None, int(factor * size_of(self.url)))
        return ExpectedSize(None, None, 0)

    def _of_archive(self) -> ExpectedSize:
        from rondo.formats.numpy_files import chosen_array

        with zipfile.ZipFile(self.url) as archive, archive.open(f"{chosen_array(archive, self.key)}.npy") as member:
            return _of_array(member)


def recording_files(
    paths: Sequence[str | Path],
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
    session: bool = False,
) -> list[RecordingFile]:
    """The files named, those directly in the folders named, and those that match a pattern; ids are their names."""
    from rondo.formats.files import find_recordings

    found = map(str, find_recordings(paths, session=session))
    return [RecordingFile(url, id_of(url), rate, key, tuple(label_columns), session) for url in found]


def _of_session(folder: Path) -> ExpectedSize:
    """At most: each of its tables gets as many rows as the longest one has."""
    tables = [RecordingFile(str(file), "") for file in folder.iterdir() if file.is_file()]
    sizes = [table.expected().n_bytes for table in tables]
    return ExpectedSize(None, None, len(sizes) * max(sizes, default=0))


def _of_packed(path: Path) -> ExpectedSize:
    from rondo.formats.packed_text import expected_text_bytes

    return ExpectedSize(None, None, expected_text_bytes(path))


def _of_wfdb(path: Path) -> ExpectedSize:
    from rondo.formats.wfdb import expected_shape

    n_frames, n_channels = expected_shape(path)
    return ExpectedSize(n_frames, n_channels, _NUMBER_BYTES * n_frames * n_channels)


def _of_array(stream: IO[bytes]) -> ExpectedSize:
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, _ = readers[version](stream)
    n_frames, n_channels = shape if len(shape) == 2 else (math.prod(shape), 1)
    return ExpectedSize(n_frames, n_channels, _NUMBER_BYTES * n_frames * n_channels)


def _of_parquet(path: Path) -> ExpectedSize:
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        table = pl.scan_parquet(path.resolve(), glob=False, hive_partitioning=False)
        n_channels, n_frames = len(table.collect_schema()), int(table.select(pl.len()).collect().item())
    except (PolarsError, PanicException) as error:
        raise RecordingError(str(error)) from None
    return ExpectedSize(n_frames, n_channels, _NUMBER_BYTES * n_frames * n_channels)
