from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.metrics.overlap import Overlap
from rondo_bench.metrics.published import change_point_f1, covering
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@given(pairs(max_frames=30))
def test_covering_equals_naive_twin(pair: Pair) -> None:
    assert covering(Overlap.of(*pair)) == pytest.approx(naive.covering(*pair))


@given(pairs(max_frames=12), st.sampled_from([0.0, 0.1, 0.25, 1.0]))
def test_change_point_f1_equals_naive_twin(pair: Pair, margin: float) -> None:
    assert change_point_f1(Overlap.of(*pair), margin) == pytest.approx(naive.change_point_f1(*pair, margin))


@given(pairs())
def test_a_track_segments_itself_perfectly_whatever_its_names(pair: Pair) -> None:
    truth = pair[0]
    renamed = Overlap.of(truth, [label + 100 for label in truth])
    assert covering(renamed) == change_point_f1(renamed) == 1.0


def test_a_change_point_at_the_margin_counts_and_one_beyond_does_not() -> None:
    truth = [0] * 100 + [1] * 100
    assert change_point_f1(Overlap.of(truth, [0] * 102 + [1] * 98)) == 1.0
    assert change_point_f1(Overlap.of(truth, [0] * 103 + [1] * 97)) == 0.0
