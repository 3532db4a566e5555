"""The one place that puts files and folders on the disk: each appears whole, or what was there before stays.

Everything is written to a draft beside its place, brought to the disk, and renamed. A draft has a name of its own and
is made with O_EXCL and O_NOFOLLOW: a link that waits in a folder from someone else is never written through. What a
killed process left is cleared by the next writer to the same place.

    whole_file, write_bytes, write_text, write_json   one file, new or in the place of another
    whole_files                                       several new files, all or none
    whole_folder                                      a folder, new or in the place of another
    new_file                                          a plain new file, inside a folder that is a draft itself
    make_folder                                       a folder, where no link inside another leads elsewhere
    open_appending, finish_file                       a file that grows in place, and perhaps gets its name at the end
    PartFolder                                        a folder that several processes fill file by file
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from rondo.errors import OutputError
from rondo.store.locations import refuse_url
from rondo.store.reading import read_regular

_LONGEST_STEM = 40  # of a name in the name of its draft: a name may have 255 bytes, a character four
_DRAFT = re.compile(r"\.(?P<stem>.*)\.(?P<here>[0-9a-f]{8})-(?P<pid>\d{1,9})-[0-9a-f]{16}\.draft", re.DOTALL)
_BEFORE = ".before"  # after the name of a folder that waits inside a draft until the new one is in place
_FORGOTTEN_S = 24 * 3600.0  # nobody writes one file for so long

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)  # without it Windows would write each line end as two characters
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe would keep whoever opens it waiting

# From so many files on, the disk is asked once for all of them: one by one they take 7 ms each.
_FILES_PER_SYNC, _PARTS_PER_SYNC = 1_000, 50
_MOST_PART_BYTES = 1 << 34

_ROOM = "make room or give permission"
_ELSEWHERE = "choose another {place}"
ELSEWHERE_OR_REMOVE = f"{_ELSEWHERE} or remove it first"
_NOT_THERE = "only whole runs (--out of discover and label) go to a bucket; give a path of this machine"


# ---------------------------------------------------------------- drafts, and those that killed processes left


def draft_of(path: Path) -> Path:
    """A name for a draft of `path`, beside it, that nothing else has."""
    return path.with_name(f".{path.name[:_LONGEST_STEM]}.{_here()}-{os.getpid()}-{secrets.token_hex(8)}.draft")


def is_draft(name: str) -> bool:
    """Whether a file or folder of this name is a draft that `rondo.store` writes, or has left."""
    return _DRAFT.fullmatch(name) is not None


def clear_drafts(path: Path) -> None:
    """Take away what killed processes have left in the folder of `path`, whatever they were writing there.

    A folder that one was about to replace is put back under its name.
    """
    try:
        with os.scandir(path.parent) as entries:
            matches = [(_DRAFT.fullmatch(entry.name), entry) for entry in entries if entry.name.endswith(".draft")]
        abandoned = [(found["stem"], Path(entry)) for found, entry in matches if found and _is_abandoned(found, entry)]
    except OSError:  # no right to look
        return
    for stem, draft in abandoned:
        with suppress(OSError):  # what cannot be tidied up is in nobody's way
            if draft.is_symlink() or not draft.is_dir():
                draft.unlink(missing_ok=True)
                continue
            for before in draft.iterdir():
                target = draft.with_name(before.name.removesuffix(_BEFORE))
                is_ours = before.name.endswith(_BEFORE) and stem == target.name[:_LONGEST_STEM]
                if is_ours and before.is_dir() and not before.is_symlink() and not os.path.lexists(target):
                    before.rename(target)  # where that fails, the draft has to stay
            shutil.rmtree(draft)


def _is_abandoned(found: re.Match[str], entry: os.DirEntry[str]) -> bool:
    if os.name != "posix" or found["here"] != _here():  # on Windows os.kill would end the process that is asked about
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _FORGOTTEN_S
    try:
        os.kill(int(found["pid"]), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it runs, and belongs to someone else
        return False
    return False


@cache
def _here() -> str:
    """What the number of a process is unique in: this machine and, inside a container, its own space of numbers."""
    space = Path("/proc/self/ns/pid")
    inside = str(space.readlink()) if space.is_symlink() else ""
    return f"{zlib.crc32(f'{platform.node()} {inside}'.encode()):08x}"


# ---------------------------------------------------------------- one file


@contextmanager
def whole_file(path: Path, advice: str = _ROOM) -> Iterator[IO[bytes]]:
    """A draft of a file, open to write; it takes the name `path` when the block ends well, else it is gone.

    A link at `path` is replaced, not followed. What fails is an OutputError that ends with `advice`.
    """
    with _named(path, advice):
        clear_drafts(path)
        with open_draft(path) as file:
            yield file
            _bring_to_disk(file)
        sync_folder(path.parent)


@contextmanager
def open_draft(path: Path) -> Iterator[IO[bytes]]:
    """A draft that takes the name `path` when the block ends well, not yet on the disk: `sync_file` brings it there.

    Drafts that a killed process left are not looked for: a folder of 20,000 files would be listed 20,000 times.
    """
    draft = draft_of(path)
    try:
        with new_file(draft) as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes, advice: str = _ROOM) -> None:
    """Put a file in place, whole."""
    with whole_file(path, advice) as file:
        file.write(content)


def write_text(path: Path, text: str, advice: str = _ROOM) -> None:
    """Put a text in place as UTF-8, whole."""
    with whole_file(path, advice) as file:
        file.write(text.encode())


def write_json(path: Path, value: Any, advice: str = _ROOM, *, ensure_ascii: bool = True) -> None:
    """Put JSON in place, whole; NaN, which is no JSON, is refused."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=ensure_ascii), advice)


def new_file(path: Path) -> IO[bytes]:
    """A file that was not there, open to write: for folders that are drafts, where nothing needs a draft of its own.

    Whatever has the name already, be it a link to nowhere, is refused (FileExistsError).
    """
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags | _NO_FOLLOW, 0o666))


def open_appending(path: Path) -> int:
    """A descriptor to read and write a file that grows in place, made where there is none.

    OSError for a link, which would lead elsewhere, and for whatever is no regular file.
    """
    if path.is_symlink():  # said in words; where the system can, the flag holds against a change of mind too
        raise OSError(errno.ELOOP, "a link, expected a file of its own")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY | _NO_FOLLOW | _NO_WAIT, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return descriptor


def finish_file(part: Path, path: Path, advice: str = _ROOM) -> None:
    """Give a file that grew in place under another name (`open_appending`) the name `path`, now that it is whole."""
    with _named(path, advice):
        sync_file(part)
        part.replace(path)
        sync_folder(path.parent)


def link_file(source: Path, target: Path) -> bool:
    """Whether the file has a second name now; not every file system can do that."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        return False
    return True


# ---------------------------------------------------------------- several files


def whole_files(files: Mapping[Path, bytes], advice: str = _ELSEWHERE) -> list[Path]:
    """Write all of them or none; nothing that exists is written over.

    A process that was killed between two renames has placed some of them. So those that are there with the very same
    content count as written, as long as one is missing.
    """
    there = [path for path in files if os.path.lexists(path)]
    foreign = [path for path in there if not _holds(path, files[path])]
    if foreign or len(there) == len(files):
        raise OutputError(f"{(foreign or there)[0]}: it exists already; choose another name or remove it first")
    missing = [path for path in files if path not in there]
    new_folders = [p for path in missing for p in (path.parent, *path.parent.parents) if not p.exists()]
    placed: list[Path] = []
    try:
        with _named(next(iter(files)), advice), ExitStack() as drafts:
            ready: list[tuple[Path, Path]] = []
            for path in missing:
                make_folder(path.parent)
                clear_drafts(path)
                draft = draft_of(path)
                drafts.callback(draft.unlink, missing_ok=True)
                with new_file(draft) as file:
                    file.write(files[path])
                    _bring_to_disk(file)
                ready.append((draft, path))
            for draft, path in ready:
                draft.rename(path)
                placed.append(path)
            for folder in {path.parent for path in placed}:
                sync_folder(folder)
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
        _remove_empty(new_folders)
        raise
    return list(files)


def _holds(path: Path, content: bytes) -> bool:
    try:
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


# ---------------------------------------------------------------- a folder


def check_free(out: Path) -> None:
    """Refuse an output folder that cannot be written, before any work is done for it."""
    try:
        if out.is_symlink() and not out.exists():
            raise OutputError(f"{out}: a link to nowhere", ELSEWHERE_OR_REMOVE)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            what = "already holds a run" if (out / "summary.json").exists() else "exists and is not an empty folder"
            raise OutputError(f"{out}: {what}", ELSEWHERE_OR_REMOVE)
        if out.exists() and (out.is_mount() or out.samefile(Path.cwd())):
            raise OutputError(f"{out}: in use as it stands, it cannot be replaced; choose a new folder inside it")
        _resolved(out)
        above = next(parent for parent in out.absolute().parents if parent.exists())
    except OSError as error:  # no right to look, a name too long, links in a circle
        raise OutputError(f"{out}: cannot be written ({_reason(error)})", _ELSEWHERE) from None
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(f"{out}: cannot be written, {above} is not a writable folder", _ELSEWHERE)


@contextmanager
def whole_folder(out: Path, advice: str = _ELSEWHERE, *, replaces: bool = False) -> Iterator[Path]:
    """A draft of a folder that takes the name `out` when the block ends well, and vanishes when it does not.

    A link to a folder stays a link. Unless it `replaces`, only an empty folder may have the name; whether what is there
    may be replaced is for the caller to look at.
    """
    with _named(out, advice):
        target = _resolved(out)
        new_parents = [parent for parent in target.parents if not parent.exists()]
        outer = draft_of(target)
        draft = outer / target.name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            clear_drafts(target)
            outer.mkdir(mode=0o700)
            draft.mkdir()  # inside, for the rights that a new folder has here
            yield draft
            _sync_tree(draft)
            _put_in_place(draft, target, replaces)
            sync_folder(target.parent)
        except BaseException as error:
            shutil.rmtree(outer, ignore_errors=True)
            _remove_empty(new_parents)
            if isinstance(error, OutputError):  # people know the place, and not the draft
                raise OutputError(*(part.replace(str(draft), str(out)) for part in error.args)) from None
            raise
        shutil.rmtree(outer, ignore_errors=True)


def _put_in_place(draft: Path, target: Path, replaces: bool) -> None:
    """Give the draft the target's name; the folder that had it comes back if that fails."""
    if not target.exists():
        draft.rename(target)
    elif not replaces:
        target.rmdir()  # which fails where someone has put something into it meanwhile
        draft.rename(target)
    else:
        aside = draft.with_name(f"{target.name}{_BEFORE}")
        target.rename(aside)
        try:
            draft.rename(target)
        except BaseException:
            aside.rename(target)
            raise


def make_folder(top: Path, *inside: str, advice: str = _ROOM) -> Path:
    """A folder, made where there is none: `top`, which someone has named, and those inside, each in the one before.

    `top` may be a link. What is inside it may be someone else's, and a link there would lead elsewhere: OutputError.
    """
    if not inside and top.is_dir():  # the working folder has no name
        return top
    path = top
    with _named(top.joinpath(*inside), advice):
        if top.exists() and not top.is_dir():
            raise OutputError(f"{top}: a file, expected a folder; choose another place")
        top.mkdir(parents=True, exist_ok=True)
        for name in inside:
            path = path / name
            refuse_link(path)
            path.mkdir(exist_ok=True)
    return path


def refuse_link(path: Path) -> None:
    """Refuse a link inside a folder that may be someone else's: it would lead elsewhere."""
    if path.is_symlink():
        raise OutputError(f"{path}: a link, expected one of its own", f"remove it, or {_ELSEWHERE}")


@dataclass(frozen=True)
class PartFolder:
    """A folder that several processes fill; its files have names relative to it, as `labels/a.npy`.

    Every file is there whole or not at all. The files of a batch are brought to the disk together, and whoever writes
    last the file that says that the batch is done can count on the others.
    """

    path: Path

    def names(self, under: str = "") -> set[str]:
        """Of the files that are whole; drafts are not."""
        top = self.path / under
        files = (Path(above) / name for above, _, names in os.walk(top) for name in names if not is_draft(name))
        return {file.relative_to(self.path).as_posix() for file in files}

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all, and on the disk when it returns."""
        self.write_together({name: content})

    def write_together(self, files: Mapping[str, bytes]) -> None:
        """Each whole or not at all, and all on the disk when it returns."""
        paths = {name: self.path / name for name in files}
        for inside in {Path(name).parent.parts for name in files}:
            make_folder(self.path, *inside)
        try:
            for name, path in paths.items():
                with open_draft(path) as file:
                    file.write(files[name])
            if len(paths) >= _PARTS_PER_SYNC and hasattr(os, "sync"):
                os.sync()
                return
            for path in paths.values():
                sync_file(path)
            for folder in {path.parent for path in paths.values()}:
                sync_folder(folder)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({_reason(error)}); {_ROOM}") from None

    def read(self, name: str) -> bytes:
        return read_regular(self.path / name, _MOST_PART_BYTES)

    def clear_drafts(self) -> None:
        """Take away what killed processes have left; nobody may be writing here."""
        for above, folders, files in os.walk(self.path):
            for name in filter(is_draft, [*files, *folders]):
                path = Path(above) / name
                shutil.rmtree(path) if name in folders else path.unlink(missing_ok=True)

    def remove_under(self, name: str) -> None:
        """Take away a folder inside the folder, and all in it."""
        shutil.rmtree(self.path / name, ignore_errors=True)

    def remove(self, name: str) -> None:
        """Take a file away, and its folder with the last one."""
        path = self.path / name
        path.unlink(missing_ok=True)
        with suppress(OSError):  # there is more in it
            if path.parent != self.path:
                path.parent.rmdir()


# ---------------------------------------------------------------- to the disk


def sync_file(path: Path) -> None:
    """Return when a file is on the disk."""
    on_windows = os.name == "nt"
    descriptor = os.open(path, os.O_RDWR if on_windows else os.O_RDONLY)  # it syncs only what may be written
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk; Windows opens no folders."""
    if os.name != "nt":
        sync_file(folder)


def _sync_tree(folder: Path) -> None:
    """Return when a folder and all in it are on the disk."""
    inside = [Path(above) / name for above, folders, files in os.walk(folder) for name in (*files, *folders)]
    if len(inside) > _FILES_PER_SYNC and hasattr(os, "sync"):
        os.sync()
        return
    for path in (*inside, folder):
        sync_folder(path) if path.is_dir() else sync_file(path)


def _bring_to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


# ---------------------------------------------------------------- what fails


@contextmanager
def _named(path: Path, advice: str) -> Iterator[None]:
    refuse_url(path, _NOT_THERE)
    if not path.name:
        raise OutputError(f"{path}: it is a folder; give the name of a file or folder in it")
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({_reason(error)})", advice) from None


def _resolved(path: Path) -> Path:
    """Where it really is; RuntimeError is what Python up to 3.12 raises for links in a circle."""
    try:
        return path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, str(error)) from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _remove_empty(folders: list[Path]) -> None:
    for folder in sorted(set(folders), key=lambda folder: -len(folder.parts)):
        with suppress(OSError):  # it was never made, or someone else has put something there
            folder.rmdir()
