"""What workers are given to do in tests; they import it by name."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.errors import RecordingError
from rondo.many.engine import ONE_THREAD

Work = Callable[[Any], Any]
FOR_EVER_S = 600  # longer than any test waits, so that only being ended can end it


@dataclass(frozen=True)
class Note:
    """A task that leaves a file, so that a second try, or an onlooker, can tell that it was here."""

    folder: Path
    name: str
    wants_gpu: bool = False

    @property
    def path(self) -> Path:
        return self.folder / self.name


def ten_times(number: int) -> int:
    if number == 2:
        raise RecordingError("no frames\n in it")
    if number == 3:
        raise ZeroDivisionError("by nought")
    return 10 * number


def is_told_to_end_while_it_ends(_: int) -> None:
    atexit.register(os.kill, os.getpid(), signal.SIGTERM)


def process_of(_: int) -> int:
    return os.getpid()


def killed_the_first_time(note: Note) -> str:
    """As the kernel does when memory is short; with the name `ever` it is killed each time."""
    first = not note.path.exists()
    note.path.touch()
    if note.name.startswith("ever") or (first and note.name.startswith("once")):
        os.kill(os.getpid(), signal.SIGKILL)
    return note.name


def ends_itself(_: int) -> None:
    os._exit(7)


def sleeps_beside_a_child(note: Note) -> None:
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({FOR_EVER_S})"])
    note.path.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
    note.path.with_suffix(".part").rename(note.path)
    time.sleep(FOR_EVER_S)


def sleeps_when_told(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def sleeps(note: Note) -> None:
    """Until it is ended; with the name `now` it does not sleep at all."""
    if note.name != "now":
        note.path.with_suffix(".part").write_text(str(os.getpid()))
        note.path.with_suffix(".part").rename(note.path)
        time.sleep(FOR_EVER_S)


def dies_beside_a_child(note: Note) -> None:
    """The child holds what it has inherited, as a process that a method has forked does."""
    if (child := os.fork()) == 0:
        time.sleep(FOR_EVER_S)
        os._exit(0)
    note.path.write_text(str(child))
    os.kill(os.getpid(), signal.SIGKILL)


def surroundings(_: object) -> dict[str, Any]:
    import torch
    from threadpoolctl import threadpool_info

    spared_last = Path("/proc/self/oom_score_adj")
    return {
        "variables": {name: os.environ.get(name) for name in ONE_THREAD},
        "oom_score": int(spared_last.read_text()) if spared_last.exists() else None,
        "threads": [pool["num_threads"] for pool in threadpool_info()],
        "torch": torch.get_num_threads(),
        "cuda": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }


def overlapping(note: Note) -> tuple[str, float, float]:
    """Which device it sees, and from when to when."""
    began = time.time()
    time.sleep(0.3)
    return os.environ["CUDA_VISIBLE_DEVICES"], began, time.time()


def holds(n_mb: int) -> int:
    return len(bytes(bytearray(b"x") * (n_mb * 500_000))) and n_mb  # the copy makes it twice as much


def gives_what_cannot_be_sent(_: int) -> object:
    return lambda: None


def warns(number: int) -> int:
    import warnings

    from rondo.errors import RondoWarning

    sys.stdout.write("a library talks\n")
    warnings.warn("a channel is constant", RondoWarning, stacklevel=1)
    warnings.warn("a library worries", UserWarning, stacklevel=1)
    return number


def first_digits(seed: int) -> bytes:
    """Numbers through BLAS and torch, to the last bit."""
    import numpy as np
    import torch

    drawn = np.random.default_rng(seed).standard_normal((300, 300))
    generator = torch.Generator().manual_seed(seed)
    return (drawn @ drawn.T).tobytes() + (torch.rand(200, 200, generator=generator) @ torch.ones(200)).numpy().tobytes()


def exits(code: int) -> int:
    return sys.exit(code) if code else code


def modules(_: int) -> set[str]:
    return {name for name in sys.modules if "." not in name}


def many_bytes(count: int) -> bytes:
    return bytes(count)


def sleeps_in_a_folder(note: Note) -> None:
    """With a temporary folder, whose path it leaves; with the name `now` it does nothing."""
    with tempfile.TemporaryDirectory(dir=note.folder) as folder:
        if note.name != "now":
            note.path.with_suffix(".part").write_text(folder)
            note.path.with_suffix(".part").rename(note.path)
            time.sleep(FOR_EVER_S)


@dataclass(frozen=True)
class OnNode:
    """A task of a Ray cluster that leaves a note of where it has begun."""

    folder: Path
    number: int


def slow_square(task: OnNode) -> int:
    """Slow enough for its node to be killed meanwhile."""
    import ray

    begun = task.folder / f"part-{task.number}-{os.getpid()}"
    begun.write_text(ray.get_runtime_context().get_node_id())
    begun.rename(task.folder / f"begun-{task.number}-{os.getpid()}")
    time.sleep(2)
    return task.number**2
