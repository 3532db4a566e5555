"""Published csv files with a header: chosen columns as numbers, or whole rows as text."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.files.reading import listed

Numbers = NDArray[np.float64]


def read_header(path: Path, what: str, separator: str = ",", skip: int = 0) -> list[str]:
    """The names in the first line (after `skip` lines); `what` names the data set in errors."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            line = next((line for number, line in enumerate(file) if number == skip), "")
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror}); give a file of {what}") from None
    return [name.strip().strip('"') for name in line.rstrip("\r\n").split(separator)]


def read_columns(path: Path, columns: Sequence[str], what: str, separator: str = ",", skip: int = 0) -> Numbers:
    """The named columns (n_rows, n_columns) in that order, NaN where a cell is empty."""
    import polars as pl

    names = read_header(path, what, separator, skip)
    missing = next((name for name in columns if name not in names), None)
    if missing is not None:
        raise RecordingError(f"{path}: no column '{missing}', as {what} has it; its first line is: {listed(names, 6)}")
    schema: dict[str, Any] = dict.fromkeys(columns, pl.Float64())
    try:
        table = pl.read_csv(
            path,
            columns=list(columns),
            schema_overrides=schema,
            separator=separator,
            skip_rows=skip,
            null_values=["NaN", "nan", "NULL", "None"],
            glob=False,
        )
    except (pl.exceptions.PolarsError, OSError, UnicodeError) as error:
        cause = str(error).strip().splitlines()[0][:120]
        raise RecordingError(f"{path}: its rows are not those of {what} ({cause}); get the file again") from None
    if table.height == 0:
        raise RecordingError(f"{path}: it has a header but no rows; get the file again")
    return table.select(list(columns)).to_numpy().astype(np.float64)


def read_rows(path: Path, columns: Sequence[str], what: str) -> list[tuple[str, ...]]:
    """The named columns of each row as text, for tables of annotations."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = next((name for name in columns if name not in (reader.fieldnames or [])), None)
            if missing is not None:
                raise RecordingError(f"{path}: no column '{missing}', as {what} has it; give the file as published")
            return [tuple(row[name] or "" for name in columns) for row in reader]
    except (OSError, UnicodeError, csv.Error) as error:
        raise RecordingError(f"{path}: cannot be read ({error}); give a file of {what}") from None


def whole_number(text: str, path: Path, column: str) -> int:
    """A cell that must hold a whole number, perhaps written 3.0."""
    try:
        number = float(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise RecordingError(f"{path}: column '{column}' holds '{text[:40]}', expected a whole number; get the file again")
