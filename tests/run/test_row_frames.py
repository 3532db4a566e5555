"""rows.csv: from the rows that came to the frames that they have become, and back."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.errors import OutputError
from rondo.run.rows import ROWS, ROWS_HEADER, RowFrames, RowPlaces, RowSpan


@st.composite
def places(draw: st.DrawFn) -> tuple[list[int], list[int], list[bool], int]:
    """Numbers and frames of rows, of which some are skipped, some share a frame and some leave frames out."""
    n_rows = draw(st.integers(1, 40))
    kept = [row for row in range(n_rows) if draw(st.integers(0, 5))]
    frames = np.cumsum(draw(st.lists(st.sampled_from([0, 1, 1, 1, 1, 2, 3]), min_size=len(kept), max_size=len(kept))))
    lost = draw(st.lists(st.booleans(), min_size=len(kept), max_size=len(kept)))
    return kept, frames.tolist(), lost, n_rows


def spans_of(numbers: list[int], frames: list[int], lost: list[bool], n_rows: int, chunk: int) -> list[RowSpan]:
    writer, spans = RowPlaces(), list[RowSpan]()
    for start in range(0, len(numbers), chunk):
        own = slice(start, start + chunk)
        state, writer = writer.state(), RowPlaces()
        writer.load(state)  # as after a restart
        writer.add(np.array(numbers[own]), np.array(frames[own]), np.array(lost[own]))
        spans += writer.take()
    writer.end(n_rows)
    return spans + writer.take()


@pytest.mark.slow
@given(found=places(), chunk=st.integers(1, 9), data=st.data())
def test_labels_of_frames_become_labels_of_rows(found: tuple, chunk: int, data: st.DataObject) -> None:
    numbers, frames, lost, n_rows = found
    spans = spans_of(numbers, frames, lost, n_rows, chunk)
    assert spans == spans_of(numbers, frames, lost, n_rows, 1_000)
    n_frames = frames[-1] + 1 if frames else 0
    edges = sorted({0, n_frames, *data.draw(st.lists(st.integers(0, n_frames), max_size=4))})
    of_frame, expected = np.full(n_frames, OTHER), np.full(n_rows, OTHER)
    rows, track = RowFrames.of(spans, n_rows), np.full(n_rows, OTHER, np.int32)
    for unit, (start, stop) in enumerate(pairwise(edges)):
        of_frame[start:stop] = unit
        a, b = rows.rows_from(np.array([start, stop])).tolist()
        track[a:b] = unit
    expected[numbers] = of_frame[frames]
    track = rows.without_skipped(track)
    npt.assert_array_equal(track, expected)
    counts = rows.counts(track)
    assert counts.read == n_rows
    assert counts.skipped == n_rows - len(numbers)
    assert counts.labelled == (expected != OTHER).sum()


def test_rows_that_follow_on_each_other_are_one_line() -> None:
    rows = np.arange(100_000)
    assert spans_of(rows.tolist(), rows.tolist(), [False] * rows.size, rows.size, 777) == [RowSpan(0, 0, "frame")]


def test_gaps_are_counted() -> None:
    lost = [5 <= row < 15 for row in range(20)]
    rows = RowFrames.of(spans_of(list(range(20)), list(range(20)), lost, 22, 3), 22)
    units = np.where([*lost, True, True], OTHER, 4).astype(np.int32)
    units[0] = OTHER
    assert rows.counts(units) == (9, 2, 10, 1)


def test_a_folder_without_the_file_has_frames_for_rows_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    frames = np.array([0, 7, 900])
    npt.assert_array_equal(RowFrames.read(tmp_path).rows_from(frames), frames)
    (tmp_path / ROWS).write_text(ROWS_HEADER + "0,5,frame\n100,1")
    npt.assert_array_equal(RowFrames.read(tmp_path).rows_from(frames), [0, 2, 895])


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ROWS).write_text("mine\nto keep\n")
    with pytest.raises(OutputError, match=r"rows\.csv: .*`rondo stream`"):
        RowFrames.read(tmp_path)


@pytest.mark.parametrize("text", ["1" + 23 * "0" + ",0,frame", "0," + 30 * "9" + ",frame", "0,x,frame", "0,0,what"])
def test_rows_that_no_stream_has_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ROWS).write_text(f"{ROWS_HEADER}{text}\n")
    with pytest.raises(OutputError, match="expected the rows"):
        RowFrames.read(tmp_path)


@pytest.mark.parametrize(
    "state", [[0, "x", "frame"], [0, "x"], [0, 0, "what"], [-1, 0, "frame"], [0.5, 0, "frame"], [None] * 3]
)
def test_places_that_no_stream_has_are_refused(state: list[object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        RowPlaces().load(state)
