"""Which frame every row of a stream has become: rows.csv of its folder, short because most rows follow on each other.

A stream is read on the regular grid of its model, and labels.csv speaks of frames of that grid. People have rows. Where
a clock is uneven, or rows are skipped, the two are counted differently, and this file leads from one to the other:

    row,frame,what
    0,0,frame         row 0 is nearest to frame 0, row 1 to frame 1, and so on until the next line
    812,-1,skipped    row 812 was skipped: its timestamp was missing, repeated, earlier or far ahead
    813,812,frame
    900,899,gap       rows 900 … lie in a gap: values are missing for too long

A line is only ever appended. labels/<id>.npy, units/<id>.npy, segments and summary of a stream are on rows, as those of
any other run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Ints
from rondo.data.labels import OTHER
from rondo.errors import OutputError
from rondo.store.reading import read_regular

if TYPE_CHECKING:
    import polars as pl

ROWS = "rows.csv"
ROWS_HEADER = "row,frame,what\n"
What = Literal["frame", "gap", "skipped"]
_KINDS: tuple[What, ...] = ("frame", "gap", "skipped")
_NO_FRAME = -1
_FOR_EVER = 1 << 61
_MOST_BYTES = 1 << 32  # 200 million lines; what is larger is no such file


class RowSpan(NamedTuple):
    """From `row` on: row r is frame + (r - row), or was skipped."""

    row: int
    frame: int
    what: What

    def line(self) -> str:
        return f"{self.row},{self.frame},{self.what}\n"


class RowPlaces:
    """Rows with their frames go in, the spans that are not as the one before come out; it holds the last one."""

    def __init__(self) -> None:
        self._next_row, self._next_frame, self._what = 0, 0, "skipped"
        self._spans: list[RowSpan] = []

    def add(self, numbers: Ints, frames: Ints, lost: Flags) -> None:
        """Rows that have become frames, in their order; those left out between them were skipped."""
        frames = np.maximum(np.maximum.accumulate(frames), self._next_frame - 1 if self._next_row else 0)
        kind = lost.astype(np.int64)
        follows = np.empty(numbers.size, np.bool_)
        follows[1:] = (np.diff(numbers) == 1) & (np.diff(frames) == 1) & (np.diff(kind) == 0)
        follows[0] = (numbers[0], frames[0], _KINDS[kind[0]]) == (self._next_row, self._next_frame, self._what)
        for i in np.flatnonzero(~follows).tolist():
            row, after = int(numbers[i]), self._next_row if i == 0 else int(numbers[i - 1]) + 1
            if row > after:
                self._spans.append(RowSpan(after, _NO_FRAME, "skipped"))
            self._spans.append(RowSpan(row, int(frames[i]), _KINDS[kind[i]]))
        self._next_row, self._next_frame, self._what = int(numbers[-1]) + 1, int(frames[-1]) + 1, _KINDS[kind[-1]]

    def end(self, n_rows: int) -> None:
        """The stream has ended after so many rows: those that have become no frame were skipped."""
        if self._next_row < n_rows:
            self._spans.append(RowSpan(self._next_row, _NO_FRAME, "skipped"))
            self._next_row, self._what = n_rows, "skipped"

    def take(self) -> list[RowSpan]:
        """The spans since the last call."""
        spans, self._spans = self._spans, []
        return spans

    def state(self) -> list[Any]:
        """Everything but spans that nobody has taken."""
        return [self._next_row, self._next_frame, self._what]

    def load(self, state: list[Any]) -> None:
        """Go on from this state; ValueError for what is none."""
        row, frame, what = state
        are_numbers = type(row) is int and type(frame) is int and 0 <= row < _FOR_EVER and -1 <= frame < _FOR_EVER
        if not are_numbers or what not in _KINDS:
            raise ValueError(f"places {str(state)[:40]}")
        self._next_row, self._next_frame, self._what = row, frame, what


class RowCounts(NamedTuple):
    """What became of the rows of a stream; together they are all that were read."""

    labelled: int
    skipped: int
    in_gaps: int
    of_no_unit: int

    @property
    def read(self) -> int:
        return sum(self)


@dataclass(frozen=True, eq=False)
class RowFrames:
    """The frames of the rows of a stream, as far as they are known."""

    rows: Ints  # at which spans begin
    frames: Ints
    kinds: NDArray[np.int8]  # places in `_KINDS`
    n_rows: int | None = None  # of the last span; None where it goes on

    @classmethod
    def of(cls, spans: Iterable[RowSpan], n_rows: int | None = None) -> RowFrames:
        known = [(row, frame, _KINDS.index(what)) for row, frame, what in spans]
        table = np.array(known, np.int64).reshape(-1, 3)
        return cls(table[:, 0], table[:, 1], table[:, 2].astype(np.int8), n_rows)

    @classmethod
    def read(cls, folder: Path, n_rows: int | None = None) -> RowFrames:
        """Those of the folder of a stream; a last line that is half written is left out.

        Every row is a frame where there is no such file, as in folders that were written before there was one.
        """
        path = folder / ROWS
        try:
            text = read_regular(path, _MOST_BYTES) if os.path.lexists(path) else ROWS_HEADER.encode() + b"0,0,frame\n"
            lines = text[: text.rfind(b"\n") + 1].decode("utf-8").splitlines()[1:]
            found = cls.of((_span(line) for line in lines), n_rows)
            if (np.diff(found.rows, prepend=-1) <= 0).any():
                raise ValueError("its rows are out of order")
            return found
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise OutputError(f"{path}: expected the rows of `rondo stream`, but {reason}; give its --out") from None

    def rows_from(self, frames: NDArray[np.int64]) -> Ints:
        """The first row at or after each frame; beyond the last, the row after it."""
        own = np.flatnonzero(self.kinds != _KINDS.index("skipped"))
        if not own.size:
            return np.zeros(frames.shape, np.int64)
        starts, first = self.rows[own], self.frames[own]
        stops = np.append(self.rows, _FOR_EVER if self.n_rows is None else self.n_rows)[own + 1]
        last = np.maximum(first + (stops - starts) - 1, first)
        span = np.minimum(np.searchsorted(last, frames), own.size - 1)
        return np.asarray(np.minimum(starts[span] + np.maximum(frames - first[span], 0), stops[span]), np.int64)

    def spans_of(self, what: What, n_rows: int) -> list[tuple[int, int]]:
        """Rows [start, stop) of one kind."""
        stops = np.minimum(np.append(self.rows[1:], n_rows), n_rows)
        own = (self.kinds == _KINDS.index(what)) & (self.rows < stops)
        return list(zip(self.rows[own].tolist(), stops[own].tolist(), strict=True))

    def without_skipped(self, track: NDArray[np.int32]) -> NDArray[np.int32]:
        """The same labels of rows, with OTHER for those that were skipped."""
        spans = self.spans_of("skipped", track.size)
        if not spans:
            return track
        kept = np.array(track)
        for start, stop in spans:
            kept[start:stop] = OTHER
        return kept

    def decisions_on_rows(self, decisions: pl.DataFrame) -> pl.DataFrame:
        """Decisions about frames as decisions about rows; those about no row keep none."""
        import polars as pl

        columns = {name: self.rows_from(decisions[name].to_numpy()) for name in ("start_frame", "end_frame")}
        return decisions.with_columns(pl.Series(name, rows, dtype=pl.Int64) for name, rows in columns.items())

    def counts(self, units: NDArray[np.int32]) -> RowCounts:
        """What became of the rows with these units."""
        labelled = int(np.count_nonzero(units != OTHER))
        skipped = sum(stop - start for start, stop in self.spans_of("skipped", units.size))
        in_gaps = sum(
            int(np.count_nonzero(units[start:stop] == OTHER)) for start, stop in self.spans_of("gap", units.size)
        )
        return RowCounts(labelled, skipped, in_gaps, units.size - labelled - skipped - in_gaps)


def _span(line: str) -> RowSpan:
    row, frame, what = line.split(",")
    kind = next((each for each in _KINDS if each == what), None)
    if kind is None or not -1 <= int(frame) < _FOR_EVER or not 0 <= int(row) < _FOR_EVER:
        raise ValueError(f"a line says '{line[:40]}'")
    return RowSpan(int(row), int(frame), kind)


def counted_rows(folder: Path, id: str) -> RowCounts:
    """What became of the rows of a stream whose arrays are written."""
    units = np.load(folder / "units" / f"{id}.npy", mmap_mode="r", allow_pickle=False)
    return RowFrames.read(folder, units.size).counts(units)
