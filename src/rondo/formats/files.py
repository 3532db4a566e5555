"""Recordings in files: which reader a suffix gets, which files a folder holds, one line for all that fails.

Formats are found, one file each (`rondo.formats.recording_format`). The id of a recording is its file name without the
suffix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polars.exceptions import PanicException

from rondo.data.recording import Recording, checked_rate
from rondo.errors import InputError, RecordingError
from rondo.formats.class_codes import without_codes
from rondo.formats.recording_format import RECORDING_FORMATS
from rondo.formats.tables import table_recording
from rondo.wording import near_match

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
    path: Path, *, rate: float | None = None, key: str | None = None, label_columns: Sequence[str] = ()
) -> Recording:
    """Read one file; whatever is wrong with it becomes a RecordingError of one line that names the file."""
    return without_codes(read_with_codes(path, rate=rate, key=key, label_columns=label_columns))


def read_with_codes(
    path: Path, *, rate: float | None = None, key: str | None = None, label_columns: Sequence[str] = ()
) -> Recording:
    """`read_recording`, for columns whose names are known elsewhere: what looks like labels is not left out yet."""
    path = Path(path)
    with _named(str(path), path.stem):
        _refuse_unreadable(path)
        checked_rate(rate)  # before a long read, not after it
        suffix = path.suffix.lower()
        found = next(each for each in RECORDING_FORMATS.values() if suffix in each.suffixes)
        if found.takes_key:
            return found.read(path, rate=rate, key=key, label_columns=label_columns)
        if key is not None:
            named = " ".join(suffixes(with_key=True))
            raise RecordingError(f"a key ('{key}') names an array in {named} files; leave it away here")
        return found.read(path, rate=rate, label_columns=label_columns)


def from_frame(
    frame: Any, *, rate: float | None = None, id: str = "recording", label_columns: Sequence[str] = ()
) -> Recording:
    """Take a pandas, polars or pyarrow table: one row per frame, one column per channel, perhaps a clock."""
    with _named(f"recording '{id}'", id):
        checked_rate(rate)
        return without_codes(table_recording(frame, rate=rate, id=id, label_columns=label_columns))


def find_recordings(paths: Sequence[Path]) -> list[Path]:
    """The files to read: those named, and those of a known suffix directly in the folders named, sorted."""
    found: list[Path] = []
    for path in map(Path, paths):
        with _named(str(path), path.stem):
            if not path.exists():
                raise RecordingError(f"there is no such file or folder; {_near(path)}")
            inside = _recordings_in(path) if path.is_dir() else [path]
            if not inside:
                raise RecordingError(f"the folder holds no recordings; {_instead(path)}")
            found += inside
    if not found:
        raise RecordingError("no recordings were named; give at least one file or folder")
    first_of: dict[str, Path] = {}
    for path in found:
        if path.stem in first_of:
            raise RecordingError(f"{first_of[path.stem]} and {path} would both be recording '{path.stem}'; rename one")
        first_of[path.stem] = path
    return found


def _recordings_in(folder: Path) -> list[Path]:
    return without_label_files(sorted(file for file in folder.iterdir() if _is_recording(file)))


def without_label_files(paths: Sequence[Path]) -> list[Path]:
    """All but the files of classes that lie beside the recordings they are of, as `day1_labels.csv` does."""
    stems = {path.stem for path in paths}
    return [path for path in paths if not (path.stem.endswith(LABELS) and path.stem.removesuffix(LABELS) in stems)]


def label_files_in(folder: Path) -> list[Path]:
    """What `find_recordings` leaves out of a folder because it holds labels, which no learner may see."""
    files = sorted(file for file in folder.iterdir() if _is_recording(file))
    kept = set(without_label_files(files))
    return [file for file in files if file not in kept]


def _near(path: Path) -> str:
    """What was probably meant, or what to do."""
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    near = near_match(path.name, [each.name for each in beside])
    if near:
        return f"did you mean '{path.parent / near}'?"
    is_bare = path.parent == Path() and not path.suffix
    return "check the path" + (" (public data sets: `rondo datasets list`)" if is_bare else "")


def _instead(folder: Path) -> str:
    """What to give instead of a folder without recordings: those inside it that have some, perhaps."""
    below = [each for each in sorted(folder.iterdir()) if each.is_dir() and any(map(_is_recording, each.iterdir()))]
    if below:
        return f"folders inside it do: name them, as {below[0]}"
    return f"expected files ending in {' '.join(suffixes())}"


def _is_recording(file: Path) -> bool:
    """Whether a file of a folder is to be read: not one that is hidden, open in a spreadsheet, or about the others."""
    is_about = file.suffix.lower() == ".txt" and file.stem.lower().startswith(_ABOUT_THE_FOLDER)
    return (
        file.suffix.lower() in suffixes() and not is_about and not file.name.startswith((".", "~$")) and file.is_file()
    )


def _refuse_unreadable(path: Path) -> None:
    if path.is_dir():
        raise RecordingError("it is a folder; expected a file, or read each file in it")
    if not path.exists():
        raise RecordingError("there is no such file; check the path")
    if path.suffix.lower() in _PACKED:
        raise RecordingError(f"it is packed ({path.suffix}); unpack it first")
    if path.suffix.lower() not in suffixes():
        raise RecordingError(
            f"unknown suffix '{path.suffix}'; expected one of {' '.join(suffixes())}; save it as .csv, "
            "or, if it is a table in text, rename it to .txt"
        )
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
