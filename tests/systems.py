"""What a test needs of the system that it runs on; where the system has none, the test is skipped and says why."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

_IS_POSIX = os.name == "posix"

needs_posix = pytest.mark.skipif(not _IS_POSIX, reason="Windows has no such signals, forks and named pipes")
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="what is looked at stands in /proc")
needs_closed_files = pytest.mark.skipif(
    not _IS_POSIX or os.geteuid() == 0, reason="every file can be read: root may, and Windows has other rights"
)

_LISTEN = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
# a Python that SIGINT and SIGTERM reach, even where the parent of the tests ignores or blocks them (nohup, a shell's &)
LISTENING_PYTHON = (sys.executable, "-I", "-S", "-c", _LISTEN)
