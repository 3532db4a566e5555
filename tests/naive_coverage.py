"""Coverage with Python sets, by the definition."""

from __future__ import annotations

from collections.abc import Sequence


def windows_of(start: int, length: int) -> set[int]:
    return set(range(start, start + length))


def claimed(claims: Sequence[tuple[int, int]]) -> set[int]:
    """Union of the windows of the claims (start, length)."""
    union: set[int] = set()
    for start, length in claims:
        union |= windows_of(start, length)
    return union


def ratio(start: int, length: int, union: set[int]) -> float:
    """|I ∩ C| / |I|"""
    return len(windows_of(start, length) & union) / len(windows_of(start, length))
