"""Agreement of two label tracks, by the definition and by scikit-learn."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from rondo.data.agreement import label_agreement
from tests import naive_align as naive


@settings(max_examples=60, deadline=None)
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
