"""What `rondo stream` says on stderr about its input while it runs, whatever it prints on stdout.

Each kind of thing is said when it first happens, then at most every 10 s with the count so far, and once more at the
end if something was left unsaid. The journal has all of it, event by event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rondo.cli.terminal import print_over
from rondo.wording import counted, duration_in_words

if TYPE_CHECKING:
    from rondo.continual.journal import Event
    from rondo.live.session import Counters, Session, Written
    from rondo.run.rows import RowCounts

BETWEEN_NOTES_S = 10.0
NO_WINDOW = (
    "not one window was whole, so nothing is labelled: there were too few rows, or one channel is missing more often "
    "than when the model was fitted; fit the model without it (--label-column NAME)"
)
_MOST_CHANNELS = 6  # that one line names
_WHY_SKIPPED = "time missing, repeated, earlier than before, or far ahead of the rows after it"


def say_note(text: str) -> None:
    """One line on stderr; where someone watches, the line that shows progress makes room."""
    print_over(f"note: {text}")


def nothing_came(where: str) -> str:
    """Of a source that ended without a row."""
    name = "standard input" if where == "-" else where
    return (
        f"nothing came from {name}: no rows, so nothing is labelled; start the same command again when there are some"
    )


def rows_in_words(counts: RowCounts, n_skipped_lines: int) -> str:
    """What became of all rows: the parts add up.

    >>> from rondo.run.rows import RowCounts
    >>> rows_in_words(RowCounts(900, 10, 0, 90), 4)
    '1,000 rows read: 900 labelled, 10 skipped, 0 in gaps, 90 of no unit; 4 more lines held no row'
    """
    parts = f"{counts.labelled:,} labelled, {counts.skipped:,} skipped, {counts.in_gaps:,} in gaps"
    lines = f"; {counted(n_skipped_lines, 'more line', 'more lines')} held no row" if n_skipped_lines else ""
    return f"{counted(counts.read, 'row')} read: {parts}, {counts.of_no_unit:,} of no unit{lines}"


def missing_in_words(cells: Mapping[str, int]) -> str:
    """How many cells were read as missing, channel by channel.

    >>> missing_in_words({"CO": 12, "NOx": 1})
    "13 cells read as missing so far, by what the model was fitted on: 12 in 'CO', 1 in 'NOx'"
    """
    most = sorted(cells, key=lambda name: -cells[name])
    shown = ", ".join(f"{cells[name]:,} in {name!r}" for name in most[:_MOST_CHANNELS])
    more = f" and {len(most) - _MOST_CHANNELS} more channels" if len(most) > _MOST_CHANNELS else ""
    return (
        f"{counted(sum(cells.values()), 'cell')} read as missing so far, by what the model was fitted on: {shown}{more}"
    )


class StreamNotes:
    """What has been said of each kind, and what is still to be said."""

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: Counters = session.counters
        self._said_at: dict[str, float] = {}
        self._unsaid: dict[str, str] = {}
        self._n_gaps = 0
        self._last_fault = ""

    def after(self, counters: Counters, written: Written) -> None:
        """What the last step has brought."""
        self._counted(counters)
        for event in written.events:
            if event.level == "input":
                self._happened(event)
        self.say()

    def _counted(self, counters: Counters) -> None:
        before, self._before = self._before, counters
        if counters.n_skipped_rows > before.n_skipped_rows:
            self._tell("rows", f"{counted(counters.n_skipped_rows, 'row')} skipped so far: {_WHY_SKIPPED}")
        if counters.n_unreadable_cells > before.n_unreadable_cells:
            cells = counted(counters.n_unreadable_cells, "cell")
            self._tell("cells", f"{cells} unreadable so far: no finite number, taken as missing")
        if counters.missing_cells != before.missing_cells:
            back = f"--keep-column {min(counters.missing_cells)!r} takes a column as it is"
            self._tell("missing", f"{missing_in_words(counters.missing_cells)}; {back}")
        if counters.n_skipped_lines > before.n_skipped_lines:
            self._unsaid["lines"] = f"{counted(counters.n_skipped_lines, 'line')} skipped so far, as they hold no row"

    def _happened(self, event: Event) -> None:
        about = event.evidence
        if event.kind == "skip" and "reason" in about and "lines" in self._unsaid:
            head = self._unsaid["lines"].partition(" (")[0]
            self._unsaid["lines"] = f"{head} (the last: line {about['line']}, {about['reason']})"
        elif about.get("rule") == "gridded":
            self._tell("grid", f"rows come unevenly from row {about['first_row']:,} on: read on the grid of the model")
        elif about.get("rule") == "filled" and about["cause"] == "no values":
            self._tell(
                "silent",
                f"no values any more in {about['channels']} (frame {event.frame:,}): predicted from the others",
            )
        elif about.get("rule") == "filled":
            self._tell(
                "heard", f"values again in {about['channels']} (frame {event.frame:,}), after {about['rows']:,} rows"
            )
        elif about.get("rule") == "boundary":
            self._n_gaps += 1
            many = "" if self._n_gaps == 1 else f"{self._n_gaps:,} gaps so far, the last: "
            seconds = about.get("seconds")
            by = f" by {duration_in_words(float(seconds))}" if seconds is not None else ""
            at = "" if event.time_s is None else f", {event.time_s:.3f} s"
            told = f"{many}{about['cause']}{by} (frame {event.frame:,}{at}): no unit or motif reaches across"
            self._tell("gaps", told)

    def _tell(self, kind: str, text: str) -> None:
        self._unsaid[kind] = text

    def say(self, *, all_of_it: bool = False) -> None:
        """Say what is due; at the end `all_of_it`."""
        now = self._clock()
        for kind in list(self._unsaid):
            if all_of_it or now - self._said_at.get(kind, -BETWEEN_NOTES_S) >= BETWEEN_NOTES_S:
                say_note(self._unsaid.pop(kind))
                self._said_at[kind] = now
