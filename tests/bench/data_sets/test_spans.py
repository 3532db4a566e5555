"""Spans painted onto frames, against the loop that needs no thought."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import AnnotationError
from rondo_bench.data_sets.tables import numbered, painted

SPANS = st.lists(st.tuples(st.integers(-3, 15), st.integers(-3, 15), st.integers(1, 4)), max_size=5)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.booleans(), SPANS)
def test_painting_is_the_loop_over_frames(
    positions: list[int], in_order: bool, spans: list[tuple[int, int, int]]
) -> None:
    positions = sorted(positions) if in_order else positions
    naive = [next((n for start, stop, n in reversed(spans) if start <= at < stop), 9) for at in positions]
    starts, stops, classes = ([span[i] for span in spans] for i in range(3))
    npt.assert_array_equal(painted(positions, starts, stops, classes, background=9), naive)


def test_published_numbers_are_kept_and_others_refused() -> None:
    annotation = numbered(np.array([2.0, 0.0]), {0: "none", 2: "walk"}, "day1", "file")
    assert (annotation.classes.tolist(), annotation.names) == ([2, 0], ("none", "class 1", "walk"))
    with pytest.raises(AnnotationError, match=r"file: row 2 has class nan, which is none of \[0\]"):
        numbered(np.array([0.0, np.nan]), {0: "none"}, "day1", "file")
