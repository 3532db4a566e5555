"""Whether processes are there, asked from outside.

A busy machine takes its time: waiting ends when what is waited for has come, and gives up only after minutes.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

PATIENCE_S = 120.0


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be counted does not."""
    if not Path("/proc").is_dir():
        asked = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return asked.stdout.strip()[:1] not in ("", "Z")
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def are_gone(pids: list[int]) -> bool:
    """Whether all of them have ended, as soon as they have."""
    by = time.monotonic() + PATIENCE_S
    while time.monotonic() < by:
        if not any(map(is_there, pids)):
            return True
        time.sleep(0.02)
    return False


def said_by(path: Path) -> str:
    """What a task writes to a file, as soon as it does."""
    by = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < by, f"{path.name} was never written"
        time.sleep(0.02)
    return path.read_text()
