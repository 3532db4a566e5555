"""Drivers of Ray clusters: `python -m tests.engine.ray_nodes (node|own|cluster) FOLDER`, or `by_address HOST:PORT`.

In a process of its own, which the test can end whatever Ray does; it prints what every task gave, as JSON. The first
three start two nodes on this machine and kill one, the one that the driver is connected to, or both.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rondo.many import ray
from rondo.many.engine import Done
from rondo.many.ray import OnRay
from tests.engine import works
from tests.engine.processes import PATIENCE_S

N_TASKS = 8


def start() -> tuple[Any, Any]:
    """A head that holds the driver, and one more node; each has one CPU."""
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=small)
    node = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
    cluster.wait_for_nodes(timeout=PATIENCE_S)
    return cluster, node


def wait_for_task(folder: Path, node_id: str) -> None:
    """Until a task has left its note on that node."""
    pause = threading.Event()
    while not any(path.read_text() == node_id for path in folder.glob("begun-*")):
        pause.wait(0.1)


def run(cluster: Any, folder: Path, when_one_runs: Callable[[], object], node_id: str) -> list[Done[int]]:
    """The tasks' results, while something happens to the node as soon as it runs one of them."""

    def meddle() -> None:
        wait_for_task(folder, node_id)
        when_one_runs()

    threading.Thread(target=meddle, daemon=True).start()
    tasks = [works.OnNode(folder, i) for i in range(N_TASKS)]
    return list(OnRay(cluster.address).run(works.slow_square, tasks))


def run_and_kill(what: str, folder: Path) -> list[Done[int]]:
    cluster, node = start()
    kill = {
        "node": lambda: cluster.remove_node(node, allow_graceful=False),
        "own": lambda: cluster.head_node.kill_raylet(check_alive=False),
        "cluster": lambda: kill_all(cluster),
    }
    return run(cluster, folder, kill[what], node.node_id)


def kill_all(cluster: Any) -> None:
    for node in (*cluster.worker_nodes, cluster.head_node):
        node.kill_all_processes(check_alive=False, allow_graceful=False)


def main(what: str, where: str) -> None:
    ray.SILENCE_S = 5.0
    given = OnRay(where).run(works.ten_times, [1, 4]) if what == "by_address" else run_and_kill(what, Path(where))
    sys.stdout.write(json.dumps([[one.index, one.result, one.failure] for one in given]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
