"""What a worker of the local engine does in its own process: settle in, then answer one task after the other."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from joblib.externals.loky import process_executor

from rondo.engine.base import Done, in_one_line
from rondo.engine.measure import attempt
from rondo.engine.threads import hold_to_one_thread
from rondo.errors import RondoWarning

_LOOK_EVERY_S = 0.5  # whether the owner is still there

_has_task = threading.Event()


def settle(owner: int) -> None:
    """Become a worker of the process `owner`, before the first task."""
    os.setsid()
    signal.signal(signal.SIGTERM, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    threading.Thread(target=_end_with, args=(owner,), daemon=True).start()
    os.dup2(2, 1)  # stdout is for what a command answers
    sys.stdout = sys.stderr
    warnings.showwarning = _show_warning
    process_executor._USE_PSUTIL = False  # else loky replaces workers that have grown, and warns, where psutil is there
    with suppress(OSError):  # let the system end a worker, which is tried again, rather than the owner
        Path("/proc/self/oom_score_adj").write_text("500")


def answer(asked: bytes) -> bytes:
    """(work, task) -> Done, both pickled; what cannot be read or sent is the failure of the task.

    Pickled here and not by loky: what loky cannot read, in a worker or from it, ends the worker.
    """
    _has_task.set()
    try:
        return _answer(asked)
    finally:
        _has_task.clear()


def _answer(asked: bytes) -> bytes:
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


def _leave(*_: object) -> None:
    """Leave a task by an exception, so that temporary folders are removed; without one, end at once and silently."""
    if not _has_task.is_set():
        os._exit(128 + signal.SIGTERM)
    sys.exit(128 + signal.SIGTERM)


def _end_with(owner: int) -> None:
    """Loky's workers outlive an owner that is killed; these look, and end with what their task has started."""
    while os.getppid() == owner:
        time.sleep(_LOOK_EVERY_S)
    os.killpg(0, signal.SIGKILL)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, RondoWarning):
        sys.stderr.write(f"note: {message}\n")
