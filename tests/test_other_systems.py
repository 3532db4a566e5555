"""What only Linux and macOS have is not needed to import anything, to lock a folder, or to measure."""

from __future__ import annotations

import builtins
import errno
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rondo.continual.checkpoint import locked
from rondo.engine import measure
from rondo.engine.choose import engine_of
from rondo.engine.serial import Serial
from rondo.errors import OutputError, RondoWarning
from rondo.store import file_lock
from rondo_bench.experiments.rows import open_rows

_POSIX_ONLY = ("fcntl", "resource", "grp", "pwd", "termios", "tty", "pty", "syslog")

_IMPORT_ALL = f"""
import builtins, importlib, pkgutil
before = builtins.__import__
def ours_get_none(name, globals=None, locals=None, fromlist=(), level=0):
    if name in {_POSIX_ONLY} and str((globals or {{}}).get("__name__", "")).startswith("rondo"):
        raise ModuleNotFoundError(name)
    return before(name, globals, locals, fromlist, level)
builtins.__import__ = ours_get_none
import rondo
names = [one.name for one in pkgutil.walk_packages(rondo.__path__, "rondo.") if not one.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_every_module_imports_without_them() -> None:
    """Other people's modules may have them: on Windows these do without."""
    done = subprocess.run([sys.executable, "-c", _IMPORT_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-600:]
    assert int(done.stdout) > 200


class Windows:
    """`msvcrt` as far as we use it: one byte of an open file, refused while another descriptor has it."""

    LK_NBLCK = 2

    def locking(self, descriptor: int, mode: int, n_bytes: int) -> None:
        import fcntl

        assert (mode, n_bytes, os.lseek(descriptor, 0, os.SEEK_CUR)) == (self.LK_NBLCK, 1, 0)
        assert not os.path.isdir(f"/proc/self/fd/{descriptor}")  # noqa: PTH112  # Windows opens no folders
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """For `file_lock`: no fcntl, but msvcrt."""
    real = importlib.import_module

    def import_module(name: str) -> Any:
        if name == "fcntl":
            raise ModuleNotFoundError(name)
        return Windows() if name == "msvcrt" else real(name)

    monkeypatch.setattr(file_lock, "importlib", SimpleNamespace(import_module=import_module))


def test_one_process_writes_at_a_time_there_too(tmp_path: Path, on_windows: None) -> None:
    with open_rows(tmp_path / "bench"), pytest.raises(OutputError, match="another `rondo bench run` writes here"):
        open_rows(tmp_path / "bench").__enter__()
    with open_rows(tmp_path / "bench"):
        pass  # given back
    folder = tmp_path / "live" / "checkpoint"
    with locked(folder), pytest.raises(OutputError, match="another process is writing this checkpoint"):
        locked(folder).__enter__()
    with locked(folder):
        assert folder.is_dir()
    assert not (tmp_path / "live").exists()  # nothing was written, so nothing is left, the lock neither


def test_memory_that_nobody_tells_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_STATUS", Path("no such file"))
    before = measure.peak_mb()
    assert before is not None and before > 10
    real = builtins.__import__

    def without_resource(name: str, *rest: Any) -> Any:
        if name == "resource":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_resource)
    assert measure.peak_mb() is None


def test_tasks_run_one_by_one_where_there_are_no_process_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with pytest.warns(RondoWarning, match="one after the other"):
        engine = engine_of("local", 4)
    assert engine == Serial()
