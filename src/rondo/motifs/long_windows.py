"""Long windows over windows of units: which units they hold, and how long their mix lasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints
from rondo.data.windows import Span, WindowGrid
from rondo.units.model import joined_spans


class LongWindows(NamedTuple):
    """A long window in windows of units: how many it covers, and how many lie between the starts of two."""

    n_covered: int
    n_apart: int

    @classmethod
    def of(cls, length_frames: int, unit_grid: tuple[int, int]) -> LongWindows:
        """The nearest to a length in frames that whole windows of units (length, step) fill; a quarter apart."""
        unit_length, unit_step = unit_grid
        n_covered = max(2, round((length_frames - unit_length) / unit_step) + 1)
        return cls(n_covered, max(1, round(length_frames / unit_step / 4)))

    def grid(self, units: WindowGrid) -> WindowGrid:
        """The long windows over the frames of the windows of units."""
        length = units.length_frames + (self.n_covered - 1) * units.step_frames
        return WindowGrid(length, self.n_apart * units.step_frames, units.n_frames, units.spans)

    def n_in(self, span: Span) -> int:
        """How many lie in a span of windows of units."""
        return max(0, (span[1] - span[0] - self.n_covered) // self.n_apart + 1)

    def spans(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Those of the axis of long windows, for spans of windows of units; such as hold none are left out."""
        return joined_spans([[(0, n)] for span in spans if (n := self.n_in(span))])

    def first_covered(self, spans: Sequence[Span]) -> Ints:
        """The first window of units that each covers, over all spans of windows of units."""
        each = [start + self.n_apart * np.arange(self.n_in((start, stop))) for start, stop in spans]
        return np.concatenate(each) if each else np.zeros(0, np.int64)

    def spread(self, per_long_window: NDArray[np.generic], n_windows: int) -> NDArray[np.generic]:
        """One value for each of the windows of units of a span: that of the long window with the nearest middle."""
        middles = self.n_apart * np.arange(per_long_window.size) + (self.n_covered - 1) / 2
        nearest = np.searchsorted((middles[1:] + middles[:-1]) / 2, np.arange(n_windows))
        return per_long_window[nearest]


def unit_shares(codes: Ints, first: Ints, n_covered: int, n_units: int) -> Floats:
    """Square roots of the share of each unit in the windows that each long window covers, (n_long_windows, n_units)."""
    shares = np.empty((first.size, n_units))
    for unit in range(n_units):
        summed = np.append(0, np.cumsum(codes == unit))
        shares[:, unit] = summed[first + n_covered] - summed[first]
    return np.sqrt(shares / n_covered)


def persistence(block: Floats, spans: Sequence[Span], lag: int) -> float:
    """Correlation of centred rows with those `lag` rows later, within spans."""
    total = np.square(block).sum()
    product = sum(float((block[a : b - lag] * block[a + lag : b]).sum()) for a, b in spans if b - a > lag)
    return product / float(total) if total else 0.0
