"""Rondo as a detector of sktime, of the task "segmentation": segments with labels, so that equal labels are alike.

Needs sktime, which Rondo does not install: `pip install sktime`. Stretches that are OTHER are segments with the label
-1, which sktime reads as unclassified; its `transform` (1.2.0) fails where they are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sktime.detection.base import BaseDetector

from rondo.adapters import labels_of
from rondo.data.labels import runs_of
from rondo.model.rondo import Rondo


class RondoDetector(BaseDetector):  # type: ignore[misc] # sktime has no types
    """Segments and their states by Rondo's default chain; the number of states is found.

    Parameters
    ----------
    level : {"motif", "unit"}
        The longer or the shorter level of the vocabulary.
    window, motif_window : int, str or None
        Windows of units and of motifs: frames, "2s" (with `rate`), or None for the automatic length.
    rate : float or None
        Frames per second. The index of a table is not read as a clock.
    random_state : int
        The seed.

    Attributes
    ----------
    model_ : rondo.Rondo
        The fitted model.

    Examples
    --------
    >>> from rondo.adapters.sktime import RondoDetector
    >>> from rondo.synthetic import plant
    >>> planted = plant(n_frames=3_000, seed=1)
    >>> segments = RondoDetector(level="unit").fit_predict(planted.recording.values)
    >>> list(segments.columns)
    ['ilocs', 'labels']
    """

    _tags = {  # noqa: RUF012 - sktime reads a plain dictionary
        "authors": "The Rondo authors",
        "maintainers": "The Rondo authors",
        "python_dependencies": "rondo-ts",
        "task": "segmentation",
        "learning_type": "unsupervised",
        "capability:multivariate": True,
        "capability:missing_values": True,
        "capability:update": False,
        "capability:random_state": True,
        "property:randomness": "derandomized",
        "X_inner_mtype": "pd.DataFrame",
        "fit_is_empty": False,
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
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: Any = None) -> RondoDetector:
        """Learn the vocabulary of one series; `y` is never read."""
        model = Rondo(window=self.window, motif_window=self.motif_window, seed=self.random_state)
        self.model_ = model.fit(np.asarray(X.to_numpy(), np.float64), rate=self.rate)
        return self

    def _predict(self, X: pd.DataFrame) -> pd.DataFrame:
        runs = runs_of(labels_of(self.model_, X.to_numpy(), self.level, self.rate))
        intervals = pd.IntervalIndex.from_arrays(runs.starts, runs.stops, closed="left")
        return pd.DataFrame({"ilocs": intervals, "labels": runs.ids})

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings for the checks that sktime runs."""
        return [{}, {"level": "unit", "window": 4}]
