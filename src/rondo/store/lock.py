"""One process at a time in a folder: a lock that the system gives back when the process ends, in whatever way.

The lock is a file in the folder, locked with `filelock`, and taken away when it is given back. `filelock` opens it with
O_NOFOLLOW since version 3.20.3; before that it would empty whatever a link leads to.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from rondo.errors import OutputError
from rondo.store.folder import make_folder, open_appending

_OF_THE_FOLDER = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC)  # nobody knows a hidden file in it


@contextmanager
def locked(folder: Path, name: str, busy: str, wait_s: float = 0.0, *, is_inside: bool = False) -> Iterator[None]:
    """Keep others who lock `name` in the folder out while the block runs, the threads of this process too.

    Whoever is there first is waited for; after `wait_s` seconds it is an OutputError that says `busy`. Folders that are
    made for the lock go with it where nothing was put into them. A folder that `is_inside` one that someone has named
    is no link.
    """
    path = folder / name
    new_folders = [above for above in (folder, *folder.parents) if not above.exists()]
    try:
        try:
            make_folder(folder.parent, folder.name) if is_inside else make_folder(folder)
            lock = _taken(path, time.monotonic() + wait_s)
        except Timeout:
            raise OutputError(f"{folder}: {busy}") from None
        except OSError as error:
            why = error.strerror or str(error)
            if error.errno not in _OF_THE_FOLDER:
                why = f"{name} cannot be locked: {why}"
            raise OutputError(f"{folder}: cannot be written ({why}); make room or give permission") from None
        try:
            yield
        finally:
            with suppress(OSError):  # Windows lets nobody remove an open file; there `release` does
                path.unlink()
            lock.release()
    finally:
        for above in new_folders:
            with suppress(OSError):  # there is something in it by now
                above.rmdir()


def _taken(path: Path, until: float) -> BaseFileLock:
    """The lock, once its file is the one in the folder: whoever had it before has removed the one that was."""
    while True:
        descriptor = open_appending(path)
        try:
            lock = FileLock(path, timeout=max(0.0, until - time.monotonic()))
            lock.acquire()
            with suppress(FileNotFoundError):
                if os.path.samestat(path.lstat(), os.fstat(descriptor)):  # then no other can have had this name since
                    return lock
            lock.release()
        finally:
            os.close(descriptor)
