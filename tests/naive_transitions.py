"""Slow, obvious twin of `rondo.analysis.sequence`: frame by frame over labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rondo.data.labels import OTHER


def counts(labels: Sequence[int], breaks: Collection[int]) -> Counter[tuple[int, int]]:
    """Every frame whose label is another than that of the frame before; neither is OTHER, no break is between."""
    found: Counter[tuple[int, int]] = Counter()
    for frame in range(1, len(labels)):
        before, after = labels[frame - 1], labels[frame]
        if before != after and OTHER not in (before, after) and frame not in breaks:
            found[before, after] += 1
    return found
