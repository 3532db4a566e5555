"""Published files that are nothing but numbers: rows of a known number of columns between blanks, without a header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.data.signal import shortened
from rondo.errors import AnnotationError, RecordingError

Numbers = NDArray[np.float64]


def read_numbers(path: Path, n_columns: int, columns: Sequence[int], what: str) -> Numbers:
    """The chosen columns (n_rows, n_chosen), from 0 on, NaN where a value is missing; `what` names the data set.

    polars does the parsing; where it stumbles the file is read again by numpy, which knows any run of blanks and names
    the row at fault.
    """
    expected = f"expected {n_columns} numbers in a row, as in {what}"
    try:
        with path.open("rb") as file:
            n_found = len(file.readline(1 << 20).split())
        if n_found != n_columns:
            raise RecordingError(f"{path}: {expected}, got {n_found} in the first; give the file as it is published")
        numbers = _read_by_polars(path, n_columns, columns)
        return _read_by_numpy(path, n_columns, columns) if numbers is None else numbers
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror}); give a file of {what}") from None
    except ValueError as error:
        raise RecordingError(f"{path}: {expected} ({_first_line(error)}); get the file again") from None


def files_in(folder: Path, places: Sequence[str], ids: Sequence[str]) -> list[Path]:
    """The files ID.dat, in a folder or the first of the places below it where the published archive has any."""
    for place in (folder, *(folder / below for below in places)):
        found = [place / f"{id}.dat" for id in ids if (place / f"{id}.dat").is_file()]
        if found:
            return found
    return []


def named_annotation(path: Path, classes: Numbers, names: Mapping[int, str], noun: str, what: str) -> Annotation:
    """The class of each row under its published number, with its name; `noun` says what kind of class it is."""
    known = np.isin(classes, list(names))
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise AnnotationError(f"{path}: row {row + 1} has {noun} {classes[row]:g}, which {what} does not know")
    every = tuple(names.get(number, f"{noun} {number}") for number in range(max(names) + 1))
    return Annotation(classes.astype(np.int64), every, id=path.stem)


def refuse_unknown(channels: Sequence[str], known: Sequence[str], what: str) -> None:
    """Channels that a data set does not have, or none at all."""
    unknown = next((name for name in channels if name not in known), None)
    if unknown is not None:
        raise RecordingError(f"{what} has no channel '{unknown}'; it has {shortened(known)}")
    if not channels:
        raise RecordingError(f"no channel of {what} was chosen; it has {shortened(known)}")


def timed_recording(path: Path, numbers: Numbers, times_s: Numbers, rate: float, channels: Sequence[str]) -> Recording:
    """The recording of a file, each row at its own time; rows are counted at the nominal rate where times do not do."""
    values = numbers.astype(np.float32)
    if np.isfinite(times_s).all() and (np.diff(times_s) > 0).all():
        return Recording(values, None, channels, path.stem, times_s)
    note = f"its times do not always increase: rows counted at {rate:g} Hz"
    return Recording(values, rate, channels, path.stem, notes=(note,))


def _read_by_polars(path: Path, n_columns: int, columns: Sequence[int]) -> Numbers | None:
    """The fast reading; None where anything is unusual, as a row that is too short or too long."""
    import polars as pl

    names = [str(column) for column in range(n_columns)]
    schema: dict[str, Any] = dict.fromkeys(names, pl.Float64())
    try:
        table = pl.read_csv(path, has_header=False, separator=" ", schema=schema, glob=False)
    except pl.exceptions.PolarsError:
        return None
    if table[names[-1]].has_nulls():  # it fills up short rows
        return None
    chosen = table.select(names[column] for column in columns)
    return None if any(column.has_nulls() for column in chosen) else chosen.to_numpy()


def _read_by_numpy(path: Path, n_columns: int, columns: Sequence[int]) -> Numbers:
    table = np.loadtxt(path, ndmin=2)
    if table.shape[1] != n_columns:
        raise ValueError(f"got {table.shape[1]}")
    return np.asarray(table[:, list(columns)])


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:120]
