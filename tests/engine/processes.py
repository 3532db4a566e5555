"""Whether processes are there, asked from outside."""

from __future__ import annotations

import time
from pathlib import Path


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be counted does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone_within(pids: list[int], seconds: float) -> bool:
    by = time.monotonic() + seconds
    while time.monotonic() < by:
        if not any(map(is_there, pids)):
            return True
        time.sleep(0.02)
    return False


def said_by(path: Path, seconds: float = 60) -> str:
    """What a task writes to a file, as soon as it does."""
    by = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < by, f"{path.name} was never written"
        time.sleep(0.02)
    return path.read_text()
