"""What readers of binary formats share: the optional library, names that differ, one rate, the clock of the file."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import MissingExtraError, RecordingError
from rondo.files.reading import Reading, listed
from rondo.files.text.clock import spread
from rondo.store.reading import open_regular


def optional_library(name: str, what: str) -> Any:
    """The library, imported when a file asks for it; one line with the install command where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(what, name, "io") from error


def marked_head(path: Path, n_bytes: int, is_marked: Callable[[bytes], bool], what: str) -> bytes:
    """The first bytes of a file; libraries get only what carries the mark of their format."""
    with open_regular(path) as file:
        head = file.read(n_bytes)
    if not is_marked(head):
        raise RecordingError(f"it is damaged, or no {what}: it begins with {head[:8]!r}")
    return head


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names as they are, with a number where one stands again: these formats do not forbid it.

    >>> distinct_names(["x", "y", "x", ""])
    ['x', 'y', 'x (2)', 'ch3']
    """
    distinct: list[str] = []
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):
        plain = name.strip() or f"ch{index}"
        seen[plain] += 1
        distinct.append(f"{plain} ({seen[plain]})" if seen[plain] > 1 else plain)
    return distinct


def clocked(
    values: NDArray[Any], times: NDArray[np.float64], names: Sequence[str], id: str, reading: Reading,
    notes: tuple[str, ...], clock: str,
) -> Recording:  # fmt: skip
    """The recording on the clock of its file, or at the rate that the user gives instead."""
    if reading.rate is not None:
        notes += (f"{clock} left out: the given rate of {reading.rate:g} Hz is the clock",)
        return Recording(values, reading.rate, names, id, notes=notes)
    times, apart = spread(times, clock)
    return Recording(values, None, names, id, times, notes + apart)


def of_one_rate(
    kept: list[int], rates: Mapping[int, float], names: Sequence[str], rate: float | None
) -> tuple[list[int], float, tuple[str, ...]]:
    """The channels of the given rate, or all where they share one; a Recording has one frame axis."""
    by_rate: dict[float, list[int]] = {}
    for channel in kept:
        by_rate.setdefault(rates[channel], []).append(channel)
    if len(by_rate) == 1:
        only = next(iter(by_rate))
        if rate in (None, only):
            return kept, only, ()
        return kept, float(rate or only), (f"the file's own rate of {only:g} Hz left aside",)
    if rate not in by_rate or rate is None:
        groups = "; ".join(f"{hz:g} Hz: {listed([names[i] for i in channels], 4)}" for hz, channels in by_rate.items())
        raise RecordingError(
            f"its channels have {len(by_rate)} rates ({groups}); give the rate (--rate HZ) of those to read, "
            "or leave the others out with --label-column NAME"
        )
    others = [names[channel] for channel in kept if rates[channel] != rate]
    return by_rate[rate], rate, (f"channels of another rate left out: {listed(others)}",)
