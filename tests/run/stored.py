"""Files of one recording, put into a run folder without a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from rondo.run.overview import FrameScores, signal_overview, stored_overview, stored_scores


def write_overview(path: Path, values: ArrayLike, channels: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(stored_overview(signal_overview(values, channels)))


def write_scores(path: Path, scores: FrameScores) -> None:
    path.parent.mkdir(exist_ok=True)
    if scores.tell_something:
        path.write_bytes(stored_scores(scores))
