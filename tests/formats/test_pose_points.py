"""Files of DeepLabCut and SLEAP: likelihoods mask points, corners that stand still are left out."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.files.missing import with_doubtful_points_missing
from rondo.files.reading import Reading

N = 400
RNG = np.random.default_rng(0)
PATH = np.cumsum(RNG.normal(size=(N, 2)), axis=0) * 5 + 300


def track(word: str = "likelihood") -> tuple[list[str], np.ndarray]:
    """Two points of a mouse and a corner of its arena; the nose is doubtful in rows 50 to 60."""
    sure = np.full(N, 0.99)
    nose_sure = sure.copy()
    nose_sure[50:60] = 0.05
    corner = np.array([20.0, 30.0]) + RNG.normal(size=(N, 2)) * 0.1
    columns = [*PATH.T, nose_sure, *(PATH + 20).T, sure, *corner.T, sure]
    names = [f"{point}.{axis}" for point in ("nose", "tail", "corner") for axis in ("x", "y", word)]
    return names, np.stack(columns, axis=1)


@pytest.mark.parametrize("word", ["likelihood", "score"])
def test_doubtful_points_are_missing_and_corners_left_out(word: str) -> None:
    names, values = track(word)
    found = with_doubtful_points_missing(Recording(values, rate=30, channels=names), Reading())
    assert found.channels == ("nose.x", "nose.y", "tail.x", "tail.y")
    silent = np.isnan(found.values)
    assert silent[50:60, :2].all()
    assert silent.sum() == 20
    assert any("point 'corner' left out" in note for note in found.notes)
    assert any("10 points below" in note for note in found.notes)


def test_other_columns_of_that_name_stay() -> None:
    values = np.stack([PATH[:, 0], PATH[:, 1], PATH[:, 0] * 3], axis=1)
    assert (
        with_doubtful_points_missing(Recording(values, channels=["a.x", "a.y", "a.score"]), Reading()).n_channels == 3
    )
    alone = Recording(np.stack([PATH[:, 0], RNG.random(N)], axis=1), channels=["x", "likelihood"])
    assert with_doubtful_points_missing(alone, Reading()) is alone
