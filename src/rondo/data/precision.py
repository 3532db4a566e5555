"""Precision: numbers that float32 cannot hold finely enough stay in float64 until their offset is taken out.

A latitude (48.1374 degrees, moving by 0.00001), a northing (5.3e6 m) or the count of an encoder is large beside what it
varies by: rounded to float32 it stands still or moves in steps. Readers fill a `NumberTable`, which is float32 until a
block shows such a channel; a `Recording` keeps float64 where it has one. Its median is the offset of the channel:
preparation subtracts it before it rounds (`rondo.data.preparation`), so that everything after it is float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Flags, Floats

MOST_ROUNDED = 1e-3  # of the width of a channel; measured: with it an offset of 1e6 to 1e9 changes no label
_SAMPLED, _SAMPLED_OF_BLOCK = 20_000, 256  # rows, evenly spaced, that show what a channel varies by
_BLOCK_SHARE = MOST_ROUNDED / 8  # a block shows less of a channel than the whole, which decides in the end
_COARSE, _SAMPLED_COARSELY = 0.02, 500  # ours: of the width, 50 levels; rows, which is enough for that
_LARGEST, _TINY = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)


def too_fine(values: NDArray[Any], share: float = MOST_ROUNDED, n_sampled: int = _SAMPLED) -> Flags:
    """Channels of (n_rows, n_channels) of which float32 would round away more than a share of their width.

    >>> too_fine(np.array([[48.13740, 1.0], [48.13741, 2.0], [48.13742, 4.0]])).tolist()
    [True, False]
    """
    n_channels = values.shape[1]
    if values.dtype.kind not in "fiu" or values.dtype.itemsize < 4 or values.dtype == np.float32:
        return np.zeros(n_channels, np.bool_)
    sample = values[:: max(1, -(-len(values) // n_sampled))].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.abs(sample - sample.astype(np.float32))
    found = np.zeros(n_channels, np.bool_)
    suspects = np.flatnonzero((rounded > 0).any(axis=0))
    ordered, errors = np.sort(sample[:, suspects], axis=0), np.sort(rounded[:, suspects], axis=0)  # NaN comes last
    for c, column, error in zip(suspects.tolist(), ordered.T, errors.T, strict=True):
        column, error = column[: column.size - np.isnan(column).sum()], error[: error.size - np.isnan(error).sum()]
        found[c] = bool(column.size) and _at(error, 0.75) > share * _width(column) > share * _TINY
    return found


def too_coarse(values: NDArray[np.floating]) -> Flags:
    """Channels whose numbers, as they came, lie so far apart that they hide a part of what the channel varies by."""
    sample = np.sort(values[:: max(1, -(-len(values) // _SAMPLED_COARSELY))], axis=0)  # NaN comes last
    found = np.zeros(values.shape[1], np.bool_)
    for c, column in enumerate(sample.T):
        known = column[: column.size - np.isnan(column).sum()]
        step = float(np.spacing(np.abs(known[known.size // 2]))) if known.size else 0.0
        counts = step <= 1 and bool((known == np.rint(known)).all())
        found[c] = bool(known.size) and not counts and step > _COARSE * _width(known) > 0
    return found


def _at(ordered: Floats, share: float) -> float:
    return float(ordered[round(share * (ordered.size - 1))])


def _width(ordered: Floats) -> float:
    """What most of these values lie within; codes of missing values, a quarter of them or less, do not count."""
    inner = 10 * (_at(ordered, 0.75) - _at(ordered, 0.25))
    widths = [_at(ordered, 0.95) - _at(ordered, 0.05), _at(ordered, 0.99) - _at(ordered, 0.01)]
    outer = next((width for width in (*widths, float(ordered[-1] - ordered[0])) if width > 0), 0.0)
    return min(inner, outer) if inner > 0 else outer


def offsets_of(values: NDArray[Any]) -> tuple[float, ...]:
    """What to subtract from each channel before it is rounded to float32; empty where that would change nothing."""
    fine = np.flatnonzero(too_fine(values)).tolist()
    offsets = np.zeros(values.shape[1])
    for c in fine:
        column = values[:: max(1, -(-len(values) // _SAMPLED)), c].astype(np.float64)
        offsets[c] = np.median(column[np.isfinite(column)])
    return tuple(offsets.tolist()) if fine else ()


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """As float32, C-contiguous; as float64 where a channel is too fine, infinite beyond what float32 can hold."""
    if not too_fine(values).any():
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(values, dtype=np.float32)
    double = np.ascontiguousarray(values, dtype=np.float64)
    is_beyond = np.abs(double) > _LARGEST
    return np.where(is_beyond, np.copysign(np.inf, double), double) if is_beyond.any() else double


def less(values: NDArray[Any], offsets: Sequence[float]) -> NDArray[np.float32]:
    """Values without their offsets, in float32; `offsets` is empty where no channel has one."""
    with np.errstate(over="ignore"):
        return np.asarray(values - np.array(offsets) if offsets else values, dtype=np.float32)


def unmasked(values: ArrayLike) -> NDArray[Any]:
    """As an array, with NaN for numbers that are masked."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "fiub":
        return np.ma.filled(values.astype(np.promote_types(values.dtype, np.float32)), np.nan)
    return np.asarray(values)


class NumberTable:
    """Numbers that come in blocks: `values` is float32, and float64 from the first block on that is too fine for it."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.values: NDArray[Any] = np.empty((n_rows, n_columns), np.float32)
        self._still = np.full(n_columns, np.nan)  # the only value so far; NaN before the first and after another
        self._has_begun = np.zeros(n_columns, np.bool_)

    def write(self, rows: slice, columns: NDArray[np.int64] | None, block: NDArray[Any]) -> None:
        """Put a block into these rows and columns (None: all)."""
        where = np.arange(self.values.shape[1]) if columns is None else columns
        if self.values.dtype == np.float32 and block.dtype.kind in "fiu" and block.dtype.itemsize > 4 and len(block):
            self._look(block, where)
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float32 Recording refuses by name
            if columns is None:
                self.values[rows] = block
            else:
                self.values[rows, columns] = block

    def _look(self, block: NDArray[Any], where: NDArray[np.int64]) -> None:
        """Widen the table where this block, with the value that a channel kept so far, is too fine."""
        block = np.asarray(block, np.float64)
        before = self._still[where][None]
        step = max(1, -(-len(block) // _SAMPLED_OF_BLOCK))
        if too_fine(np.concatenate([before, block[::step]]), _BLOCK_SHARE, _SAMPLED_OF_BLOCK + 2).any():
            with np.errstate(invalid="ignore"):  # of rows that are not written yet
                double = self.values.astype(np.float64)
            still = np.flatnonzero(~np.isnan(self._still))
            double[:, still] = np.where(np.isnan(double[:, still]), np.nan, self._still[still])
            self.values = double
            return
        low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
        is_one = (low == high) & (~self._has_begun[where] | (before[0] == low))
        self._has_begun[where] |= ~np.isnan(low)
        self._still[where] = np.where(np.isnan(low), self._still[where], np.where(is_one, low, np.nan))
