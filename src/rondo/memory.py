"""How much memory is free, as far as the system tells, and whether recordings fit into it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rondo.errors import RecordingError

_MEMINFO = Path("/proc/meminfo")
_CGROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)
VALUE_FACTOR = 6  # bytes that a fit or a reading takes for each byte of values; `rondo.cost` has what was measured
FRAME_BYTES = 100  # what it takes besides for each frame, whatever its channels: clocks, labels, scores
PROCESS_BYTES = 250_000_000  # of a process with its libraries
SHARE_IN_MEMORY = 0.25  # of what is free: recordings that would take more are read one after the other
MANY_FILES = 200  # from here on recordings are read one after the other, however small


def free_bytes() -> int | None:
    """What a new process could take without swapping: of the machine, or of the container; None where nobody tells."""
    free: list[int] = []
    with suppress(OSError, ValueError):
        lines = _MEMINFO.read_text().splitlines()
        free += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    for limit, used in _CGROUPS:  # a container may count its page cache as used, so what is left is a lower bound
        with suppress(OSError, ValueError):  # "max": no limit
            free.append(max(0, int(limit.read_text()) - int(used.read_text())))
    return min(free, default=None)


def in_gigabytes(n_bytes: float) -> str:
    """A size for people: 2 MB, 1.3 GB, 3,400 GB."""
    if n_bytes < 1e8:
        return f"{n_bytes / 1e6:,.0f} MB"
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes < 1e11 else f"{n_bytes / 1e9:,.0f} GB"


class ExpectedSize(NamedTuple):
    """What a recording will be, from its header alone; frames and channels are None where only the size tells."""

    n_frames: int | None
    n_channels: int | None
    n_bytes: int  # of its values in memory

    @classmethod
    def of_table(cls, n_frames: int, n_channels: int) -> ExpectedSize:
        """For values in float32."""
        return cls(n_frames, n_channels, 4 * n_frames * n_channels)


def needed(size: ExpectedSize) -> int:
    """Bytes that it takes to learn from, or label, one recording in memory."""
    n_frames = size.n_bytes // 32 if size.n_frames is None else size.n_frames
    return VALUE_FACTOR * size.n_bytes + FRAME_BYTES * n_frames


def most_text_bytes(most_bytes: int | None) -> int | None:
    """How long a text may be so that its recording takes no more; None where nobody knows what is free."""
    return None if most_bytes is None else most_bytes * 1000 // needed(ExpectedSize(None, None, 1000))


def refuse_too_large(file: str, size: ExpectedSize, most_bytes: int | None) -> None:
    """Refuse a file that alone does not fit."""
    needs = needed(size)
    if most_bytes is not None and needs > most_bytes:
        raise RecordingError(
            f"{file}: it needs about {in_gigabytes(needs)} of memory, {in_gigabytes(most_bytes)} are free; cut it "
            "into shorter recordings, or choose fewer channels"
        )


def refuse_large_array(n_frames: int, n_channels: int) -> None:
    """For files whose size does not tell what is in them: called when their header is known, before they are read."""
    most = most_for_a_file()
    needs = needed(ExpectedSize.of_table(n_frames, n_channels))
    if most is not None and needs > most:
        raise RecordingError(
            f"its {n_frames} frames of {n_channels} channels need about {in_gigabytes(needs)} of memory, "
            f"{in_gigabytes(most)} are free; cut it into shorter recordings, or choose fewer channels"
        )


def most_for_a_file() -> int | None:
    """What one file may take where nothing else is read beside it; None where nobody knows what is free."""
    free = free_bytes()
    return None if free is None else max(0, free - PROCESS_BYTES)


def workers_that_fit(n_workers: int, sizes: Sequence[ExpectedSize], most_bytes: int | None) -> int:
    """As many as have room for the largest file that is going to be read, each."""
    if most_bytes is None:
        return n_workers
    fitting = [n_bytes for n_bytes in map(needed, sizes) if n_bytes <= most_bytes]
    largest = PROCESS_BYTES + max(fitting, default=0)
    return max(1, min(n_workers, (most_bytes + PROCESS_BYTES) // largest))


def refuse_all_at_once(sizes: Sequence[ExpectedSize], instead: str = "give fewer or shorter ones") -> None:
    """Refuse recordings that do not fit into memory together."""
    free, needs = free_bytes(), sum(map(needed, sizes))
    if free is not None and needs > free:
        raise RecordingError(
            f"these recordings need about {in_gigabytes(needs)} of memory at once, {in_gigabytes(free)} are free; "
            f"{instead}"
        )


def is_much(sizes: Sequence[ExpectedSize]) -> bool:
    """Whether recordings are better read one after the other."""
    free = free_bytes()
    is_large = free is not None and sum(map(needed, sizes)) > SHARE_IN_MEMORY * free
    return is_large or len(sizes) > MANY_FILES
