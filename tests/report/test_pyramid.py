"""What the page gets of a signal can be unpacked to what the run folder holds, and stays within its budget."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from rondo.report import signal_overview
from rondo.report.pyramid import COARSE_BUCKETS, LEAST_BUCKETS, packed


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
    levels = packed(overview, 1_000_000)
    fine, coarse = levels["fine"], levels["coarse"]
    assert (fine["bucket_frames"], fine["width"], coarse["bucket_frames"]) == (1, 1, 8)
    assert coarse["n_buckets"] <= COARSE_BUCKETS
    codes = unpacked(fine, 3, deflated=True)
    npt.assert_array_equal(codes, overview.codes >> 8)
    npt.assert_array_equal(codes == 255, np.isnan(overview.values()))
    npt.assert_array_equal(unpacked(coarse, 3, deflated=False), overview.coarsened(8).codes >> 8)


def test_a_short_signal_needs_no_second_level() -> None:
    levels = packed(signal_overview(noise(500), "abc"), 1_000_000)
    assert levels["fine"] is None
    assert levels["coarse"]["bucket_frames"] == 1


@pytest.mark.parametrize("budget", [50_000, 25_000, 10_000, 4000])
def test_what_does_not_fit_the_budget_is_coarser(budget: int) -> None:
    overview = signal_overview(noise(20_000), "abc")
    levels = packed(overview, budget)
    coarse, fine = levels["coarse"], levels["fine"]
    assert sum(len(base64.b64decode(it["data"])) for it in (coarse, fine) if it is not None) <= budget
    assert LEAST_BUCKETS / 2 < coarse["n_buckets"] <= COARSE_BUCKETS
    npt.assert_array_equal(unpacked(coarse, 3, deflated=False), overview.coarsened(coarse["bucket_frames"]).codes >> 8)
    if fine is not None:
        assert 1 < fine["bucket_frames"] < coarse["bucket_frames"]
        npt.assert_array_equal(unpacked(fine, 3, deflated=True), overview.coarsened(fine["bucket_frames"]).codes >> 8)
