from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import SettingError
from rondo.metrics.controls import clock_labels, clock_runs
from tests import naive_metrics as naive


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_clock_equals_naive_twin(size: tuple[int, int]) -> None:
    n_frames, n_pieces = size
    assert clock_labels(n_frames, n_pieces).tolist() == naive.clock(n_frames, n_pieces)
    assert len(clock_runs(n_frames, n_pieces)) == n_pieces


@pytest.mark.parametrize("n_pieces", [0, 6, -1])
def test_a_clock_cannot_cut_finer_than_frames(n_pieces: int) -> None:
    with pytest.raises(SettingError, match="1 to 5 pieces"):
        clock_labels(5, n_pieces)
