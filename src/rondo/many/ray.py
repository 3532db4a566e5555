"""Tasks on a Ray cluster, or on a Ray of this machine that lives as long as the run.

Tasks are paths and settings and results are rows, so nothing large travels: recordings are read where the work runs,
from a path that every node must see, and what Ray does spill it spills by its own settings. Each task takes one CPU,
and one that wants a GPU its share of one; it runs with the same one thread as in a local worker and gives the same
bits. A task whose worker or node dies is tried once more, where Ray finds room. If the whole cluster goes away, what
was done stays done, and each task that is left fails with one line.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rondo.errors import MissingExtraError, SettingError
from rondo.many.engine import (
    ONE_THREAD,
    TRIES,
    Done,
    Result,
    Task,
    attempt,
    hold_to_one_thread,
    in_one_line,
    n_cores,
    refuse_unless_importable,
    wants_gpu,
)
from rondo.wording import Progress, silent

# When a cluster goes away, a driver hears nothing for a minute, and then Ray ends its process. So the driver looks for
# itself, says that the cluster is gone, and disconnects before that. Some restart their head in less than this.
SILENCE_S = 40.0
NO_NODE_S = 600.0  # after which tasks that no node can run have failed; nodes of a cluster that grows take minutes
OWN_NODE_GONE = "the Ray node through which this process reaches the cluster went away"
_LOOK_AT_CLUSTER_EVERY_S, _LOOK_EVERY_S = 2.0, 0.5
_STORE_BYTES = 100_000_000  # of results, which are small: Ray would lay claim to a third of the memory


class ClusterGoneError(Exception):
    """The cluster will not answer; the text says why, as a sentence."""


@dataclass
class Watch:
    """Whether the cluster answers and has nodes that can run tasks."""

    api: Any
    address: str
    own_node: str
    _next_look: float = 0.0
    _heard: float = field(default_factory=time.monotonic)
    _had_nodes: float = field(default_factory=time.monotonic)

    def look(self, resources: set[str]) -> None:
        """Raise ClusterGoneError where nobody has answered, or no node had these resources, for too long."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_AT_CLUSTER_EVERY_S
        try:
            knock(self.address)
        except OSError as error:
            if now - self._heard > SILENCE_S:
                why = f"nobody has answered at {self.address} for {SILENCE_S:.0f} s ({in_one_line(error)})"
                raise ClusterGoneError(f"the Ray cluster went away: {why}") from None
            return
        self._heard = now
        nodes = self.api.nodes()
        if any(node["NodeID"] == self.own_node and not node["Alive"] for node in nodes):
            raise ClusterGoneError(OWN_NODE_GONE)
        if any(node["Alive"] and resources <= {*node["Resources"]} for node in nodes):
            self._had_nodes = now
        elif now - self._had_nodes > NO_NODE_S:
            what = " and ".join(sorted(resources))
            raise ClusterGoneError(f"no node of the Ray cluster had a {what} for {NO_NODE_S / 60:.0f} min")


def knock(address: str) -> None:
    """Raise OSError where nobody listens: Ray itself tries for minutes. Names like `auto` are left to it."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()


@contextmanager
def connected(address: str | None, n_workers: int | None) -> Iterator[tuple[Any, Watch]]:
    """Ray's interface; a Ray that was there before stays, as does who listens to SIGTERM."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    api: Any = import_module("ray")
    if api.is_initialized():
        yield api, _watch(api, None)
        return
    in_main = threading.current_thread() is threading.main_thread()
    listening = signal.getsignal(signal.SIGTERM)
    embedded = {
        "address": "local",
        "num_cpus": n_workers or n_cores(),
        "object_store_memory": _STORE_BYTES,
        "include_dashboard": False,
        # Ray tries a task that runs out of memory again for ever; on a cluster, RAY_task_oom_retries says how often.
        "_system_config": {"task_oom_retries": TRIES - 1},
    }
    job = import_module("ray.job_config").JobConfig()
    job._py_driver_sys_path = _FoldersOfModules()
    # Of a job that comes by Ray's client, whose settings are read in another process, Ray passes no folder on.
    job_config = {} if address and address.startswith("ray://") else {"job_config": job}
    where = {"address": address} if address else embedded
    try:
        if address:
            knock(address)
        api.init(**where, **job_config, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        at = f"no Ray cluster answers at '{address}'" if address else "Ray does not start on this machine"
        raise SettingError(
            f"{at} ({in_one_line(error)}); start one with `ray start --head`, set RAY_AUTH_MODE=token if it expects a "
            "token, or use --engine local"
        ) from None
    try:
        if in_main:
            signal.signal(signal.SIGTERM, listening)
        yield api, _watch(api, address)
    finally:
        api.shutdown()
        if in_main:
            signal.signal(signal.SIGTERM, listening)


class _FoldersOfModules(list[str]):
    """The folders in which workers look for modules first: those that this process imports from itself.

    Ray adds the working folder, and Python files there may be a stranger's.
    """

    def extend(self, folders: Iterable[str]) -> None:
        super().extend(folder for folder in folders if folder in sys.path)


def _watch(api: Any, address: str | None) -> Watch:
    """Of Ray's client only its proxy can be seen from here; else of the head, which knows all nodes."""
    if address is not None and address.startswith("ray://"):
        return Watch(api, address, own_node="")
    here = api.get_runtime_context()
    return Watch(api, here.gcs_address, here.get_node_id())


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
        progress("tasks", 0, len(tasks))
        with closing(self._run(work, tasks)) as results:
            for n_done, done in enumerate(results, 1):
                yield done
                progress("tasks", n_done, len(tasks))

    def _run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Generator[Done[Result]]:
        left = dict.fromkeys(range(len(tasks)))
        try:
            with connected(self.address, self.n_workers) as (api, watch):
                there = api.cluster_resources()
                # Two for each CPU: one that runs and one that waits, so that none idles; the rest stays here, in order.
                at_once = self.n_workers if self.address and self.n_workers else 2 * max(1, int(there.get("CPU", 1)))
                gpu_share = 1 / self.tasks_per_gpu if there.get("GPU") else 0  # 0: tasks that want one use the CPU
                with closing(_results(api, watch, gpu_share, work, tasks, at_once)) as results:
                    for done in results:
                        del left[done.index]
                        yield done
        except ClusterGoneError as gone:  # by now disconnected, so that Ray leaves this process alone
            for index in left:
                yield Done.without_result(index, str(gone))


def _results(
    api: Any, watch: Watch, gpu_share: float, work: Callable[[Task], Result], tasks: Sequence[Task], at_once: int
) -> Generator[Done[Result]]:
    remote = {}  # the work as Ray runs it, without a GPU and with a share of one
    for on_gpu, share in ((False, 0.0), (True, gpu_share)):
        sees = {} if share else {"CUDA_VISIBLE_DEVICES": ""}  # Ray names the devices of those that have a share
        how = {"num_cpus": 1, "num_gpus": share, "max_retries": TRIES - 1}
        remote[on_gpu] = api.remote(**how, runtime_env={"env_vars": ONE_THREAD | sees})(_attempt_there)
    running: dict[Any, int] = {}  # by what Ray calls a reference to the result
    try:
        for n_done in range(len(tasks)):
            for index in range(n_done + len(running), min(n_done + at_once, len(tasks))):
                running[remote[wants_gpu(tasks[index])].remote(work, index, tasks[index])] = index
            wants_all = bool(gpu_share) and all(wants_gpu(tasks[index]) for index in running.values())
            ended = _first_of(api, list(running), watch, {"CPU", "GPU"} if wants_all else {"CPU"})
            yield _done(api, ended, running.pop(ended))
    except ClusterGoneError:
        running.clear()  # nobody is there to cancel them
        raise
    finally:
        for left in running:
            api.cancel(left, force=True)


def _first_of(api: Any, running: list[Any], watch: Watch, needs: set[str]) -> Any:
    """One that has ended. Waits are short: what a signal handler raises, Ray lets out only when a wait ends."""
    while True:
        with _signals_heard():
            ended, _ = api.wait(running, num_returns=1, timeout=_LOOK_EVERY_S)
        if ended:
            return ended[0]
        watch.look(needs)


def _done(api: Any, reference: Any, index: int) -> Done[Any]:
    """What has ended, or why it gave nothing; how long a worker lived that has died is not known."""
    try:
        with _signals_heard():
            done: Done[Any] = api.get(reference)
    except api.exceptions.LocalRayletDiedError:
        raise ClusterGoneError(OWN_NODE_GONE) from None
    except (api.exceptions.WorkerCrashedError, api.exceptions.NodeDiedError):
        why = f"tried {TRIES} times: its worker or node died; too little memory is the usual reason"
    except Exception as error:  # noqa: BLE001  # of Ray: no memory, a lost result, what cannot be sent
        why = in_one_line(error)
    else:
        return done
    return Done.without_result(index, why)


def _attempt_there(work: Callable[[Task], Result], index: int, task: Task) -> Done[Result]:
    hold_to_one_thread()
    return attempt(work, index, task)


@contextmanager
def _signals_heard() -> Iterator[None]:
    """What a listener to a signal raises inside Ray comes out as the cause of a SystemError; take it out."""
    try:
        yield
    except SystemError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None
