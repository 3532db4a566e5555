"""Paths, tables, arrays and Recordings -> Recordings with ids that differ: the input of every call and command."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError, RondoWarning
from rondo.files.poses import as_bodies, as_one_body
from rondo.files.reading import Reading, id_of, reading_at
from rondo.forks import refuse_forked
from rondo.memory import ExpectedSize, refuse_all_at_once
from rondo.store.locations import as_location
from rondo.wording import pace_in_words

RATE_TOLERANCE = 0.01  # recordings whose rates differ by less share one vocabulary


def as_recordings(data: Any, reading: Reading | None = None) -> list[Recording]:
    """One or many paths, folders, arrays, tables or Recordings as a list of Recordings with ids that differ.

    Files are in the order of their ids, as in a folder; what is in memory is in the order given. A mapping gives ids.
    """
    refuse_forked()
    reading = reading or Reading()
    data = _as_held(data)
    if isinstance(data, Mapping):
        return _by_id(data, reading)
    items = list(data) if are_several(data) else [data]
    if not items:
        raise RecordingError("no recording was given; expected at least one")
    if all(isinstance(item, str | Path) for item in items):
        recordings = read_files(items, reading)
    else:
        ids = ["recording" if len(items) == 1 else f"recording{place}" for place in range(len(items))]
        recordings = [own for item, id in zip(items, ids, strict=True) for own in _in_list(item, id, reading)]
    if reading.poses is not None:
        recordings = as_bodies(recordings, reading)
    named = [
        each if each.id != "recording" or len(recordings) == 1 else each.renamed(f"recording{place}")
        for place, each in enumerate(recordings)
    ]
    ids = [recording.id for recording in named]
    return _with_own_ids(named)


def _with_own_ids(recordings: list[Recording]) -> list[Recording]:
    ids = [recording.id for recording in recordings]
    twice = next((id for id in ids if ids.count(id) > 1), None)
    if twice is not None:
        raise RecordingError(f"two recordings have the id '{twice}'; ids must differ (files: the name without suffix)")
    return recordings


def _by_id(given: Mapping[Any, Any], reading: Reading) -> list[Recording]:
    """Recordings under the ids that a mapping gives them; those that a column splits begin with the id."""
    flat = next((id for id, item in given.items() if not _is_recording(item)), None)
    if not given or flat is not None:
        found = "an empty mapping" if not given else f"{type(given[flat]).__name__} under {flat!r}"
        raise RecordingError(
            "a mapping gives recordings by their ids: expected tables, arrays (n_frames, n_channels) or paths, got "
            f"{found}; for the columns of one recording give pandas.DataFrame(...)"
        )
    recordings = []
    for id, item in given.items():
        own = _in_list(item, str(id), reading)
        recordings += [own[0].renamed(str(id))] if len(own) == 1 else own
    return _with_own_ids(recordings)


def _is_recording(item: Any) -> bool:
    """Whether it can be nothing else, such as a column."""
    return isinstance(item, str | Path | Recording) or len(getattr(item, "shape", ())) == 2


def as_chunks(rows: Any) -> Iterable[Any]:
    """Rows of a stream as they come: what is one recording already is one chunk."""
    is_whole = isinstance(rows, str | Path | Recording | np.ndarray) or hasattr(rows, "columns")
    return as_recordings(rows) if is_whole else rows


def rows_in_table(rows: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Any:
    """Rows with the names of their columns, or columns of values, as a table.

    >>> rows_in_table([{"x": 1, "y": None}, {"x": 2, "y": 0.5}]).shape
    (2, 2)
    """
    import polars as pl

    try:
        return pl.DataFrame(rows, infer_schema_length=None)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RecordingError(f"expected rows with the same columns, got {reprlib.repr(rows)} ({reason})") from None


def _as_held(data: Any) -> Any:
    """What an iterator gives as a list, rows of numbers as an array, rows with names as a table; else as it is."""
    data = _rows_of_numbers(list(data) if isinstance(data, Iterator) else data)
    are_rows = isinstance(data, list | tuple) and len(data) > 0 and all(isinstance(row, Mapping) for row in data)
    return rows_in_table(data) if are_rows else data


def _rows_of_numbers(data: Any) -> Any:
    """Lists of numbers, one per frame, as an array; everything else as it is."""
    first = data[0] if isinstance(data, list | tuple) and data else None
    cells = first if isinstance(first, list | tuple) else (first,)
    kinds = {isinstance(cell, Number) for cell in cells if cell is not None}
    if kinds != {True}:
        return data
    try:
        return np.array(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RecordingError(f"expected numbers, as many in every row, got {reprlib.repr(data)} ({error})") from None


def are_several(data: Any) -> bool:
    """Whether a list was given."""
    return isinstance(data, Sequence) and not isinstance(data, str)


def _in_list(data: Any, id: str, reading: Reading) -> list[Recording]:
    """The recordings in one item of a list."""
    if isinstance(data, str | Path):
        return read_files([data], reading)
    if reading.split_by is not None and isinstance(data, Recording | np.ndarray | Sequence):
        raise RecordingError(
            f"there is no column '{reading.split_by}' in an array or a Recording; give a table or a file"
        )
    if isinstance(data, Recording):
        if reading.rate is None or same_rate(data.rate, reading.rate):
            return [data]
        if data.rate is None:
            return [replace(data, rate=reading.rate)]
        raise RecordingError(
            f"recording '{data.id}' has {in_hertz(data.rate)}, but the rate was given as {in_hertz(reading.rate)}; "
            "leave the rate out, or resample the recording (rondo.data.resample)"
        )
    if isinstance(data, np.ndarray):
        return [Recording(data, reading.rate)]
    if isinstance(data, Sequence):
        raise RecordingError(
            "expected a recording, an array or a table, got a list within the list; give recordings in one flat list, "
            "values as an array (n_frames, n_channels)"
        )
    from rondo.files.read import parts_of_frame  # brings the readers of all formats

    return parts_of_frame(data, reading, id if reading.split_by is not None else "recording")


def common_rate(
    recordings: Sequence[Recording],
    expected: float | None = None,
    advice: str = "resample it (rondo.data.resample), or give one --rate for all",
) -> float | None:
    """The rate that all recordings have, or `expected`; another is refused with the advice."""
    rate = expected if expected is not None else recordings[0].rate
    wanted = "expected" if expected is not None else f"and '{recordings[0].id}' has"
    for recording in recordings:
        if not same_rate(recording.rate, rate):
            raise RecordingError(
                f"recording '{recording.id}' has {in_hertz(recording.rate)}, {wanted} {in_hertz(rate)}; {advice}"
            )
    return rate


def same_rate(some: float | None, other: float | None) -> bool:
    """Whether two rates can share one vocabulary; none is like none only."""
    if some is None or other is None:
        return some is other
    return abs(some / other - 1) <= RATE_TOLERANCE


def in_hertz(rate: float | None) -> str:
    """A rate for people."""
    return "no sampling rate" if rate is None else pace_in_words(rate, "g")


@dataclass(frozen=True)
class RecordingFile:
    """A recording that is still in its file, under the id that it will get; it can be sent to other machines."""

    url: str
    id: str
    reading: Reading = field(default_factory=Reading)

    def read(self) -> Recording:
        """The recording; whatever is wrong with the file is a RecordingError of one line that names it."""
        from rondo.files.read import read_recording  # brings the readers of all formats

        recording = read_recording(self.url, self.reading)
        named = recording if recording.id == self.id else recording.renamed(self.id)
        return named if self.reading.poses is None else as_one_body(named, self.reading)

    def expected(self) -> ExpectedSize:
        """From the header where the format has one, else from the size of the file or of the tables of a session."""
        from rondo.files.read import expected_size

        return expected_size(self.url, self.reading)


def recording_files(paths: Sequence[str | Path], reading: Reading | None = None) -> list[RecordingFile]:
    """The files named, those directly in the folders named, and those that match a pattern; ids are their names."""
    from rondo.files.read import find_recordings

    reading = reading or Reading()
    found = map(str, find_recordings(paths, session=reading.session))
    return [RecordingFile(url, id_of(url), reading) for url in found]


def read(data: Any, reading: Reading | None = None, *, rate: float | None = None) -> Recording | list[Recording]:
    """Read recordings from files, or take them from a table.

    A file, a table, or a folder that is one session is one Recording. Other folders, patterns and lists give a list.

    Parameters
    ----------
    data : path, table, or sequence of paths
        A file of any format that Rondo reads (docs/files.md lists them), a folder of files, a pattern ("days/*.csv"), a
        URL of these ("s3://bucket/days/*.csv"; extra `cloud`), a list of them, or a pandas, polars or pyarrow table. A
        mapping gives recordings by their ids, a list of mappings is the rows of one.
    reading : Reading or None
        Which columns are channels, how a table is split, and all else that `rondo.Reading` holds.
    rate : float or None
        Frames per second, for files without a clock: short for Reading(rate=...).

    Returns
    -------
    Recording or list of Recording
        One Recording for a file, a table or a session, else a list.

    Raises
    ------
    RecordingError
        If a file cannot be read; the message names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "day1.csv").write_text("x,y\\n0.5,1.5\\n0.25,1.0\\n1.0,0.5\\n", encoding="utf-8")
    ...     read(Path(folder, "day1.csv"), rate=50)
    Recording('day1', 3 frames x 2 channels, 50 Hz)
    >>> import polars as pl
    >>> read(pl.DataFrame({"x": [0.5, 0.25, 1.0], "y": [1.5, 1.0, 0.5]}), rate=50)
    Recording('recording', 3 frames x 2 channels, 50 Hz)
    """
    from rondo.files.read import find_recordings, read_recording  # brings the readers of all formats

    reading = reading_at(reading, rate)
    if isinstance(data, str | Path):
        place = as_location(data)
        if find_recordings([data], session=reading.session) == [place] and reading.split_by is None:
            return read_recording(place, reading)
        return read_files([data], reading)
    data = _as_held(data)
    recordings = as_recordings(data, reading)
    several = are_several(data) or isinstance(data, Mapping) or reading.split_by is not None
    return recordings if several or len(recordings) > 1 else recordings[0]


def read_files(paths: Sequence[str | Path], reading: Reading) -> list[Recording]:
    """The recordings of these files, and of the files directly in these folders or matching these patterns."""
    from rondo.files.read import expected_size, find_recordings, label_files_in, read_parts, read_recording

    places = [as_location(path) for path in paths]
    files = find_recordings(places, session=reading.session)
    for labels in (file for place in places if place not in files for file in label_files_in(place)):
        warnings.warn(f"{labels}: labels of the recording beside it; not read", RondoWarning, stacklevel=3)
    refuse_all_at_once([expected_size(file, reading) for file in files])
    recordings = []
    for file in files:
        try:
            recordings += [read_recording(file, reading)] if reading.split_by is None else read_parts(file, reading)
        except RecordingError as error:
            if file in places:
                raise
            raise RecordingError(f"{error}; if it is no recording, name the files to read and not the folder") from None
    return recordings
