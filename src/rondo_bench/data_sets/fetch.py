"""Bring a data set to its folder: fetch what its offer names, unpack it, and note what was done.

A broken line costs nothing: what came stays in `<name>.part`, to be gone on with. The server is asked for the rest
(Range), and only if its file is still the same one (If-Range). A file gets its name when all of it has come and its
checksum, where one is known, is right. A note (`downloaded.json`) makes a second run skip what is complete; archives
are taken away once unpacked. Nothing in an archive is trusted: no file outside the folder, no link, nothing half
written.

This is not left to `pooch` (1.9), which begins every download again, hours with data sets of many gigabytes, and whose
`Unzip` does not refuse an archive with a name that leads outside.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import shutil
import stat
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from rondo.errors import OutputError, RecordingError, SettingError
from rondo.store.folder import finish_file, make_folder, open_appending, whole_file, write_json, write_text
from rondo.wording import Progress, silent

BLOCK_BYTES = 1 << 18
N_TRIES = 5  # in a row without a single new byte
FIRST_WAIT_S = 1.0  # doubled from try to try
TIMEOUT_S = 60.0
_HEADERS = {"User-Agent": "rondo", "Accept-Encoding": "identity"}
_BROKEN = (OSError, http.client.HTTPException)  # what a line that breaks may raise; URLError is an OSError


class Remote(NamedTuple):
    """A file on a server, the name it gets here, and its checksum as `kind:hex`, or ""."""

    address: str
    name: str
    checksum: str = ""


def fetch(remote: Remote, target: Path, progress: Progress = silent) -> None:
    """Bring a file to `target`, going on where an earlier try stopped."""
    _refuse_other_schemes(remote.address)
    part = target.with_name(target.name + ".part")
    make_folder(part.parent, advice="give another with --data")
    tries = 0
    while True:
        before = _size(part)
        try:
            if _fetch_rest(remote, part, progress):
                break
            problem = "the line broke"
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"the server says {error.code} {_reason(error)}"
            if error.code < 500 and error.code not in (408, 429):
                raise SettingError(f"{remote.address}: {problem}; see the page") from None
        except _BROKEN as error:
            _refuse_full_disk(error, part)
            problem = _reason(error)
        tries = 1 if _size(part) > before else tries + 1
        if tries >= N_TRIES:
            later = "run it again to go on, if the server sends parts of files"
            raise RecordingError(
                f"{remote.address}: {problem}, {N_TRIES} times; {_size(part):,} bytes are kept; {later}"
            )
        time.sleep(FIRST_WAIT_S * 2 ** (tries - 1))
    _check(remote, part)
    _about(part).unlink(missing_ok=True)
    finish_file(part, target, "give another folder with --data")


def read_small(address: str, most: int = 1 << 22) -> bytes:
    """A short answer, such as a list of files."""
    _refuse_other_schemes(address)
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=_HEADERS), timeout=TIMEOUT_S) as answer:
            return bytes(answer.read(most))
    except _BROKEN as error:
        raise RecordingError(f"{address}: {_reason(error)}; check the line and try again") from None


def _fetch_rest(remote: Remote, part: Path, progress: Progress) -> bool:
    """Ask for what is missing and append it; whether all is there now."""
    known = _known(part)
    have = _size(part) if known else 0
    headers = dict(_HEADERS)
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": known["tag"]}
    request = urllib.request.Request(remote.address, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # asked beyond the end: the file is complete, or became shorter
            raise
        error.close()
        if have == known.get("total"):
            return True
        _forget(part)
        return False
    with answer:
        if answer.status != 206:
            have = 0
        elif not str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-"):
            _forget(part)  # another piece than the one asked for
            return False
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length is not None and length.isdigit() else None
        _refuse_small_disk(part.parent, 0 if total is None else total - have, "still to come are")
        with os.fdopen(open_appending(part), "r+b") as file:
            file.seek(have)
            file.truncate()
            strong = [tag for tag in answer.headers.get_all("ETag", []) if not tag.startswith("W/")]  # weak: may differ
            tag = (*strong, *answer.headers.get_all("Last-Modified", []), "")[0]
            write_text(_about(part), json.dumps({"tag": tag, "total": total}))  # no byte of another file is left now
            have = _copy(answer, file, have, total, remote.name, progress)
    return total is None or have == total


def _copy(answer: Any, file: IO[bytes], have: int, total: int | None, name: str, progress: Progress) -> int:
    """Blocks from the line to the file; what came is on disk even where the line breaks."""
    megabytes = max(1, (total or 0) >> 20)
    while block := answer.read(BLOCK_BYTES):
        file.write(block)
        have += len(block)
        progress(f"{name} (MB)", min(have >> 20, megabytes), megabytes)
    return have


def _check(remote: Remote, part: Path) -> None:
    """A file with another checksum than the published one is taken away: nothing could be made of it."""
    if not remote.checksum:
        return
    kind, _, expected = remote.checksum.partition(":")
    if kind not in hashlib.algorithms_available:
        raise SettingError(f"{remote.address}: a checksum of the kind '{kind}', which cannot be computed here")
    found = digest_of(part, kind)
    if found != expected.lower():
        _forget(part)
        raise RecordingError(
            f"{remote.address}: its {kind} is {found}, expected {expected}; the file is damaged or another one, "
            "and was taken away; try again"
        )


def digest_of(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _about(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _known(part: Path) -> dict[str, Any]:
    """What the server said of the file of which a part is here; nothing where the part cannot be continued."""
    try:
        noted = dict(json.loads(_about(part).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
    return noted if part.is_file() and noted.get("tag") else {}


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _about(part).unlink(missing_ok=True)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _refuse_small_disk(folder: Path, need: int, why: str) -> None:
    free = shutil.disk_usage(folder).free
    if need > free:
        size = f"{why} {need / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free"
        raise OutputError(f"{folder}: {size}; make room, then run it again to go on")


def _refuse_full_disk(error: BaseException, part: Path) -> None:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise OutputError(f"{part}: the disk is full; make room, then run it again to go on") from None
    hopeless = (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # ELOOP: a link is in its place
    if isinstance(error, OSError) and error.errno in hopeless:
        raise OutputError(f"{part}: it cannot be written ({error.strerror}); give another folder with --data") from None


def _refuse_other_schemes(address: str) -> None:
    if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
        raise SettingError(f"{address}: only http and https addresses are fetched")


def _reason(error: BaseException) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return " ".join(str(reason).split()) or type(error).__name__


@dataclass(frozen=True)
class Offer:
    """How one data set can be had; `files` maps a name under `base` to its checksum ("" where none is published)."""

    name: str
    page: str
    licence: str
    base: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ("*",)
    zenodo: Mapping[str, str] = field(default_factory=dict)
    by_hand: str = ""
    unpacked: Mapping[str, str] = field(default_factory=dict)  # names in the archives to their checksums

    def remotes(self) -> list[Remote]:
        """What to fetch; a Zenodo record is asked for its files, whose addresses and checksums it knows."""
        if self.zenodo:
            return _files_of_record(self.zenodo["address"], self.zenodo["match"])
        quoted = {name: self.base + urllib.parse.quote(name, safe="/+") for name in self.files}
        return [Remote(quoted[name], name, checksum) for name, checksum in self.files.items()]

    def checksum_of(self, path: Path) -> str:
        """The checksum that a file of this name has where it is published; empty where none is known."""
        known = {**self.files, **self.unpacked}
        return next((own for name, own in known.items() if own and path.as_posix().endswith(f"/{name}")), "")


@cache
def offers() -> dict[str, Offer]:
    """All of them, by the name of the data set."""
    tables = tomllib.loads(Path(__file__).with_name("offers.toml").read_text(encoding="utf-8"))
    return {name: Offer(name, **(table | {"keep": tuple(table.get("keep", ("*",)))})) for name, table in tables.items()}


def _files_of_record(address: str, match: str) -> list[Remote]:
    try:
        files = json.loads(read_small(address))["files"]
        found = [
            Remote(file["links"]["self"], file["key"], file.get("checksum", ""))
            for file in files
            if match in file["key"].lower()
        ]
    except (ValueError, KeyError, TypeError):
        raise SettingError(f"{address}: the answer is no list of files; get the files by hand from the page") from None
    if not found:
        names = ", ".join(str(file.get("key")) for file in files)
        raise SettingError(f"{address}: no file there is called like '{match}', only {names}; get them by hand")
    return found


NOTE = "downloaded.json"
_AGAIN = "make room or check its permissions, then run it again"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def download(offer: Offer, folder: Path, progress: Progress = silent) -> int:
    """All files of an offer under `folder`; how many were fetched now."""
    if offer.by_hand:
        raise SettingError(f"{offer.name} is fetched by hand: {offer.by_hand} into {folder} (page: {offer.page})")
    try:
        done = dict(json.loads((folder / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        done = {}
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
        write_json(folder / NOTE, done, "check the disk, then run it again")
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


def unpack(archive: Path, folder: Path, keep: Sequence[str] = ("*",), progress: Progress = silent) -> int:
    """Unpack the members that match one of `keep`, and the archives among them; how many files there are now.

    A file that is there already in its full size is left alone, so that a second run goes on where a first one stopped.
    """
    n_files = 0
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [one for one in opened.infolist() if not one.is_dir()]
            members = [one for one in members if any(fnmatch(one.filename, pattern) for pattern in keep)]
            targets = [(one, _target(one, folder, archive)) for one in members]  # all, before one is written
            make_folder(folder)
            need = sum(member.file_size for member, target in targets if not target.is_file())
            _refuse_small_disk(folder, need, "unpacked it takes")
            for done, (member, target) in enumerate(targets):
                progress(f"unpacking {archive.name}", done, len(targets))
                if target.is_file() and target.stat().st_size == member.file_size:
                    continue
                make_folder(target.parent)
                with opened.open(member) as source, whole_file(target, _AGAIN) as file:
                    shutil.copyfileobj(source, file, 1 << 20)  # the checksum is compared at the end of the read
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
