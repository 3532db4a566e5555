"""Labelling: the table of segments says what the frame labels say, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.labelling import SEGMENT_COLUMNS, Labelling


def labelling(
    units: list[int],
    breaks: Sequence[int] = (),
    times: list[float] | None = None,
    rate: float | None = None,
) -> Labelling:
    """A labelling whose motifs are its units halved; frame i has the score i / n."""
    track = np.array(units, dtype=np.int32)
    scores = np.arange(track.size, dtype=np.float32) / track.size
    motifs = np.where(track == OTHER, OTHER, track // 2).astype(np.int32)
    times_s = None if times is None else np.array(times)
    return Labelling("r", track, motifs, scores, scores, times_s, rate, np.array(breaks, dtype=np.int64), 1.0)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-1, 3), min_size=1, max_size=40), st.data())
def test_segments_are_the_longest_stretches_of_one_label(units: list[int], data: st.DataObject) -> None:
    n = len(units)
    breaks = sorted(data.draw(st.sets(st.integers(1, n - 1)), label="breaks")) if n > 1 else []
    one = labelling(units, breaks)
    for level, track in (("unit", one.units), ("motif", one.motifs)):
        table = one.segments.filter(pl.col("level") == level)
        naive = []
        for frame in range(n):
            if track[frame] == OTHER:
                continue
            if frame and track[frame - 1] == track[frame] and frame not in breaks:
                naive[-1][2] = frame + 1
            else:
                naive.append([track[frame], frame, frame + 1])
        assert table.select("id", "start_frame", "end_frame").rows() == [tuple(row) for row in naive]
        expected = [one.unit_scores[start:end].mean() for _, start, end in naive]
        npt.assert_allclose(table["score"].to_numpy(), expected, rtol=1e-5)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(1e-3, 10.0), min_size=2, max_size=30), st.floats(0.1, 1000.0))
def test_spans_in_seconds_follow_the_clock_and_never_overlap(steps: list[float], rate: float) -> None:
    times = np.cumsum(steps)
    table = labelling([i % 2 for i in range(times.size)], times=times.tolist(), rate=rate).segments
    table = table.filter(pl.col("level") == "unit")
    npt.assert_array_equal(table["start_s"], times)
    assert (table["end_s"] > table["start_s"]).all()
    assert (table["end_s"][:-1] <= table["start_s"][1:]).all()
    assert (table["end_s"] <= table["start_s"] + 1.0000001 / rate).all()


@pytest.mark.parametrize("units", [[OTHER, OTHER], [0, 1]], ids=["nothing", "something"])
@pytest.mark.parametrize("rate", [None, 2.0])
def test_the_table_has_the_same_columns_whatever_is_in_it(units: list[int], rate: float | None) -> None:
    times = None if rate is None else [0.0, 0.5]
    table = labelling(units, times=times, rate=rate).segments
    assert tuple(table.columns) == SEGMENT_COLUMNS
    assert table.dtypes == [pl.String, pl.String, pl.Int32, pl.Int64, pl.Int64, pl.Float64, pl.Float64, pl.Float64]
    assert table["start_s"].null_count() == (table.height if rate is None else 0)


def test_counts() -> None:
    one = labelling([0, OTHER, OTHER, 1])
    assert (one.n_frames, one.share_other) == (4, 0.5)
