"""A file tried in a process of its own, for libraries that can end the process that uses them.

ezc3d, HDF5 and polars are native code that trusts what a file says of itself: a damaged one can crash them, or keep
them busy without end, and no `except` catches that. So the file is read once in a child, and only what the child
survives is read here. That costs a start of Python and the library (about 0.2 s) and a second reading.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from textwrap import indent

from rondo.errors import RecordingError
from rondo.wording import duration_in_words

_SECONDS, _SECONDS_PER_MEGABYTE = 60.0, 2.0  # a busy machine took 17 s to start one
_BYTES_PER_MEGABYTE = 1e6
_PROGRAM = """\
import sys
path = sys.argv[1]
try:
    import {library}
{opening}
except Exception:
    pass
"""

_EVERY_PARQUET_COLUMN = """\
table = polars.scan_parquet(path, glob=False, hive_partitioning=False)
for place in range(len(table.collect_schema())):
    try:
        table.select(polars.nth(place)).collect()
    except Exception:  # the reader may begin with another column
        pass
"""


_TRUSTING = ContextVar("trusting", default=False)


@contextmanager
def trusting() -> Iterator[None]:
    """Files that are read in the block have been tried before, and are not tried again."""
    before = _TRUSTING.set(True)
    try:
        yield
    finally:
        _TRUSTING.reset(before)


def refuse_fatal_parquet(path: Path) -> None:
    """A single bit in the head of a page can end the process, or make polars panic with a page of text per thread.

    Of 1,500 files with such heads damaged 7 did the one and 27 the other; of 1,800 damaged anywhere none and 10.
    """
    refuse_fatal(path, "polars", _EVERY_PARQUET_COLUMN)


def refuse_fatal(path: Path, library: str, opening: str, seconds: float | None = None) -> None:
    """Raise where `opening`, Python that knows the library and `path`, ends a process or does not end.

    What merely raises there is left to the reader, who can say it better; a panic of Rust, which prints pages, is not.
    """
    if _TRUSTING.get():
        return
    limit = seconds or _SECONDS + _SECONDS_PER_MEGABYTE * path.stat().st_size / _BYTES_PER_MEGABYTE
    program = _PROGRAM.format(library=library, opening=indent(opening, "    "))
    command = [sys.executable, "-P", "-c", program, str(path.resolve())]  # -P: no module from the folder we stand in
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        tried = subprocess.run(
            command, capture_output=True, timeout=limit, check=False, stdin=subprocess.DEVNULL, env=environment
        )
    except subprocess.TimeoutExpired:
        raise RecordingError(
            f"{library} did not come to an end with it in {duration_in_words(limit)}; it is probably damaged: "
            "get it again"
        ) from None
    except OSError:  # no second process can be had here; then it is read untried
        return
    if tried.returncode:
        how = f"signal {-tried.returncode}" if tried.returncode < 0 else f"code {tried.returncode}"
        raise RecordingError(f"it is damaged: {library}, which reads such files, crashed on it ({how}); get it again")
