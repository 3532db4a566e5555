"""Recordings in files: which reader a suffix gets, which files a folder holds, one line for all that fails.

Formats are found, one file each (`rondo.files.reading`). The id of a recording is its file name without the
suffix (`rondo.files.reading`). A file may be an object in a bucket (`rondo.files.locations`): it is read from a
copy that does not stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from polars.exceptions import PanicException

from rondo.data.recording import Recording, checked_rate
from rondo.errors import InputError, RecordingError
from rondo.files.columns import without_codes, without_named
from rondo.files.locations import Listing, Location, as_location, listing, local_file
from rondo.files.missing import without_known_codes, without_known_doubts, without_likelihoods, without_missing_codes
from rondo.files.reading import (
    PACKINGS,
    RECORDING_FORMATS,
    TEXT_SUFFIXES,
    KeptColumn,
    KnownColumn,
    RecordingFormat,
    as_names,
    id_of,
    is_folder,
    suffix_of,
)
from rondo.files.tables import table_parts, table_recording
from rondo.formats.sessions import program_of, read_session
from rondo.wording import in_utf8, is_utf8, near_match

_AnyFile = TypeVar("_AnyFile", bound=Location)

_PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz")
_ABOUT_THE_FOLDER = ("readme", "read me", "license", "licence", "changelog")
LABELS = "_labels"
"""How the name of a file of classes goes on after that of its recording."""


def suffixes(*, with_key: bool = False) -> tuple[str, ...]:
    """Of the files that can be read, or of those alone that hold several recordings."""
    found = (
        suffix for each in RECORDING_FORMATS.values() if each.takes_key or not with_key for suffix in each.suffixes
    )
    return tuple(dict.fromkeys(found))


def read_recording(
    path: str | Path,
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
    session: bool = False,
) -> Recording:
    """Read one file; whatever is wrong with it becomes a RecordingError of one line that names the file.

    A folder that is one session is read too (`rondo.formats.sessions`), any folder where `session` says that it is one.
    """
    place = as_location(path)
    if isinstance(place, Path) and is_folder(place) and (session or is_session(place)):
        return _read_folder(place, rate, key, label_columns)
    return signals_only(read_with_codes(path, rate=rate, key=key, label_columns=label_columns), label_columns)


def _read_folder(folder: Path, rate: float | None, key: str | None, label_columns: Sequence[str]) -> Recording:
    with _named(str(folder), id_of(folder)):
        checked_rate(rate)
        if key is not None:
            raise RecordingError(f"a key ('{key}') names an array in one file, this is a session; leave it away here")
        tables = [file for file in _recording_files(listing(folder)) if isinstance(file, Path)]
        return read_session(folder, tables, read_recording, rate=rate, label_columns=label_columns)


def is_session(place: Location) -> bool:
    """Whether it is a folder that a known program wrote as one session."""
    return isinstance(place, Path) and program_of(place) is not None


def signals_only(recording: Recording, label_columns: Sequence[str] = ()) -> Recording:
    """The recording without columns that are no signal by what they hold, but for those that are to be kept.

    Codes of missing values are made missing, but for columns that the user asked to keep. In the channels of a model
    the numbers are missing that the model knows, and no others: so a stream, of which nobody sees the whole, reads them
    too.
    """
    named = [name for name in as_names(label_columns) if isinstance(name, KeptColumn)]
    keep = frozenset(map(str, named))
    known = [name for name in named if isinstance(name, KnownColumn)]
    as_they_are = frozenset(str(name) for name in named if not isinstance(name, KnownColumn))
    sure = without_known_doubts(recording, known, as_they_are)
    signals = without_known_codes(without_labels(sure, keep), known, as_they_are)
    settled = {str(name) for name in known if name.missing is not None}
    if signals.is_unnamed and len(settled) == signals.n_channels:  # they go by position
        return signals
    return without_missing_codes(signals, as_they_are | settled, stay=keep)


def without_labels(recording: Recording, keep: Set[str] = frozenset()) -> Recording:
    """The recording without columns that are no signal by what they hold: likelihoods, labels, ids, counters."""
    return without_codes(without_named(without_likelihoods(recording, keep), keep), keep)


def read_with_codes(
    path: str | Path, *, rate: float | None = None, key: str | None = None, label_columns: Sequence[str] = ()
) -> Recording:
    """`read_recording`, for columns whose names are known elsewhere: what looks like labels is not left out yet."""
    place = as_location(path)
    with _named(str(place), id_of(place)):
        _refuse_unreadable(place)
        checked_rate(rate)  # before a long read, not after it
        found, chosen = _format_of(place, key)
        with local_file(place) as file:
            _refuse_empty(file)
            return found.read(file, rate=rate, label_columns=label_columns, **chosen)


def read_parts(
    path: str | Path,
    split_by: str,
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
) -> list[Recording]:
    """The recordings in one table that a column tells apart."""
    place = as_location(path)
    with _named(str(place), id_of(place)):
        if is_folder(place):
            raise RecordingError("it is one session, and --split-by cuts tables; leave it out, or name a table")
        _refuse_unreadable(place)
        checked_rate(rate)
        found, chosen = _format_of(place, key)
        if found.read_parts is None:
            tables = (suffix for one in RECORDING_FORMATS.values() if one.read_parts for suffix in one.suffixes)
            raise RecordingError(f"only tables ({' '.join(tables)}) can be split by a column")
        with local_file(place) as file:
            _refuse_empty(file)
            parts = found.read_parts(file, split_by, rate=rate, label_columns=label_columns, **chosen)
            return [signals_only(part, label_columns) for part in parts]


def _format_of(place: Location, key: str | None) -> tuple[RecordingFormat, dict[str, Any]]:
    """How a file is read, and what its reader takes besides; a key for a file that has none is refused."""
    found = next(each for each in RECORDING_FORMATS.values() if suffix_of(place) in each.suffixes)
    if key is not None and not found.takes_key:
        named = " ".join(suffixes(with_key=True))
        raise RecordingError(f"a key ('{key}') names an array in {named} files; leave it away here")
    return found, {"key": key} if found.takes_key else {}


def from_frame(
    frame: Any, *, rate: float | None = None, id: str = "recording", label_columns: Sequence[str] = ()
) -> Recording:
    """Take a pandas, polars or pyarrow table: one row per frame, one column per channel, perhaps a clock."""
    with _named(f"recording '{id}'", id):
        checked_rate(rate)
        return signals_only(table_recording(frame, rate=rate, id=id, label_columns=label_columns), label_columns)


def parts_of_frame(
    frame: Any, split_by: str, *, rate: float | None = None, id: str = "recording", label_columns: Sequence[str] = ()
) -> list[Recording]:
    """The recordings in a pandas, polars or pyarrow table that a column tells apart."""
    with _named(f"recording '{id}'", id):
        checked_rate(rate)
        parts = table_parts(frame, split_by, rate=rate, id=id, label_columns=label_columns)
        return [signals_only(part, label_columns) for part in parts]


def find_recordings(paths: Sequence[str | Path], *, session: bool = False) -> list[Location]:
    """The files to read: those named, and those of a known suffix directly in the folders or in the patterns named.

    Files of this machine are Paths, objects in a bucket their URLs; those of one folder or pattern are sorted. A folder
    that is one session, named or found so, stands for itself; with `session` every folder that holds tables does.
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
    return found


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
    sessions = [one for one in there.folders if is_session(one) or (session and _recording_files(listing(one)))]
    within = set(sessions)
    return sorted([file for file in files if Path(file).parent not in within] + list[Location](sessions), key=str)


def _recording_files(there: Listing) -> list[Location]:
    return without_label_files(_recordings_among(there))


def _recordings_among(there: Listing) -> list[Location]:
    return [file for file in there.files if _is_recording(file)]


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
    if there.kind == "folder":
        return f"the folder holds no recordings; {_instead(place)}"
    if not there.files:
        return "the pattern matches no file; check it, and that it is in quotes"
    return f"the pattern matches no recordings; expected files ending in {' '.join(suffixes())}"


def _near(path: Location) -> str:
    """What was probably meant, or what to do."""
    if isinstance(path, str):
        return "check the name; a folder is named by what its objects begin with"
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    near = near_match(path.name, [each.name for each in beside])
    if near:
        return f"did you mean '{path.parent / near}'?"
    is_bare = path.parent == Path() and not path.suffix
    return "check the path" + (" (public data sets: `rondo datasets list`)" if is_bare else "")


def _instead(folder: Location) -> str:
    """What to give instead of a folder without recordings: those inside it that have some, perhaps."""
    folders = sorted(each for each in folder.iterdir() if each.is_dir()) if isinstance(folder, Path) else []
    below = [each for each in folders if _recordings_among(listing(each))]
    if below:
        return f"folders inside it do: name them, as {below[0]}"
    return f"expected files ending in {' '.join(suffixes())}"


def _is_recording(file: Location) -> bool:
    """Whether a file of a folder is to be read: not one that is hidden, open in a spreadsheet, or about the others."""
    path = Path(file)
    is_about = suffix_of(path) == ".txt" and path.name.lower().startswith(_ABOUT_THE_FOLDER)
    return suffix_of(path) in suffixes() and not is_about and not path.name.startswith((".", "~$"))


def _refuse_unreadable(place: Location) -> None:
    """By what can be known before it is opened, or copied."""
    path = Path(place)
    if isinstance(place, Path) and path.is_dir():
        raise RecordingError("it is a folder; expected a file, or read each file in it")
    if isinstance(place, Path) and not path.exists():
        raise RecordingError("there is no such file; check the path")
    if suffix_of(path) in _PACKED:
        raise RecordingError(
            f"it is packed ({path.suffix}); unpack it first (only {' '.join(TEXT_SUFFIXES)} are read packed, as "
            f".csv{PACKINGS[0]})"
        )
    if suffix_of(path) == ".dat" and isinstance(place, Path) and path.with_suffix(".hea").exists():
        raise RecordingError(f"it holds the samples of a WFDB record; name its header, {path.with_suffix('.hea').name}")
    if suffix_of(path) not in suffixes():
        raise RecordingError(
            f"unknown suffix '{path.suffix}'; expected one of {' '.join(suffixes())}; save it as .csv, "
            "or, if it is a table in text, rename it to .txt"
        )


def _refuse_empty(path: Path) -> None:
    if not path.is_file():  # a pipe or a device could keep the reader waiting for ever
        raise RecordingError("it is not a regular file; store the recording in one")
    with path.open("rb") as file:
        if not file.read(1):
            raise RecordingError("the file is empty")


@contextmanager
def _named(where: str, id: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into one line that begins with `where`."""
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
        raise RecordingError(f"{where}: it is damaged, or not what it claims to be ({_cause(error)})") from error


def _cause(error: BaseException) -> str:
    text = _in_one_line(str(error))[:160]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _in_one_line(text: str) -> str:
    return " ".join(text.split())  # names that a file gives to its columns or arrays may hold line ends
