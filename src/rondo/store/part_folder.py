"""A folder that is filled file by file, by several processes: of this machine, or in a bucket.

Every file is there whole or not at all. The files of a batch are brought to the disk together, and whoever writes last
the file that says that the batch is done can count on the others.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from rondo.errors import OutputError
from rondo.store.reading import read_regular
from rondo.store.urls import as_location
from rondo.store.writing import is_draft, make_folder, open_draft, sync_file, sync_folder

_MANY_FILES = 50  # from here on the disk is asked once for all files: one by one they take 7 ms each
_MOST_BYTES = 1 << 34


class PartFolder(Protocol):
    """Files by their names relative to the folder, as `labels/a.npy`."""

    @property
    def url(self) -> str:
        """Where it is."""

    def names(self, under: str = "") -> set[str]:
        """Of the files that are whole, in all of it or under one folder of it."""

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all; a file of that name is replaced."""

    def read(self, name: str) -> bytes:
        """FileNotFoundError where there is none."""

    def remove(self, name: str) -> None:
        """Take a file away."""


@dataclass(frozen=True)
class LocalFolder:
    """A folder of this machine."""

    path: Path

    @property
    def url(self) -> str:
        return str(self.path)

    def names(self, under: str = "") -> set[str]:
        """Of the files that are whole; drafts are not."""
        top = self.path / under
        found = (Path(above) / name for above, _, files in os.walk(top) for name in files if not is_draft(name))
        return {file.relative_to(self.path).as_posix() for file in found}

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all, and on the disk when it returns."""
        self.write_together({name: content})

    def write_together(self, files: Mapping[str, bytes]) -> None:
        """Each whole or not at all, and all on the disk when it returns."""
        try:
            places = [self._put(name, content) for name, content in files.items()]
            if len(places) >= _MANY_FILES and hasattr(os, "sync"):
                os.sync()
                return
            for place in places:
                sync_file(place)
            for folder in {place.parent for place in places}:
                sync_folder(folder)
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(f"{self.path}: cannot be written ({reason}); make room or give permission") from None

    def _put(self, name: str, content: bytes) -> Path:
        place = self.path / name
        if not place.parent.is_dir() or place.parent.is_symlink():
            self._make_folders(name)
        with open_draft(place) as file:
            file.write(content)
        return place

    def _make_folders(self, name: str) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        for above in reversed(Path(name).parents[:-1]):
            make_folder(self.path / above)

    def read(self, name: str) -> bytes:
        return read_regular(self.path / name, _MOST_BYTES)

    def clear_drafts(self) -> None:
        """Take away what killed processes have left; nobody may be writing here."""
        for above, folders, files in os.walk(self.path):
            for name in filter(is_draft, [*files, *folders]):
                path = Path(above) / name
                shutil.rmtree(path) if name in folders else path.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Take a file away, and its folder with the last one."""
        with suppress(FileNotFoundError):
            (self.path / name).unlink()
        with suppress(OSError):  # there is more in it
            if (self.path / name).parent != self.path:
                (self.path / name).parent.rmdir()


def part_folder(where: str | Path) -> PartFolder:
    """The folder of a path, or of a URL such as s3://bucket/run."""
    place = as_location(where)
    if isinstance(place, str):
        from rondo.store.cloud_folder import CloudFolder  # type: ignore[import-not-found, unused-ignore]  # brings fsspec

        cloud: PartFolder = CloudFolder(place)
        return cloud
    return LocalFolder(place)


def write_together(folder: PartFolder, files: Mapping[str, bytes]) -> None:
    """Write several files, each whole or not at all; here they are brought to the disk at once."""
    if isinstance(folder, LocalFolder):
        folder.write_together(files)
        return
    for name, content in files.items():
        folder.write(name, content)


def remove_under(folder: PartFolder, under: str) -> None:
    """Take away a folder inside the folder, and all in it."""
    if isinstance(folder, LocalFolder):
        shutil.rmtree(folder.path / under, ignore_errors=True)
        return
    for name in sorted(folder.names(under)):
        folder.remove(name)


@contextmanager
def seen_here(folder: PartFolder, *names: str) -> Iterator[Path]:
    """A folder of this machine with these files, or with all under these folders: itself, or a copy for the block."""
    if isinstance(folder, LocalFolder):
        yield folder.path
        return
    with TemporaryDirectory(prefix="rondo-") as place:
        copy = LocalFolder(Path(place))
        for under in names:
            for name in sorted(folder.names(under)) or [under]:
                with suppress(FileNotFoundError):
                    copy.write(name, folder.read(name))
        yield copy.path


def put_files(folder: PartFolder, here: Path, *, last: str = "", known: Collection[str] = ()) -> None:
    """Bring files that were written here into the folder, but those it has; the one named `last` comes last.

    `known`: names of files that came from there.
    """
    if isinstance(folder, LocalFolder) and folder.path == here:
        return
    names = LocalFolder(here).names() - {*known}
    for name in sorted(names, key=lambda name: (name == last, name)):
        folder.write(name, (here / name).read_bytes())
