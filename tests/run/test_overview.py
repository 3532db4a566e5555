"""Overviews: equal to a naive twin, bounded for streams, back from the disk or refused, unpacked by a page."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rondo.errors import OutputError
from rondo.run import overview as module
from rondo.run.overview import (
    COARSE_BUCKETS,
    LEAST_BUCKETS,
    TOP_CODE,
    GrowingOverview,
    cut_to,
    overview_path,
    packed,
    read_overview,
    signal_overview,
)
from tests.run.naive_overview import naive_buckets
from tests.run.stored import write_overview

FRAMES = arrays(
    np.float32,
    st.tuples(st.integers(1, 40), st.integers(1, 3)),
    elements=st.one_of(st.floats(-100, 100, width=32), st.just(float("nan"))),
)


def close_to(values: np.ndarray, expected: np.ndarray, frames: np.ndarray) -> None:
    """Within half a code of each channel's range, and missing in the same places."""
    known = np.isfinite(frames)
    low = np.min(frames, axis=0, where=known, initial=np.inf)
    high = np.max(frames, axis=0, where=known, initial=-np.inf)
    room = np.where(known.any(axis=0), (high - low) / TOP_CODE, 0) * 0.51 + 1e-4
    npt.assert_array_equal(np.isnan(values), np.isnan(expected))
    assert (np.nan_to_num(np.abs(values - expected)) <= room[:, None]).all()


@given(FRAMES, st.integers(1, 200), st.integers(0, 3))
def test_overview_equals_its_naive_twin(frames: np.ndarray, max_codes: int, doublings: int) -> None:
    names = [str(i) for i in range(frames.shape[1])]
    overview = signal_overview(frames, names, max_codes)
    if overview.bucket_frames < frames.shape[0]:
        assert overview.codes.size <= max_codes
    for level in (overview, overview.coarsened(overview.bucket_frames << doublings)):
        values = level.values()
        expected = np.array(naive_buckets(frames.tolist(), level.bucket_frames))
        close_to(values, expected if values.shape[2] == 2 else expected[..., :1], frames)


def test_overview_survives_the_disk(tmp_path: Path) -> None:
    values = np.array([[1.0, np.nan], [3.0, np.nan], [2.0, 5.0]])
    path = overview_path(tmp_path, "day1")
    write_overview(path, values, ["<b>", "ÄÖ"])
    overview = read_overview(path)
    assert overview.channels == ("<b>", "ÄÖ")
    npt.assert_allclose(overview.values()[..., 0], values, atol=1e-4)
    assert (overview.n_frames, overview.bucket_frames) == (3, 1)


@given(position=st.floats(0, 1), flip=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_overview_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, position: float, flip: int, cut: bool
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "x.npz"
    write_overview(path, np.arange(12.0).reshape(6, 2), ["a", "b"])
    content = bytearray(path.read_bytes())
    at = int(position * (len(content) - 1))
    content[at] ^= flip
    path.write_bytes(content[:at] if cut else content)
    try:
        overview = read_overview(path)
    except OutputError as refused:
        assert "\n" not in str(refused)
    else:
        assert overview.codes.shape == (6, 2, 1)
        assert overview.low.shape == overview.high.shape == (2,)


def test_pickles_and_wrong_shapes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    codes, low, high = np.zeros((2, 1, 1), np.uint16), np.zeros(1), np.ones(1)
    good = {"codes": codes, "bucket_frames": 1, "n_frames": 2, "low": low, "high": high, "channels": np.array(["a"])}
    np.savez(path, **good)
    read_overview(path)
    for wrong, message in (
        ({"low": np.array([None])}, "expected an .npz overview"),
        ({"codes": np.zeros((2, 1, 1))}, "expected an .npz overview"),
        ({"codes": np.zeros((3, 1, 1), np.uint16)}, "shape"),
        ({"low": np.zeros(2)}, "shape"),
        ({"bucket_frames": 3}, "shape"),
        ({"bucket_frames": 0}, "shape"),
        ({"n_frames": -2}, "shape"),
        ({"channels": np.array(5)}, "expected an .npz overview"),
    ):
        np.savez(path, **(good | wrong))
        with pytest.raises(OutputError, match=message):
            read_overview(path)


def signal(n_frames: int, n_channels: int = 2) -> np.ndarray:
    values = np.random.default_rng(0).normal(size=(n_frames, n_channels)).astype(np.float32)
    values[n_frames // 3 : n_frames // 2, 1] = np.nan
    return values


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)), min_size=1, max_size=30))
def test_any_chunks_and_gaps_give_the_buckets_of_the_whole(chunks: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_MOST_NUMBERS", 64)
        patched.setattr(module, "_FEWEST_BUCKETS", 16)
        growing, once = GrowingOverview(("a", "b")), GrowingOverview(("a", "b"))
    values, at = signal(sum(n + gap for n, gap in chunks)), 0
    for n, gap in chunks:
        values[at : at + gap] = np.nan
        growing.add(at + gap, values[at + gap : at + gap + n])
        at += gap + n
    once.add(0, values)
    some, other = growing.overview(at), once.overview(at)
    assert some.bucket_frames == other.bucket_frames and len(some.codes) <= growing.most_buckets == 32
    npt.assert_array_equal(some.codes, other.codes)
    coarse = signal_overview(values, ("a", "b")).coarsened(some.bucket_frames)
    npt.assert_allclose(some.values(), coarse.values(), atol=1e-3)


def test_a_state_is_gone_on_from_exactly() -> None:
    values, growing, again = signal(500), GrowingOverview(("a", "b")), GrowingOverview(("a", "b"))
    growing.add(0, values[:200])
    again.restore(*growing.state())
    for one in (growing, again):
        one.add(200, values[200:])
    npt.assert_array_equal(growing.overview(500).codes, again.overview(500).codes)


def test_frames_that_have_not_come_are_missing_and_later_ones_cut() -> None:
    growing = GrowingOverview(("a",))
    growing.add(0, np.array([[1.0], [2.0]], np.float32))
    values = growing.overview(4).values()[:, 0, 0]
    npt.assert_array_equal(values, [1, 2, np.nan, np.nan])
    npt.assert_array_equal(cut_to(growing.overview(2), 3).values()[:, 0, 0], [1, 2, np.nan])
    assert cut_to(growing.overview(4), 1).n_frames == 1
    assert growing.overview(0).codes.shape == (0, 1, 1)


def unpacked(level: dict[str, Any], n_channels: int, *, deflated: bool) -> np.ndarray:
    """Codes (n_buckets, n_channels, width) as the page sees them."""
    raw = base64.b64decode(level["data"])
    shape = (n_channels, level["width"], level["n_buckets"])
    if not deflated:
        return np.frombuffer(raw, np.uint8).reshape(shape).transpose(2, 0, 1)
    differences = np.frombuffer(zlib.decompress(raw), np.uint8).reshape(shape)
    return np.cumsum(differences, axis=-1, dtype=np.uint8).transpose(2, 0, 1)


def test_a_long_signal_is_there_frame_by_frame_and_coarse() -> None:
    overview = signal_overview(signal(20_001, 3), "abc")
    levels = packed(overview, 1_000_000)
    fine, coarse = levels["fine"], levels["coarse"]
    assert (fine["bucket_frames"], fine["width"], coarse["bucket_frames"]) == (1, 1, 8)
    assert coarse["n_buckets"] <= COARSE_BUCKETS
    codes = unpacked(fine, 3, deflated=True)
    npt.assert_array_equal(codes, overview.codes >> 8)
    npt.assert_array_equal(codes == 255, np.isnan(overview.values()))
    npt.assert_array_equal(unpacked(coarse, 3, deflated=False), overview.coarsened(8).codes >> 8)


@pytest.mark.parametrize("budget", [50_000, 25_000, 10_000, 4000])
def test_what_does_not_fit_the_budget_is_coarser(budget: int) -> None:
    overview = signal_overview(signal(20_000, 3), "abc")
    levels = packed(overview, budget)
    coarse, fine = levels["coarse"], levels["fine"]
    assert sum(len(base64.b64decode(it["data"])) for it in (coarse, fine) if it is not None) <= budget
    assert LEAST_BUCKETS / 2 < coarse["n_buckets"] <= COARSE_BUCKETS
    npt.assert_array_equal(unpacked(coarse, 3, deflated=False), overview.coarsened(coarse["bucket_frames"]).codes >> 8)
    if fine is not None:
        assert 1 < fine["bucket_frames"] < coarse["bucket_frames"]
        npt.assert_array_equal(unpacked(fine, 3, deflated=True), overview.coarsened(fine["bucket_frames"]).codes >> 8)
