"""RowReader: lines of one file or pipe -> Rows, at most so many at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from rondo.errors import RecordingError, RondoWarning
from rondo.formats.text_layout import REMARK, decoded
from rondo.live.base import Rows, Skip
from rondo.live.lines import Lines
from rondo.live.table import MOST_SKIPPED, Row, Table, clock_divisor, table_of


class RowReader:
    """Rows of one file or pipe, and where the rows given so far end.

    `divisor` is what the clock counts per second: known from a bookmark, or told from the first time that comes.
    """

    def __init__(self, lines: Lines, channels: Sequence[str], name: str, divisor: float | None = None) -> None:
        self._lines, self._channels, self._name = lines, tuple(channels), name
        self._table: Table | None = None
        self._skipped: list[Skip] = []  # since the last row given
        self.divisor = divisor
        self.position, self.line = lines.position, lines.number  # after the last row given

    def go_to(self, lines: Lines) -> None:
        """Take the header as read, and go on with these lines."""
        self._lines = lines
        self.position, self.line = lines.position, lines.number

    def read_header(self, *, at_end: bool = False) -> bool:
        """Read how the lines are written, from the first two of them; False where they have not come yet."""
        if self._table is not None:
            return True
        while (first := self._lines.peek()) is not None and (not first.strip() or _is_remark(first)):
            self._lines.take()
        second = self._lines.peek(1)
        if first is None or (second is None and not at_end):
            return False
        with named(self._name):
            self._table = table_of(first, second, self._channels)
        if self._table.has_header:
            self._lines.take()
        for note in self._table.notes:
            warnings.warn(f"{self._name}: {note}", RondoWarning, stacklevel=2)
        return True

    def read(self, at_most: int, *, at_end: bool = False) -> Rows | None:
        """The next rows; None where none are there, however many lines were skipped meanwhile."""
        if self._skipped and not self._skipped[-1].n_lines:
            return self._given([])  # news of the input itself do not wait for a row
        if not self.read_header(at_end=at_end):
            return None
        with named(self._name):
            rows = self._rows(at_most)
        return self._given(rows) if rows else None

    def _rows(self, at_most: int) -> list[Row]:
        assert self._table is not None
        read_row, lines = self._table.row, self._lines
        rows: list[Row] = []
        while len(rows) < at_most and (line := lines.peek()) is not None:
            found = read_row(line)
            if isinstance(found, str):
                if rows:
                    break  # it belongs before the rows that come after it
                self._skip(found)
            elif found is not None:
                rows.append(found)
            lines.take()
        return rows

    def pass_over(self, position: int) -> bool:
        """Move on to the position without giving rows; False where the lines up to it have not all come yet."""
        with named(self._name):
            while self._lines.position < position and self._lines.peek() is not None:
                self._lines.take()
        self.position, self.line = self._lines.position, self._lines.number
        return self.position >= position

    def rest(self) -> Rows | None:
        """What was skipped after the last row, once nothing will follow."""
        return self._given([]) if self._skipped else None

    def end(self) -> None:
        """Nothing will follow: what has come of the last line is all of it."""
        self._lines.end()

    def begin_anew(self, reason: str) -> None:
        """Note that the input began anew, for a reason of which no line can be shown: a boundary."""
        self._skipped.append(Skip(1, 0, reason))

    def _skip(self, reason: str) -> None:
        number = self._lines.number + 1
        last = self._skipped[-1] if self._skipped else Skip(0, 0, "")
        if last.n_lines and last.line + last.n_lines == number and last.reason == reason:
            self._skipped[-1] = last._replace(n_lines=last.n_lines + 1)
        else:
            self._skipped.append(Skip(number, 1, reason))
        if sum(skip.n_lines for skip in self._skipped) > MOST_SKIPPED:
            first = self._skipped[0]
            raise RecordingError(
                f"more than {MOST_SKIPPED} lines in a row hold no row, from line {first.line} on "
                f"({first.reason}); correct what is sent, then start the same command again"
            )

    def _given(self, rows: list[Row]) -> Rows:
        exact = np.array([row.values for row in rows], np.float64).reshape(len(rows), len(self._channels))
        with np.errstate(over="ignore"):
            values = exact.astype(np.float32)
        infinite = np.isinf(values)
        values[infinite] = np.nan
        n_unreadable = int(infinite.sum()) + sum(row.n_unreadable for row in rows)
        times = None
        if rows and rows[0].time is not None:
            times = np.array([row.time for row in rows], np.float64)
            times /= self._per_second(float(times[0]))
        skipped, self._skipped = tuple(self._skipped), []
        self.position, self.line = self._lines.position, self._lines.number
        return Rows(values, times, self.position, skipped, n_unreadable)

    def _per_second(self, first_time: float) -> float:
        if self.divisor is None:
            assert self._table is not None and self._table.clock is not None
            self.divisor, notes = clock_divisor(first_time, self._table.names[self._table.clock])
            for note in notes:
                warnings.warn(f"{self._name}: {note}", RondoWarning, stacklevel=2)
        return self.divisor


def _is_remark(line: bytes) -> bool:
    """A line above the table, as in stored recordings; but `#,x,y` is a header with row numbers."""
    return REMARK.match(decoded(line)[0]) is not None and line.lstrip()[:2] not in (b"#,", b"#;", b"#\t")


@contextmanager
def named(source: str) -> Iterator[None]:
    """Put the name of the source before whatever is wrong with it."""
    try:
        yield
    except RecordingError as error:
        raise RecordingError(f"{source}: {error}") from None
    except OSError as error:
        raise RecordingError(
            f"{source}: cannot be read ({error.strerror or error}); once it can, start the same command again"
        ) from None
