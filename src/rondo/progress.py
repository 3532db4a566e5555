"""How far long work is: one callback, passed down from whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called as progress(what, done, total)."""


def silent(what: str, done: int, total: int) -> None:
    """The progress of those who asked for none."""
