"""How long a method will take, said before it starts.

A module of a method may offer `estimated_seconds(n_frames, n_channels, config)`, a rough fit of what was measured on
one core. Some methods grow faster than the recording: up to which length one is practical is asked of the same
function. Practical is an hour for one recording.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import cast

from rondo.data.recording import Recording
from rondo.wording import estimate_in_words
from rondo_bench.baselines.base import Baseline

WORTH_SAYING_S = 60.0
PRACTICAL_S = 3600.0
_LONGEST = 1 << 32  # frames; a method that takes an hour for as many has no limit that matters


def estimated_seconds(baseline: Baseline, n_frames: int, n_channels: int) -> float | None:
    """Seconds for one recording on one core, about; None where the method does not say."""
    estimate = getattr(sys.modules[type(baseline).__module__], "estimated_seconds", None)
    chosen = baseline.config.preprocess
    n_inputs = chosen.pca_components or len(chosen.channels) or n_channels
    return None if estimate is None else float(cast(float, estimate(n_frames, n_inputs, baseline.config)))


def practical_frames(baseline: Baseline, n_channels: int) -> int:
    """The longest recording, in frames, that the method gets through in an hour; 0 if none is."""
    fewest, most = 0, _LONGEST
    while most - fewest > 1:
        middle = (fewest + most) // 2
        seconds = estimated_seconds(baseline, middle, n_channels)
        fewest, most = (middle, most) if seconds is None or seconds <= PRACTICAL_S else (fewest, middle)
    return fewest


def warnings_before(recordings: Sequence[Recording], name: str, baseline: Baseline) -> list[str]:
    """What to say before a long run: how long it will take, and of which recordings the length is not practical."""
    each = [estimated_seconds(baseline, recording.n_frames, recording.n_channels) for recording in recordings]
    total = sum(seconds for seconds in each if seconds is not None)
    if total <= WORTH_SAYING_S:
        return []
    said = [f"{name} will take about {estimate_in_words(total)} on one core"]
    worst = max(range(len(recordings)), key=lambda i: each[i] or 0.0)
    if (each[worst] or 0.0) > PRACTICAL_S:
        recording = recordings[worst]
        limit = rounded(practical_frames(baseline, recording.n_channels))
        said.append(
            f"{name} is practical up to about {limit:,} frames of {recording.n_channels} channels (an hour each); "
            f"recording '{recording.id}' has {recording.n_frames:,}"
        )
    return said


def rounded(count: int) -> int:
    """Two digits are all that an estimate has.

    >>> rounded(123_456), rounded(87), rounded(0)
    (120000, 87, 0)
    """
    return int(float(f"{count:.1e}"))
