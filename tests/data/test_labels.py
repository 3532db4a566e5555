"""Label tracks that are the same under other ids, told as one would by hand.

Agreement of two label tracks, by the definition and by scikit-learn.
"""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from rondo.data.labels import OTHER, are_one_to_one, label_agreement
from tests import naive_align as naive

TRACKS = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), max_size=12)


def by_hand(frames: list[tuple[int, int]]) -> bool:
    """Each id of the one track has one id of the other, and OTHER has OTHER."""
    for a, b in frames:
        if (a == OTHER) != (b == OTHER):
            return False
        if any((a == other_a) != (b == other_b) for other_a, other_b in frames):
            return False
    return True


@given(TRACKS)
def test_one_to_one_is_as_by_hand(frames: list[tuple[int, int]]) -> None:
    first, second = np.array(frames, dtype=np.int32).reshape(-1, 2).T
    assert are_one_to_one(first, second) == by_hand(frames) == are_one_to_one(second, first)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=12))
def test_agreement_by_the_definition_and_by_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    found = label_agreement(first, second)
    npt.assert_allclose(found, naive.adjusted_rand(list(first), list(second)), atol=1e-12)
    npt.assert_allclose(found, adjusted_rand_score(first, second), atol=1e-12)
    npt.assert_allclose(found, label_agreement(second, 7 - first), atol=1e-12)


def test_agreement_of_many_windows_does_not_overflow() -> None:
    labels = np.arange(200_000) % 2
    assert label_agreement(labels, labels) == 1.0
    assert abs(label_agreement(labels, np.arange(200_000) // 100_000)) < 1e-4
