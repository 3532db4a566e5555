"""Engines by name; each is imported when it is chosen, as some bring much with them."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from rondo.engine.base import Engine
from rondo.errors import SettingError

ENGINES = ("local", "serial", "ray")


def engine_of(name: str, n_workers: int | None = None, address: str | None = None) -> Engine:
    """`serial`: in this process. `local`: in processes of this machine. `ray`: on a cluster, or embedded here."""
    if name not in ENGINES:
        near = get_close_matches(name, ENGINES, n=1)
        raise SettingError(
            f"unknown engine '{name}'; " + (f"did you mean '{near[0]}'?" if near else f"there are {', '.join(ENGINES)}")
        )
    if name != "serial" and find_spec(f"rondo.engine.{name}") is None:
        raise SettingError(f"the engine '{name}' is not built yet; use --engine serial")
    module = import_module(f"rondo.engine.{name}")
    if name == "local":
        return cast(Engine, module.local(n_workers))
    if name == "ray":
        return cast(Engine, module.ray(address))
    return cast(Engine, module.Serial())
