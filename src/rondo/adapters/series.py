"""What both adapters do: fit a model to one array and read the label of every frame of another."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rondo.errors import SettingError
from rondo.model.rondo import Rondo

ShownLevel = Literal["motif", "unit"]


def fitted_to(
    values: NDArray[np.floating[Any]],
    *,
    window: int | str | None,
    motif_window: int | str | None,
    rate: float | None,
    seed: int,
) -> Rondo:
    """A model of one series, frames in rows."""
    return Rondo(window=window, motif_window=motif_window, seed=seed).fit(np.asarray(values, np.float64), rate=rate)


def labels_of(model: Rondo, values: NDArray[np.floating[Any]], level: str, rate: float | None) -> NDArray[np.int64]:
    """The motif (or unit) of every frame of a series, -1 where it is OTHER."""
    if level not in get_args(ShownLevel):
        raise SettingError(f"level: expected 'motif' or 'unit', found {level!r}")
    result = model.predict(np.asarray(values, np.float64), rate=rate)
    return np.asarray(result.motifs if level == "motif" else result.units, np.int64)
