"""A case: one damage to a planted recording, the verb that gets it, and the verdict on what comes back.

*right*: the labels are as good as those of the clean recording; *refused*: one line of error that names the damage;
*noted*: the labels may be wrong, and a note, warning or event names the damage, or the model "does not fit";
*silent*: wrong without a word.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import rondo
from rondo.data.agreement import agreement
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import RondoError, RondoWarning
from rondo.synthetic import plant
from rondo.synthetic.plan import StreamPlan
from rondo.units.fit_profile import Fit
from tests.cli.running import call

Values = NDArray[Any]
Rows = NDArray[np.intp]
Verb = Literal["discover", "label", "stream"]
Judgement = Literal["right", "refused", "noted", "silent"]

NAMES = ("acc_x", "acc_y", "gyro_x", "gyro_y", "pressure")
RATE = 50.0
QUICK = {"evidence.surrogates": 0}
WINDOW = "1.5s"
PLAN = StreamPlan(n_channels=5, n_units=5, n_motifs=3, noise=0.08)  # found again in eight harmless changes
LEAST_EQUAL = 0.95  # of the rows, to the labels of the clean recording
MOST_OTHER = 0.5  # of the rows: where fewer windows are accepted, a model does not fit
MOST_LOST = 0.05  # of agreement with the truth, against the clean recording


@dataclass(frozen=True)
class Clean:
    """The planted recording, its truth, and a model fitted on it."""

    values: Values
    truth: Values
    found: Values
    model: rondo.Rondo
    told: tuple[str, ...]

    @classmethod
    def planted(cls) -> Clean:
        stream = plant(PLAN, n_frames=10_000, seed=8)
        values = stream.recording.values.astype(np.float64)
        found = rondo.discover(cls.recording(values), window=WINDOW, settings=QUICK)
        told = tuple(found.recordings[0].notes)
        return cls(values, stream.unit_truth, found.units, found.model, told)

    @staticmethod
    def recording(values: Values) -> Recording:
        return Recording(values, RATE, channels=NAMES)

    @cached_property
    def labelled(self) -> Values:
        return self.model.predict(self.recording(self.values)).units

    @cached_property
    def streamed(self) -> Values:
        return _streamed(self.model, self.recording(self.values))[0]

    @cached_property
    def deviation(self) -> Values:
        """Of each channel."""
        return self.values.std(axis=0)

    @property
    def n(self) -> int:
        return len(self.values)

    def frame(self, values: Values | None = None, **first: Any) -> pd.DataFrame:
        """A table of the channels, and columns before them."""
        channels = pd.DataFrame(self.values if values is None else values, columns=list(NAMES))
        return pd.DataFrame(first | {name: channels[name] for name in channels})

    def timed(self, values: Values | None = None, **more: Any) -> pd.DataFrame:
        """A table with a clock in seconds, the channels, and columns after them."""
        return self.frame(values, time=np.arange(self.n) / RATE).assign(**more)

    def csv(self, path: Path, table: pd.DataFrame | None = None, **how: Any) -> Path:
        (self.timed() if table is None else table).to_csv(path, index=False, **{"float_format": "%.5f"} | how)
        return path


class Given(NamedTuple):
    """What a user hands in, and the clean row of each of its rows; -1 for a row that is not judged."""

    data: Any
    rows: Rows | None = None
    rate: float | None = RATE
    reading: Mapping[str, Any] = {}


Damage = Callable[[Clean, Path], Given | Values | pd.DataFrame | Path | Recording]


@dataclass(frozen=True)
class Case:
    """One damage and one verb; `names` is the pattern of what a note or refusal must name."""

    verb: Verb
    damage: Damage
    names: str
    by_command: bool = False

    @property
    def id(self) -> str:
        return f"{self.damage.__name__}-{'command-' if self.by_command else ''}{self.verb}"

    @property
    def is_of_reading(self) -> bool:
        """Whether the same file is read for another verb too."""
        return self.verb == "label" and self.damage.__module__.endswith(("files", "clocks"))

    def given(self, clean: Clean, folder: Path) -> Given:
        made = self.damage(clean, folder)
        if isinstance(made, Given):
            return made
        if isinstance(made, np.ndarray) and type(made) is np.ndarray:
            return Given(Recording(made, RATE, channels=NAMES))
        has_clock = isinstance(made, Path | pd.DataFrame | Recording)
        return Given(made, rate=None if has_clock else RATE)


CASES: dict[str, Case] = {}


def case(*verbs: Verb, names: str = r"(?!)", by_command: bool = False) -> Callable[[Damage], Damage]:
    """Adds the damage to the cases, once for each verb; without `names` no note counts."""

    def added(damage: Damage) -> Damage:
        for verb in verbs:
            one = Case(verb, damage, names, by_command)
            assert one.id not in CASES, one.id
            CASES[one.id] = one
        return damage

    return added


@dataclass
class Verdict:
    """The judgement and what it rests on."""

    judgement: Judgement
    agreement: float = 0.0
    equal: float = 0.0
    told: Sequence[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = "".join(f"\n  {line}" for line in self.told)
        return f"{self.judgement}: agreement {self.agreement:+.3f} to clean, {self.equal:.1%} of rows equal{told}"


def verdict(one: Case, clean: Clean, folder: Path) -> Verdict:
    try:
        given = one.given(clean, folder)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RondoWarning)
            labels, told = _by_command(one, given, clean, folder) if one.by_command else _called(one, given, clean)
    except RondoError as error:
        is_named = "\n" not in str(error) and re.search(one.names, str(error), re.IGNORECASE)
        return Verdict("refused" if is_named else "silent", told=[f"error: {error}"])
    told = [line for line in [*told, *(str(warning.message) for warning in caught)] if line not in clean.told]
    rows = np.arange(clean.n) if given.rows is None else given.rows
    if len(labels) != len(rows):
        told.append(f"{len(labels)} rows of {len(rows)} were labelled")
    labels, rows = labels[: len(rows)], rows[: len(labels)]
    is_judged = rows >= 0
    labels, rows = labels[is_judged], rows[is_judged]
    expected = {"discover": clean.found, "label": clean.labelled, "stream": clean.streamed}[one.verb][rows]
    truth = clean.truth[rows]
    difference = agreement(truth, labels) - agreement(truth, expected)
    equal = float((labels == expected).mean())
    # Ids mean what they meant in the model; in a discovery they are free.
    is_right = equal >= LEAST_EQUAL or (one.verb == "discover" and difference >= -MOST_LOST)
    is_whole = len(labels) >= 0.9 * np.count_nonzero(is_judged)
    if np.mean(labels == OTHER) >= MOST_OTHER:
        told.append("does not fit")  # the labels themselves say that nothing is known
    is_noted = any(
        line == "does not fit" if line in get_args(Fit) else re.search(one.names, line, re.IGNORECASE) for line in told
    )
    judgement: Judgement = "right" if is_right and is_whole else "noted" if is_noted else "silent"
    return Verdict(judgement, difference, equal, told)


def _called(one: Case, given: Given, clean: Clean) -> tuple[Values, list[str]]:
    reading = rondo.Reading(rate=given.rate, **given.reading) if not isinstance(given.data, Recording) else None
    if one.verb == "stream":
        return _streamed(clean.model, given.data, reading)
    if one.verb == "discover":
        result = rondo.discover(given.data, window=WINDOW, settings=QUICK, reading=reading)
    else:
        result = rondo.label(clean.model, given.data, reading=reading)
    notes = [note for about in result.recordings for note in about.notes]
    fits = [fit.verdict for fit in result.fit.values()]
    by_id = sorted(result, key=lambda labelling: labelling.recording_id)
    return np.concatenate([labelling.units for labelling in by_id]), [*notes, *fits, *result.findings]


def _streamed(model: rondo.Rondo, data: Any, reading: rondo.Reading | None = None) -> tuple[Values, list[str]]:
    """Labelled as it comes, without learning from it."""
    if not isinstance(data, np.ndarray | Recording) and reading is not None:
        data = rondo.read(data, reading)
    parts = model.stream(data)
    told = [f"{event.kind} {event.evidence}" for part in parts for event in part.events]
    result = parts.result
    return result.units, [*told, *(note for about in result.recordings for note in about.notes), *result.findings]


def _by_command(one: Case, given: Given, clean: Clean, folder: Path) -> tuple[Values, list[str]]:
    out = folder / "run"
    options = ("--rate", given.rate) if given.rate is not None else ()
    if one.verb == "discover":
        settings = ("--window", WINDOW, "--set", "evidence.surrogates=0")
        done = call("discover", given.data, "--out", out, *settings, *options)
    else:
        clean.model.save(folder / "model")
        done = call("label", folder / "model", given.data, "--out", out, *options)
    if done.code == 2:
        lines = [line for line in done.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1 and "Traceback" not in done.err, done.err
        raise RondoError(lines[0].removeprefix("error: "))
    assert done.code == 0, done.err
    result = rondo.Result.load(out)
    fits = [fit.verdict for fit in result.fit.values()]
    return np.concatenate([labelling.units for labelling in result]), [*done.err.splitlines(), *fits]
