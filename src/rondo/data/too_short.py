"""Recordings in which nothing can be shown to recur, because too few windows lie in them side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rondo.data.channels import MANY_CHANNELS
from rondo.data.recording import Recording
from rondo.data.suggest import FEWEST_TELLING_FRAMES
from rondo.errors import RecordingError
from rondo.wording import counted

FEWEST_WINDOWS = 20
"""That do not overlap: fewer cannot show that something recurs."""


def refuse_too_short(recordings: Sequence[Recording]) -> None:
    """Fewer frames in all than windows are needed: whatever is found in them cannot be shown to recur.

    Recordings with frames in columns are short too; those get a better advice (`channels.refuse_shape`).
    """
    total, widest = sum(own.n_frames for own in recordings), max(own.n_channels for own in recordings)
    if total < FEWEST_WINDOWS and widest <= MANY_CHANNELS:
        raise RecordingError(
            f"too short: {counted(total, 'frame')} in {counted(len(recordings), 'recording')}; for something to recur, "
            f"{FEWEST_WINDOWS} windows are needed, which is {FEWEST_WINDOWS * FEWEST_TELLING_FRAMES} frames or more; "
            "record longer, or give more recordings"
        )


def too_few_windows(n_frames: Sequence[int], window_frames: int) -> str:
    """What to say where recordings hold fewer windows that do not overlap than can show recurrence; "" otherwise.

    >>> too_few_windows([100, 60], 8), too_few_windows([100], 8)[:57]
    ('', 'too short: only 12 windows of 8 frames lie side by side i')
    """
    n_windows = sum(n // window_frames for n in n_frames)
    if n_windows >= FEWEST_WINDOWS - 1:  # the window that fits 20 times is rounded
        return ""
    return (
        f"too short: only {counted(n_windows, 'window')} of {counted(window_frames, 'frame')} lie side by side in "
        f"{counted(sum(n_frames), 'frame')}, and recurrence is not shown in fewer than {FEWEST_WINDOWS}; record "
        f"{FEWEST_WINDOWS * window_frames} frames or more, or give a shorter --window"
    )
