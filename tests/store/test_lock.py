"""One process at a time: refused or waited for, given back by the dead, and through no link."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import OutputError
from rondo.store import lock
from rondo.store.lock import locked

BUSY = "someone writes here"


def test_a_second_one_is_refused_at_once(tmp_path: Path) -> None:
    begun = time.monotonic()
    with locked(tmp_path, "lock", BUSY), pytest.raises(OutputError, match=f"^{tmp_path}: {BUSY}$"):
        locked(tmp_path, "lock", BUSY).__enter__()
    assert time.monotonic() - begun < 5
    with locked(tmp_path, "lock", BUSY), locked(tmp_path, "other", BUSY):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_made_and_goes_with_the_lock(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "b", "lock", BUSY):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path / "a" / "b", "lock", BUSY):
        (tmp_path / "a" / "b" / "kept").touch()
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["kept"]


def test_a_lock_of_the_dead_is_free(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from typing import Any
from rondo.store import lock
from rondo.store.lock import locked
with locked(Path({str(tmp_path)!r}), "lock", ""):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    with locked(tmp_path, "lock", BUSY):
        pass
    assert list(tmp_path.iterdir()) == []


def test_links_and_pipes_are_no_locks(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "link").symlink_to("precious")
    os.mkfifo(tmp_path / "pipe")
    for name, says in (("link", "a link"), ("pipe", "not a regular file")):
        with pytest.raises(OutputError, match=says):
            locked(tmp_path, name, BUSY).__enter__()
    assert (tmp_path / "precious").read_text() == "mine"


def test_many_wait_for_each_other(tmp_path: Path) -> None:
    """The file goes with each that has had it, while others wait with it in their hands."""
    count = tmp_path / "count"
    count.write_text("0")

    def add() -> None:
        for _ in range(10):
            with locked(tmp_path, "lock", BUSY, wait_s=60):
                n = int(count.read_text())
                time.sleep(0.001)
                count.write_text(str(n + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.read_text() == "40"
    assert [path.name for path in tmp_path.iterdir()] == ["count"]


def test_a_lock_on_a_file_that_is_gone_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever had it before takes its file away just after we have opened it."""
    n_acquired = 0

    class Overtaken(lock.FileLock):  # type: ignore[misc]
        def acquire(self, *arguments: Any, **named: Any) -> Any:
            nonlocal n_acquired
            n_acquired += 1
            taken = super().acquire(*arguments, **named)
            if n_acquired == 1:
                (tmp_path / "lock").unlink()
            return taken

    monkeypatch.setattr(lock, "FileLock", Overtaken)
    with locked(tmp_path, "lock", BUSY), pytest.raises(OutputError, match=BUSY):
        assert n_acquired == 2
        locked(tmp_path, "lock", BUSY).__enter__()


def test_a_folder_that_cannot_be_written_is_named_and_no_hidden_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> int:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(lock, "open_appending", refused)
    with (
        pytest.raises(OutputError, match=r"written \(Read-only file system\)") as error,
        locked(tmp_path, ".x.lock", "busy"),
    ):
        pass
    assert ".x.lock" not in str(error.value)
