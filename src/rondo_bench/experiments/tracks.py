"""Label tracks as they stand in a row: their runs, which are short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.data.labels import runs_of


def as_runs(track: ArrayLike) -> dict[str, list[int]]:
    """Where each run of a track ends, and its id.

    >>> as_runs([4, 4, 7])
    {'stops': [2, 3], 'ids': [4, 7]}
    """
    runs = runs_of(track)
    return {"stops": runs.stops.tolist(), "ids": runs.ids.tolist()}


def from_stored(runs: Mapping[str, Sequence[int]]) -> NDArray[np.int64]:
    """The track that has these runs.

    >>> from_stored({"stops": [2, 3], "ids": [4, 7]}).tolist()
    [4, 4, 7]
    """
    return np.repeat(np.asarray(runs["ids"], np.int64), np.diff(runs["stops"], prepend=0))
