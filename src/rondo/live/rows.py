"""RowReader: lines of one file or pipe -> Rows, at most so many at a time, the same however they are cut.

The first 64 lines decide how the text is written, as for a stored file. The channels of the model decide which columns
are read. A cell that is no number, infinite, or beyond float32 is NaN and counted as unreadable. A line is skipped if
it has more cells than the header, ends before the last column read, repeats the header, is no JSON object, or has no
number, or no time where the stream has a clock; runs of them are one event. More than `MOST_SKIPPED` in a row are
refused: the sender has changed what it sends.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.precision import less
from rondo.data.recording import Recording
from rondo.data.signal import refuse_lacking, shortened
from rondo.errors import RecordingError, RondoWarning
from rondo.files.columns import Columns, choose_columns
from rondo.files.inputs import in_hertz, same_rate
from rondo.files.reading import Reading
from rondo.files.text.cells import ParsedRows, RowParser, parser_of
from rondo.files.text.layout import Layout, layout_of
from rondo.files.text.lines import HEAD_LINES, Lines, TextBlock
from rondo.files.text.sleap import refuse_several_tracks
from rondo.live.clock import ClockState, RowClock, clock_of, refuse_clock_of_another_rate
from rondo.live.source import Bookmark, Request, Rows, Skip, named

MOST_SKIPPED = 1000


class _Waiting:
    """Rows that were parsed and not given yet, and the lines between them that gave none."""

    def __init__(self, n_columns: int, is_fine: bool) -> None:
        self.values: NDArray[np.floating] = np.empty((0, n_columns), np.float64 if is_fine else np.float32)
        self.n_unreadable = np.empty(0, np.int64)
        self.stops = np.empty((0, 2), np.int64)  # byte and line after each row
        self.faults: list[tuple[int, int, str]] = []  # the row that follows, the line, and why it is none

    def add(self, block: TextBlock, rows: ParsedRows) -> None:
        ends = np.flatnonzero(np.frombuffer(block.text, dtype=np.uint8) == ord("\n")) + 1
        ends[-1] -= block.is_open
        places = np.arange(len(rows.values)) if rows.places is None else rows.places
        stops = np.stack([block.start + ends[places], block.first_line + places], axis=1)
        single = less(rows.values, ())
        infinite = np.isinf(single)
        values = single if self.values.dtype == np.float32 else rows.values.copy()
        values[infinite] = np.nan
        n_unreadable = infinite.sum(axis=1) + (0 if rows.n_unreadable is None else rows.n_unreadable)
        before = len(self.values) + np.searchsorted(places, [place for place, _ in rows.faults])
        self.faults += [
            (row, block.first_line + place, reason)
            for row, (place, reason) in zip(before.tolist(), rows.faults, strict=True)
        ]
        self.values = np.concatenate([self.values, values])
        self.n_unreadable = np.concatenate([self.n_unreadable, n_unreadable])
        self.stops = np.concatenate([self.stops, stops])

    def take(self, n_rows: int) -> tuple[NDArray[np.floating], int, list[int]]:
        """The next rows, their unreadable cells, and where they end."""
        given = self.values[:n_rows], int(self.n_unreadable[:n_rows].sum()), self.stops[n_rows - 1].tolist()
        self.values, self.stops = self.values[n_rows:], self.stops[n_rows:]
        self.n_unreadable = self.n_unreadable[n_rows:]
        self.faults = [(row - n_rows, line, reason) for row, line, reason in self.faults]
        return given


class RowReader:
    """Rows of one file or pipe, and where the rows given so far end.

    `carried` is the state of the clock in the file that this one continues.
    """

    def __init__(
        self,
        lines: Lines,
        request: Request,
        name: str,
        carried: ClockState | None = None,
        *,
        patient: bool = False,
        quiet: bool = False,
    ) -> None:
        """`patient`: however many lines on end hold no row, they are skipped (`news`); `quiet`: notes are known."""
        self._is_patient, self._is_quiet = patient, quiet
        self._lines, self._request, self._name, self._carried = lines, request, name, carried
        self._parser: RowParser | None = None
        self._clock: RowClock | None = None
        self._waiting = _Waiting(len(request.channels), request.is_fine)
        self._skipped: list[Skip] = []  # since the last row given
        self._n_head = 0
        self._is_done = False
        self.position, self.line = lines.position, lines.number  # after the last row given

    def read_head(self, *, at_end: bool = False, n_lines: int = HEAD_LINES) -> bool:
        """Find out how the lines are written; False where too few have come, or none ever will."""
        if self._parser is not None:
            return True
        with named(self._name):
            head = self._lines.head(n_lines, at_end=at_end)
            if not head:
                return False
            layout = layout_of(head)
            columns = _columns_for(layout, self._request)
            self._waiting = _Waiting(len(columns.positions), self._request.is_fine)
            self._parser, notes = parser_of(layout, columns, is_strict=False)
            rows = self._parser.parse(self._lines.between(layout.start, head[-1].stop, layout.first_line))
            state, more = clock_of(layout, columns, rows.times, self._carried)
            if rows.times is not None and self._carried is None and not state.is_coarse:
                refuse_clock_of_another_rate(state.unit.seconds(rows.times), self._request.rate)
            self._lines.skip_to(layout.start)
        self._clock, self._n_head = RowClock(layout, columns, state), len(head)
        self.position, self.line = self._lines.position, self._lines.number
        for note in (*layout.notes, *columns.notes, *notes, *more):
            self.say(note)
        if at_end and not layout.rows:
            self.say(f"it has a header ({len(layout.names)} columns) but no rows")
        return True

    def go_on(self, bookmark: Bookmark, lines: Lines | None = None) -> bool:
        """Go on after the rows of the bookmark, in these lines if they begin there; False where more must come."""
        assert self._parser is not None
        self._lines = self._lines if lines is None else lines
        with named(self._name):
            is_there = self._lines.skip_to(bookmark["position"])
        self.position, self.line = self._lines.position, self._lines.number
        self._clock = RowClock(self._parser.layout, self._parser.columns, ClockState(**bookmark["clock"]))
        return is_there

    def bookmark(self) -> dict[str, Any]:
        clock = self.clock or ClockState()
        return {"position": self.position, "line": self.line, "n_head": self._n_head, "clock": asdict(clock)}

    @property
    def clock(self) -> ClockState | None:
        return self._carried if self._clock is None else self._clock.state

    @property
    def n_head(self) -> int:
        """Lines that told how the text is written; 0 before they have come."""
        return self._n_head

    def read(self, at_most: int, *, at_end: bool = False) -> Rows | None:
        """The next rows; None where none are there, however many lines were skipped meanwhile.

        `at_end`: nothing will follow. What has come of the last line is all of it, and what was skipped after the last
        row is given once.
        """
        rows = self._next(at_most, at_end)
        if rows is None and at_end and not self._is_done:
            with named(self._name):
                self._lines.end()
            rows = self._next(at_most, at_end)
            self._is_done = rows is None
            rows = self._rest() if rows is None else rows
        return rows

    def _next(self, at_most: int, at_end: bool) -> Rows | None:
        if self._skipped and not self._skipped[-1].n_lines:
            return self._given(0)  # news of the input itself do not wait for a row
        if not self.read_head(at_end=at_end):
            return None
        with named(self._name):
            while not (n_rows := self._n_ready(at_most)) and self._parse_more():
                pass
        return self._given(n_rows) if n_rows else None

    def _n_ready(self, at_most: int) -> int:
        """Rows that can be given now: up to the next line that is none, which goes before the row after it."""
        assert self._clock is not None
        faults = self._waiting.faults
        while faults and faults[0][0] == 0:
            _, line, reason = faults.pop(0)
            self._skip(line, reason)
        return min(at_most, self._clock.n_settled, *(row for row, *_ in faults[:1]))

    def _parse_more(self) -> bool:
        assert self._parser is not None and self._clock is not None
        block = self._lines.take()
        if block is None:
            if self._lines.has_ended and not self._clock.has_ended:
                self._clock.end()
                return True
            return False
        rows = self._parser.parse(block)
        self._waiting.add(block, rows)
        self._clock.push(len(rows.values), rows.times)
        return True

    def _skip(self, line: int, reason: str) -> None:
        last = self._skipped[-1] if self._skipped else Skip(0, 0, "")
        if last.n_lines and last.line + last.n_lines == line and last.reason == reason:
            self._skipped[-1] = last._replace(n_lines=last.n_lines + 1)
        else:
            self._skipped.append(Skip(line, 1, reason))
        if not self._is_patient and sum(skip.n_lines for skip in self._skipped) > MOST_SKIPPED:
            first = self._skipped[0]
            raise RecordingError(
                f"more than {MOST_SKIPPED} lines in a row hold no row, from line {first.line} on "
                f"({first.reason}); correct what is sent, then start the same command again"
            )

    def _given(self, n_rows: int) -> Rows:
        skipped, self._skipped = tuple(self._skipped), []
        if not n_rows or self._clock is None:
            return Rows(np.empty((0, len(self._request.channels)), np.float32), None, self.position, skipped)
        cells, n_unreadable, (self.position, self.line) = self._waiting.take(n_rows)
        self._clock.pass_lines(sum(skip.n_lines for skip in skipped))
        assert self._parser is not None
        n_channels, beside = len(self._request.channels), None
        names = self._parser.columns.channels[n_channels:]
        if names:
            cells, further = np.split(cells, [n_channels], axis=1)
            cells, beside = np.ascontiguousarray(cells), beside_columns(self._request, names, further)
        return Rows(cells, self._clock.take(n_rows), self.position, skipped, n_unreadable, beside)

    def _rest(self) -> Rows | None:
        if self._lines.n_zeros:
            self.say(f"{self._lines.n_zeros} bytes of zeros at its end left out")
        if not self._n_head and not (self._request.bookmark or {}).get("position"):
            self.say("it is empty: no rows")
        self.position, self.line = self._lines.position, self._lines.number
        return self._given(0) if self._skipped else None

    def news(self) -> Rows | None:
        """What was skipped after the last row given, without waiting for the next one, unless rows are held back."""
        if not self._skipped or self._clock is None or len(self._waiting.values):
            return None
        self.position, self.line = self._lines.position, self._lines.number
        self._clock.pass_lines(sum(skip.n_lines for skip in self._skipped))
        return self._given(0)

    def begin_anew(self, reason: str) -> None:
        """Note that the input began again, for a reason of which no line can be shown: a boundary."""
        self._skipped.append(Skip(1, 0, reason))

    def say(self, note: str) -> None:
        if not self._is_quiet:
            warnings.warn(f"{self._name}: {note}", RondoWarning, stacklevel=3)


def beside_columns(request: Request, names: Sequence[str], cells: NDArray[np.floating]) -> NDArray[np.float32]:
    """The columns of `Request.beside` from the cells of those that are there; NaN in the others."""
    beside = np.full((len(cells), len(request.beside)), np.nan, np.float32)
    beside[:, [request.beside.index(name) for name in names]] = cells
    return beside


def _columns_for(layout: Layout, request: Request) -> Columns:
    """The columns of the model's channels, in its order, and the clock.

    Channels go by name: a text that lacks one is refused, other columns are left out with a note, but for those that
    are asked for beside the channels, which come last. Columns without names go by position if there are as many as the
    model has channels.
    """
    channels = request.channels
    refuse_several_tracks(layout)
    wanted = (*channels, *(name for name in request.beside if name in layout.names))
    columns = choose_columns(layout.columns(), Reading(), wanted)
    place = dict(zip(columns.channels, columns.positions, strict=True))
    if columns.clock is None:
        refuse_another_rate(layout.rate, request.rate)
    if set(wanted) == set(place):
        return replace(columns, channels=wanted, positions=tuple(place[name] for name in wanted))
    note = fit_by_position(columns.channels, channels)
    return replace(columns, channels=channels, notes=(*columns.notes, note))


def fit_by_position(found: Sequence[str], channels: Sequence[str]) -> str:
    """Refuse columns that lack channels of the model, unless as many have no names; a note in that case."""
    recording = Recording(np.zeros((1, len(found))), channels=found, id="the stream")
    if recording.is_unnamed and len(found) == len(channels):
        return f"channels without names taken by position as {shortened(channels)}"
    try:
        refuse_lacking(recording, channels)
    except RecordingError as error:
        raise RecordingError(str(error).replace("recording 'the stream'", "it")) from None
    raise AssertionError("no channel is lacking, so they go by name")


def refuse_another_rate(own: float | None, expected: float | None) -> None:
    """Rows are taken to have the model's rate: refused where what holds them says that they have another."""
    if own is not None and expected is not None and not same_rate(own, expected):
        raise RecordingError(
            f"it has {in_hertz(own)}, the model has {in_hertz(expected)}; resample it (rondo.data.resample, or "
            "`rondo label --resample`), or stream it to a model of its rate"
        )
