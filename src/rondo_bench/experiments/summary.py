"""Rows -> what a table says: means over recordings with equal weight, deviations over seeds, ranks, comparisons.

SegRatio is pooled over recordings: segments predicted over segments true. As in the paper, a table is about the
recordings for which all of its methods have an outcome. A seed that did not get to all of a method's recordings is left
out. Rows that were made with other settings than the experiment has now are left out. Nothing is left out without a
note.

Published numbers are those of the tables of the RONDO paper: percent, SegRatio a ratio.

>>> published("main", "MoCap", "TICC")["mof"]
86.61
>>> published("main", "MoCap", "no such method")
{}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from rondo.errors import InputError, SettingError
from rondo.wording import counted
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.experiments.columns import RECURRENCE, Column, columns_of
from rondo_bench.experiments.configured import config_of, fingerprint
from rondo_bench.experiments.plan import refuse_unknown
from rondo_bench.experiments.rows import Row
from rondo_bench.experiments.significance import Comparison, compare
from rondo_bench.experiments.spec import Experiment, SetSpec

_FILE = "paper_numbers.json"
_RONDO = "rondo-ts"  # among the versions of a row
Unit = tuple[str, str]  # what averages run over: source participant (transfer), recording
Runs = Mapping[int, Mapping[Unit, Row]]  # the rows of one method on one set, by seed


@cache
def _tables() -> Mapping[str, Any]:
    read: Mapping[str, Any] = json.loads(
        resources.files("rondo_bench.experiments").joinpath(_FILE).read_text(encoding="utf-8")
    )
    return read


def published(table: str, data_set: str, row: str) -> Mapping[str, float]:
    """One row of one published table by the paper's own names; empty where there is none.

    `mof recall f1_50 edit seg_ratio`, each with `_std` where a deviation is given; in the table `continual` also
    `h_40 … h_100` and `forgetting`.
    """
    own: Mapping[str, float] = _tables().get(table, {}).get(data_set, {}).get(row, {})
    return own


class Cell(NamedTuple):
    """Mean and deviation over seeds; None where there is nothing to show."""

    mean: float | None
    std: float | None = None


@dataclass(frozen=True)
class Line:
    """One method on one data set."""

    method: str
    title: str
    n_seeds: int
    cells: Mapping[str, Cell]
    clock: Mapping[str, float]  # the control at as many segments as the method has
    seconds: float | None  # of one seed on one recording; None: it was not run
    peak_mb: float | None
    published: Mapping[str, float]
    is_control: bool = False
    ranks: Mapping[str, int] = field(default_factory=dict)  # 1 best, 2 second


@dataclass(frozen=True)
class Section:
    """One data set."""

    data_set: str
    title: str
    n_recordings: int
    n_in_set: int  # recordings that the whole set has, where that is known; else 0
    lines: tuple[Line, ...]
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """A whole table."""

    experiment: Experiment
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    pooled: tuple[Comparison, ...]  # over the recordings of all sets


def summarise(
    rows: Sequence[Row],
    experiment: Experiment,
    sets: Mapping[str, SetSpec],
    data_sets: Sequence[str] = (),
    methods: Sequence[str] = (),
    against: str | None = None,
    *,
    all_scores: bool = False,
) -> Summary:
    """The table of an experiment from its rows, the reference of all comparisons being `against`.

    `all_scores`: with the columns that tables usually leave out.
    """
    own = [row for row in rows if row.key.experiment == experiment.name]
    if not own:
        raise InputError(f"there are no rows of '{experiment.name}'; run `rondo bench run {experiment.name}` first")
    refuse_unknown(methods, tuple(experiment.methods), f"method of '{experiment.name}'")
    printed = [name for name in methods or experiment.methods if experiment.methods[name].published]
    run = [name for name in methods if name not in printed]
    for asked, there in ((run, {row.key.method for row in own}), (data_sets, {row.key.data_set for row in own})):
        _refuse_without_rows([name for name in asked if name not in there], own)
    shown = [name for name in methods or experiment.methods if any(row.key.method == name for row in own)]
    wanted = [name for name in experiment.data_sets if any(row.key.data_set == name for row in own)]
    wanted += [name for name in dict.fromkeys(row.key.data_set for row in own) if name not in wanted]
    wanted = [name for name in wanted if not data_sets or name in data_sets]
    if not shown:
        _refuse_without_rows(list(experiment.methods), own)
    reference = against or ("rondo" if "rondo" in shown else shown[0])
    if reference not in shown:
        raise SettingError(f"--against must be one of {', '.join(shown)}, got '{reference}'")
    columns = columns_of(experiment, all_scores=all_scores)
    parts = [_part(own, name, shown, experiment, sets.get(name, SetSpec())) for name in wanted]
    sections = [_section(part, experiment, sets, columns, reference, printed) for part in parts]
    pooled = compare(_by_recording(parts), reference) if len(parts) > 1 else ()
    return Summary(experiment, columns, tuple(sections), pooled)


def _refuse_without_rows(names: Sequence[str], rows: Sequence[Row]) -> None:
    if names:
        there = sorted({(row.key.data_set, row.key.method) for row in rows})
        listed = ", ".join(f"{method} on {data_set}" for data_set, method in there[:12])
        raise SettingError(f"there are no rows of {', '.join(names)}; there are {listed}")


# ---------------------------------------------------------------- which rows count


@dataclass(frozen=True)
class _Part:
    """The rows of one data set that count."""

    data_set: str
    runs: Mapping[str, Runs]  # by method, with the common units only
    units: tuple[Unit, ...]
    notes: tuple[str, ...]


def _part(rows: Sequence[Row], data_set: str, methods: Sequence[str], experiment: Experiment, of_set: SetSpec) -> _Part:
    notes: list[str] = []
    found: dict[str, Runs] = {}
    for method in methods:
        own = [row for row in rows if (row.key.data_set, row.key.method) == (data_set, method)]
        if not own:
            notes.append(f"{method} has not been run")
            continue
        now = settings_now(experiment, method, data_set, of_set)
        current = current_rows(own, now)
        if current[0].key.fingerprint.partition("-")[0] != now:
            notes.append(f"{method} was run with other settings than it has now; run it again")
        if len(current) < len(own):
            notes.append(f"{counted(len(own) - len(current), 'row')} of {method} made with other settings left out")
        versions = sorted({row.versions[_RONDO] for row in current if row.is_ok and _RONDO in row.versions})
        if len(versions) > 1:
            made = " and ".join(versions)
            notes.append(f"rows of {method} were made with Rondo {made}; give another --out to run all of them again")
        failed = [row for row in current if not row.is_ok]
        if failed:
            notes.append(f"{method} failed in {counted(len(failed), 'row')} ({failed[0].error})")
        runs, left_out = _whole_seeds([row for row in current if row.is_ok])
        if left_out:
            notes.append(f"{method}: not complete and left out: seed {', '.join(map(str, left_out))}")
        if runs:
            found[method] = runs
    covered = {method: set.intersection(*(set(own) for own in runs.values())) for method, runs in found.items()}
    everywhere = sorted(set.intersection(*covered.values())) if covered else []
    most = max(map(len, covered.values()), default=0)
    if len(everywhere) < most:
        lacking = [f"{method} has {len(own)}" for method, own in covered.items() if len(own) < most]
        notes.append(f"over the {len(everywhere)} of {most} recordings that all methods have ({', '.join(lacking)})")
    kept = {
        method: {seed: {unit: own[unit] for unit in everywhere} for seed, own in runs.items()}
        for method, runs in found.items()
    }
    return _Part(data_set, kept if everywhere else {}, tuple(everywhere), tuple(notes))


def settings_now(experiment: Experiment, method: str, data_set: str, of_set: SetSpec) -> str:
    """The fingerprint of the settings that a method has on a data set as the experiment is now."""
    # Where weights lie is no part of the fingerprint, so that any name of a folder will do.
    config, _ = config_of(experiment.methods[method], data_set, of_set, experiment.protocol, mantis="weights")
    return fingerprint(config, experiment.protocol)


def current_rows(rows: Sequence[Row], now: str) -> list[Row]:
    """The rows of one method on one set that count: those with the settings of `now`; if none has them, of the last.

    Of a method that joins recordings, those that were joined with the most others, and the last of these. In transfer
    every source is learned from by itself: there the last row of each pair counts.
    """
    made_with = [row.key.fingerprint.partition("-")[0] for row in rows]
    settings = now if now in made_with else made_with[-1]
    alike = [row for row, own in zip(rows, made_with, strict=True) if own == settings]
    if alike[-1].key.source:
        return list({(row.key.seed, row.key.source, row.key.recording): row for row in alike}.values())
    joined: dict[str, list[Row]] = {}
    for row in alike:
        joined.setdefault(row.key.fingerprint, []).append(row)
    return max(reversed(joined.values()), key=lambda own: len({row.key.recording for row in own if row.is_ok}))


def _whole_seeds(rows: Iterable[Row]) -> tuple[dict[int, dict[Unit, Row]], list[int]]:
    """Rows by seed; where some seeds got to every recording, only those, and which ones were left out."""
    runs: dict[int, dict[Unit, Row]] = {}
    for row in rows:
        runs.setdefault(row.key.seed, {})[row.key.source, row.key.recording] = row
    every = set().union(*runs.values()) if runs else set()
    whole = {seed: own for seed, own in runs.items() if set(own) == every}
    return (whole, sorted(set(runs) - set(whole))) if whole else (runs, [])


# ---------------------------------------------------------------- what they say


def title_of(data_set: str, sets: Mapping[str, SetSpec]) -> str:
    """The name of a set for people: as the paper has it, else as the catalogue does, else its own."""
    published_as = sets[data_set].paper if data_set in sets else ""
    return published_as or next((known.title for known in DATA_SETS if known.name == data_set), data_set)


def _section(
    part: _Part,
    experiment: Experiment,
    sets: Mapping[str, SetSpec],
    columns: Sequence[Column],
    reference: str,
    printed: Sequence[str],
) -> Section:
    of_set = sets.get(part.data_set, SetSpec())
    lines = [_line(method, runs, experiment, of_set, columns) for method, runs in part.runs.items()]
    lines += [_printed_line(name, experiment, part.data_set, columns) for name in printed if part.runs]
    lines = [line for line in lines if any(cell.mean is not None for cell in line.cells.values())]
    ranked = _ranked(lines, columns)
    comparisons = compare(_by_recording([part]), reference)
    title = title_of(part.data_set, sets)
    in_set = next((known.n_recordings for known in DATA_SETS if known.name == part.data_set), 0)
    return Section(part.data_set, title, len(part.units), in_set, tuple(ranked), comparisons, part.notes)


def _line(method: str, runs: Runs, experiment: Experiment, of_set: SetSpec, columns: Sequence[Column]) -> Line:
    spec = experiment.methods.get(method)
    everything = [row for own in runs.values() for row in own.values()]
    names = dict.fromkeys([column.name for column in columns] + [name for row in everything for name in row.scores])
    cells = {name: _cell([_of_seed(list(own.values()), name) for own in runs.values()]) for name in names}
    clock = {column.name: float(np.mean([row.clock[column.name] for row in everything])) for column in RECURRENCE}
    return Line(
        method,
        spec.title if spec else method,
        len(runs),
        cells,
        clock,
        None if spec and spec.stored else float(np.mean([row.seconds for row in everything])),
        max(
            (row.peak_mb for row in everything if row.peak_mb is not None and not (spec and spec.stored)), default=None
        ),
        published(experiment.paper_table, of_set.paper, spec.paper) if spec and spec.paper else {},
        is_control=bool(spec and spec.clock),
    )


def _printed_line(method: str, experiment: Experiment, data_set: str, columns: Sequence[Column]) -> Line:
    """The scores of a method as they are published: without seeds, clock and time."""
    spec = experiment.methods[method]
    scores = spec.published.get(data_set, {})
    cells = {column.name: Cell(scores.get(column.name)) for column in columns}
    return Line(method, spec.title, 0, cells, {}, None, None, {})


def _of_seed(rows: Sequence[Row], name: str) -> float | None:
    """One score of one seed: the mean over recordings; SegRatio is that of all segments."""
    if name == "seg_ratio":
        return sum(row.counts["n_segments"] for row in rows) / sum(row.counts["n_true_segments"] for row in rows)
    values = [value for row in rows if (value := row.scores.get(name)) is not None]
    return float(np.mean(values)) if values else None


def _cell(of_seeds: Sequence[float | None]) -> Cell:
    known = [value for value in of_seeds if value is not None]
    if not known:
        return Cell(None)
    return Cell(float(np.mean(known)), float(np.std(known, ddof=1)) if len(known) > 1 else None)


def _ranked(lines: Sequence[Line], columns: Sequence[Column]) -> list[Line]:
    """Best and second of each column among methods that look at the data; equal values share a rank."""
    ranks: dict[str, dict[str, int]] = {line.method: {} for line in lines}
    for column in columns:
        if column.better == "neither":
            continue
        badness = {
            line.method: column.badness(mean)
            for line in lines
            if not line.is_control and (mean := line.cells[column.name].mean) is not None
        }
        for rank, value in enumerate(sorted(set(badness.values()))[:2], start=1):
            for method in (method for method, own in badness.items() if own == value and len(badness) > 1):
                ranks[method][column.name] = rank
    return [replace(line, ranks=ranks[line.method]) for line in lines]


def _by_recording(parts: Sequence[_Part]) -> dict[str, dict[str, dict[str, float]]]:
    """Score -> method -> recording -> mean over seeds and, in transfer, over sources, for methods that all parts have.

    Readings of one target from several sources are not independent, and count as one observation.
    """
    methods = [name for name in parts[0].runs if all(name in part.runs for part in parts)]
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for column in (*RECURRENCE, Column("mof", "MoF")):
        for method in methods:
            own = scores.setdefault(column.name, {}).setdefault(method, {})
            for part in parts:
                values: dict[str, list[float]] = {}
                for source, recording in part.units:
                    for runs in part.runs[method].values():
                        value = runs[source, recording].scores[column.name]
                        values.setdefault(f"{part.data_set}/{recording}", []).extend([] if value is None else [value])
                own |= {recording: float(np.mean(given)) for recording, given in values.items()}
    return scores
