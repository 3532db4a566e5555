"""Representations as the trained ways of finding units take them: finite, centred, and of one spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError

_ROUNDING = 1e-6  # relative; a dimension that varies by less, as float32 does, is constant


def standardisation(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and spread of each dimension; the spread of a constant one is called 1."""
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    return centre, np.where(spread > _ROUNDING * np.abs(rows).max(axis=0), spread, 1.0)


def checked_representations(representations: NDArray[np.floating], n_dims: int | None = None) -> NDArray[np.float64]:
    """As float64; to be fitted (`n_dims` not known yet) there must be a window."""
    rows = np.asarray(representations, dtype=np.float64)
    fits = rows.ndim == 2 and (rows.size > 0 if n_dims is None else rows.shape[1] == n_dims)
    if not fits:
        raise RecordingError(
            f"the units expect representations (n_windows, {n_dims or 'n_dims'}), got {rows.shape}; "
            "give the encoder's output of at least one window"
        )
    refuse_non_finite(rows)
    return rows


def refuse_non_finite(rows: NDArray[np.floating]) -> None:
    """Name the first number in (n_windows, n_dims) that is none."""
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        raise RecordingError(
            f"non-finite representation {rows[row, column]} in window {row}, dimension {column}; "
            "the units expect finite numbers: look at the recording there, or at the encoder"
        )
