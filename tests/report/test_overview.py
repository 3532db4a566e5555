"""signal_overview against its naive twin, and overview files that come back or are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rondo.errors import OutputError
from rondo.report import overview_path, read_overview, signal_overview, write_overview
from rondo.report.overview import TOP_CODE
from tests.report.naive_overview import naive_buckets

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
@settings(max_examples=80, deadline=None)
def test_overview_equals_its_naive_twin(frames: np.ndarray, max_codes: int, doublings: int) -> None:
    names = [str(i) for i in range(frames.shape[1])]
    overview = signal_overview(frames, names, max_codes)
    if overview.bucket_frames < frames.shape[0]:
        assert overview.codes.size <= max_codes
    for level in (overview, overview.coarsened(overview.bucket_frames << doublings)):
        values = level.values()
        expected = np.array(naive_buckets(frames.tolist(), level.bucket_frames))
        close_to(values, expected if values.shape[2] == 2 else expected[..., :1], frames)


def test_extremes_survive_every_coarsening() -> None:
    frames = np.zeros((5000, 2), np.float32)
    frames[[77, 3333], [0, 1]] = 9.0, -4.0
    overview = signal_overview(frames, ["a", "b"])
    for bucket in (1, 4, 64, 4096):
        values = overview.coarsened(bucket).values()
        assert values[77 // bucket, 0, -1] == 9.0
        assert values[3333 // bucket, 1, 0] == -4.0


def test_overview_survives_the_disk(tmp_path: Path) -> None:
    values = np.array([[1.0, np.nan], [3.0, np.nan], [2.0, 5.0]])
    path = overview_path(tmp_path, "day1")
    write_overview(path, values, ["<b>", "ÄÖ"])
    overview = read_overview(path)
    assert overview.channels == ("<b>", "ÄÖ")
    npt.assert_allclose(overview.values()[..., 0], values, atol=1e-4)
    assert (overview.n_frames, overview.bucket_frames) == (3, 1)


def test_unwritable_place_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "overview").write_text("a file where a folder should be")
    with pytest.raises(OutputError, match="cannot be written"):
        write_overview(overview_path(tmp_path, "day1"), np.zeros((3, 1)), ["x"])


@given(st.binary(max_size=200))
@settings(max_examples=40, deadline=None)
def test_bytes_that_are_no_overview_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bad") / "x.npz"
    path.write_bytes(content)
    with pytest.raises(OutputError) as refused:
        read_overview(path)
    assert "\n" not in str(refused.value)


@given(position=st.floats(0, 1), flip=st.integers(0, 255), cut=st.booleans())
@settings(max_examples=80, deadline=None)
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
    good = {
        "codes": np.zeros((2, 1, 1), np.uint16),
        "bucket_frames": 1,
        "n_frames": 2,
        "low": np.zeros(1),
        "high": np.ones(1),
        "channels": np.array(["a"]),
    }
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
