"""Labels that several people share: the twin, what must not matter, and the cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from rondo.annotations.annotation import Annotation
from rondo.errors import AnnotationError
from rondo.metrics import meaning
from rondo.metrics.meaning import shared_scores
from tests import naive_metrics as naive
from tests.metrics.tracks import pairs

Tracks = dict[str, list[int]]
Case = tuple[Tracks, Tracks, dict[str, str]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Two to five recordings of two or more people."""
    tracks = draw(st.lists(pairs(25), min_size=2, max_size=5))
    people = draw(st.lists(st.sampled_from("abc"), min_size=len(tracks), max_size=len(tracks)))
    people[:2] = ["a", "b"]
    ids = [f"day{i}" for i in range(len(tracks))]
    truth, labels = ({id: pair[side] for id, pair in zip(ids, tracks, strict=True)} for side in (0, 1))
    return truth, labels, dict(zip(ids, people, strict=True))


def joined(tracks: Tracks, groups: dict[str, str], group: str | None = None) -> list[int]:
    return [value for id in tracks if group in (None, groups[id]) for value in tracks[id]]


@given(cases())
def test_meaning_equals_the_slow_twin(case: Case) -> None:
    assert meaning(*case) == pytest.approx(float(naive.meaning(*case)), abs=1e-9)


@given(cases())
def test_both_aris_are_those_of_joined_tracks(case: Case) -> None:
    truth, labels, groups = case
    found = shared_scores(*case)
    each = [
        adjusted_rand_score(joined(truth, groups, one), joined(labels, groups, one)) for one in set(groups.values())
    ]
    assert found.per_person_ari == pytest.approx(100 * np.mean(each), abs=1e-9)
    pooled = adjusted_rand_score(joined(truth, groups), joined(labels, groups))
    assert found.pooled_ari == pytest.approx(100 * pooled, abs=1e-9)
    assert found.meaning == meaning(*case) and found.n_groups == len(set(groups.values()))


def test_a_tie_goes_to_the_lowest_class_and_groups_weigh_equally() -> None:
    truth = {"a": [3, 1], "b": [1] * 10, "c": [3, 3]}
    labels = {"a": [0, 0], "b": [0] * 10, "c": [0, 0]}
    # a: mostly 1 elsewhere, half right; b: 3, none; c: 1, none
    assert meaning(truth, labels) == pytest.approx(100 * (1 / 2 + 0 + 0) / 3)
    assert meaning({"a": [1, 3], "b": [3, 3], "c": [1]}, {"a": [0, 0], "b": [0, 0], "c": [0]}) == pytest.approx(
        100 * (1 / 2 + 0 + 0) / 3
    )  # b: 1, 3, 1 elsewhere; c: 3; a: 3
    assert meaning({"a": [1, 3], "b": [3, 1]}, {"a": [0, 0], "b": [0, 0]}) == 50.0  # both called 1


def test_names_tell_classes_apart_however_files_number_them() -> None:
    truth = {"a": Annotation([0, 1], names=("sit", "walk")), "b": ["walk", "walk", "run", "sit"]}
    assert meaning(truth, {"a": [0, 1], "b": [1, 1, 1, 0]}) == pytest.approx(100 * (1 + 3 / 4) / 2)


def test_what_does_not_match_is_refused() -> None:
    with pytest.raises(AnnotationError, match="both are empty"):
        meaning({}, {})
    with pytest.raises(AnnotationError, match=r"only one .*'b'"):
        meaning({"a": [0], "b": [0]}, {"a": [0]})
    with pytest.raises(AnnotationError, match="one group only"):
        meaning({"a": [0], "b": [0]}, {"a": [0], "b": [0]}, {"a": "x", "b": "x"})
    with pytest.raises(AnnotationError, match=r"no group .*'b'"):
        meaning({"a": [0], "b": [0]}, {"a": [0], "b": [0]}, {"a": "x"})
    with pytest.raises(AnnotationError, match=r"'b'.*2 frames, the labels 1"):
        meaning({"a": [0], "b": [0, 1]}, {"a": [0], "b": [0]})
    with pytest.raises(AnnotationError, match="'b', numbers in 'a'"):
        meaning({"a": [0], "b": ["sit"]}, {"a": [0], "b": [0]})
