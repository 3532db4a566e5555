"""Rondo as a segmenter of aeon: the label of every time point, so that segments with one label are alike.

Needs aeon, which Rondo does not install: `pip install aeon`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from aeon.segmentation.base import BaseSegmenter
from numpy.typing import NDArray

from rondo.adapters import labels_of
from rondo.model.rondo import Rondo


class RondoSegmenter(BaseSegmenter):  # type: ignore[misc] # aeon has no types
    """States of one series by Rondo's default chain; their number is found.

    Parameters
    ----------
    level : {"motif", "unit"}
        The longer or the shorter level of the vocabulary.
    window, motif_window : int, str or None
        Windows of units and of motifs: frames, "2s" (with `rate`), or None for the automatic length.
    rate : float or None
        Frames per second.
    random_state : int
        The seed.

    Attributes
    ----------
    model_ : rondo.Rondo
        The fitted model.

    Examples
    --------
    >>> from rondo.adapters.aeon import RondoSegmenter
    >>> from rondo.synthetic import plant
    >>> planted = plant(n_frames=3_000, seed=1)
    >>> states = RondoSegmenter(level="unit").fit_predict(planted.recording.values, axis=0)
    >>> states.shape
    (3000,)
    """

    _tags = {  # noqa: RUF012 - aeon reads a plain dictionary
        "capability:univariate": True,
        "capability:multivariate": True,
        "capability:missing_values": True,
        "fit_is_empty": False,
        "returns_dense": False,
        "X_inner_type": "np.ndarray",
    }

    def __init__(
        self,
        level: str = "motif",
        window: int | str | None = None,
        motif_window: int | str | None = None,
        rate: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.level = level
        self.window = window
        self.motif_window = motif_window
        self.rate = rate
        self.random_state = random_state
        super().__init__(axis=0, n_segments=None)

    def _fit(self, X: NDArray[Any], y: Any = None) -> RondoSegmenter:
        """Learn the vocabulary of one series; `y` is never read."""
        model = Rondo(window=self.window, motif_window=self.motif_window, seed=self.random_state)
        self.model_ = model.fit(np.asarray(X, np.float64), rate=self.rate)
        return self

    def _predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        return labels_of(self.model_, X, self.level, self.rate)
