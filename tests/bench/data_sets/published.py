"""Small files in the forms in which the data sets are published, for the tests of their readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def csv_file(path: Path, header: Sequence[str], rows: NDArray[np.floating] | Sequence[Sequence[object]]) -> Path:
    """A csv with a header, commas and no index."""
    lines = [",".join(header)] + [",".join(str(cell) for cell in row) for row in rows]
    return written(path, "\n".join(lines) + "\n")


def blank_file(path: Path, rows: NDArray[np.floating] | Sequence[Sequence[object]], end: str = "\n") -> Path:
    """Numbers between blanks without a header; some data sets end each line with another blank."""
    return written(path, "".join(" ".join(str(cell) for cell in row) + end for row in rows))
