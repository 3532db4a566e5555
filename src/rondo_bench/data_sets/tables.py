"""Published files: rows of numbers, tables with a header, MATLAB arrays, classes by number or span; their readers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo.files.reading import listed

Numbers = NDArray[np.float64]


class Reader(NamedTuple):
    """How the files of a data set are found in its folder, and read: what is learned and what is scored apart."""

    find_files: Callable[[Path], list[Path]]
    read_recording: Callable[[Path], Recording]
    read_annotation: Callable[[Path], Annotation | None]
    recording_id: Callable[[Path], str] = lambda path: path.stem
    comes_first: bool = False  # where a published file is an .npz too


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
        raise RecordingError(f"{path}: {expected} ({str(error).splitlines()[0][:120]}); get the file again") from None


def first_found(places: Sequence[str], names: Sequence[str]) -> Callable[[Path], list[Path]]:
    """Finds what has one of the names in a folder, or in the first of the places below it where anything has."""

    def find(folder: Path) -> list[Path]:
        found = ([path for name in names if (path := folder / place / name).exists()] for place in ("", *places))
        return next((paths for paths in found if paths), [])

    return find


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


def read_header(path: Path, what: str, separator: str = ",", skip: int = 0) -> list[str]:
    """The names in the first line (after `skip` lines); `what` names the data set in errors."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            line = next((line for number, line in enumerate(file) if number == skip), "")
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror}); give a file of {what}") from None
    return [name.strip().strip('"') for name in line.rstrip("\r\n").split(separator)]


def whole_rows(path: Path, what: str, separator: str = ",") -> tuple[int, int]:
    """How many rows there are below the header, and how many before those at the end with other cells than it has."""
    n_separators = len(read_header(path, what, separator)) - 1
    n_lines = n_whole = 0
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        next(file, "")
        for line in file:
            if line.strip():
                n_lines += 1
                n_whole = n_lines if line.count(separator) == n_separators else n_whole
    return n_lines, n_whole


def read_columns(
    path: Path, columns: Sequence[str], what: str, separator: str = ",", skip: int = 0, n_rows: int | None = None
) -> Numbers:
    """The named columns (n_rows, n_columns) in that order, NaN where a cell is empty; `n_rows`: of these alone."""
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
            n_rows=n_rows,
            truncate_ragged_lines=n_rows is not None,
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


def painted(
    positions: ArrayLike, starts: Sequence[float], stops: Sequence[float], classes: Sequence[int]
) -> NDArray[np.int64]:
    """The class of each position (a time or frame number): that of the last span [start, stop) that holds it, or 0.

    >>> painted([0, 1, 2, 3, 4], [1, 3], [2, 9], [7, 8]).tolist()
    [0, 7, 0, 8, 8]
    """
    at = np.asarray(positions, dtype=np.float64)
    track = np.zeros(at.size, dtype=np.int64)
    for start, stop, number in zip(starts, stops, classes, strict=True):
        track[(at >= start) & (at < stop)] = number
    return track


def numbered(
    classes: ArrayLike, names: Mapping[int, str], id: str, where: Path, what: str, noun: str = "class"
) -> Annotation:
    """Classes under their published numbers, each of which must be known; numbers in between have no frames."""
    numbers = np.asarray(classes)
    known = np.isin(numbers, list(names))
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise AnnotationError(f"{where}: row {row + 1} has {noun} {numbers[row]:g}, which {what} does not know")
    every = tuple(names.get(number, f"{noun} {number}") for number in range(max(names) + 1))
    return Annotation(numbers.astype(np.int64), every, id=id)
