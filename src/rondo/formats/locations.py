"""Where recordings lie: files, folders and patterns, of this machine or in a bucket, all asked in the same way."""

from __future__ import annotations

import glob
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rondo.errors import RecordingError
from rondo.store.cloud import connected, copied_here, reaching
from rondo.store.urls import Location, as_location


class Listing(NamedTuple):
    """What lies at a place: itself, the files directly in a folder, or those that match a pattern, sorted."""

    kind: Literal["file", "folder", "pattern", "nothing"]
    files: list[Location]
    folders: list[Path] = []  # noqa: RUF012  # of this machine, in the folder or matching the pattern; never changed


class FileState(NamedTuple):
    """By which a file that has changed is noticed."""

    size: int  # bytes
    version: str


def listing(place: Location) -> Listing:
    """What lies there. A name with `*`, `?` or `[` is a pattern unless there is a file or folder of that name."""
    return _in_bucket(place) if isinstance(place, str) else _on_disk(place)


def _on_disk(path: Path) -> Listing:
    if path.is_dir():
        inside = sorted(path.iterdir())
        return Listing("folder", [one for one in inside if one.is_file()], [one for one in inside if one.is_dir()])
    if path.exists():
        return Listing("file", [path])
    if not glob.has_magic(str(path)):
        return Listing("nothing", [])
    found = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207  # absolute patterns too
    return Listing("pattern", [one for one in found if one.is_file()], [one for one in found if one.is_dir()])


def _in_bucket(url: str) -> Listing:
    system, path = connected(url)
    about = _info(url)
    with reaching(url, RecordingError):
        if about is not None and (about["type"] == "directory" or url.endswith("/")):
            return Listing("folder", _files(url, path, system.ls(path, detail=True)))
        if about is not None:
            return Listing("file", [url])
        if not glob.has_magic(path):
            return Listing("nothing", [])
        return Listing("pattern", _files(url, path, system.glob(path, detail=True).values()))


def _files(url: str, path: str, found: Any) -> list[Location]:
    """The URLs of those that are objects; an empty one whose name ends with a slash only stands for a folder."""
    before = url.rstrip("/").removesuffix(path)
    names = sorted(one["name"] for one in found if one["type"] == "file" and not one["name"].endswith("/"))
    return [f"{before}{name}" for name in names if name != path]


def _info(url: str) -> dict[str, Any] | None:
    """What the store says about an object or folder; None where there is none."""
    system, path = connected(url)
    try:
        with reaching(url, RecordingError):
            about: dict[str, Any] = system.info(path)
    except FileNotFoundError:
        return None
    return about


@contextmanager
def local_file(place: Location) -> Iterator[Path]:
    """The file itself, or a copy of an object under the same name that is removed when the block ends."""
    if isinstance(place, Path):
        yield place
        return
    with copied_here(place, RecordingError) as copy:
        yield copy


# ---------------------------------------------------------------- changed since


def size_of(where: str | Path) -> int:
    """Bytes of a file or object.

    Raises
    ------
    RecordingError : where there is none, or its store cannot be reached.
    """
    return _state(as_location(where)).size


def states_of(places: Sequence[str | Path]) -> dict[str, FileState]:
    """Size and version of many files, by their names as text; one question for each folder of a bucket."""
    found: dict[str, FileState] = {}
    folders: dict[str, set[str]] = defaultdict(set)
    for place in map(as_location, places):
        if isinstance(place, Path):
            found[str(place)] = _state(place)
        else:
            folders[place.rpartition("/")[0]].add(place)
    for folder, urls in folders.items():
        found |= _states_in(folder, urls) if len(urls) > 1 else {url: _state(url) for url in urls}
    return found


def _states_in(folder: str, urls: set[str]) -> dict[str, FileState]:
    system, path = connected(folder)
    before = folder.removesuffix(path)
    with _named(folder), reaching(folder, RecordingError):
        found = {f"{before}{one['name']}": _object_state(one) for one in system.ls(path, detail=True)}
    missing = next((url for url in sorted(urls) if url not in found), None)
    if missing is not None:
        raise RecordingError(f"{missing}: there is no such file; check the path")
    return {url: found[url] for url in urls}


def _state(place: Location) -> FileState:
    with _named(place):
        if isinstance(place, Path) and place.is_dir():
            return _folder_state(place)
        if isinstance(place, Path):
            status = place.stat()
            return FileState(status.st_size, f"{status.st_size}-{status.st_mtime_ns}")
        about = _info(place)
        if about is None:
            raise FileNotFoundError
        return _object_state(about)


def _folder_state(folder: Path) -> FileState:
    """Of all files directly in it: a session has changed when one of them has."""
    states = [(file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file()]
    known = "".join(f"{name}\n{status.st_size}-{status.st_mtime_ns}\n" for name, status in states)
    version = hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest()
    return FileState(sum(status.st_size for _, status in states), version)


def _object_state(about: Mapping[str, Any]) -> FileState:
    """Of what a driver says about an object; each has its own words."""
    size = int(about.get("size") or 0)
    known = next((about[key] for key in ("ETag", "etag", "LastModified", "last_modified", "mtime") if key in about), "")
    return FileState(size, f"{size}-{str(known).strip(chr(34))}")


@contextmanager
def _named(place: Location) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise RecordingError(f"{place}: there is no such file; check the path") from None
    except OSError as error:
        raise RecordingError(f"{place}: it cannot be read ({error.strerror}); check its permissions") from error
    except RecordingError as error:
        raise RecordingError(f"{place}: {error}") from error
