"""Engines by name."""

from __future__ import annotations

import os
import warnings

from rondo.errors import RondoWarning, SettingError
from rondo.many.pool import Engine, Local, Serial, n_cores
from rondo.many.ray import ray
from rondo.wording import did_you_mean

ENGINES = ("local", "serial", "ray")
_NO_WORKERS = (
    "worker processes need process groups, which this system (Windows?) lacks: tasks run one after the other, as with "
    "--engine serial"
)


def engine_of(
    name: str, n_workers: int | None = None, ray_address: str | None = None, tasks_per_gpu: int = 1
) -> Engine:
    """`serial`: in this process. `local`: in processes of this machine. `ray`: on a cluster, or embedded here."""
    if ray_address and name != "ray":
        raise SettingError(f"an address of a Ray cluster is for the engine 'ray', not '{name}'; add --engine ray")
    match name:
        case "local" if not hasattr(os, "killpg"):
            warnings.warn(_NO_WORKERS, RondoWarning, stacklevel=2)
            return Serial()
        case "local":
            return Local(n_workers or n_cores(), tasks_per_gpu)
        case "serial":
            return Serial()
        case "ray":
            return ray(ray_address, n_workers, tasks_per_gpu)
    raise SettingError(f"unknown engine '{name}'; {did_you_mean(name, ENGINES, 'there are ' + ', '.join(ENGINES))}")
