"""What the page gets of a signal can be unpacked to what the run folder holds, and stays within its budget."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from rondo.report import signal_overview
from rondo.report.pyramid import COARSE_BUCKETS, packed_signals


def unpacked(level: dict[str, Any], n_channels: int, *, deflated: bool) -> np.ndarray:
    """Codes (n_buckets, n_channels, width) as the page sees them."""
    raw = base64.b64decode(level["data"])
    shape = (n_channels, level["width"], level["n_buckets"])
    if not deflated:
        return np.frombuffer(raw, np.uint8).reshape(shape).transpose(2, 0, 1)
    differences = np.frombuffer(zlib.decompress(raw), np.uint8).reshape(shape)
    return np.cumsum(differences, axis=-1, dtype=np.uint8).transpose(2, 0, 1)


def noise(n_frames: int) -> np.ndarray:
    values = np.random.default_rng(0).normal(size=(n_frames, 3)).astype(np.float32)
    values[n_frames // 3 : n_frames // 2, 1] = np.nan
    return values


def test_a_long_signal_is_there_frame_by_frame_and_coarse() -> None:
    overview = signal_overview(noise(20_001), "abc")
    (packed,) = packed_signals([overview])
    fine, coarse = packed["fine"], packed["coarse"]
    assert (fine["bucket_frames"], fine["width"], coarse["bucket_frames"]) == (1, 1, 8)
    assert coarse["n_buckets"] <= COARSE_BUCKETS
    codes = unpacked(fine, 3, deflated=True)
    npt.assert_array_equal(codes, overview.codes >> 8)
    npt.assert_array_equal(codes == 255, np.isnan(overview.values()))
    npt.assert_array_equal(unpacked(coarse, 3, deflated=False), overview.coarsened(8).codes >> 8)


def test_a_short_signal_needs_no_second_level() -> None:
    (packed,) = packed_signals([signal_overview(noise(500), "abc")])
    assert packed["fine"] is None
    assert packed["coarse"]["bucket_frames"] == 1


@pytest.mark.parametrize("budget", [30_000, 10_000, 1000])
def test_what_does_not_fit_the_budget_is_coarser(budget: int) -> None:
    overviews = [signal_overview(noise(n), "abc") for n in (20_000, 10_000)]
    packed = packed_signals(overviews, budget)
    fine = [it["fine"] for it in packed if it["fine"] is not None]
    assert sum(len(base64.b64decode(level["data"])) for level in fine) <= budget
    for overview, it in zip(overviews, packed, strict=True):
        if it["fine"] is not None:
            assert it["fine"]["bucket_frames"] in (4, 8)
            expected = overview.coarsened(it["fine"]["bucket_frames"]).codes >> 8
            npt.assert_array_equal(unpacked(it["fine"], 3, deflated=True), expected)
