"""A connection to Ray: embedded or by address, and whether the cluster is still there.

When a cluster goes away, a driver hears nothing for a minute, and then Ray ends its process. So the driver looks for
itself, says that the cluster is gone, and disconnects before that.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from rondo.engine.base import TRIES, in_one_line
from rondo.engine.local import n_cores
from rondo.errors import SettingError

SILENCE_S = 40.0  # after which a cluster is gone: Ray ends the process after 60, and some restart their head in less
NO_NODE_S = 600.0  # after which tasks that no node can run have failed; nodes of a cluster that grows take minutes
OWN_NODE_GONE = "the Ray node through which this process reaches the cluster went away"
_LOOK_EVERY_S = 2.0
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
        self._next_look = now + _LOOK_EVERY_S
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
    _connect(api, address, n_workers)
    try:
        if in_main:
            signal.signal(signal.SIGTERM, listening)
        yield api, _watch(api, address)
    finally:
        api.shutdown()
        if in_main:
            signal.signal(signal.SIGTERM, listening)


def _connect(api: Any, address: str | None, n_workers: int | None) -> None:
    embedded = {
        "num_cpus": n_workers or n_cores(),
        "object_store_memory": _STORE_BYTES,
        "include_dashboard": False,
        # Ray tries a task that runs out of memory again for ever; on a cluster, RAY_task_oom_retries says how often.
        "_system_config": {"task_oom_retries": TRIES - 1},
    }
    where = {"address": address} if address else {"address": "local"} | embedded
    try:
        if address:
            knock(address)
        api.init(**where, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        at = f"no Ray cluster answers at '{address}'" if address else "Ray does not start on this machine"
        raise SettingError(
            f"{at} ({in_one_line(error)}); start one with `ray start --head`, set RAY_AUTH_MODE=token if it expects a "
            "token, or use --engine local"
        ) from None


def _watch(api: Any, address: str | None) -> Watch:
    """Of Ray's client only its proxy can be seen from here; else of the head, which knows all nodes."""
    if address is not None and address.startswith("ray://"):
        return Watch(api, address, own_node="")
    here = api.get_runtime_context()
    return Watch(api, here.gcs_address, here.get_node_id())
