"""How files become recordings: `Reading` is what the user asked, `RecordingFormat` what a reader of files declares."""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from rondo.data.body import BodyFrame, Pose
from rondo.data.known_channels import KnownChannel
from rondo.data.recording import Recording
from rondo.errors import RecordingError, SettingError
from rondo.memory import ExpectedSize
from rondo.registry import Registry


class PoseReading(NamedTuple):
    """How points of a pose are read: in the frame of a model, or in one of this pose with this origin and tip."""

    pose: Pose = "centred"
    names: tuple[str, ...] = ()
    frame: BodyFrame | None = None


@dataclass(frozen=True)
class Reading:
    """How files and tables become recordings.

    Parameters
    ----------
    rate : float or None
        Frames per second, for files without a clock. For a session, the rate of the merged recording.
    key : str or None
        The array, stream or sheet, in files that hold several.
    leave_out : sequence of str
        Columns that are not channels. For a session, also tables to leave out.
    keep : sequence of str
        Columns that are channels, although their names or values look like labels, ids or counters. For a session, also
        slow tables to include.
    split_by : str or None
        A column that separates the recordings in one table, such as a subject. The column of the clock splits where the
        clock goes back.
    session : bool
        Read each folder as one session: its tables are merged by their clocks into one Recording. Folders of Empatica
        E4, phyphox and Sensor Logger are recognised without it.
    pivot : str or None
        A column of names, such as a tag, in a table of one reading per row: each name becomes a channel. Without it
        tables with the columns of a historian (`timestamp, tag, value`) are recognised. `rate` is that of the grid.
    known : sequence of KnownChannel
        Channels of a model; `rondo.label` adds them. They are kept where a file has them.
    poses : PoseReading or None
        Points of a pose become a body; `rondo.discover` and `rondo.label` add it. None leaves them as they are.

    Raises
    ------
    RecordingError
        If a column is to be left out and kept.
    SettingError
        If two of `session`, `split_by` and `pivot` are given that exclude each other.

    Examples
    --------
    >>> Reading(rate=50, leave_out="activity").leave_out
    ('activity',)
    """

    rate: float | None = None
    key: str | None = None
    leave_out: Sequence[str] = ()
    keep: Sequence[str] = ()
    split_by: str | None = None
    session: bool = False
    pivot: str | None = None
    known: Sequence[KnownChannel] = ()
    poses: PoseReading | None = None

    def __post_init__(self) -> None:
        for name in ("leave_out", "keep"):
            object.__setattr__(self, name, names_given(name, getattr(self, name)))
        object.__setattr__(self, "known", tuple(self.known))
        both = next((name for name in self.keep if name in self.leave_out), None)
        if both is not None:
            raise RecordingError(
                f"column '{both}' is to be left out (--label-column) and kept (--keep-column); give one"
            )
        if self.pivot is not None and (self.session or self.pivot == self.split_by):
            other = "--session" if self.session else "--split-by"
            raise SettingError(f"--pivot {self.pivot!r} and {other} do not go together; give one")
        if self.session and self.split_by is not None:
            raise SettingError(
                "--session merges tables into one recording, --split-by cuts them into several; give one"
            )

    @property
    def why_at_once(self) -> str:
        """Why files cannot be read one by one, in worker processes; "" where they can."""
        return "--split-by cuts files that are held in memory" if self.split_by is not None else ""

    @property
    def known_names(self) -> tuple[str, ...]:
        """The names of the channels of the model."""
        return tuple(channel.name for channel in self.known)

    def keeps(self, name: str) -> bool:
        """Whether a column is a channel whatever it looks like: the user or a model names it."""
        return name in self.keep or name in self.known_names

    def names(self, name: str) -> bool:
        """Whether this reading mentions a column, to keep it or to leave it out."""
        return name in self.leave_out or self.keeps(name)

    def refuse_unknown(self, names: Sequence[str], what: str = "column") -> None:
        """Refuse columns to leave out or to keep that the table does not have."""
        unknown = sorted({*self.leave_out, *self.keep} - set(names))
        if unknown:
            to_do = "leave out" if unknown[0] in self.leave_out else "keep"
            raise RecordingError(f"there is no {what} '{unknown[0]}' to {to_do}; the {what}s are: {listed(names)}")

    def without_split(self, *, keeps_column: bool = False) -> Reading:
        """The reading of one of the recordings in a split table; the column that separates them is no channel."""
        column = self.split_by
        if column is None or keeps_column or self.names(column):
            return replace(self, split_by=None)
        return replace(self, split_by=None, leave_out=(*self.leave_out, column))


def names_given(setting: str, names: Any) -> tuple[Any, ...]:
    """Several names; a text is one."""
    if isinstance(names, str):
        return (names,) if names else ()
    if not isinstance(names, Iterable | None):
        raise SettingError(f"{setting}: expected names, got {names!r}")
    return tuple(names or ())


def reading_at(reading: Reading | None, rate: float | None) -> Reading:
    """The reading, or the default one, at a rate that was given beside it."""
    reading = Reading() if reading is None else reading
    if not isinstance(reading, Reading):
        raise SettingError(f"reading: expected a rondo.Reading, got {reprlib.repr(reading)}")
    return reading if rate is None else replace(reading, rate=rate)


def listed(names: Sequence[str], most: int = 20) -> str:
    """A list of names that stays on one line however many there are."""
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more if names else "(none)"


TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
"""Of the files that are read line by line, and may still grow."""

PACKINGS = (".gz", ".bz2", ".zst")
"""Behind the suffix of a text: it is read through them."""


def packing_of(place: str | Path) -> str:
    """How a text is packed, or nothing; other files are not read packed."""
    path = Path(place)
    is_packed = path.suffix.lower() in PACKINGS and Path(path.stem).suffix.lower() in TEXT_SUFFIXES
    return path.suffix.lower() if is_packed else ""


def suffix_of(place: str | Path) -> str:
    """The suffix by which its reader is found, in small letters, without that of the packing.

    >>> suffix_of("day.csv.gz"), suffix_of("day.NPY"), suffix_of("day.npy.gz")
    ('.csv', '.npy', '.gz')
    """
    path = Path(place)
    return Path(path.stem if packing_of(path) else path.name).suffix.lower()


_PARTITION = re.compile(r"[A-Za-z_][\w.-]*=.+")
_FIRST_PART = re.compile(r"((part|data|file|chunk)?[-_]?0*(-[0-9a-f]{8}.*)?|[0-9a-f-]{32,}(-0)?)", re.IGNORECASE)


def is_folder(place: str | Path) -> bool:
    """Whether it is a folder of this machine; names that no file can have are none."""
    return os.path.isdir(place)  # noqa: PTH112  # Path.is_dir raises for a name that is too long


def id_of(place: str | Path) -> str:
    """The id of the recording: the name without its suffix, or without both; of a folder, which is a session, its name.

    The folders of a partitioned table come before it.

    >>> id_of("days/day1.csv.zst"), id_of("s3://bucket/day1.parquet"), id_of("day.1.csv")
    ('day1', 'day1', 'day.1')
    >>> id_of("study/person=3/part-0.parquet"), id_of("study/person=3/day=2/walk.csv")
    ('person=3', 'person=3_day=2_walk')
    """
    if is_folder(place):
        return Path(os.path.abspath(place)).name  # noqa: PTH100  # ".." too has a name, and a link keeps its own
    stem = Path(place).stem
    stem = Path(stem).stem if packing_of(place) else stem
    partitions = partitions_of(place)
    return "_".join([*partitions, *([] if _FIRST_PART.fullmatch(stem) else [stem])]) if partitions else stem


def is_partition(folder: Path) -> bool:
    """Whether a folder holds one part of a table that is stored by the values of a column."""
    return _PARTITION.fullmatch(folder.name) is not None


def partitions_of(place: str | Path) -> list[str]:
    """The folders of a partitioned table (Hive, Spark, `write_to_dataset`) above a file, as `person=3`."""
    above = takewhile(_PARTITION.fullmatch, (folder.name for folder in Path(place).parents))
    return list(above)[::-1]


@dataclass(frozen=True, kw_only=True)
class RecordingFormat:
    """How files with some suffixes are read; the registry finds it as a value in the file that reads them.

    Parameters
    ----------
    name
        One word.
    suffixes
        In small letters, with the dot; none for a format of folders.
    read
        `read(path, reading)` gives the recording, called by the file name without its suffix. Whatever it raises
        becomes one line that names the file. For a folder, `read(folder, reading, tables, read_table)`.
    read_parts
        `read_parts(path, reading)` gives the recordings that the column `reading.split_by` separates; None where files
        are no tables.
    takes_key
        Whether a file holds several recordings, so that `reading.key` may name one.
    expected_size
        `expected_size(path, reading)` gives frames, channels and bytes from the header alone; None where only the size
        of the file tells.
    companions
        Suffixes of files that belong to one of this format, and what they hold.
    knows_folder
        Whether a folder is one recording of this format.
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
    read_parts: Callable[[Path, Reading], list[Recording]] | None = None
    takes_key: bool = False
    expected_size: Callable[[Path, Reading], ExpectedSize] | None = None
    companions: Mapping[str, str] = field(default_factory=dict)
    knows_folder: Callable[[Path], bool] | None = None
    extra: str = ""
    help: str
    order: int = 100


RECORDING_FORMATS: Registry[RecordingFormat] = Registry(
    RecordingFormat, ("rondo.files", "rondo.files.text", "rondo.formats"), "rondo.recording_formats"
)
