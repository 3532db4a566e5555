"""`rondo stream` as a process that can be killed, and what it has written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 180.0  # for a busy machine; every wait ends as soon as it can


def rondo_command(every: int, *arguments: object) -> list[str]:
    """The command line of `rondo`, with a checkpoint after so many windows."""
    code = f"import rondo.live.session as s; s.WINDOWS_BETWEEN = {every}; from rondo.cli.main import run; run()"
    return [sys.executable, "-c", code, *map(str, arguments)]


class RondoProcess:
    """One of perhaps several processes on a folder; what it says lies beside the folder."""

    def __init__(self, model: Path, source: str, out: Path, every: int = 40) -> None:
        self._notes = out.parent / f"notes-{time.monotonic_ns()}.txt"
        command = rondo_command(every, "stream", model, "--source", source, "--out", out)
        with self._notes.open("wb") as notes:
            self._process = subprocess.Popen(command, stdout=notes, stderr=notes)

    @property
    def notes(self) -> str:
        return self._notes.read_text()

    def is_running(self) -> bool:
        assert self._process.poll() is None, self.notes
        return True

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def stop(self) -> None:
        """As a supervisor does; it keeps everything."""
        self._process.terminate()
        assert self._process.wait(PATIENCE_S) == 0, self.notes

    def sleep(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def wake(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)


Begin = Callable[..., RondoProcess]


@contextmanager
def rondo_processes() -> Iterator[Begin]:
    """Processes of which none is left at the end."""
    begun: list[RondoProcess] = []

    def begin(*what: Any, **more: Any) -> RondoProcess:
        begun.append(RondoProcess(*what, **more))
        return begun[-1]

    try:
        yield begin
    finally:
        for process in begun:
            process.kill()


def wait_for(holds: Callable[[], Any], what: str, *running: RondoProcess) -> None:
    """Return as soon as it holds; fails with the notes of a process that has ended meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert all(process.is_running() for process in running)
        assert time.monotonic() < end, f"waited in vain: {what}\n" + "\n".join(process.notes for process in running)
        time.sleep(0.02)


def n_labels(out: Path) -> int:
    """Lines in the labels of all devices."""
    return sum(file.read_bytes().count(b"\n") for file in out.glob("devices/*/labels.csv"))
