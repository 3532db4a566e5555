from __future__ import annotations

import pytest
from hypothesis import given

from rondo.errors import AnnotationError
from rondo_bench.metrics.published import INITIAL_PERCENT, STAGES_PERCENT, evaluate_continual
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@given(pairs())
def test_stages_equal_naive_twin(pair: Pair) -> None:
    scores = evaluate_continual({"only": pair})
    for stages, by_frame in ((scores.recall["only"], False), (scores.frame_accuracy["only"], True)):
        assert [stage.percent for stage in stages] == [INITIAL_PERCENT, *STAGES_PERCENT]
        for stage in stages:
            old, new = naive.stage(*pair, stage.percent, by_frame)
            assert stage.old == pytest.approx(old)
            assert stage.new == (None if new is None else pytest.approx(new))
            h = naive.h_score(*pair, stage.percent, by_frame)
            assert stage.h == (None if h is None else pytest.approx(h))


def test_a_stream_without_new_classes_has_no_h_but_has_forgetting() -> None:
    truth = [0, 1] * 10
    found = evaluate_continual({"only": (truth, truth)}).as_dict()["recall"]
    assert found["h_100"] is None and found["new_100"] is None
    assert found["old_100"] == 100.0 and found["forgetting"] == 0.0


def test_zeros_are_kept_and_recordings_without_new_classes_left_out() -> None:
    blind = ([0] * 6 + [1] * 4, [5] * 10)  # the new class is never found: A_new = 0, H = 0
    perfect = ([0] * 6 + [1] * 4, [5] * 6 + [6] * 4)
    unchanging = ([0] * 10, [5] * 10)
    found = evaluate_continual({"a": blind, "b": perfect, "c": unchanging}).as_dict()["recall"]
    assert found["h_60"] is None
    assert found["h_80"] == 50.0 and found["h_100"] == 50.0
    assert found["old_100"] == 100.0


def test_forgetting_is_what_old_classes_lose_after_the_start() -> None:
    truth = [0, 0, 1, 1, 1, 1, 1, 0, 0, 0]
    labels = [5, 5, 6, 6, 6, 6, 6, 6, 6, 6]
    found = evaluate_continual({"only": (truth, labels)}).as_dict()
    assert found["recall"]["forgetting"] == pytest.approx(50.0)
    assert found["frame_accuracy"]["forgetting"] == pytest.approx(60.0)


def test_nothing_to_evaluate_is_refused() -> None:
    with pytest.raises(AnnotationError, match="nothing to evaluate"):
        evaluate_continual({})
