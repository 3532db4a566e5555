"""A small real recording that comes with Rondo: three ways to do one exercise, `rondo demo --real`.

It is of the Physical Therapy Exercises set (UCI Machine Learning Repository, 730; CC BY 4.0) by A. Yurtman and B.
Barshan, "Automated evaluation of physical therapy exercises using multi-template dynamic time warping on wearable
sensor signals", Computer Methods and Programs in Biomedicine 117 (2014). Changed here: the test session of subject 1
and exercise 1 only, the accelerometers of two of its five units, to three decimals. The marks are of Rondo's authors.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np

from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.files.read import read_recording

NAMES = ("rest", "correct", "fast", "low amplitude")
SPANS_S = ((2, 80, 1), (104, 134, 2), (162, 235, 3))
"""Start, end and name of each block in seconds, by the activity of the sensors; the order is that of the set."""


def exercises() -> Recording:
    """The recording: 4 minutes of two accelerometers at 25 Hz.

    >>> exercises()
    Recording('exercises', 5949 frames x 6 channels, 25 Hz)
    """
    with as_file(files(__name__) / "exercises.npz") as path:
        return read_recording(path).read_from("rondo/examples/exercises.npz")


def exercise_marks(recording: Recording) -> Labels:
    """The block of each frame, a place in `NAMES`; for scores and names, never for learning.

    >>> np.bincount(exercise_marks(exercises())).tolist()
    [1424, 1950, 750, 1825]
    """
    rate, found = recording.rate or 1.0, np.zeros(recording.n_frames, np.int32)
    for start, stop, name in SPANS_S:
        found[round(start * rate) : round(stop * rate)] = name
    return found
