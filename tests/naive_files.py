"""The slow twin of the text reader: the whole file at once, cell by cell, for plainly written tables."""

from __future__ import annotations

import csv
import io

import numpy as np
from numpy.typing import NDArray


def read_csv(text: bytes, separator: str = ",") -> tuple[list[str], NDArray[np.float32]]:
    """Header names and float32 values of a text table whose missing cells are empty, NA, nan or null."""
    header, *rows = csv.reader(io.StringIO(text.decode("utf-8-sig"), newline=""), delimiter=separator)
    missing = {"", "na", "nan", "null"}
    values = [[np.nan if cell.strip().lower() in missing else float(cell) for cell in row] for row in rows if row]
    return header, np.array(values, dtype=np.float32)


def is_rectangular(text: bytes, separator: str = ",") -> bool:
    """Whether every row that is not blank has as many cells as the header."""
    header, *rows = csv.reader(io.StringIO(text.decode("utf-8-sig"), newline=""), delimiter=separator)
    return all(len(row) == len(header) for row in rows if row)
