"""Rondo: what recurs in long, unlabelled sensor recordings."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rondo.data.recording import Recording
    from rondo.labelling import Labelling
    from rondo.model import Rondo

__all__ = ["Labelling", "Recording", "Rondo"]

_HOME = {"Labelling": "rondo.labelling", "Recording": "rondo.data.recording", "Rondo": "rondo.model"}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: imports take a second, and `rondo --help` needs few of them."""
    if name not in _HOME:
        raise AttributeError(f"module 'rondo' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
