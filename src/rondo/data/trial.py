"""A file tried in a process of its own, for libraries that can end the process that uses them.

ezc3d is native code that trusts what a file says of itself: a damaged one can crash it, or keep it busy without end,
and no `except` catches that. So the file is opened once in a child, and only what the child survives is opened here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rondo.errors import RecordingError

_SECONDS, _SECONDS_PER_MEGABYTE = 15.0, 2.0
_BYTES_PER_MEGABYTE = 1e6


def refuse_fatal(path: Path, library: str, opening: str, seconds: float | None = None) -> None:
    """Raise where `opening`, an expression in which the library and `path` are known, ends a process or does not end.

    What merely raises there is left to the reader, who can say it better.
    """
    program = f"import sys, {library}\npath = sys.argv[1]\ntry:\n    {opening}\nexcept Exception:\n    pass"
    limit = seconds or _SECONDS + _SECONDS_PER_MEGABYTE * path.stat().st_size / _BYTES_PER_MEGABYTE
    try:
        command = [sys.executable, "-c", program, str(path.resolve())]
        tried = subprocess.run(command, capture_output=True, timeout=limit, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise RecordingError(
            f"{library} did not come to an end with it in {limit:.0f} s; it is probably damaged: get it anew"
        ) from None
    if tried.returncode:
        how = f"signal {-tried.returncode}" if tried.returncode < 0 else f"code {tried.returncode}"
        raise RecordingError(f"it is damaged: {library}, which reads such files, crashed on it ({how}); get it anew")
