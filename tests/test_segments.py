"""Tables of segments: merged by hand they are those of the merged labels, and dates stand where the clock has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rondo.data.labels import are_one_to_one
from rondo.editing.edits import Edits
from rondo.run.labelling import Labelling
from rondo.run.segments import COLUMNS, labels_between_ends, labels_in, to_pandas, with_dates
from rondo.run.shown import shown

tracks = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=40)


def labelling(drawn: list[tuple[int, int]], breaks: list[int], begins: list[int]) -> Labelling:
    units, motifs = (np.array(track, np.int32) for track in zip(*drawn, strict=True))
    n = units.size
    scores, times = np.linspace(0, 1, n, dtype=np.float32), np.cumsum(np.full(n, 0.5))
    at = (np.array(sorted({frame % n for frame in frames} - {0}), np.int64) for frames in (breaks, begins))
    breaks_at, begins_at = at
    return Labelling("r", units, motifs, scores, scores, times, 2.0, breaks_at, 1.0, (), begins_at)


@pytest.mark.slow
@given(tracks, st.lists(st.integers(1, 39), max_size=3), st.lists(st.integers(1, 39), max_size=3))
def test_merged_segments_are_those_of_merged_labels(
    drawn: list[tuple[int, int]], breaks: list[int], begins: list[int]
) -> None:
    """A slow twin: change the labels first, and cut them into segments afterwards."""
    found = labelling(drawn, breaks, begins)
    edits = Edits().merged(["u0", "u2"]).merged(["m1", "m3"]).named("u0", "reach")
    merged = shown(found, edits)
    same_motif = found.motifs[1:] == found.motifs[:-1]  # occurrences begin inside one motif as it was found
    begun = [at for at in found.motif_begins.tolist() if same_motif[at - 1]]
    twin = Labelling(
        "r", merged.units, merged.motifs, found.unit_scores, found.motif_scores, found.times_s, 2.0, found.breaks, 1.0,
        (), np.array(begun, np.int64),
    )  # fmt: skip
    assert_frame_equal(merged.table.drop("name"), twin.table.drop("name"), abs_tol=1e-6)
    names = merged.table.filter(pl.col("level") == "unit").select("id", "name").unique().rows()
    assert all(name == ("reach" if id == 0 else "") for id, name in names)
    for level, track in (("unit", merged.units), ("motif", merged.motifs)):
        np.testing.assert_array_equal(labels_in(merged.table, level, track.size), track)  # type: ignore[arg-type]


@given(tracks)
def test_motifs_are_units_where_they_are_in_every_frame(drawn: list[tuple[int, int]]) -> None:
    one = labelling(drawn, [], [])
    assert are_one_to_one(*labels_between_ends(one.occurrences("unit"), one.occurrences("motif"))) == are_one_to_one(
        one.units, one.motifs
    )


def test_dates_stand_where_the_clock_counts_from_1970() -> None:
    seconds = pl.DataFrame(
        {
            "recording": ["r"] * 4, "level": ["unit"] * 4, "id": [0] * 4, "name": [""] * 4, "start_frame": range(4),
            "end_frame": range(1, 5), "start_s": [12.5, 1794774665.25, None, 1e15],
            "end_s": [13.0, 1794774665.75, None, 1e15],
            "score": [0.5] * 4, "units": [""] * 4,
        }
    )  # fmt: skip
    table = to_pandas(with_dates(seconds))
    assert tuple(table.columns) == COLUMNS
    assert table["start_time"].isna().tolist() == [True, False, True, True]
    assert table["start_time"][1] == pd.Timestamp("2026-11-15 20:31:05.25")
    assert table["start_s"].isna().tolist() == [False, False, True, False]
