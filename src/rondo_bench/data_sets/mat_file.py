"""MATLAB files: one array by name, or its shape, with whatever goes wrong in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError


def read_mat(path: Path, name: str, what: str) -> NDArray[np.float64]:
    """The numbers of one variable; `what` names the data set in errors."""
    import scipy.io

    return np.asarray(
        _opened(path, name, what, lambda: scipy.io.loadmat(path, variable_names=[name]))[name], dtype=float
    )


def mat_shape(path: Path, name: str, what: str) -> tuple[int, ...]:
    """The shape of one variable, without reading its numbers."""
    import scipy.io

    shapes = _opened(path, name, what, lambda: {found: shape for found, shape, _ in scipy.io.whosmat(path)})
    return tuple(shapes[name])


def _opened(path: Path, name: str, what: str, read: Any) -> dict[str, Any]:
    if not path.is_file():
        raise RecordingError(f"{path}: there is no such file; {what} has one")
    try:
        found: dict[str, Any] = read()
    except Exception as error:  # damaged files make scipy raise almost anything
        cause = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
        raise RecordingError(f"{path}: it is damaged, or no MATLAB file ({cause}); get it again") from error
    if name not in found:
        raise RecordingError(f"{path}: no variable '{name}' in it, as {what} has it; give the file as published")
    return found
