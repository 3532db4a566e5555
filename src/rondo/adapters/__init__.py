"""Rondo as an estimator of other libraries: `rondo.adapters.sktime` and `rondo.adapters.aeon`, which need those."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.errors import SettingError
from rondo.model.rondo import Rondo


def labels_of(model: Rondo, values: NDArray[np.floating[Any]], level: str, rate: float | None) -> NDArray[np.int64]:
    """The motif (or unit) of every frame of a series, -1 where it is OTHER."""
    if level not in ("motif", "unit"):
        raise SettingError(f"level: expected 'motif' or 'unit', found {level!r}")
    result = model.predict(np.asarray(values, np.float64), rate=rate)
    return np.asarray(result.motifs if level == "motif" else result.units, np.int64)
