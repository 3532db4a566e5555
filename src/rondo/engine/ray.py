"""Tasks on a Ray cluster, or on a Ray of this machine that lives as long as the run.

Tasks are paths and settings and results are rows, so nothing large travels: recordings are read where the work runs,
from a path that every node must see, and what Ray does spill it spills by its own settings. Each task takes one CPU,
and one that wants a GPU its share of one; it runs with the same one thread as in a local worker and gives the same
bits. A task whose worker or node dies is tried once more, where Ray finds room.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rondo.engine.base import TRIES, Done, Result, Task, in_one_line, refuse_unless_importable, wants_gpu
from rondo.engine.local import n_cores
from rondo.engine.measure import attempt
from rondo.engine.threads import ONE_THREAD, hold_to_one_thread
from rondo.errors import MissingExtraError, SettingError
from rondo.progress import Progress, silent

_LOOK_EVERY_S = 0.5
_STORE_BYTES = 100_000_000  # of results, which are small: Ray would lay claim to a third of the memory


def ray(address: str | None = None, n_workers: int | None = None, tasks_per_gpu: int = 1) -> OnRay:
    """The engine, if Ray is installed; without an address on this machine, with as many workers as it has cores."""
    if find_spec("ray") is None:
        raise MissingExtraError("--engine ray", "ray", "ray")
    return OnRay(address, n_workers, tasks_per_gpu)


@dataclass(frozen=True)
class OnRay:
    """By address: as many tasks at a time as the cluster has CPUs, or fewer, if `n_workers` says so."""

    address: str | None = None
    n_workers: int | None = None
    tasks_per_gpu: int = 1

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, in the order in which they end."""
        refuse_unless_importable(work)
        with _connected(self.address, self.n_workers) as api:
            there = api.cluster_resources()
            # Two for each CPU: one that runs and one that waits, so that none idles and the rest stays here, in order.
            at_once = self.n_workers if self.address and self.n_workers else 2 * max(1, int(there.get("CPU", 1)))
            remote = _Remote.of(api, 1 / self.tasks_per_gpu if there.get("GPU") else 0)
            running: dict[Any, int] = {}
            try:
                for n_done in range(len(tasks)):
                    progress("tasks", n_done, len(tasks))
                    for index in range(n_done + len(running), min(n_done + at_once, len(tasks))):
                        running[remote.begin(work, index, tasks[index])] = index
                    ended = _first_of(api, list(running))
                    yield remote.done(ended, running.pop(ended))
                progress("tasks", len(tasks), len(tasks))
            finally:
                for left in running:
                    api.cancel(left, force=True)


@dataclass(frozen=True)
class _Remote:
    """The work as Ray runs it."""

    api: Any
    on_cpu: Any
    on_gpu: Any

    @classmethod
    def of(cls, api: Any, gpu_share: float) -> _Remote:
        """`gpu_share` 0: the cluster has none, and tasks that want one compute on the CPU."""

        def with_share(share: float) -> Any:
            sees = {} if share else {"CUDA_VISIBLE_DEVICES": ""}  # Ray names the devices of those that have a share
            there = {"env_vars": ONE_THREAD | sees}
            return api.remote(num_cpus=1, num_gpus=share, max_retries=TRIES - 1, runtime_env=there)(_attempt_there)

        return cls(api, with_share(0), with_share(gpu_share))

    def begin(self, work: Callable[[Task], Result], index: int, task: Task) -> Any:
        """Hand a task over; what Ray calls a reference to its result."""
        return (self.on_gpu if wants_gpu(task) else self.on_cpu).remote(work, index, task)

    def done(self, reference: Any, index: int) -> Done[Any]:
        """What has ended, or why it gave nothing; how long a worker lived that has died is not known."""
        try:
            with _signals_heard():
                done: Done[Any] = self.api.get(reference)
        except self.api.exceptions.WorkerCrashedError:
            why = f"tried {TRIES} times: its worker was killed or crashed; too little memory is the usual reason"
        except Exception as error:  # noqa: BLE001  # of Ray: no memory, a lost node, what cannot be sent
            why = in_one_line(error)
        else:
            return done
        return Done(index, None, why, 0.0, 0.0, 0.0)


def _attempt_there(work: Callable[[Task], Result], index: int, task: Task) -> Done[Result]:
    hold_to_one_thread()
    return attempt(work, index, task)


def _first_of(api: Any, running: list[Any]) -> Any:
    """One that has ended. Waits are short: what a listener to a signal raises, Ray lets out only when a wait ends."""
    while True:
        with _signals_heard():
            ended, _ = api.wait(running, num_returns=1, timeout=_LOOK_EVERY_S)
        if ended:
            return ended[0]


@contextmanager
def _signals_heard() -> Iterator[None]:
    """What a listener to a signal raises inside Ray comes out as the cause of a SystemError; take it out."""
    try:
        yield
    except SystemError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None


def _knock(address: str) -> None:
    """Raise OSError where nobody listens: Ray itself tries for minutes. Names like `auto` are left to it."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()


@contextmanager
def _connected(address: str | None, n_workers: int | None) -> Iterator[Any]:
    """Ray's interface; a Ray that was there before stays, as does who listens to SIGTERM."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    api: Any = import_module("ray")
    if api.is_initialized():
        yield api
        return
    embedded = {
        "num_cpus": n_workers or n_cores(),
        "object_store_memory": _STORE_BYTES,
        "include_dashboard": False,
        # Ray tries a task that runs out of memory again for ever; on a cluster, RAY_task_oom_retries says how often.
        "_system_config": {"task_oom_retries": TRIES - 1},
    }
    in_main = threading.current_thread() is threading.main_thread()
    listening = signal.getsignal(signal.SIGTERM)
    where = {"address": address} if address else {"address": "local"} | embedded
    try:
        if address:
            _knock(address)
        api.init(**where, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        at = f"no Ray cluster answers at '{address}'" if address else "Ray does not start on this machine"
        raise SettingError(
            f"{at} ({in_one_line(error)}); start one with `ray start --head`, or use --engine local"
        ) from None
    try:
        if in_main:
            signal.signal(signal.SIGTERM, listening)
        yield api
    finally:
        api.shutdown()
        if in_main:
            signal.signal(signal.SIGTERM, listening)
