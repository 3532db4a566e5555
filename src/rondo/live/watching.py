"""Whether occurrences in a stream are as those in the run that its model comes from: the alarms of `Health` about them.

    deviates        a unit that has ended is far from its golden occurrence (`rondo.analysis.golden`)
    too-long        a unit lasts longer than 1.5 times the 95 % quantile of its durations in the run
    missing-step    a unit directly follows another where all but always a third one comes between

A unit with fewer than 8 occurrences in the run has no golden one. Nothing is judged across a boundary, nor an
occurrence that began before the command was started: alarms are about now, and are in no checkpoint.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rondo.analysis.golden import Golden, profiled, profiles_of
from rondo.analysis.rare import steps_in
from rondo.data.labels import OTHER
from rondo.data.recording import Values
from rondo.errors import OutputError, RondoWarning
from rondo.result import Result
from rondo.run.clock import spread_over
from rondo.run.decisions import Label
from rondo.run.summary import SUMMARY
from rondo.wording import duration_in_words, moment_in_words

DEVIATES, TOO_LONG, MISSING_STEP = "deviates", "too-long", "missing-step"


class Sign(NamedTuple):
    """An alarm that is raised, or over."""

    alarm: str
    message: str
    is_over: bool = False


class Typical(NamedTuple):
    """How the units of a run go: their golden occurrences, and the unit between two others."""

    goldens: Mapping[int, Golden]
    steps: Mapping[tuple[int, int], int]  # (before, after): the one that is missing where they follow each other


def typical_of(model_folder: Path, channels: Sequence[str]) -> Typical | None:
    """Of the run that a model lies in, in the model's channels; None where it lies in none that holds signals."""
    run = model_folder.parent
    if not (run / SUMMARY).is_file() or not (run / "overview").is_dir():
        return None
    try:
        found = Result.load(run).run
        recordings = spread_over(found.summary.recordings)
        read = profiled(found, [one.id for one in recordings], channels)
    except OutputError as error:
        warnings.warn(f"no alarms about single occurrences: {error}", RondoWarning, stacklevel=2)
        return None
    if read is None or "unit" not in read.levels:
        return None
    goldens = {id: golden for (level, id), golden in read.goldens().items() if level == "unit"}
    steps = steps_in(read.levels["unit"].rows, recordings)
    return Typical(goldens, {(step.before, step.after): step.unit for step in steps})


class _Occurrence(NamedTuple):
    """A stretch of one unit as far as it was labelled; `is_whole`: it began where another unit ended."""

    unit: int
    start: int
    stop: int
    start_s: float | None
    is_whole: bool


class OccurrenceWatch:
    """Frames and labels of one stream go in, signs come out, whatever the chunks."""

    def __init__(self, typical: Typical, rate: float | None) -> None:
        self._typical, self._rate = typical, rate
        self._frames: deque[tuple[int, Values]] = deque()  # first frame and frames, from the open occurrence on
        self._open: _Occurrence | None = None

    def see(self, first_frame: int, values: Values) -> None:
        """Frames that will be labelled, in the units of the recording."""
        self._frames.append((first_frame, values))

    def after(self, labels: Sequence[Label]) -> list[Sign]:
        """What follows from the next labels."""
        signs: list[Sign] = []
        for label in labels:
            start, stop, unit = (int(label[name] or 0) for name in ("start_frame", "end_frame", "unit"))
            if stop > start:
                signs += self._taken(_Occurrence(unit, start, stop, label["start_s"], False))
        self._forget()
        return signs

    def _taken(self, new: _Occurrence) -> list[Sign]:
        before = self._open
        if before is None or before.stop != new.start:  # a boundary lies between
            self._open = new
            return [] if before is None else self._ended(before)
        if before.unit == new.unit:
            self._open = before._replace(stop=new.stop)
            return self._lasting(before.stop)
        self._open = new._replace(is_whole=True)
        return [*self._ended(before), *self._judged(before), *self._step(before, new), *self._lasting(new.start)]

    def _lasting(self, judged_until: int) -> list[Sign]:
        """Too long, as soon as it is."""
        own = self._open
        golden = None if own is None else self._typical.goldens.get(own.unit)
        if own is None or golden is None or not own.is_whole:
            return []
        if not judged_until - own.start <= golden.longest_frames < own.stop - own.start:
            return []
        return [Sign(TOO_LONG, f"{self._named(own)} lasts longer than {self._length(golden.longest_frames)}")]

    def _ended(self, own: _Occurrence) -> list[Sign]:
        golden = self._typical.goldens.get(own.unit)
        if golden is None or not own.is_whole or own.stop - own.start <= golden.longest_frames:
            return []
        return [Sign(TOO_LONG, f"u{own.unit} ended after {self._length(own.stop - own.start)}", is_over=True)]

    def _judged(self, own: _Occurrence) -> list[Sign]:
        golden, values = self._typical.goldens.get(own.unit), self._values(own)
        if golden is None or values is None or not own.is_whole:
            return []
        found = golden.deviation(profiles_of(values, np.array([0]), np.array([len(values)])))
        if found.score < 1:
            return [Sign(DEVIATES, f"{self._named(own)} is as usual", is_over=True)]
        return [Sign(DEVIATES, f"{self._named(own)}: {', '.join(one.in_words() for one in found.channels)}")]

    def _step(self, before: _Occurrence, new: _Occurrence) -> list[Sign]:
        missing = self._typical.steps.get((before.unit, new.unit))
        if missing is not None:
            return [Sign(MISSING_STEP, f"no u{missing} between u{before.unit} and {self._named(new)}")]
        if any((before.unit, new.unit) == (first, unit) for (first, _), unit in self._typical.steps.items()):
            return [Sign(MISSING_STEP, f"{self._named(new)} follows u{before.unit} again", is_over=True)]
        return []

    def _values(self, own: _Occurrence) -> Values | None:
        """The frames of an occurrence, as far as they were seen; None if some of its ends were not."""
        parts = [
            values[max(0, own.start - first) : own.stop - first]
            for first, values in self._frames
            if first < own.stop and first + len(values) > own.start
        ]
        whole = np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)
        return whole if len(whole) == own.stop - own.start else None

    def _forget(self) -> None:
        """Frames before the open occurrence; and all frames of one that is too long already: it is not judged."""
        own = self._open
        if own is None:
            return
        golden = self._typical.goldens.get(own.unit)
        needed = own.start if golden and own.stop - own.start <= golden.longest_frames else own.stop
        while self._frames and self._frames[0][0] + len(self._frames[0][1]) <= needed:
            self._frames.popleft()

    def _named(self, own: _Occurrence) -> str:
        at = f"frame {own.start:,}" if own.start_s is None else moment_in_words(own.start_s)
        return f"{'OTHER' if own.unit == OTHER else f'u{own.unit}'} at {at}"

    def _length(self, frames: float) -> str:
        return f"{frames:.0f} frames" if self._rate is None else duration_in_words(frames / self._rate)
