"""Recordings in files: which reader a suffix gets, which files a folder holds, one line for all that fails.

    .csv .tsv .txt   rondo.formats.csv_file      header, one row per frame; a `time` column is the clock
    .jsonl .ndjson   rondo.formats.json_lines    one object per line, one key per channel, likewise
    .parquet         rondo.formats.tables        one column per channel, likewise
    .npy             rondo.formats.array_files   the array (n_frames, n_channels)
    .npz .h5 .hdf5   rondo.formats.array_files   the array `X` or `key`, with `rate`, `channels`, `time` if any
    .edf .bdf        rondo.formats.edf           signals of one rate (extra `io`)
    .c3d             rondo.formats.c3d           markers, or analog signals (extra `io`)
    .xdf             rondo.formats.xdf           one stream, the only one or the one named by `key` (extra `io`)

The id of a recording is its file name without the suffix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from polars.exceptions import PanicException

from rondo.data.recording import Recording, checked_rate
from rondo.errors import InputError, RecordingError
from rondo.formats.array_files import read_hdf5, read_npy, read_npz
from rondo.formats.c3d import read_c3d
from rondo.formats.class_codes import without_codes
from rondo.formats.csv_file import read_csv
from rondo.formats.edf import read_edf
from rondo.formats.json_lines import read_json_lines
from rondo.formats.tables import read_parquet, table_recording
from rondo.formats.xdf import read_xdf

_TABLE_READERS = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".parquet": read_parquet,
    ".npy": read_npy,
    ".edf": read_edf,
    ".bdf": read_edf,
    ".c3d": read_c3d,
}
_ARCHIVE_READERS = {".npz": read_npz, ".h5": read_hdf5, ".hdf5": read_hdf5, ".xdf": read_xdf}
SUFFIXES = (*_TABLE_READERS, *_ARCHIVE_READERS)
_PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz")
_ABOUT_THE_FOLDER = ("readme", "read me", "license", "licence", "changelog")
LABELS = "_labels"
"""How the name of a file of classes goes on after that of its recording."""
EXTRA_SUFFIXES = (".edf", ".bdf", ".c3d", ".xdf")
"""Those whose readers need a library of the extra `io`."""


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
        if suffix in _ARCHIVE_READERS:
            return _ARCHIVE_READERS[suffix](path, rate=rate, key=key, label_columns=label_columns)
        if key is not None:
            raise RecordingError(
                f"a key ('{key}') names an array in {' '.join(_ARCHIVE_READERS)} files; leave it away here"
            )
        return _TABLE_READERS[suffix](path, rate=rate, label_columns=label_columns)


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
    near = get_close_matches(path.name, [each.name for each in beside], n=1)
    if near:
        return f"did you mean '{path.parent / near[0]}'?"
    is_bare = path.parent == Path() and not path.suffix
    return "check the path" + (" (public data sets: `rondo datasets list`)" if is_bare else "")


def _instead(folder: Path) -> str:
    """What to give instead of a folder without recordings: those inside it that have some, perhaps."""
    below = [each for each in sorted(folder.iterdir()) if each.is_dir() and any(map(_is_recording, each.iterdir()))]
    if below:
        return f"folders inside it do: name them, as {below[0]}"
    return f"expected files ending in {' '.join(SUFFIXES)}"


def _is_recording(file: Path) -> bool:
    """Whether a file of a folder is to be read: not one that is hidden, open in a spreadsheet, or about the others."""
    is_about = file.suffix.lower() == ".txt" and file.stem.lower().startswith(_ABOUT_THE_FOLDER)
    return file.suffix.lower() in SUFFIXES and not is_about and not file.name.startswith((".", "~$")) and file.is_file()


def _refuse_unreadable(path: Path) -> None:
    if path.is_dir():
        raise RecordingError("it is a folder; expected a file, or read each file in it")
    if not path.exists():
        raise RecordingError("there is no such file; check the path")
    if path.suffix.lower() in _PACKED:
        raise RecordingError(f"it is packed ({path.suffix}); unpack it first")
    if path.suffix.lower() not in SUFFIXES:
        raise RecordingError(
            f"unknown suffix '{path.suffix}'; expected one of {' '.join(SUFFIXES)}; save it as .csv, "
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
