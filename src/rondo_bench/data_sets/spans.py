"""Published annotations that name spans of time or of frames, painted onto the frames of a recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.annotations.annotation import Annotation
from rondo.errors import AnnotationError


def painted(
    positions: ArrayLike, starts: Sequence[float], stops: Sequence[float], classes: Sequence[int], background: int = 0
) -> NDArray[np.int64]:
    """The class of each position (a time or frame number): that of the span [start, stop) it lies in.

    Where spans overlap the one that comes later in the list wins; `background` lies outside them all.

    >>> painted([0, 1, 2, 3, 4], [1, 3], [2, 9], [7, 8]).tolist()
    [0, 7, 0, 8, 8]
    """
    at = np.asarray(positions, dtype=np.float64)
    track = np.full(at.size, background, dtype=np.int64)
    if (np.diff(at) < 0).any():  # frames out of order: look at each span on its own
        for start, stop, number in zip(starts, stops, classes, strict=True):
            track[(at >= start) & (at < stop)] = number
        return track
    firsts, lasts = np.searchsorted(at, np.asarray(starts)), np.searchsorted(at, np.asarray(stops))
    for first, last, number in zip(firsts, lasts, classes, strict=True):
        track[first:last] = number
    return track


def numbered(classes: ArrayLike, names: dict[int, str], id: str, where: object) -> Annotation:
    """Classes under their published numbers, each of which must be known; numbers in between have no frames."""
    numbers = np.asarray(classes)
    known = np.isin(numbers, list(names))
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise AnnotationError(f"{where}: row {row + 1} has class {numbers[row]:g}, which is none of {sorted(names)}")
    listed = tuple(names.get(number, f"class {number}") for number in range(max(names) + 1))
    return Annotation(numbers.astype(np.int64), listed, id=id)
