"""The slow twin of the text reader: the whole file at once, cell by cell, for plainly written tables."""

from __future__ import annotations

import csv
import io

import numpy as np
from numpy.typing import NDArray

from rondo.files.text.layout import with_tabs


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


def naive_cells(line: str, separator: str) -> tuple[str, ...]:
    """The cells of one line by the csv module, runs of blanks turned into tabs first."""
    if separator == " ":
        line, separator = with_tabs(line.encode() + b"\n").decode()[:-1], "\t"
    return tuple(cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])) or ("",)
