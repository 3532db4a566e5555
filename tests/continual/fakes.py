"""A stream that learns nothing, with the interface of the real one: quick, exact, and with every kind of state.

Rows are cut into windows of 8 every 4; a window is labelled by the rounded mean of its numbers, two windows later.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.continual.checkpoint import Checkpoint
from rondo.continual.journal import Event
from rondo.continual.reading import Decision
from rondo.data.preparation import Placed

LENGTH, STEP, DELAY = 8, 4, 2


class FakeReport(NamedTuple):
    decisions: list[Decision]
    events: list[Event]


class FakeStream:
    """Row after row; what comes out does not depend on how the rows are cut into chunks."""

    standing: ClassVar[dict[str, str]] = {"statistics": "", "fit": ""}

    def __init__(self, n_channels: int) -> None:
        self.rows: NDArray[np.float32] = np.zeros((0, n_channels), np.float32)  # those that were fed last
        self.unread: NDArray[np.float32] = self.rows  # of the window that is not whole yet, NaN and all
        self.means: list[float] = []  # of windows that await their label
        self.n_windows = 0
        self.seen: list[int] = []
        self.n_rows, self.n_skipped = 0, 0
        self._placed: Placed | None = None

    @classmethod
    def of(cls, model: Any, found: Checkpoint | None, frozen: bool) -> FakeStream:
        """Stands for `rondo.live.session.stream_of`."""
        stream = cls(len(model.preprocessor_.channels))
        if found is not None:
            plain = found.plain["stream"]
            stream.unread = np.asarray(found.tensors["rows"], np.float32)
            stream.means = np.asarray(found.tensors["means"], np.float64).tolist()
            stream.n_windows, stream.seen, stream.n_rows = plain["n_windows"], list(plain["seen"]), plain["n_rows"]
        return stream

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        tensors: dict[str, NDArray[np.generic]] = {"rows": self.unread, "means": np.array(self.means, np.float64)}
        return tensors, {"n_windows": self.n_windows, "seen": self.seen, "n_rows": self.n_rows}

    def feed(self, values: NDArray[np.float32], times_s: NDArray[np.float64] | None = None) -> FakeReport:
        report, self.rows = FakeReport([], []), values
        numbers, self.n_rows = np.arange(self.n_rows, self.n_rows + len(values)), self.n_rows + len(values)
        if self._placed is not None and len(values):
            self._placed(numbers, numbers, np.zeros(len(values), np.bool_))
        for row in values:
            self.unread = np.concatenate([self.unread, row[None]])
            if len(self.unread) == LENGTH:
                self.means.append(float(np.nan_to_num(self.unread.astype(np.float64)).mean()))
                self.unread = self.unread[STEP:]
                self._decide(report, DELAY)
        return report

    def cut(self, cause: str) -> FakeReport:
        report = self.finish()
        self.unread = self.unread[:0]
        report.events.append(
            Event("gap", "input", self.n_windows * STEP, None, (), {"rule": "boundary", "cause": cause})
        )
        return report

    def watch(self, seen: None, placed: Placed) -> None:
        """Every row is a frame."""
        self._placed = placed

    @property
    def n_buffered(self) -> int:
        return len(self.seen)

    def finish(self) -> FakeReport:
        report = FakeReport([], [])
        self._decide(report, 0)
        return report

    def _decide(self, report: FakeReport, delay: int) -> None:
        while len(self.means) > delay:
            mean, number = self.means.pop(0), self.n_windows
            unit = -1 if mean > 1 else round(4 * mean) % 7
            start = number * STEP
            report.decisions.append(Decision(number, start, start + STEP, unit, unit // 2, mean, mean / 3))
            if unit not in self.seen:
                self.seen.append(unit)
                report.events.append(Event("promote", "unit", start, None, (unit,), {"mean": mean}))
            if number % 16 == 0:
                report.events.append(Event("refine", "unit", start, number / 10, (unit,), {"n": number, "mean": mean}))
            self.n_windows += 1
