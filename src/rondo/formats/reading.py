"""Files and folders -> Recordings: what `rondo.read`, `rondo.discover` and every command read their input with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from rondo.data.recording import Recording
from rondo.errors import RecordingError, RondoWarning
from rondo.store.urls import as_location


def read(
    path: str | Path | Sequence[str | Path],
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
    split_by: str | None = None,
    keep_columns: Sequence[str] = (),
) -> Recording | list[Recording]:
    """Read a file as one Recording; a folder, a pattern, or a list of files and folders, as a list of them.

    Parameters
    ----------
    path : a file of any format that Rondo reads (the table is in docs/files.md), a folder of files, a pattern
        ("days/*.csv"), a URL of these ("s3://bucket/days/*.csv"; extra `cloud`), or a list of them.
    rate : frames per second, for files without a clock.
    key : the array, stream or sheet, in files that hold several.
    label_columns : columns that are not channels.
    split_by : a column that tells the recordings in one text table apart, as a subject does: they come as a list.
        The clock's own column cuts where the clock goes back.
    keep_columns : columns that are channels, though their names or values look like labels, ids or counters.

    Raises
    ------
    RecordingError : in one line, naming the file.
    """
    from rondo.formats.files import find_recordings  # brings the readers of all formats
    from rondo.formats.kept_columns import with_kept

    label_columns = with_kept(label_columns, keep_columns)
    if isinstance(path, str | Path):
        place = as_location(path)
        if find_recordings([path]) == [place] and split_by is None:  # else says what was probably meant
            return Recording.from_file(place, rate=rate, key=key, label_columns=label_columns)
    paths = [path] if isinstance(path, str | Path) else path
    return read_files(paths, rate=rate, key=key, label_columns=label_columns, split_by=split_by)


def read_files(
    paths: Sequence[str | Path],
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
    split_by: str | None = None,
) -> list[Recording]:
    """The recordings of these files, and of the files directly in these folders or matching these patterns."""
    from rondo.formats.expected_memory import refuse_all_at_once
    from rondo.formats.file_names import id_of
    from rondo.formats.files import find_recordings, label_files_in, read_parts, read_recording
    from rondo.formats.recording_file import RecordingFile

    places = [as_location(path) for path in paths]
    files = find_recordings(places)
    for labels in (file for place in places if place not in files for file in label_files_in(place)):
        warnings.warn(f"{labels}: labels of the recording beside it; not read", RondoWarning, stacklevel=3)
    refuse_all_at_once([RecordingFile(str(file), id_of(file), rate, key).expected() for file in files])
    found = []
    for file in files:
        try:
            if split_by is not None:
                found += read_parts(file, split_by, rate=rate, key=key, label_columns=label_columns)
                continue
            found.append(read_recording(file, rate=rate, key=key, label_columns=label_columns).read_from(file))
        except RecordingError as error:
            if file in places:
                raise
            raise RecordingError(f"{error}; if it is no recording, name the files to read and not the folder") from None
    return found
