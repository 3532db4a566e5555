"""Files and folders -> Recordings: what `rondo.read`, `rondo.discover` and every command read their input with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rondo.data.recording import Recording
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.store.urls import as_location


class Reading(NamedTuple):
    """How files become recordings: what every command and call that reads takes, as `read` explains it."""

    rate: float | None = None
    key: str | None = None
    label_columns: Sequence[str] = ()
    split_by: str | None = None
    session: bool = False


def read(
    path: str | Path | Sequence[str | Path],
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
    split_by: str | None = None,
    keep_columns: Sequence[str] = (),
    session: bool = False,
) -> Recording | list[Recording]:
    """Read recordings from files.

    A file, or a folder that is one session, is one Recording. Other folders, patterns and lists give a list.

    Parameters
    ----------
    path : path, or sequence of paths
        A file of any format that Rondo reads (docs/files.md lists them), a folder of files, a pattern ("days/*.csv"), a
        URL of these ("s3://bucket/days/*.csv"; extra `cloud`), or a list of them.
    rate : float or None
        Frames per second, for files without a clock. For a session, the rate of the merged recording.
    key : str or None
        The array, stream or sheet, in files that hold several.
    label_columns : sequence of str
        Columns that are not channels. For a session, also tables to leave out.
    split_by : str or None
        A column that separates the recordings in one table, such as a subject; the result is then a list. The column of
        the clock splits where the clock goes back.
    keep_columns : sequence of str
        Columns that are channels, although their names or values look like labels, ids or counters. For a session, also
        slow tables to include.
    session : bool
        Read each folder as one session: its tables are merged by their clocks into one Recording. Folders of Empatica
        E4, phyphox and Sensor Logger are recognised without it.

    Returns
    -------
    Recording or list of Recording
        One Recording for a file or a session, else a list.

    Raises
    ------
    RecordingError
        If a file cannot be read; the message names the file.
    SettingError
        If `session` and `split_by` are both given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "day1.csv").write_text("x,y\\n0.5,1.5\\n0.25,1.0\\n1.0,0.5\\n", encoding="utf-8")
    ...     read(Path(folder, "day1.csv"), rate=50)
    Recording('day1', 3 frames x 2 channels, 50 Hz)
    """
    from rondo.formats.files import find_recordings, read_recording  # brings the readers of all formats
    from rondo.formats.kept_columns import with_kept

    label_columns = with_kept(label_columns, keep_columns)
    if isinstance(path, str | Path):
        place = as_location(path)
        if find_recordings([path], session=session) == [place] and split_by is None:  # else says what was meant
            found = read_recording(place, rate=rate, key=key, label_columns=label_columns, session=session)
            return found.read_from(place)
    paths = [path] if isinstance(path, str | Path) else path
    return read_files(paths, Reading(rate, key, label_columns, split_by, session))


def read_files(paths: Sequence[str | Path], reading: Reading) -> list[Recording]:
    """The recordings of these files, and of the files directly in these folders or matching these patterns."""
    from rondo.formats.expected_memory import refuse_all_at_once
    from rondo.formats.file_names import id_of
    from rondo.formats.files import find_recordings, label_files_in, read_parts, read_recording
    from rondo.formats.recording_file import RecordingFile

    rate, key, label_columns, split_by, session = reading
    if session and split_by is not None:
        raise SettingError("--session merges tables into one recording, --split-by cuts them into several; give one")
    places = [as_location(path) for path in paths]
    files = find_recordings(places, session=session)
    for labels in (file for place in places if place not in files for file in label_files_in(place)):
        warnings.warn(f"{labels}: labels of the recording beside it; not read", RondoWarning, stacklevel=3)
    refuse_all_at_once([RecordingFile(str(file), id_of(file), rate, key).expected() for file in files])
    found = []
    for file in files:
        try:
            if split_by is not None:
                parts = read_parts(file, split_by, rate=rate, key=key, label_columns=label_columns)
            else:
                parts = [read_recording(file, rate=rate, key=key, label_columns=label_columns, session=session)]
            found += [part.read_from(file) for part in parts]
        except RecordingError as error:
            if file in places:
                raise
            raise RecordingError(f"{error}; if it is no recording, name the files to read and not the folder") from None
    return found
