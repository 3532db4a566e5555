"""What was bridged, cut or dropped in the input of a stream, as events.

Everything is told from the rows in the order in which they become frames, so that events do not depend on chunks, and
when an event is told all frames before its own have been given out. A boundary is told when it begins and when it ends.
What was bridged or skipped is told by the spell: all of it with never more than 100 sound rows between, in one event of
each kind when the spell is over, and after 10,000 rows in any case. A source that loses every second row must not fill
the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rondo.continual.bridging import BRIDGED, LOST, StreamRows
from rondo.continual.events import Event, Kind
from rondo.continual.gridding import Laid

_QUIET_ROWS = 100
_LONGEST_SPELL_ROWS = 10_000


@dataclass
class _Spell:
    first: int  # of its rows, counted as they are seen here; as in the next line
    last: int
    first_row: int  # counted as they came
    first_frame: int
    rows_skipped: int = 0
    rows_bridged: int = 0
    frames_bridged: int = 0


class InputLog:
    """The spell and the boundary that are not over, and the events nobody has taken yet."""

    def __init__(self, time_s: Callable[[float], float | None]) -> None:
        self._time_s = time_s  # of a place on the clock
        self._events: list[Event] = []
        self._spell: _Spell | None = None
        self._lost_since: int | None = None  # the row, counted as they are seen here
        self._n_seen = 0
        self._last_number, self._last_clock = -1, 0.0  # of the rows seen
        self._is_gridded = False

    def rows(self, rows: StreamRows, laid: Laid) -> None:
        """Rows that have become these frames."""
        numbers = rows.numbers
        if not numbers.size:
            return
        if laid.on_grid is not None and not self._is_gridded:
            self._is_gridded = True
            self._tell("gap", laid.frame_of_row(0), float(rows.clock[0]), rule="gridded", first_row=int(numbers[0]))
        last = int(numbers[-1])
        none_skipped = last - self._last_number == numbers.size
        none_missing = laid.on_grid is None or not laid.on_grid.n_frames_missing.any()
        if rows.flaws is not None or self._lost_since is not None or not (none_skipped and none_missing):
            self._follow(rows, laid)
        self._end_quiet_spell(rows, laid, numbers.size - 1)
        self._n_seen += numbers.size
        self._last_number, self._last_clock = last, float(rows.clock[-1])

    def _follow(self, rows: StreamRows, laid: Laid) -> None:
        nothing = np.zeros(rows.numbers.size, np.int64)
        flaws = nothing if rows.flaws is None else rows.flaws
        skipped = rows.numbers - np.concatenate([[self._last_number], rows.numbers[:-1]]) - 1
        missing = nothing if laid.on_grid is None else laid.on_grid.n_frames_missing
        is_marked = (flaws == BRIDGED) | (skipped > 0) | (missing > 0)
        is_lost = flaws == LOST
        turns = is_lost != np.concatenate([[self._lost_since is not None], is_lost[:-1]])
        for i in np.flatnonzero(is_marked | turns).tolist():
            self._end_quiet_spell(rows, laid, i)
            if turns[i]:
                self._turn(i, laid.frame_of_row(i), float(rows.clock[i]), int(rows.numbers[i]))
            if is_marked[i]:
                spell = self._spell_at(rows, laid, i)
                spell.rows_skipped += int(skipped[i])
                spell.rows_bridged += int(flaws[i] == BRIDGED)
                spell.frames_bridged += int(missing[i])

    def _spell_at(self, rows: StreamRows, laid: Laid, row: int) -> _Spell:
        """The spell that this row belongs to."""
        seen, frame = self._n_seen + row, laid.frame_of_row(row)
        if self._spell is not None and seen - self._spell.first >= _LONGEST_SPELL_ROWS:
            self._end_spell(frame, float(rows.clock[row]))
        if self._spell is None:
            self._spell = _Spell(seen, seen, int(rows.numbers[row]), frame)
        self._spell.last = seen
        return self._spell

    def _end_quiet_spell(self, rows: StreamRows, laid: Laid, row: int) -> None:
        """End the spell if it has been over for long enough at this row: then at the row where it first had been."""
        if self._spell is None:
            return
        over = self._spell.last + _QUIET_ROWS + 1 - self._n_seen
        if over <= row:
            self._end_spell(laid.frame_of_row(over), float(rows.clock[over]))

    def _end_spell(self, frame: int, clock: float) -> None:
        spell, self._spell = self._spell, None
        if spell is None:
            return
        place = {"first_row": spell.first_row, "first_frame": spell.first_frame}
        if spell.rows_skipped:
            cause = "timestamp missing or not later than the one before"
            self._tell("skip", frame, clock, cause=cause, rows=spell.rows_skipped, **place)
        if spell.rows_bridged:
            self._tell("gap", frame, clock, rule="bridged", cause="missing values", rows=spell.rows_bridged, **place)
        if spell.frames_bridged:
            self._tell("gap", frame, clock, rule="bridged", cause="missing rows", frames=spell.frames_bridged, **place)

    def _turn(self, row: int, frame: int, clock: float, number: int) -> None:
        """From here on frames are lost, or not lost any more."""
        if self._lost_since is None:
            self._lost_since = self._n_seen + row
            self._tell("gap", frame, clock, rule="boundary", cause="missing values", first_row=number)
        else:
            n_rows, self._lost_since = self._n_seen + row - self._lost_since, None
            self._tell("gap", frame, clock, rule="resumed", cause="missing values", rows=n_rows)

    def jump(self, frame: int, clock: float, seconds: float | None) -> None:
        """Time jumps by so many seconds; None: the clock was set back."""
        if seconds is None:
            self._tell("gap", frame, clock, rule="boundary", cause="the clock was set back")
        else:
            self._tell("gap", frame, clock, rule="boundary", cause="time jumps", seconds=seconds)

    def cut(self, frame: int, cause: str) -> None:
        """The rows to come do not follow on those so far."""
        self._tell("gap", frame, self._last_clock, rule="boundary", cause=cause)

    def end_stretch(self, frame: int) -> None:
        """A stretch ends before this frame, and what was going on with it."""
        self._end_spell(frame, self._last_clock)
        if self._lost_since is not None:
            self._turn(0, frame, self._last_clock, self._last_number)

    def finish(self, frame: int, n_rows: int) -> None:
        """The stream ends after so many rows; those at its end that were skipped have not been seen here."""
        n_skipped = n_rows - 1 - self._last_number
        if n_skipped > 0:
            self._spell = _Spell(self._n_seen, self._n_seen, self._last_number + 1, frame, n_skipped)
            self._end_spell(frame, self._last_clock)
            self._last_number = n_rows - 1

    def take(self, before_frame: int | None = None) -> list[Event]:
        """The events since the last call, or those of them before a frame."""
        n_taken = len(self._events)
        if before_frame is not None:
            n_taken = next((i for i, event in enumerate(self._events) if event.frame >= before_frame), n_taken)
        taken, self._events = self._events[:n_taken], self._events[n_taken:]
        return taken

    def _tell(self, kind: Kind, frame: int, clock: float, **evidence: float | int | str) -> None:
        self._events.append(Event(kind, "input", frame, self._time_s(clock), (), evidence))

    def state(self) -> dict[str, Any]:
        """Everything, exactly."""
        return {
            "events": [event.to_json() for event in self._events],
            "spell": None if self._spell is None else asdict(self._spell),
            "lost_since": self._lost_since,
            "seen": [self._n_seen, self._last_number, self._last_clock],
            "is_gridded": self._is_gridded,
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        self._events = [Event.from_json(line) for line in plain["events"]]
        self._spell = None if plain["spell"] is None else _Spell(**plain["spell"])
        self._lost_since, self._is_gridded = plain["lost_since"], plain["is_gridded"]
        self._n_seen, self._last_number, self._last_clock = plain["seen"]
