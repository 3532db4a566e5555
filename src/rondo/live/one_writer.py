"""One stream at a time writes into a folder, whatever checkpoints they have: two would mix their lines in one file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rondo.continual.checkpoint import locked
from rondo.store import lock

OUT_LOCK = ".stream.lock"
_BUSY = "another stream is writing into this folder; wait for it, stop it, or choose another --out"


@contextmanager
def only_writer(out: Path, checkpoint: Path) -> Iterator[None]:
    """Keep both folders for this process alone."""
    with lock.locked(out, OUT_LOCK, _BUSY), locked(checkpoint):
        yield
