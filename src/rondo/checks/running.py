"""How checks are run: one after the other, each named where it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def run_checks(checks: Sequence[Callable[[T], object]], part: T, name: str) -> None:
    """Run every check on a part; the first that fails is named in the error.

    >>> def is_even(number): assert number % 2 == 0
    >>> run_checks([is_even], 3, "three")
    Traceback (most recent call last):
        ...
    AssertionError
    is_even: not kept by three
    """
    if not __debug__:
        raise RuntimeError("python -O leaves out every assert, so nothing would be checked; run without -O")
    for check in checks:
        try:
            check(part)
        except Exception as error:
            error.add_note(f"{check.__name__}: not kept by {name}")
            raise
