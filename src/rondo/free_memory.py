"""How much memory is free, as far as the system tells."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CGROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def free_bytes() -> int | None:
    """What a new process could take without swapping: of the machine, or of the container; None where nobody tells."""
    known = [_available(), *(_left(limit, used) for limit, used in _CGROUPS)]
    return min((free for free in known if free is not None), default=None)


def _available() -> int | None:
    with suppress(OSError, ValueError):
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _left(limit: Path, used: Path) -> int | None:
    """A container may count its page cache as used; so what is left is a lower bound."""
    with suppress(OSError, ValueError):  # "max": no limit
        return max(0, int(limit.read_text()) - int(used.read_text()))
    return None


def in_gigabytes(n_bytes: float) -> str:
    """A size for people.

    >>> in_gigabytes(1.26e9), in_gigabytes(3.4e12), in_gigabytes(2e6)
    ('1.3 GB', '3,400 GB', '2 MB')
    """
    if n_bytes < 1e8:
        return f"{n_bytes / 1e6:,.0f} MB"
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes < 1e11 else f"{n_bytes / 1e9:,.0f} GB"
