"""Bring a data set to its folder: fetch what its offer names, unpack it, and note what was done.

The note (`downloaded.json`) makes a second run skip what is complete; archives are taken away once unpacked.

Nothing in an archive is trusted: no file outside the folder, no link, nothing half written. It is own code and not
`pooch.Unzip`: that unpacks a name that leads outside under another name instead of refusing the archive, chooses
members by the beginning of their names only, and begins again when it was stopped.
"""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
import zlib
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from rondo.errors import OutputError, RecordingError, SettingError
from rondo.store.folder import whole_file, write_json
from rondo.wording import Progress, silent
from rondo_bench.data_sets.http import fetch
from rondo_bench.data_sets.offers import Offer

NOTE = "downloaded.json"
_AGAIN = "make room or check its permissions, then run it again"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def download(offer: Offer, folder: Path, progress: Progress = silent) -> int:
    """All files of an offer under `folder`; how many were fetched now."""
    if offer.by_hand:
        raise SettingError(f"{offer.name} is fetched by hand: {offer.by_hand} into {folder} (page: {offer.page})")
    done = _note(folder)
    fetched = 0
    for remote in offer.remotes():
        target = folder / remote.name
        if done.get(remote.name) == remote.address and (target.is_file() or _is_archive(target)):
            continue
        if not target.resolve().is_relative_to(folder.resolve()):
            raise SettingError(f"{remote.address}: its name '{remote.name}' would lead outside {folder}")
        if not target.is_file():  # a name is only given to what is complete: an archive waits to be unpacked
            fetch(remote, target, progress)
        if _is_archive(target):
            _unpack(target, folder, offer.keep, progress)
        done[remote.name] = remote.address
        _write_note(folder, done)
        fetched += 1
    return fetched


def _is_archive(target: Path) -> bool:
    return target.suffix.lower() == ".zip"


def _unpack(archive: Path, folder: Path, keep: tuple[str, ...], progress: Progress) -> None:
    """What is damaged is taken away, so that the next run fetches it again; for want of room it stays."""
    try:
        n_files = unpack(archive, folder, keep, progress)
    except RecordingError:
        archive.unlink(missing_ok=True)
        raise
    archive.unlink()
    if not n_files:
        raise RecordingError(f"{archive.name}: no file in it is called like {', '.join(keep)}; the archive has changed")


def _note(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _write_note(folder: Path, done: dict[str, str]) -> None:
    write_json(folder / NOTE, done, "check the disk, then run it again")


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
        if _is_archive(target):
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
