"""What a test needs of the system that it runs on; where the system has none, the test is skipped and says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_IS_POSIX = os.name == "posix"

needs_posix = pytest.mark.skipif(not _IS_POSIX, reason="Windows has no such signals, forks and named pipes")
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="what is looked at stands in /proc")
needs_closed_files = pytest.mark.skipif(
    not _IS_POSIX or os.geteuid() == 0, reason="every file can be read: root may, and Windows has other rights"
)
