"""What a trained encoder may learn from: the windows within the first share of the stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rondo.data.windows import Windows
from rondo.errors import SettingError


class TrainingWindows(NamedTuple):
    """Windows as places in one run of frames, so that no window is copied before it is used."""

    frames: torch.Tensor  # (n_frames, n_channels), recordings one after the other
    starts: torch.Tensor  # (n_windows,), first frame of each
    length: int  # frames per window


def training_windows(windows: Sequence[Windows], share: float) -> TrainingWindows:
    """All windows that lie within the first `share` of the frames, recordings taken in order."""
    n_frames = sum(w.grid.n_frames for w in windows)
    seen, length = math.floor(share * n_frames), max(w.grid.length_frames for w in windows)
    values: list[NDArray[np.float32]] = []
    starts: list[NDArray[np.int64]] = []
    first = 0
    for w in windows:
        values.append(w.values[: max(0, seen - first)])
        starts.append(first + w.grid.starts)
        first += w.grid.n_frames
    chosen = np.concatenate(starts)
    chosen = chosen[chosen + length <= seen]
    if not chosen.size:
        raise SettingError(
            f"encoder.fit_share = {share:g} leaves the encoder no whole window: windows.length is {length} frames, "
            f"the stream's share {seen} of {n_frames}; raise the share, or shorten the windows"
        )
    return TrainingWindows(torch.from_numpy(np.concatenate(values)), torch.from_numpy(chosen), length)
