"""One worker of the local engine: a process that is sent tasks and answers with what they gave.

Started as `python -m rondo.engine.worker DESCRIPTOR`, one end of a pipe. It ends when the pipe is closed. Its standard
input is a second pipe on which nothing is ever said: it closes when the process at the other end ends, however it
ends, and then the worker leaves its task and ends too.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rondo.engine.base import Done, in_one_line
from rondo.engine.measure import attempt
from rondo.engine.threads import hold_to_one_thread
from rondo.errors import RondoWarning


def main(descriptor: int) -> None:
    """Answer until there is nobody to answer to."""
    os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _be_chosen_when_memory_is_short()
    warnings.showwarning = _show_warning
    with Connection(descriptor) as connection:
        while True:
            try:
                asked = connection.recv_bytes()
            except (EOFError, OSError):
                return heed_no_more()
            connection.send_bytes(answer(asked))


def _leave(*_: object) -> None:
    """End by an exception, so that temporary folders are removed."""
    heed_no_more()
    sys.exit(128 + signal.SIGTERM)


def heed_no_more() -> None:
    """It ends already; an exception in what Python does at its end would be printed. Too slow, it is killed.

    Not SIG_IGN: of a signal that comes at this very moment Python would print that it was lost.
    """
    signal.signal(signal.SIGTERM, lambda *_: None)


def answer(asked: bytes) -> bytes:
    """(work, task) -> Done, both pickled; what cannot be read or sent is the failure of the task."""
    try:
        work, task = pickle.loads(asked)
    except Exception as error:  # noqa: BLE001  # whatever the import of the work raises
        return pickle.dumps(_failed(f"the worker cannot read its task ({in_one_line(error)})"))
    hold_to_one_thread()
    done: Done[Any] = attempt(work, 0, task)
    try:
        return pickle.dumps(done)
    except Exception as error:  # noqa: BLE001  # pickle raises many kinds
        return pickle.dumps(_failed(f"its result cannot be sent ({in_one_line(error)})"))


def _failed(why: str) -> Done[None]:
    return Done(0, None, why, 0.0, 0.0, 0.0)


def _end_with_parent() -> None:
    os.read(0, 1)  # by descriptor: a thread that waits on sys.stdin would stop the process from ending
    os.killpg(0, signal.SIGKILL)  # its own group: processes that a task has started end with it


def _be_chosen_when_memory_is_short() -> None:
    """Let the system end a worker, which is tried again, rather than the process that keeps the rows."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, RondoWarning):
        sys.stderr.write(f"note: {message}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
