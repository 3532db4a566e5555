"""Doctests of adapters run where the library that they adapt to is installed."""

from importlib.util import find_spec

collect_ignore = [f"src/rondo/adapters/{name}.py" for name in ("aeon", "sktime") if find_spec(name) is None]
