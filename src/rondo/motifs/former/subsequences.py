"""All stretches of `length` consecutive windows, and the distinct unit sequences among them.

Neighbouring windows mostly carry the same unit, so that a few sequences stand at most starts. Whatever depends on the
units alone is computed once per distinct sequence (an *item*) and counted with its multiplicity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import MotifFormerConfig, MotifsConfig, to_frames
from rondo.data.windows import Span
from rondo.errors import SettingError


@dataclass(frozen=True, eq=False)
class Subsequences:
    """All candidates of one length, and the distinct unit sequences among them."""

    length: int
    starts: NDArray[np.int64]  # (n_candidates,), first window of each on the joined window axis; none crosses a span
    items: NDArray[np.int64]  # (n_items, length), unit codes, distinct rows in order of first appearance
    item_of: NDArray[np.int64]  # (n_candidates,), row of `items`

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many candidates each item stands for, (n_items,)."""
        return np.bincount(self.item_of, minlength=len(self.items)).astype(np.int64)


def subsequences(codes: NDArray[np.int64], spans: Sequence[Span], length: int) -> Subsequences:
    """Every candidate of `length` windows, of unit codes 0 .. n_units-1 (n_windows,), in order of its start.

    >>> found = subsequences(np.array([0, 0, 0, 1, 0, 0]), [(0, 4), (4, 6)], length=2)
    >>> found.starts.tolist(), found.items.tolist(), found.item_of.tolist(), found.counts.tolist()
    ([0, 1, 2, 4], [[0, 0], [0, 1]], [0, 0, 1, 0], [3, 1])
    """
    within = [np.arange(first, stop - length + 1) for first, stop in spans]
    starts = np.concatenate([*within, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    rows = codes[starts[:, None] + np.arange(length)].astype(np.int64)  # (n_candidates, length)
    _, first, item = np.unique(_row_keys(rows), return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    rank = np.empty_like(appearance)
    rank[appearance] = np.arange(appearance.size)
    return Subsequences(length, starts, rows[first[appearance]], rank[item])


def lengths_in_windows(config: MotifsConfig, step_frames: int, rate: float | None) -> MotifsConfig:
    """The same settings with every length in windows: a time is as many windows as begin within it.

    >>> config = MotifFormerConfig(lengths=(2, "3s"))
    >>> lengths_in_windows(config, step_frames=25, rate=50.0).lengths
    (2, 6)
    """
    if not isinstance(config, MotifFormerConfig):
        return config
    lengths = tuple(
        length if isinstance(length, int) else _windows_of_time(length, step_frames, rate) for length in config.lengths
    )
    return config.model_copy(update={"lengths": lengths})


def _windows_of_time(time: str, step_frames: int, rate: float | None) -> int:
    n_windows = round(to_frames(time, rate, "motifs.lengths") / step_frames)
    if n_windows < 2:
        raise SettingError(
            f"motifs.lengths = {time!r} is shorter than 2 windows, which begin every {step_frames} frames at "
            f"{rate:g} Hz; give a longer time or a shorter windows.step"
        )
    return n_windows


def _row_keys(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """One integer per row, equal exactly where rows are; ranked again at each column, so that it cannot overflow."""
    n_codes = int(rows.max(initial=0)) + 1
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        keys = np.unique(keys * n_codes + column, return_inverse=True)[1]
    return keys
