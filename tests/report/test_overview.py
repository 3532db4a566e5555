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
from tests.report.naive_overview import naive_overview

FRAMES = arrays(
    np.float32,
    st.tuples(st.integers(1, 40), st.integers(1, 3)),
    elements=st.one_of(st.floats(-100, 100, width=32), st.just(float("nan"))),
)


@given(FRAMES, st.integers(1, 50))
@settings(max_examples=80, deadline=None)
def test_overview_equals_its_naive_twin(frames: np.ndarray, max_buckets: int) -> None:
    edges, low, high = signal_overview(frames, max_buckets)
    expected_edges, expected_low, expected_high = naive_overview(frames.tolist(), max_buckets)
    npt.assert_array_equal(edges, expected_edges)
    npt.assert_array_equal(low, np.array(expected_low, dtype=np.float32))
    npt.assert_array_equal(high, np.array(expected_high, dtype=np.float32))


@given(FRAMES, st.integers(1, 50), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_coarsening_loses_no_extreme(frames: np.ndarray, fine: int, coarse: int) -> None:
    from rondo.report import Overview

    names = tuple(str(i) for i in range(frames.shape[1]))
    coarsened = Overview(*signal_overview(frames, fine), names).coarsened(coarse)
    assert len(coarsened.low) == min(frames.shape[0], fine, coarse)
    assert coarsened.edges[0] == 0
    assert coarsened.edges[-1] == frames.shape[0]
    for start, stop, low, high in zip(
        coarsened.edges, coarsened.edges[1:], coarsened.low, coarsened.high, strict=False
    ):
        _, (expected_low,), (expected_high,) = naive_overview(frames[start:stop].tolist(), 1)
        npt.assert_array_equal(low, np.float32(expected_low))
        npt.assert_array_equal(high, np.float32(expected_high))


def test_short_signal_is_its_own_overview() -> None:
    frames = np.random.default_rng(0).normal(size=(17, 2)).astype(np.float32)
    edges, low, high = signal_overview(frames)
    npt.assert_array_equal(edges, np.arange(18))
    npt.assert_array_equal(low, frames)
    npt.assert_array_equal(high, frames)


def test_overview_survives_the_disk(tmp_path: Path) -> None:
    values = np.array([[1.0, np.nan], [3.0, np.nan], [2.0, 5.0]])
    path = overview_path(tmp_path, "day1")
    write_overview(path, values, ["<b>", "ÄÖ"])
    overview = read_overview(path)
    assert overview.channels == ("<b>", "ÄÖ")
    npt.assert_array_equal(overview.low, np.float32(values))
    npt.assert_array_equal(overview.edges, [0, 1, 2, 3])


@pytest.mark.parametrize("recording_id", ["../day1", "a/b", "/etc/passwd"])
def test_an_id_cannot_lead_out_of_the_folder(tmp_path: Path, recording_id: str) -> None:
    with pytest.raises(OutputError, match="not a plain file name"):
        overview_path(tmp_path, recording_id)


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
        assert overview.low.shape == overview.high.shape == (6, 2)


def test_pickles_and_wrong_shapes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    good = {
        "edges": np.arange(3),
        "low": np.zeros((2, 1)),
        "high": np.zeros((2, 1)),
        "channels": np.array(["a"]),
    }
    for wrong, message in (
        ({"low": np.array([[None], [None]])}, "expected an .npz overview"),
        ({"low": np.zeros((3, 1))}, "shape"),
        ({"edges": np.array([0, 2, 1])}, "must increase"),
        ({"edges": np.array(5)}, "shape|expected"),
    ):
        np.savez(path, **(good | wrong))
        with pytest.raises(OutputError, match=message):
            read_overview(path)
