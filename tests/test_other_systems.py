"""What only Linux and macOS have is not needed to import anything, or to measure."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import RondoWarning
from rondo.many.driver import engine_of
from rondo.many.engine import Serial, peak_mb

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
others = ("__main__", "adapters.aeon", "adapters.sktime")  # the last two import libraries that Rondo does not need
names = [one.name for one in pkgutil.walk_packages(rondo.__path__, "rondo.") if not one.name.endswith(others)]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


@pytest.mark.slow
def test_every_module_imports_without_them() -> None:
    """Other people's modules may have them: on Windows these do without."""
    done = subprocess.run([sys.executable, "-c", _IMPORT_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-600:]
    assert int(done.stdout) > 200


def test_memory_that_nobody_tells_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(path: Path) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", no_file)  # /proc/self/status
    before = peak_mb()
    assert before is not None and before > 10
    real = builtins.__import__

    def without_resource(name: str, *rest: Any) -> Any:
        if name == "resource":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_resource)
    assert peak_mb() is None


def test_tasks_run_one_by_one_where_there_are_no_process_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with pytest.warns(RondoWarning, match="one after the other"):
        engine = engine_of("local", 4)
    assert engine == Serial()
