"""What was bridged, cut or dropped in the input, as events.

Events follow from the rows in the order in which they become frames, so they do not depend on chunks; all frames
before an event's own are given out first. A boundary has an event at its beginning and one at its end, and so has the
silence of channels that are filled, and the time in which values of a channel are no measurement. Bridged or skipped
rows have one event of each kind for a spell: a source that loses every second row must not fill the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Ints
from rondo.data.gaps import BRIDGED, LOST
from rondo.data.grid import Frames, steps_within
from rondo.data.sound_gate import LONG_OUTSIDE, OUTSIDE, STUCK
from rondo.wording import quoted

_RULES = {OUTSIDE: "outside", LONG_OUTSIDE: "outside for long", STUCK: "stuck"}
_SOUND_AGAIN = "values are sound again"
_CAUSES = {
    "stuck": "repeats one value for longer than in what the model was fitted on: taken as missing",
    "outside": "lies far outside what the model was fitted on: taken as missing",
    "outside for long": "lies far outside what the model was fitted on, for too long for a fault: kept",
}
_QUIET_ROWS = 100  # sound rows on end that end a spell; ours, not measured
_LONGEST_SPELL_ROWS = 10_000  # a spell is reported after so many in any case; ours, not measured


class InputEvent(NamedTuple):
    """Something that happened to the input at a frame, by the clock of the data."""

    kind: Literal["gap", "skip"]
    frame: int
    time_s: float | None
    evidence: Mapping[str, float | int | str]


def fault_of(evidence: Mapping[str, object]) -> tuple[str, str] | None:
    """Rule and channel of an event on values that are no measurement; None for other events."""
    rule = evidence.get("rule")
    return (str(rule), str(evidence["channel"])) if rule in _CAUSES else None


def is_doubtful(rule: str) -> bool:
    """Whether nothing is learned meanwhile; values that were bridged do no harm."""
    return rule != _RULES[OUTSIDE]


def is_over(evidence: Mapping[str, object]) -> bool:
    """Whether such an event is about the end of a fault."""
    return evidence.get("cause") == _SOUND_AGAIN


@dataclass
class _Fault:
    """Values of a channel that are no measurement, from a row on, counted as rows are seen here."""

    last: int
    n_rows: int = 0


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

    def __init__(self, rate: float | None, max_gap: int, channels: Sequence[str] = ()) -> None:
        self._rate, self._max_gap, self._channels = rate, max_gap, tuple(channels)
        self._events: list[InputEvent] = []
        self._spell: _Spell | None = None
        self._lost_since: int | None = None  # the row, counted as they are seen here
        self._filled_since: dict[int, int] = {}  # channel -> row, likewise
        self._faults: dict[tuple[str, int], _Fault] = {}  # kind and channel -> what is wrong now
        self._n_seen = 0
        self._last_number = -1  # of the rows seen
        self.last_clock: float | None = None  # likewise; None where time begins
        self._origin_s = 0.0
        self._is_gridded = False

    def rows(self, frames: Frames, origin_s: float) -> None:
        """Rows that have become these frames; `origin_s` is the time of clock 0."""
        rows, self._origin_s = frames.rows, origin_s
        if not rows.clock.size:
            return
        if frames.anchors and not self._is_gridded:
            self._is_gridded = True
            first_row = int(rows.numbers[0])
            self._tell("gap", frames.frame_from(0), float(rows.clock[0]), rule="gridded", first_row=first_row)
        n_rows, last = rows.clock.size, int(rows.numbers[-1])
        missing = np.zeros(n_rows, np.int64)  # frames before each row that had no row of their own
        if frames.anchors:
            steps = steps_within(rows.clock, rows.begins, self.last_clock)
            missing = np.maximum(np.rint(steps) - 1, 0).astype(np.int64)
        is_even = last - self._last_number == n_rows and not missing.any() and not rows.begins.any()
        is_faulty = rows.faults is not None or bool(self._faults)
        if is_faulty or rows.flaws is not None or self._lost_since is not None or self._filled_since or not is_even:
            self._follow(frames, missing)
        self._end_what_is_quiet(frames, n_rows - 1)
        self._n_seen += n_rows
        self._last_number, self.last_clock = last, float(rows.clock[-1])

    def _follow(self, frames: Frames, missing: Ints) -> None:
        rows = frames.rows
        flaws = np.zeros(rows.clock.size, np.uint8) if rows.flaws is None else rows.flaws
        skipped = rows.numbers - np.append(self._last_number, rows.numbers[:-1]) - 1
        is_marked = (flaws == BRIDGED) | (skipped > 0) | (missing > 0)
        is_lost = flaws == LOST
        turns = is_lost != np.append(self._lost_since is not None, is_lost[:-1])
        silences = np.zeros(flaws.size, np.bool_)  # rows at which channels begin to be filled, or cease to be
        silences[0] = bool(self._filled_since)
        if rows.filled is not None:
            silences[1:] = (rows.filled[1:] != rows.filled[:-1]).any(axis=1)
            silences[0] = set(np.flatnonzero(rows.filled[0]).tolist()) != set(self._filled_since)
        faults = np.zeros((flaws.size, 0), np.uint8) if rows.faults is None else rows.faults
        is_faulty = faults.astype(np.bool_).any(axis=1)
        for i in np.flatnonzero(is_marked | turns | rows.begins | silences | is_faulty).tolist():
            self._end_what_is_quiet(frames, i)
            self._find_faults(frames, i, faults[i])
            if rows.begins[i]:
                self._begin_piece(frames, i)
            if is_lost[i] != (self._lost_since is not None):
                self._turn(i, frames.frame_from(i), float(rows.clock[i]), int(rows.numbers[i]))
            if silences[i] or (rows.begins[i] and rows.filled is not None):
                filled = set() if rows.filled is None else set(np.flatnonzero(rows.filled[i]).tolist())
                self._turn_channels(i, frames.frame_from(i), float(rows.clock[i]), filled)
            if is_marked[i]:
                spell = self._spell_at(frames, i)
                spell.rows_skipped += int(skipped[i])
                spell.rows_bridged += int(flaws[i] == BRIDGED)
                spell.frames_bridged += int(missing[i])

    def _turn_channels(self, row: int, frame: int, clock: float, filled: set[int]) -> None:
        """From here on these channels are filled, and no others."""
        begun, ended = filled - set(self._filled_since), set(self._filled_since) - filled
        names = [quoted([self._name(c) for c in sorted(channels)]) for channels in (begun, ended)]
        if ended:
            n_rows = self._n_seen + row - min(self._filled_since[c] for c in ended)
            self._tell("gap", frame, clock, rule="filled", cause="values again", channels=names[1], rows=n_rows)
        if begun:
            self._tell("gap", frame, clock, rule="filled", cause="no values", channels=names[0])
        self._filled_since = {c: self._filled_since.get(c, self._n_seen + row) for c in sorted(filled)}

    def _begin_piece(self, frames: Frames, row: int) -> None:
        """What was going on ends with the piece before."""
        clock, frame = float(frames.rows.clock[row]), frames.frame_from(row)
        before = self.last_clock if row == 0 else float(frames.rows.clock[row - 1])
        self.end_stretch(frame, before, row)
        if before is not None and self._rate is not None and round(clock - before) - 1 > self._max_gap:
            self._tell("gap", frame, clock, rule="boundary", cause="time jumps", seconds=(clock - before) / self._rate)

    def _spell_at(self, frames: Frames, row: int) -> _Spell:
        """The spell that this row belongs to."""
        seen, frame = self._n_seen + row, frames.frame_from(row)
        if self._spell is not None and seen - self._spell.first >= _LONGEST_SPELL_ROWS:
            self._end_spell(frame, float(frames.rows.clock[row]))
        if self._spell is None:
            self._spell = _Spell(seen, seen, int(frames.rows.numbers[row]), frame)
        self._spell.last = seen
        return self._spell

    def _find_faults(self, frames: Frames, row: int, faults: NDArray[np.uint8]) -> None:
        """The first of the faults of a channel is an event."""
        for c in np.flatnonzero(faults).tolist():
            rule = _RULES[int(faults[c])]
            if (rule, c) not in self._faults:
                self._faults[rule, c] = _Fault(0)
                frame, clock = frames.frame_from(row), float(frames.rows.clock[row])
                first = int(frames.rows.numbers[row])
                self._tell("gap", frame, clock, rule=rule, cause=_CAUSES[rule], channel=self._name(c), row=first)
            fault = self._faults[rule, c]
            fault.last, fault.n_rows = self._n_seen + row, fault.n_rows + 1

    def _end_what_is_quiet(self, frames: Frames, row: int) -> None:
        """End what has been over for long enough at this row: then at the row where it first had been."""
        ended: list[tuple[int, tuple[str, int] | None]] = []
        if self._spell is not None:
            ended.append((self._spell.last + _QUIET_ROWS + 1 - self._n_seen, None))
        ended += [(fault.last + _QUIET_ROWS + 1 - self._n_seen, key) for key, fault in self._faults.items()]
        for over, key in sorted(ended, key=lambda end: end[0]):
            if over > row:
                break
            frame, clock = frames.frame_from(over), float(frames.rows.clock[over])
            if key is None:
                self._end_spell(frame, clock)
            else:
                rule, c = key
                n_rows = self._faults.pop(key).n_rows
                self._tell("gap", frame, clock, rule=rule, cause=_SOUND_AGAIN, channel=self._name(c), rows=n_rows)

    def _name(self, channel: int) -> str:
        return self._channels[channel] if self._channels else str(channel)

    def _end_spell(self, frame: int, clock: float) -> None:
        spell, self._spell = self._spell, None
        if spell is None:
            return
        place = {"first_row": spell.first_row, "first_frame": spell.first_frame}
        if spell.rows_skipped:
            cause = "timestamp missing, not later than the one before, or far ahead of those after it"
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

    def set_back(self, frame: int, time_s: float | None) -> None:
        """The clock was set back: time begins here."""
        self.last_clock = None
        cause = {"rule": "boundary", "cause": "the clock was set back"}
        self._events.append(InputEvent("gap", frame, time_s, cause))

    def cut(self, frame: int, cause: str) -> None:
        """The rows to come do not follow on those so far."""
        self._tell("gap", frame, self.last_clock or 0.0, rule="boundary", cause=cause)

    def end_stretch(self, frame: int, clock: float | None, row: int = 0) -> None:
        """A stretch ends before this frame, and what was going on with it."""
        self._end_spell(frame, clock or 0.0)
        if self._lost_since is not None:
            self._turn(row, frame, clock or 0.0, self._last_number)
        if self._filled_since:
            self._turn_channels(row, frame, clock or 0.0, set())

    def finish(self, frame: int, n_rows: int) -> None:
        """The stream ends after so many rows; those at its end that were skipped have not been seen here."""
        n_skipped = n_rows - 1 - self._last_number
        if n_skipped > 0:
            self._spell = _Spell(self._n_seen, self._n_seen, self._last_number + 1, frame, n_skipped)
            self._end_spell(frame, self.last_clock or 0.0)
            self._last_number = n_rows - 1

    def take(self, before_frame: int | None = None) -> list[InputEvent]:
        """The events since the last call, or those of them before a frame."""
        n_taken = len(self._events)
        if before_frame is not None:
            n_taken = next((i for i, event in enumerate(self._events) if event.frame >= before_frame), n_taken)
        taken, self._events = self._events[:n_taken], self._events[n_taken:]
        return taken

    def _tell(self, kind: Literal["gap", "skip"], frame: int, clock: float, **evidence: float | int | str) -> None:
        time_s = None if self._rate is None else self._origin_s + clock / self._rate
        self._events.append(InputEvent(kind, frame, time_s, evidence))

    def state(self) -> dict[str, Any]:
        return {
            "events": [[*event[:3], dict(event.evidence)] for event in self._events],
            "spell": None if self._spell is None else asdict(self._spell),
            "lost_since": self._lost_since,
            "filled_since": [[channel, row] for channel, row in self._filled_since.items()],
            "seen": [self._n_seen, self._last_number, self.last_clock, self._origin_s],
            "is_gridded": self._is_gridded,
            "faults": [[*key, fault.last, fault.n_rows] for key, fault in self._faults.items()],
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        self._events = [InputEvent(*event) for event in plain["events"]]
        self._spell = None if plain["spell"] is None else _Spell(**plain["spell"])
        self._lost_since, self._is_gridded = plain["lost_since"], plain["is_gridded"]
        self._filled_since = {int(channel): int(row) for channel, row in plain["filled_since"]}
        self._n_seen, self._last_number, self.last_clock, self._origin_s = plain["seen"]
        self._faults = {(rule, channel): _Fault(last, n) for rule, channel, last, n in plain.get("faults", ())}
