"""The signal as the page holds it: a coarse level to draw at once, a fine one that is unpacked when someone zooms in.

The page builds the levels between by itself. Codes are the upper eight bits of those in the run folder: a row is 40
pixels high. The fine level is written as differences along time, which are small where a signal is smooth, and
deflated; the finest that fits the budget is taken, which is every frame of most recordings.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.report.overview import Overview, coarser

COARSE_BUCKETS = 4096
"""Two to four per pixel of a wide page."""

PAGE_BUDGET_BYTES = 8_500_000
"""Deflated, of all recordings together: 11.4 MB of text, so that a page with its lanes stays under 15 MB."""


def packed_signals(overviews: Sequence[Overview], budget_bytes: int = PAGE_BUDGET_BYTES) -> list[dict[str, Any]]:
    """Of each recording: `coarse` and `fine` (None where coarse has every frame), both with their bucket_frames."""
    n_frames = max(1, sum(overview.n_frames for overview in overviews))
    return [_packed(overview, budget_bytes * overview.n_frames // n_frames) for overview in overviews]


def base64_of(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian, as text."""
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def _packed(overview: Overview, budget_bytes: int) -> dict[str, Any]:
    codes = (overview.codes >> 8).astype(np.uint8)
    bucket = overview.bucket_frames
    step = 1
    while -(-codes.shape[0] // step) > COARSE_BUCKETS:
        step *= 2
    coarse = coarser(codes, step)
    packed = {"coarse": _level(coarse, bucket * step, base64_of(_by_channel(coarse))), "fine": None}
    while step > 1:
        deflated = _deflated(codes, budget_bytes)
        if deflated is not None:
            packed["fine"] = _level(codes, bucket, base64.b64encode(deflated).decode())
            break
        # lowest and highest of two frames are as many numbers as the frames themselves
        factor = 4 if codes.shape[2] == 1 else 2
        codes, bucket, step = coarser(codes, factor), bucket * factor, step // factor
    return packed


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
