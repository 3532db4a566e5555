"""Recordings in files: which reader a suffix gets, which files a folder holds, one line for all that fails.

Formats are found, one file each (`rondo.files.reading`). The id of a recording is its file name without the suffix. A
file may be an object in a bucket (`rondo.store.locations`): it is read from a copy that does not stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from polars.exceptions import PanicException

from rondo.data.recording import Recording, checked_rate
from rondo.errors import InputError, RecordingError
from rondo.files.columns import signals_of
from rondo.files.missing import with_codes_missing, with_doubtful_points_missing
from rondo.files.reading import (
    PACKINGS,
    RECORDING_FORMATS,
    TEXT_SUFFIXES,
    Reading,
    RecordingFormat,
    id_of,
    is_folder,
    is_partition,
    partitions_of,
    suffix_of,
)
from rondo.files.tables import frames_of_index, table_parts, table_recording
from rondo.files.text.formats import id_part
from rondo.forks import refuse_forked
from rondo.memory import ExpectedSize
from rondo.store.locations import Listing, Location, as_location, listing, local_file, size_of
from rondo.store.reading import UNREADABLE, open_regular, regular
from rondo.wording import counted, in_utf8, is_utf8, near_match

_AnyFile = TypeVar("_AnyFile", bound=Location)

_PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz")
_ABOUT_THE_FOLDER = ("readme", "read me", "license", "licence", "changelog")
LABELS = "_labels"
"""Suffix of label files."""


def suffixes(*, with_key: bool = False) -> tuple[str, ...]:
    """Of the files that can be read, or of those alone that hold several recordings."""
    formats = [format for format in RECORDING_FORMATS.values() if format.takes_key or not with_key]
    return tuple(dict.fromkeys(suffix for format in formats for suffix in format.suffixes))


def read_recording(path: str | Path, reading: Reading | None = None) -> Recording:
    """Read one file; whatever is wrong with it becomes a RecordingError of one line that names the file.

    A folder that a known program wrote as one session is read too, any folder where `reading.session` says so.
    """
    place, reading = as_location(path), reading or Reading()
    if isinstance(place, Path) and is_folder(place) and (reading.session or is_session(place)):
        return _read_folder(place, reading).read_from(place)
    return signals_only(read_all_columns(place, reading), reading).read_from(place)


def signals_only(recording: Recording, reading: Reading) -> Recording:
    """The recording without columns that are no signal by what they hold; codes of missing values are missing."""
    return with_codes_missing(without_labels(recording, reading), reading)


def without_labels(recording: Recording, reading: Reading) -> Recording:
    """The recording without likelihoods, labels, ids and counters."""
    return signals_of(with_doubtful_points_missing(recording, reading), reading)


def read_all_columns(path: str | Path, reading: Reading) -> Recording:
    """`read_recording`, for columns whose names are known elsewhere: what looks like labels is not left out yet."""
    place = as_location(path)
    with _named(str(place), id_of(place)):
        format = _checked_format(place, reading)
        with local_file(place) as file:
            _refuse_empty(file)
            found = format.read(file, reading)
            return found.renamed(id_of(place)) if partitions_of(place) else found


def read_parts(path: str | Path, reading: Reading) -> list[Recording]:
    """The recordings in one table that the column `reading.split_by` separates."""
    place = as_location(path)
    with _named(str(place), id_of(place)):
        if is_folder(place):
            raise RecordingError("it is one session, and --split-by cuts tables; leave it out, or name a table")
        format = _checked_format(place, reading)
        if format.read_parts is None:
            tables = (suffix for each in RECORDING_FORMATS.values() if each.read_parts for suffix in each.suffixes)
            raise RecordingError(f"only tables ({' '.join(tables)}) can be split by a column")
        with local_file(place) as file:
            _refuse_empty(file)
            parts = format.read_parts(file, reading)
            return [signals_only(part, reading.without_split()).read_from(place) for part in parts]


def _checked_format(place: Location, reading: Reading) -> RecordingFormat:
    """How a file is read; what can be refused before it is opened is refused."""
    _refuse_unreadable(place)
    checked_rate(reading.rate)
    format = next(each for each in RECORDING_FORMATS.values() if suffix_of(place) in each.suffixes)
    if reading.key is not None and not format.takes_key:
        named = " ".join(suffixes(with_key=True))
        raise RecordingError(f"a key ('{reading.key}') names an array in {named} files; leave it out")
    return format


def expected_size(path: str | Path, reading: Reading | None = None) -> ExpectedSize:
    """What a recording will be, before it is read; 0 bytes where nothing tells, and reading it will say why."""
    place = as_location(path)
    reading, suffix = reading or Reading(), suffix_of(place)
    format = next((each for each in RECORDING_FORMATS.values() if suffix in each.suffixes), None)
    with suppress(*UNREADABLE, RecordingError):
        if isinstance(place, Path) and is_folder(place):  # each table gets as many rows as the longest one has
            sizes = [expected_size(file).n_bytes for file in place.iterdir() if file.is_file()]
            return ExpectedSize(None, None, len(sizes) * max(sizes, default=0))
        if isinstance(place, Path) and format is not None and format.expected_size is not None:
            return format.expected_size(regular(place), reading)
    with suppress(RecordingError):
        factor = 1 if suffix in TEXT_SUFFIXES else 2  # whole numbers of 16 bits become twice as large
        return ExpectedSize(None, None, factor * size_of(place))
    return ExpectedSize(None, None, 0)


def _read_folder(folder: Path, reading: Reading) -> Recording:
    with _named(str(folder), id_of(folder)):
        checked_rate(reading.rate)
        if reading.key is not None:
            raise RecordingError(f"a key ('{reading.key}') names an array in one file, this is a session; leave it out")
        tables = [file for file in _recording_files(listing(folder)) if isinstance(file, Path)]
        format = next(each for each in RECORDING_FORMATS.values() if each.knows_folder is not None)
        return format.read(folder, reading, tables, read_recording)


def is_session(place: Location) -> bool:
    """Whether it is a folder that a known program wrote as one session."""
    formats = RECORDING_FORMATS.values() if isinstance(place, Path) else ()
    return any(each.knows_folder(Path(place)) for each in formats if each.knows_folder is not None)


def parts_of_frame(frame: Any, reading: Reading, id: str = "recording") -> list[Recording]:
    """The recordings in a pandas, polars or pyarrow table: one, or those that a column separates."""
    with _named(f"recording '{id}'", id):
        checked_rate(reading.rate)
        has_levels = getattr(getattr(frame, "index", None), "nlevels", 1) > 1
        if reading.split_by is not None:
            parts = table_parts(frame.reset_index() if has_levels else frame, id, reading)
        else:
            parts = _parts_of_index(frame, id, reading)
        return [signals_only(part, reading.without_split()) for part in parts]


def _parts_of_index(frame: Any, id: str, reading: Reading) -> list[Recording]:
    """The recording in a frame, or one for each value of the outer levels of its index."""
    frames = frames_of_index(frame)
    if list(frames) == [""]:
        return [table_recording(frames[""], id, reading)]
    note = f"one of {counted(len(frames), 'recording')} in the table, told apart by the outer levels of its index"
    parts = {value: f"{id}_{id_part(value)}" for value in frames}
    twice = next((part for part in parts.values() if list(parts.values()).count(part) > 1), None)
    if twice is not None:
        raise RecordingError(f"two values of its index give the same id '{twice}'; rename one")
    return [table_recording(own, parts[value], reading).noted(note) for value, own in frames.items()]


def find_recordings(paths: Sequence[str | Path], *, session: bool = False) -> list[Location]:
    """The files to read: those named, and those of a known suffix directly in the folders or in the patterns named.

    Files of this machine are Paths, objects in a bucket their URLs. They are sorted by the ids of their recordings, in
    whatever order they are named. A folder that is one session, named or found so, stands for itself; with `session`
    every folder that holds tables does.
    """
    found: list[Location] = []
    for place in map(as_location, paths):
        with _named(str(place), id_of(place)):
            there = listing(place)
            if there.kind == "nothing":
                raise RecordingError(f"there is no such file or folder; {_near(place)}")
            inside = _inside(place, there, session)
            if not inside:
                raise RecordingError(_none_in(place, there))
            found += inside
    if not found:
        raise RecordingError("no recordings were named; give at least one file or folder")
    first_of: dict[str, Location] = {}
    for file in found:
        id = id_of(file)
        if not is_utf8(str(file)):
            raise RecordingError(f"{in_utf8(str(file))}: the name of the file is not UTF-8; rename it")
        if id in first_of:
            raise RecordingError(f"{first_of[id]} and {file} would both be recording '{id}'; rename one")
        first_of[id] = file
    return [first_of[id] for id in sorted(first_of)]


def _inside(place: Location, there: Listing, session: bool) -> list[Location]:
    """What is read of a place: the file, the folder where it is one session, or files and sessions in it."""
    if session and (isinstance(place, str) or there.kind == "file"):
        what = "a folder of this machine, and it is in a bucket" if isinstance(place, str) else "a folder, it is a file"
        raise RecordingError(f"--session merges the tables of {what}; leave --session out, or name a folder")
    if there.kind == "file":
        return there.files
    files = _recording_files(there)
    if there.kind == "folder" and (is_session(place) or (session and files)):
        return [place]
    if there.kind == "folder":
        files += _partitioned(there)
    sessions = [inner for inner in there.folders if is_session(inner) or (session and _recording_files(listing(inner)))]
    alone = [file for file in files if Path(file).parent not in set(sessions)]
    return [*alone, *sessions]


def _partitioned(there: Listing) -> list[Location]:
    """The files in folders such as `person=3`, of any depth."""
    below = [listing(folder) for folder in there.folders if is_partition(folder)]
    return [file for inner in below for file in (*_recording_files(inner), *_partitioned(inner))]


def _recording_files(there: Listing) -> list[Location]:
    return without_label_files(_recordings_among(there))


def _recordings_among(there: Listing) -> list[Location]:
    """The files to read: not those that are hidden, open in a spreadsheet, or about the others."""
    known, found = suffixes(), []
    for file in there.files:
        name, suffix = Path(file).name, suffix_of(file)
        is_about = suffix == ".txt" and name.lower().startswith(_ABOUT_THE_FOLDER)
        if suffix in known and not is_about and not name.startswith((".", "~$")):
            found.append(file)
    return found


def without_label_files(paths: Sequence[_AnyFile]) -> list[_AnyFile]:
    """All but the files of classes that lie beside the recordings they are of, as `day1_labels.csv` does."""
    stems = {path: id_of(path) for path in paths}
    known = set(stems.values())
    return [path for path, stem in stems.items() if not (stem.endswith(LABELS) and stem.removesuffix(LABELS) in known)]


def label_files_in(place: str | Path) -> list[Location]:
    """What `find_recordings` leaves out of a folder or pattern because it holds labels, which no learner may see."""
    there = listing(as_location(place))
    files = [] if there.kind == "file" else _recordings_among(there)
    kept = set(without_label_files(files))
    return [file for file in files if file not in kept]


def _none_in(place: Location, there: Listing) -> str:
    """Why a folder or a pattern has nothing to read, and what to give instead."""
    expected = f"expected files ending in {' '.join(suffixes())}"
    if there.kind == "folder":
        folders = sorted(each for each in place.iterdir() if each.is_dir()) if isinstance(place, Path) else []
        below = next((each for each in folders if _recordings_among(listing(each))), None)
        advice = expected if below is None else f"folders inside it do: name them, as {below}"
        return f"the folder holds no recordings; {advice}"
    if not there.files:
        return "the pattern matches no file; check it, and that it is in quotes"
    return f"the pattern matches no recordings; {expected}"


def _near(path: Location) -> str:
    """What was probably meant, or what to do."""
    if isinstance(path, str):
        return "check the name; a folder is named by what its objects begin with"
    if path.is_symlink():
        return "it is a link that leads nowhere, or in a circle"
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    near = near_match(path.name, [each.name for each in beside])
    if near:
        return f"did you mean '{path.parent / near}'?"
    is_bare = path.parent == Path() and not path.suffix
    return "check the path" + (" (public data sets: `rondo datasets list`)" if is_bare else "")


def _refuse_unreadable(place: Location) -> None:
    """By what can be known before it is opened, or copied."""
    path = Path(place)
    if isinstance(place, Path) and path.is_dir():
        raise RecordingError("it is a folder; expected a file, or read each file in it")
    if isinstance(place, Path) and not path.exists():
        raise RecordingError("there is no such file; check the path")
    if isinstance(place, Path) and not path.is_file():  # a pipe or a device could keep the reader waiting for ever
        raise RecordingError("it is not a regular file; store the recording in one")
    if suffix_of(path) in _PACKED:
        raise RecordingError(
            f"it is packed ({path.suffix}); unpack it first (only {' '.join(TEXT_SUFFIXES)} are read packed, as "
            f".csv{PACKINGS[0]})"
        )
    for format in RECORDING_FORMATS.values() if isinstance(place, Path) else ():
        what, owner = format.companions.get(suffix_of(path)), path.with_suffix((*format.suffixes, "")[0])
        if what is not None and owner.exists():
            raise RecordingError(f"it holds {what}, {owner.name}")
    if suffix_of(path) not in suffixes():
        raise RecordingError(
            f"unknown suffix '{path.suffix}'; expected one of {' '.join(suffixes())}; save it as .csv, "
            "or, if it is a table in text, rename it to .txt"
        )


def _refuse_empty(path: Path) -> None:
    with open_regular(path) as file:
        if not file.read(1):
            raise RecordingError("the file is empty")


@contextmanager
def _named(where: str, id: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into one line that begins with `where`."""
    refuse_forked()
    try:
        yield
    except RecordingError as error:
        what = str(error).removeprefix(f"recording '{id}': ")  # the file names it better
        raise RecordingError(f"{where}: {_in_one_line(what)}") from error
    except InputError:
        raise
    except FileNotFoundError as error:
        raise RecordingError(f"{where}: there is no such file; check the path") from error
    except MemoryError as error:
        raise RecordingError(f"{where}: it does not fit into memory; cut it into shorter recordings") from error
    except OSError as error:
        reason = error.strerror or _in_one_line(str(error))[:160]
        raise RecordingError(f"{where}: it cannot be read ({reason}); check the file and its permissions") from error
    except (Exception, PanicException) as error:  # damaged files fail in more ways than can be listed
        cause = ": ".join(filter(None, (type(error).__name__, _in_one_line(str(error))[:160])))
        raise RecordingError(f"{where}: it is damaged, or not what it claims to be ({cause})") from error


def _in_one_line(text: str) -> str:
    return " ".join(text.split())  # names that a file gives to its columns or arrays may hold line ends
