"""A Result with labels that were written down, for pictures: nothing is learned, so it takes no time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.editing.edits import Edits
from rondo.result import Result, make_result
from rondo.run.labelling import Labelling

UNITS = (0, 1, 0, 1, 2, 3, 2, 3)
MOTIFS = (0, 0, 0, 0, 1, 1, 1, 1)
STEP = 50  # frames of a unit


def labelling_of(recording: Recording, units: NDArray[np.int32], motifs: NDArray[np.int32]) -> Labelling:
    sure = np.ones(units.size, np.float32)
    times_s = recording.timestamps_s
    if times_s is None and recording.rate is not None:
        times_s = np.arange(units.size) / recording.rate
    return Labelling(recording.id, units, motifs, sure, sure, times_s, recording.rate, np.zeros(0, np.int64), 1.0)


def result_by_hand(
    ids: tuple[str, ...] = ("day1",),
    *,
    units: tuple[int, ...] = UNITS,
    motifs: tuple[int, ...] = MOTIFS,
    channels: tuple[str, ...] = ("x", "y"),
    rate: float | None = 50.0,
    timestamps_s: NDArray[np.float64] | None = None,
    edits: Edits | None = None,
) -> Result:
    """Every unit lasts STEP frames; channel c of unit u is a sine of its own."""
    tracks = [np.repeat(np.array(track, np.int32), STEP) for track in (units, motifs)]
    n = tracks[0].size
    phase = np.arange(n)[:, None] * (1 + tracks[0][:, None] + np.arange(len(channels))) / 30
    given = {"rate": rate} if timestamps_s is None else {"timestamps_s": timestamps_s}
    recordings = [Recording(np.sin(phase).astype(np.float32), channels=channels, id=id, **given) for id in ids]
    labellings = [labelling_of(recording, *tracks) for recording in recordings]
    return make_result("by hand", recordings, labellings, edits=edits or Edits())
