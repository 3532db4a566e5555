"""KnownValues: what the recordings of a model hold, channel by channel, so that later rows can be read one by one.

A stored file is looked at as a whole before a number in it is taken for a code of missing values. Rows that come one by
one cannot be. So a model keeps, of each channel, the codes that were found and the range of all other values.
`rondo label` and `rondo stream` read with the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_BELOW = "-99 -99.9 -99.99 -200 -888 -999 -999.9 -999.25 -999.99 -7777 -8888 -9999 -9999.9 -99999 -999999"
_ABOVE = "999 999.9 999.99 9999 9999.9 9999.99 99999 999999"
CODES = np.array([float(code) for code in (*_BELOW.split(), *_ABOVE.split())], dtype=np.float32)
"""Of air quality stations (-200), weather services (-999, 9999), well logs (-999.25), SPSS and ARFF exports (99s)."""
_FILLS = "-32768 32767 65535 -2147483648 2147483647 1e20 -1e30 1e30 -1e31 1e31 -1e34 1e35 1e36 9.96921e36"
FILLS = np.array([*map(float, _FILLS.split()), np.finfo(np.float32).min, np.finfo(np.float32).max], dtype=np.float32)
"""Ends of whole numbers of 16 and 32 bits, fill values of netCDF, CDF and GRIB files."""
FAR = 0.1  # of the width of the rest: nothing lies between that and a code
_FAR_OF_UNSEEN = 1.0  # likewise, of a code that no recording of the model had
BEYOND_ALL = 1000.0  # times the width of the rest: no sensor reaches so far, whatever the number is
GAP = 3.0  # ranges beyond which nothing hangs together with the rest; as the next line chosen in `rondo.data.sound`
MOST_JUNK, MOST_ROWS = 0.01, 0.05  # of the rows: in a channel; where most channels are outside
_NONE = float(np.finfo(np.float32).max)  # where there is no bound: a model keeps finite numbers only


class KnownChannel(NamedTuple):
    """A channel of a model: its name, and the numbers that mean "no value" in it; None where the model has none."""

    name: str
    missing: tuple[float, ...] | None = None


class KnownValues(NamedTuple):
    """Of each channel: the least and the greatest value, and the numbers that stood for no value."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    codes: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, values: NDArray[np.float32], codes: Sequence[Sequence[float]]) -> KnownValues:
        """Of one recording, in which codes are NaN already; without any value a channel reaches from inf to -inf."""
        there = ~np.isnan(values)
        low = np.asarray(values.min(axis=0, initial=np.inf, where=there), np.float64)
        high = np.asarray(values.max(axis=0, initial=-np.inf, where=there), np.float64)
        return cls(tuple(low.tolist()), tuple(high.tolist()), tuple(tuple(numbers) for numbers in codes))

    @classmethod
    def joined(cls, each: Sequence[KnownValues]) -> KnownValues:
        """Of all recordings of a data set."""
        low = tuple(min(channel) for channel in zip(*(known.low for known in each), strict=True))
        high = tuple(max(channel) for channel in zip(*(known.high for known in each), strict=True))
        found = zip(*(known.codes for known in each), strict=True)
        return cls(low, high, tuple(tuple(sorted({code for codes in channel for code in codes})) for channel in found))

    @classmethod
    def from_json(cls, stored: Any) -> KnownValues:
        """What became lists in a JSON file."""
        low, high, codes = stored
        return cls(tuple(low), tuple(high), tuple(tuple(numbers) for numbers in codes))

    def missing_numbers(self) -> tuple[tuple[float, ...], ...]:
        """The numbers that are missing values in each channel.

        - a code that was found in this channel;
        - a code that was found in another channel, at least a tenth of the fitted range away from that range;
        - any code on the list of programs, farther from the fitted range than the range is wide;
        - a number on the list of fill values, a thousand times as far.
        """
        far_enough = dict.fromkeys(FILLS.tolist(), BEYOND_ALL) | dict.fromkeys(CODES.tolist(), _FAR_OF_UNSEEN)
        far_enough |= {code: FAR for codes in self.codes for code in codes}
        missing = []
        for low, high, codes in zip(self.low, self.high, self.codes, strict=True):
            numbers = set(codes)
            if high > low:  # of a channel that never moved nobody knows how far it reaches
                width = high - low
                numbers |= {n for n, far in far_enough.items() if max(low - n, n - high) > far * width}
            missing.append(tuple(sorted(numbers)))
        return tuple(missing)


class SoundBounds(NamedTuple):
    """Of each channel: the least and the greatest value, and the equal values in a row after which it is stuck."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    still_rows: tuple[float, ...]

    @classmethod
    def of(cls, known: KnownValues, still_rows: Sequence[Sequence[float]]) -> SoundBounds:
        """From the range of the recordings of a model, and what each of them says of equal values."""
        ends = [(low, high, GAP * (high - low)) for low, high in zip(known.low, known.high, strict=True)]
        low = tuple(low - far if far > 0 else -_NONE for low, _, far in ends)
        high = tuple(high + far if far > 0 else _NONE for _, high, far in ends)
        return cls(low, high, tuple(min(max(rows), _NONE) for rows in zip(*still_rows, strict=True)))
