"""The `rondo` command and `python -m rondo`.

Whoever types Ctrl-C while the imports run (0.3 s, longer from a cold disk) gets one line, as later: so this module
imports next to nothing before it listens.
"""

import gc
import os
import signal
import sys

TYPE_CHECKING = False  # typing itself would be the slowest import here
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_ALLOCATIONS = 50_000  # between two collections; Python's own number is 700


def run() -> "NoReturn":
    """Entry point of the `rondo` command."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and a shell's `&` wish it
            signal.signal(number, _end)
    gc.set_threshold(_ALLOCATIONS)  # a command makes many small objects and few cycles: a tenth to a fifth of its time
    from rondo.cli.main import run as run_command

    run_command()


def _end(number: int, frame: "FrameType | None") -> "NoReturn":
    """Nothing is written yet, and an exception could be caught by whatever is being imported."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"stopped\n")
    os._exit(128 + number)


if __name__ == "__main__":
    run()
