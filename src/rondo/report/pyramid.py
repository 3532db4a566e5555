"""The signal as the page holds it: a coarse level to draw at once, a fine one that is unpacked when someone zooms in.

The page builds the levels between by itself. Codes are the upper eight bits of those in the run folder: a row is 40
pixels high. The fine level is written as differences along time, which are small where a signal is smooth, and
deflated; the finest that fits the budget is taken, which is every frame of most recordings.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.report.overview import Overview, coarser

COARSE_BUCKETS = 4096
"""Two to four per pixel of a wide page."""

LEAST_BUCKETS = 512
"""What a recording gets of the budget at least; half a bucket per pixel still shows where something happens."""


def least_bytes(n_channels: int) -> int:
    """What a recording takes in a page however little there is to spare."""
    return 2 * LEAST_BUCKETS * n_channels


def base64_of(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian, as text."""
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def packed(overview: Overview, budget_bytes: int) -> dict[str, Any]:
    """`coarse` and `fine` (None where coarse is the finest that fits), both with their bucket_frames."""
    codes = (overview.codes >> 8).astype(np.uint8)
    step = _coarse_step(codes, budget_bytes // 2)
    coarse = coarser(codes, step)
    fine = _fine(codes, overview.bucket_frames, step, budget_bytes - coarse.size)
    if fine is None:  # then there is more for the coarse one
        step = _coarse_step(codes, budget_bytes)
        coarse = coarser(codes, step)
    data = base64_of(_by_channel(coarse))
    return {"coarse": _level(coarse, overview.bucket_frames * step, data), "fine": fine}


def _coarse_step(codes: NDArray[np.uint8], budget_bytes: int) -> int:
    """How many frames a bucket needs so that a level is no more than a page shows at once, and within the budget."""
    step = 1
    while True:
        n_buckets = -(-codes.shape[0] // step)
        size = n_buckets * codes.shape[1] * (2 if step > 1 else codes.shape[2])
        if n_buckets <= LEAST_BUCKETS or (n_buckets <= COARSE_BUCKETS and size <= budget_bytes):
            return step
        step *= 2


def _fine(codes: NDArray[np.uint8], bucket: int, step: int, budget_bytes: int) -> dict[str, Any] | None:
    """The finest level below buckets of `step` that fits, as differences along time."""
    while step > 1:
        deflated = _deflated(codes, budget_bytes)
        if deflated is not None:
            return _level(codes, bucket, base64.b64encode(deflated).decode())
        # lowest and highest of two frames are as many numbers as the frames themselves
        factor = 4 if codes.shape[2] == 1 else 2
        codes, bucket, step = coarser(codes, factor), bucket * factor, step // factor
    return None


def _level(codes: NDArray[np.uint8], bucket_frames: int, data: str) -> dict[str, Any]:
    return {"bucket_frames": bucket_frames, "n_buckets": codes.shape[0], "width": codes.shape[2], "data": data}


def _by_channel(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """One channel after the other, in each all lowest values before all highest."""
    return np.ascontiguousarray(codes.transpose(1, 2, 0))


def _deflated(codes: NDArray[np.uint8], budget_bytes: int) -> bytes | None:
    """The codes as differences, deflated; None where that takes more than the budget."""
    if codes.size > 4 * budget_bytes:  # real signals do not shrink that much: do not even try
        return None
    rows = _by_channel(codes)
    differences = np.diff(rows, axis=-1, prepend=np.uint8(0))
    deflated = zlib.compress(differences.tobytes(), 6)
    return deflated if len(deflated) <= budget_bytes else None
