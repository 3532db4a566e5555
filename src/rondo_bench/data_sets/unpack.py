"""Unpack an archive of which nothing is trusted: no file outside the folder, no link, nothing half written.

Own code and not `pooch.Unzip`: that unpacks a name that leads outside under another name instead of refusing the
archive, chooses members by the beginning of their names only, and begins anew when it was stopped.
"""

from __future__ import annotations

import shutil
import stat
import zipfile
import zlib
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from rondo.errors import OutputError, RecordingError
from rondo.progress import Progress, silent
from rondo.store.writing import whole_file

_AGAIN = "make room or check its permissions, then run it again"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def unpack(archive: Path, folder: Path, keep: Sequence[str] = ("*",), progress: Progress = silent) -> int:
    """Unpack the members that match one of `keep`, and the archives among them; how many files there are now.

    A file that is there already in its full size is left alone, so that a second run goes on where a first one stopped.
    """
    n_files = 0
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [
                one for one in opened.infolist() if not one.is_dir() and any(_matches(one, name) for name in keep)
            ]
            targets = [
                (one, _target(one, folder, archive)) for one in members
            ]  # all are looked at before one is written
            _refuse_small_disk(folder, targets)
            for done, (member, target) in enumerate(targets):
                progress(f"unpacking {archive.name}", done, len(targets))
                if not (target.is_file() and target.stat().st_size == member.file_size):
                    _write(opened, member, target)
    except _DAMAGED as error:
        cause = (str(error) or type(error).__name__).splitlines()[0][:100]
        raise RecordingError(f"{archive}: it is truncated or damaged ({cause}); fetch it again") from None
    except OSError as error:
        raise OutputError(f"{folder}: cannot unpack there ({error.strerror}); {_AGAIN}") from None
    for _, target in targets:
        if target.suffix.lower() == ".zip":
            n_files += unpack(target, target.parent, keep, progress)
            target.unlink()
        else:
            n_files += 1
    return n_files


def _matches(member: zipfile.ZipInfo, pattern: str) -> bool:
    return fnmatch(member.filename, pattern)


def _target(member: zipfile.ZipInfo, folder: Path, archive: Path) -> Path:
    """Where a member goes; one that would go elsewhere, or is a link, makes the whole archive suspect."""
    name = member.filename.replace("\\", "/")
    parts = PurePosixPath(name).parts
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    target = folder.joinpath(*parts)
    outside = not target.resolve().is_relative_to(folder.resolve())
    if is_link or outside or ".." in parts or name.startswith("/") or ":" in parts[0]:
        raise RecordingError(
            f"{archive}: its member '{name[:80]}' would be written outside {folder}; nothing was unpacked"
        )
    return target


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, whole_file(target, _AGAIN) as file:
        shutil.copyfileobj(source, file, 1 << 20)  # the checksum is compared at the end of the read


def _refuse_small_disk(folder: Path, targets: Sequence[tuple[zipfile.ZipInfo, Path]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    need = sum(member.file_size for member, target in targets if not target.is_file())
    free = shutil.disk_usage(folder).free
    if need > free:
        raise OutputError(f"{folder}: unpacked it takes {need / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free; make room")
