"""Runs in a bucket: written here and copied there with summary.json last, copied here to be read."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from rondo.errors import OutputError
from rondo.store.folder import ELSEWHERE_OR_REMOVE, check_free, whole_folder
from rondo.store.locations import Location, as_location, connected, joined, reaching

_LAST = "summary.json"
_AT_ONCE = 16  # objects under way
_temporaries: set[Path] = set()


def check_free_place(where: str | Path) -> None:
    """Refuse an output folder, here or in a bucket, before any work is done for it."""
    place = as_location(where)
    if isinstance(place, Path):
        return check_free(place)
    system, path = connected(place)
    try:
        with reaching(place, OutputError, named=True):
            found = {PurePosixPath(name).name for name in system.ls(path, detail=False)} - {PurePosixPath(path).name}
    except FileNotFoundError:
        return None
    if found:
        what = "already holds a run" if _LAST in found else "it is not empty"
        raise OutputError(f"{place.rstrip('/')}: {what}", ELSEWHERE_OR_REMOVE)
    return None


@contextmanager
def whole_run(where: str | Path) -> Iterator[Path]:
    """A draft of a run folder that is put in place, here or in a bucket, when the block ends well.

    A draft for a bucket can be read until the process ends. If it is whole and cannot be copied, it stays, and the
    error says where.
    """
    place = as_location(where)
    if isinstance(place, Path):
        with whole_folder(place) as draft:
            yield draft
        return
    draft = _temporary("run")
    try:
        yield draft
        put_run(draft, place)
    except BaseException as error:
        if isinstance(error, OutputError) and (draft / _LAST).exists():
            _temporaries.discard(draft.parent)
            raise OutputError(f"{error}; the whole run is in {draft}, copy it yourself") from error
        shutil.rmtree(draft.parent, ignore_errors=True)
        raise


def put_run(run: Path, url: str) -> None:
    """Copy a run folder of this machine into a bucket, `summary.json` last: until then there is no run."""
    files = sorted(file for file in run.rglob("*") if file.is_file() and not file.name.startswith("."))
    system, root = connected(url)
    for some in ([file for file in files if file != run / _LAST], [file for file in files if file == run / _LAST]):
        there = [f"{root.rstrip('/')}/{file.relative_to(run).as_posix()}" for file in some]
        with reaching(url, OutputError, named=True):
            system.put([str(file) for file in some], there, batch_size=_AT_ONCE)


def run_here(where: str | Path, without: Sequence[str] = ()) -> Path:
    """A run or model folder on this machine: the one named, or a copy, without some of its folders, until the end."""
    place = as_location(where)
    if isinstance(place, Path):
        return place
    url = place.rstrip("/")
    system, root = connected(url)
    root = root.rstrip("/")
    with reaching(url, OutputError, named=True):
        inside = [name.removeprefix(f"{root}/") for name in system.find(root) if name.startswith(f"{root}/")]
    names = sorted(name for name in inside if name[-1] != "/" and name.partition("/")[0] not in without)
    if not {_LAST, "manifest.json"} & set(names):
        raise OutputError(f"{url}: it holds no {_LAST}, so no run, or not yet; give the --out of `rondo discover`")
    copy = _temporary(PurePosixPath(url).name or "run")
    there = [copy / checked_name(name, url) for name in names]
    for above in {file.parent for file in there}:
        above.mkdir(parents=True, exist_ok=True)
    with reaching(url, OutputError, named=True):
        system.get([f"{root}/{name}" for name in names], [str(file) for file in there], batch_size=_AT_ONCE)
    return copy


def _temporary(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rondo-")) / name
    _temporaries.add(folder.parent)
    folder.mkdir()
    return folder


@atexit.register
def _remove_temporaries() -> None:
    for folder in _temporaries:
        shutil.rmtree(folder, ignore_errors=True)


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
    """Put a file that was drawn in a copy (`run_here`) into the run itself; returns its place."""
    place = as_location(where)
    if isinstance(place, Path):
        return file
    system, root = connected(place)
    with reaching(place, OutputError, named=True):
        system.put_file(str(file), f"{root.rstrip('/')}/{file.name}")
    return joined(place, file.name)
