"""The clock: a control that looks at no data, so that a score which rewards chopping is seen to do so."""

from __future__ import annotations

import numpy as np

from rondo.data.labels import Labels, Runs
from rondo.errors import SettingError


def clock_runs(n_frames: int, n_pieces: int) -> Runs:
    """Equal pieces, each a cluster of its own: frame t of n frames lies in piece t·K // n.

    >>> clock_runs(7, 3).starts.tolist()
    [0, 3, 5]
    """
    if not 1 <= n_pieces <= n_frames:
        raise SettingError(f"a clock cuts {n_frames} frames into 1 to {n_frames} pieces, got {n_pieces}")
    pieces = np.arange(n_pieces, dtype=np.int64)
    starts = -(-pieces * n_frames // n_pieces)  # the first t with t·K >= piece·n
    return Runs(starts, np.append(starts[1:], n_frames), pieces)


def clock_labels(n_frames: int, n_pieces: int) -> Labels:
    """The clock as a label for each frame: the number of its piece, of `n_pieces` equal ones.

    >>> clock_labels(7, 3).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    runs = clock_runs(n_frames, n_pieces)
    return np.repeat(runs.ids.astype(np.int32), runs.lengths)
