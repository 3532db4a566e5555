"""A run folder in a bucket: an object appears whole or not at all, and summary.json is put there last."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rondo.errors import OutputError
from rondo.store.locations import Location, as_location, connected, reaching

LAST = "summary.json"
_AT_ONCE = 16  # objects under way


@dataclass(frozen=True)
class CloudFolder:
    """A PartFolder in a bucket. It holds its URL and nothing else, so it can be pickled and keeps no credentials."""

    url: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", str(as_location(self.url)).rstrip("/"))

    def names(self, under: str = "") -> set[str]:
        """Of all objects in it, or under one folder of it."""
        with self._reached(under) as (system, path):
            found = system.find(path)
            root = connected(self.url)[1]
        return {name.removeprefix(f"{root}/") for name in found if name.startswith(f"{path}/") and name[-1] != "/"}

    def write(self, name: str, content: bytes) -> None:
        """Put an object there; it is seen when it is whole."""
        try:
            with self._reached(name) as (system, path):
                system.pipe_file(path, content)
        except FileNotFoundError as error:  # of drivers that have no other word for it
            raise OutputError(f"{self.url}: there is no such bucket; check its name") from error

    def read(self, name: str) -> bytes:
        """The content of an object; FileNotFoundError where there is none."""
        with self._reached(name) as (system, path):
            content: bytes = system.cat_file(path)
        return content

    def remove(self, name: str) -> None:
        """Take an object away; one that is not there is away already."""
        with suppress(FileNotFoundError), self._reached(name) as (system, path):
            system.rm_file(path)

    @contextmanager
    def _reached(self, name: str) -> Iterator[tuple[Any, str]]:
        system, root = connected(self.url)
        with reaching(self.url, OutputError, named=True):
            yield system, f"{root}/{name}".rstrip("/")


def check_free_in_cloud(folder: CloudFolder) -> None:
    """Refuse a folder of a bucket that holds something, before any work is done for it."""
    system, path = connected(folder.url)
    try:
        with reaching(folder.url, OutputError, named=True):
            found = {PurePosixPath(name).name for name in system.ls(path, detail=False)} - {PurePosixPath(path).name}
    except FileNotFoundError:
        return
    if found:
        what = "already holds a run" if LAST in found else "it is not empty"
        raise OutputError(f"{folder.url}: {what}; choose another --out or remove it first")


def put_run(run: Path, folder: CloudFolder) -> None:
    """Copy a run folder of this machine into a bucket, `summary.json` last: until then there is no run."""
    files = sorted(file for file in run.rglob("*") if file.is_file() and not file.name.startswith("."))
    system, root = connected(folder.url)
    for some in ([file for file in files if file != run / LAST], [file for file in files if file == run / LAST]):
        there = [f"{root}/{file.relative_to(run).as_posix()}" for file in some]
        with reaching(folder.url, OutputError, named=True):
            system.put([str(file) for file in some], there, batch_size=_AT_ONCE)


@contextmanager
def whole_cloud_folder(url: str) -> Iterator[Path]:
    """A draft on this machine of a folder that is copied to the bucket when the block ends well.

    Where the copy fails, the draft stays, and the error says where it is.
    """
    outer = Path(tempfile.mkdtemp(prefix="rondo-"))
    draft = outer / "run"
    try:
        draft.mkdir()
        yield draft
    except BaseException:
        shutil.rmtree(outer, ignore_errors=True)
        raise
    try:
        put_run(draft, CloudFolder(url))
    except OutputError as error:
        raise OutputError(f"{error}; the whole run is in {draft}, copy it yourself") from error
    shutil.rmtree(outer, ignore_errors=True)


def run_here(where: str | Path, without: Sequence[str] = ()) -> Path:
    """A run or model folder on this machine: the one named, or a copy of the one in a bucket.

    The copy is removed when the process ends. Folders of the run that are named in `without` are not copied.
    """
    place = as_location(where)
    return place if isinstance(place, Path) else _brought(CloudFolder(place), without)


def _brought(folder: CloudFolder, without: Sequence[str]) -> Path:
    names = sorted(name for name in folder.names() if name.partition("/")[0] not in without)
    if not {LAST, "manifest.json"} & set(names):
        raise OutputError(
            f"{folder.url}: it holds no {LAST}, so no run, or not yet; give the --out of `rondo discover`"
        )
    outer = Path(tempfile.mkdtemp(prefix="rondo-"))
    atexit.register(shutil.rmtree, outer, ignore_errors=True)
    copy = outer / (PurePosixPath(folder.url).name or "run")
    copy.mkdir()
    there = [copy / checked_name(name, folder.url) for name in names]
    system, root = connected(folder.url)
    for above in {file.parent for file in there}:
        above.mkdir(parents=True, exist_ok=True)
    with reaching(folder.url, OutputError, named=True):
        system.get([f"{root}/{name}" for name in names], [str(file) for file in there], batch_size=_AT_ONCE)
    return copy


def checked_name(name: str, url: str) -> str:
    """The name of an object, if a file of that name stays in the folder: a bucket may be someone else's.

    >>> checked_name("labels/day1.npy", "s3://bucket/run")
    'labels/day1.npy'
    """
    on_windows = os.name == "nt" and any(sign in name for sign in "\\:")
    if {"", ".", ".."} & set(name.split("/")) or "\0" in name or on_windows:
        raise OutputError(f"{url}: it holds an object {name[:80]!r} that no run has; remove it, or copy the run here")
    return name


def put_beside(where: str | Path, file: Path) -> Location:
    """Put a file that was drawn in a copy (`run_here`) into the run itself; says where it lies."""
    place = as_location(where)
    if isinstance(place, Path):
        return file
    CloudFolder(place).write(file.name, file.read_bytes())
    return f"{place.rstrip('/')}/{file.name}"
