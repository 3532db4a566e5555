"""Drafts as killed processes leave them, and what a folder holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rondo.store import folder as drafts


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def draft_name(name: str, pid: int, here: str | None = None) -> str:
    return f".{name}.{here or drafts._here()}-{pid}-0123456789abcdef.draft"
