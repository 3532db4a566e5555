"""What was given as recordings -> Recordings with ids that differ and rates that agree."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.files.locations import as_location, is_url, size_of
from rondo.files.reading import TEXT_SUFFIXES, id_of, is_folder, packing_of, suffix_of

RATE_TOLERANCE = 0.01  # recordings whose rates differ by less share one vocabulary


def as_recordings(
    data: Any,
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
    split_by: str | None = None,
    session: bool = False,
) -> list[Recording]:
    """One or many paths, folders, arrays, tables or Recordings as a list of Recordings with ids that differ.

    `rate` is for what has no clock; `key`, `label_columns` and `session` are for files, as in `rondo.read`, `split_by`
    for files and tables.
    """
    given = list(data) if are_several(data) else [data]
    if not given:
        raise RecordingError("no recording was given; expected at least one")
    several: list[Recording] = []
    for place, item in enumerate(given):
        if isinstance(item, str | Path):
            # same file now  # brings the readers of all formats

            several += read_files([item], Reading(rate, key, label_columns, split_by, session))
        elif split_by is not None:
            id = "recording" if len(given) == 1 else f"recording{place}"
            several += _parts_of(item, split_by, id, rate, label_columns)
        else:
            several.append(_as_recording(item, rate, label_columns))
    named = [
        r if r.id != "recording" or len(several) == 1 else r.renamed(f"recording{i}") for i, r in enumerate(several)
    ]
    ids = [recording.id for recording in named]
    twice = next((id for id in ids if ids.count(id) > 1), None)
    if twice is not None:
        raise RecordingError(f"two recordings have the id '{twice}'; ids must differ (files: the name without suffix)")
    return named


def as_chunks(rows: Any) -> Iterable[Any]:
    """Rows of a stream as they come: what is one recording already is one chunk."""
    is_whole = isinstance(rows, str | Path | Recording | np.ndarray) or hasattr(rows, "columns")
    return as_recordings(rows) if is_whole else rows


def are_several(data: Any) -> bool:
    """Whether a list was given."""
    return isinstance(data, Sequence) and not isinstance(data, str)


def _as_recording(given: Any, rate: float | None, label_columns: Sequence[str]) -> Recording:
    if isinstance(given, Recording):
        return _with_rate(given, rate)
    if isinstance(given, np.ndarray):
        return Recording(given, rate)
    if isinstance(given, Sequence):
        raise RecordingError(
            "expected a recording, an array or a table, got a list within the list; give recordings in one flat list, "
            "values as an array (n_frames, n_channels)"
        )
    return Recording.from_frame(given, rate=rate, label_columns=label_columns)


def _parts_of(given: Any, split_by: str, id: str, rate: float | None, label_columns: Sequence[str]) -> list[Recording]:
    if isinstance(given, Recording | np.ndarray | Sequence):
        raise RecordingError(f"there is no column '{split_by}' in an array or a Recording; give a table or a file")
    from rondo.files.read import parts_of_frame

    return parts_of_frame(given, split_by, rate=rate, id=id, label_columns=label_columns)


def _with_rate(recording: Recording, rate: float | None) -> Recording:
    if rate is None or same_rate(recording.rate, rate):
        return recording
    if recording.rate is not None:
        raise RecordingError(
            f"recording '{recording.id}' has {in_hertz(recording.rate)}, but the rate was given as {in_hertz(rate)}; "
            "leave the rate out, or resample the recording (Recording.resampled)"
        )
    return replace(recording, rate=rate)


def common_rate(
    recordings: Sequence[Recording],
    expected: float | None = None,
    advice: str = "resample it (Recording.resampled), or give one --rate for all",
) -> float | None:
    """The rate that all recordings have, or `expected`; another is refused with the advice."""
    rate = expected if expected is not None else recordings[0].rate
    for recording in recordings:
        if not same_rate(recording.rate, rate):
            raise RecordingError(
                f"recording '{recording.id}' has {in_hertz(recording.rate)}, expected {in_hertz(rate)}; {advice}"
            )
    return rate


def same_rate(some: float | None, other: float | None) -> bool:
    """Whether two rates can share one vocabulary; none is like none only."""
    if some is None or other is None:
        return some is other
    return abs(some / other - 1) <= RATE_TOLERANCE


def in_hertz(rate: float | None) -> str:
    """A rate for people."""
    return "no sampling rate" if rate is None else f"{rate:g} Hz"


# ----------------------------------------------------------------
# RecordingFile: a recording that is still in its file. It is small, and can be sent to where it will be read.

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
        from rondo.files.read import read_recording  # brings the readers of all formats

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
        from rondo.files.arrays import chosen_array

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
    from rondo.files.read import find_recordings

    found = map(str, find_recordings(paths, session=session))
    return [RecordingFile(url, id_of(url), rate, key, tuple(label_columns), session) for url in found]


def _of_session(folder: Path) -> ExpectedSize:
    """At most: each of its tables gets as many rows as the longest one has."""
    tables = [RecordingFile(str(file), "") for file in folder.iterdir() if file.is_file()]
    sizes = [table.expected().n_bytes for table in tables]
    return ExpectedSize(None, None, len(sizes) * max(sizes, default=0))


def _of_packed(path: Path) -> ExpectedSize:
    from rondo.files.text.lines import expected_text_bytes

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


# ----------------------------------------------------------------
# Files and folders -> Recordings: what `rondo.read`, `rondo.discover` and every command read their input with.


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
    from rondo.files.read import find_recordings, read_recording  # brings the readers of all formats
    from rondo.files.reading import with_kept

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
    from rondo.files.read import find_recordings, label_files_in, read_parts, read_recording
    from rondo.files.reading import id_of
    from rondo.memory import refuse_all_at_once
    # same file now

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
