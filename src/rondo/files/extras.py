"""What readers of binary formats share: the optional library, names that differ, one rate."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rondo.errors import MissingExtraError, RecordingError
from rondo.files.reading import listed


def optional_library(name: str, what: str) -> Any:
    """The library, imported when a file asks for it; one line with the install command where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(what, name, "io") from error


def marked_head(path: Path, n_bytes: int, is_marked: Callable[[bytes], bool], what: str) -> bytes:
    """The first bytes of a file; libraries get only what carries the mark of their format."""
    with path.open("rb") as file:
        head = file.read(n_bytes)
    if not is_marked(head):
        raise RecordingError(f"it is damaged, or no {what}: it begins with {head[:8]!r}")
    return head


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names as they are, with a number where one stands again: these formats do not forbid it.

    >>> distinct_names(["x", "y", "x", ""])
    ['x', 'y', 'x (2)', 'ch3']
    """
    apart: list[str] = []
    seen: Counter[str] = Counter()
    for place, name in enumerate(names):
        plain = name.strip() or f"ch{place}"
        seen[plain] += 1
        apart.append(f"{plain} ({seen[plain]})" if seen[plain] > 1 else plain)
    return apart


def of_one_rate(
    kept: list[int], rates: Mapping[int, float], names: Sequence[str], rate: float | None
) -> tuple[list[int], float, tuple[str, ...]]:
    """The channels of the given rate, or all where they share one; a Recording has one frame axis."""
    by_rate: dict[float, list[int]] = {}
    for place in kept:
        by_rate.setdefault(rates[place], []).append(place)
    if len(by_rate) == 1:
        only = next(iter(by_rate))
        if rate in (None, only):
            return kept, only, ()
        return kept, float(rate or only), (f"the file's own rate of {only:g} Hz left aside",)
    if rate not in by_rate or rate is None:
        groups = "; ".join(
            f"{hz:g} Hz: {listed([names[place] for place in places], 4)}" for hz, places in by_rate.items()
        )
        raise RecordingError(
            f"its channels have {len(by_rate)} rates ({groups}); give the rate (--rate HZ) of those to read, "
            "or leave the others out with --label-column NAME"
        )
    others = [names[place] for place in kept if rates[place] != rate]
    return by_rate[rate], rate, (f"channels of another rate left out: {listed(others)}",)
