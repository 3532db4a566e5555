"""Rows -> what a table says: means over recordings with equal weight, deviations over seeds, ranks, comparisons.

SegRatio is pooled over recordings: segments predicted over segments true. As in the paper, a table is about the
recordings for which all of its methods have an outcome. A seed that did not get to all of a method's recordings is left
out. Rows that were made with other settings than the experiment has now are left out. Nothing is left out without a
note.

Methods are compared by Wilcoxon's signed ranks over recordings, Holm over the methods compared. A recording is one
observation, its score the mean over seeds and, in transfer, over the sources that it was read from. With fewer than six
recordings that differ no outcome could reach 0.05 on two sides (2 · 2⁻⁵ = 0.0625), so that none is computed.

Published numbers are those of the tables of the RONDO paper: percent, SegRatio a ratio.

>>> published("main", "MoCap", "TICC")["mof"]
86.61
>>> published("main", "MoCap", "no such method")
{}
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

import numpy as np

from rondo.errors import InputError, SettingError
from rondo.wording import counted
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.experiments.devices import lines_of, short
from rondo_bench.experiments.inputs import config_of, fingerprint
from rondo_bench.experiments.rows import Row
from rondo_bench.experiments.spec import Experiment, SetSpec
from rondo_bench.experiments.tasks import refuse_unknown


@dataclass(frozen=True)
class Column:
    name: str
    title: str
    better: Literal["high", "low", "near 1", "neither"] = "high"
    digits: int = 2

    def badness(self, value: float) -> float:
        """Less is better, of values as they are shown; |log| of a ratio, as in the paper."""
        shown = round(value, self.digits)
        if self.better == "near 1":
            return abs(math.log(shown)) if shown > 0 else math.inf
        return shown if self.better == "low" else -shown


SEG_RATIO = Column("seg_ratio", "SegRatio", "near 1")
_LOOSER_F1 = (Column("f1_10", "F1@10"), Column("f1_25", "F1@25"))  # complete results, in no table of the paper
_PAPER = (Column("mof", "MoF"), Column("recall", "Recall"), Column("f1_50", "F1@50"), Column("edit", "Edit"), SEG_RATIO)
RECURRENCE = (Column("ari", "ARI"), Column("ami", "AMI"), Column("one_to_one", "one-to-one"))
_CLUSTERS = Column("n_clusters", "clusters", "neither", 1)
_SEGMENTS = (Column("covering", "covering"), Column("change_point_f1", "F1 of changes"))
_POOLED = tuple(Column(f"pooled_{column.name}", f"pooled {column.title}") for column in RECURRENCE)
_STAGES = tuple(Column(f"h_{percent}", f"H@{percent}") for percent in (40, 60, 80, 100))
_FORGETTING = Column("forgetting", "M_f", "low")
_INSPECTED = (
    Column("persistence", "units that persist, %"),
    Column("unit_purity", "purity of units"),
    Column("motif_purity", "of motifs"),
    Column("purity_gain", "gain"),
    Column("n_units", "units", "neither", 1),
    Column("occurrences_per_unit", "occurrences of a unit", "neither", 1),
)


def columns_of(experiment: Experiment, *, all_scores: bool = False) -> tuple[Column, ...]:
    """What the table of an experiment shows, the paper's columns first; `all_scores`: F1@10 and F1@25 too."""
    own = paper_columns(experiment)
    paper = (*own[:2], *(_LOOSER_F1 if all_scores else ()), *own[2:])
    match experiment.protocol:
        case "states":
            pooled = _POOLED if any(method.joint for method in experiment.methods.values()) else ()
            return (*RECURRENCE, *pooled, *_SEGMENTS, _CLUSTERS)
        case "qualitative":
            return (*_INSPECTED, *paper, *RECURRENCE)
        case _:
            return (*paper, *RECURRENCE, _CLUSTERS)


def paper_columns(experiment: Experiment) -> tuple[Column, ...]:
    """What the paper's table of this experiment shows."""
    return (*_PAPER, *_STAGES, _FORGETTING) if experiment.protocol == "continual" else _PAPER


FEWEST = 6
_DIGITS = 9  # of a score: means of equal numbers, over more seeds or fewer, differ by less
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]  # score -> method -> recording -> value


@dataclass(frozen=True)
class Comparison:
    """A method against the reference in one score; p is None where there are too few recordings that differ."""

    score: str
    method: str
    reference: str
    n_recordings: int
    difference: float  # mean, reference minus method
    n_better: int  # recordings on which the reference has more
    p: float | None
    p_holm: float | None = None


def compare(scores: Scores, reference: str) -> tuple[Comparison, ...]:
    """The reference against every other method, in every score."""
    found: list[Comparison] = []
    for score, methods in scores.items():
        compared = []
        for method in [name for name in methods if reference in methods and name != reference]:
            own, others = methods[reference], methods[method]
            exact = np.array([own[name] - others[name] for name in own if name in others], dtype=np.float64)
            differences = np.round(exact, _DIGITS) + 0.0  # and no negative zero
            mean, n_better = float(differences.mean()) if exact.size else 0.0, int((differences > 0).sum())
            p = signed_rank_p(differences)
            compared.append(Comparison(score, method, reference, exact.size, mean, n_better, p))
        adjusted = holm([one.p for one in compared])
        found += [replace(one, p_holm=p) for one, p in zip(compared, adjusted, strict=True)]
    return tuple(found)


def signed_rank_p(differences: Sequence[float] | np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float | None:
    """Two-sided p of Wilcoxon's signed ranks, zeros left out; None for fewer than six that are not zero."""
    given = np.asarray(differences, dtype=np.float64)
    differing = given[given != 0]
    if differing.size < FEWEST:
        return None
    from scipy.stats import wilcoxon  # brings much; only tables need it

    return float(wilcoxon(differing, method="auto").pvalue)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p: the i-th smallest of m times (m - i + 1), never less than the one before."""
    known = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    least = 0.0
    for rank, (p, i) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[i] = least
    return adjusted


_RONDO = "rondo-ts"  # among the versions of a row
Unit = tuple[str, str]  # what averages run over: source participant (transfer), recording
Runs = Mapping[int, Mapping[Unit, Row]]  # the rows of one method on one set, by seed


@cache
def _tables() -> Any:
    numbers = resources.files("rondo_bench.experiments").joinpath("paper_numbers.json")
    return json.loads(numbers.read_text(encoding="utf-8"))


def published_order(table: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The data sets of one published table, and its rows, as they stand there."""
    sets = _tables().get(table, {})
    return tuple(sets), tuple(dict.fromkeys(row for rows in sets.values() for row in rows))


def published(table: str, data_set: str, row: str) -> Mapping[str, float]:
    """One row of one published table by the paper's own names; `_std` is a deviation; empty where there is none."""
    own: Mapping[str, float] = _tables().get(table, {}).get(data_set, {}).get(row, {})
    return own


class Cell(NamedTuple):
    """Mean and deviation over seeds; None where there is nothing to show."""

    mean: float | None
    std: float | None = None


@dataclass(frozen=True)
class Line:
    method: str
    title: str
    n_seeds: int
    cells: Mapping[str, Cell]
    clock: Mapping[str, float]  # the control at as many segments as the method has
    seconds: float | None  # of one seed on one recording; None: it was not run
    peak_mb: float | None
    published: Mapping[str, float]  # under the first method of a set that has this row; else empty
    published_as: str = ""  # the name of that row
    is_control: bool = False
    ranks: Mapping[str, int] = field(default_factory=dict)  # 1 best, 2 second


@dataclass(frozen=True)
class Section:
    """One data set: the rows that count, and what they say."""

    data_set: str
    title: str
    n_in_set: int  # recordings that the whole set has, where that is known; else 0
    runs: Mapping[str, Runs]  # by line, with the common units only
    units: tuple[Unit, ...]
    notes: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    @property
    def n_recordings(self) -> int:
        return len(self.units)


@dataclass(frozen=True)
class Summary:
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
    """The table of an experiment from its rows; every comparison is with `against`."""
    own = [row for row in rows if row.key.experiment == experiment.name]
    if not own:
        raise InputError(f"there are no rows of '{experiment.name}'; run `rondo bench run {experiment.name}` first")
    refuse_unknown(methods, tuple(experiment.methods), f"method of '{experiment.name}'")
    known = {name for row in own for name in (row.key.method, row.key.data_set)}
    _refuse_without_rows([name for name in (*methods, *data_sets) if name not in known], own)
    shown = [name for name in methods or experiment.methods if any(row.key.method == name for row in own)]
    there = {row.key.data_set: None for row in own}
    wanted = [name for name in {**dict.fromkeys(experiment.data_sets), **there} if name in (data_sets or there)]
    if not shown:
        _refuse_without_rows(list(experiment.methods), own)
    reference = against or ("rondo" if "rondo" in shown else shown[0])
    if reference not in shown:
        raise SettingError(f"--against must be one of {', '.join(shown)}, got '{reference}'")
    columns = columns_of(experiment, all_scores=all_scores)
    sections = []
    for name in wanted:
        section = _section_of(own, name, shown, experiment, sets)
        of_set = sets.get(name, SetSpec())
        lines = [_line(line, runs, experiment, of_set, columns) for line, runs in section.runs.items()]
        known_lines = [line for line in lines if any(cell.mean is not None for cell in line.cells.values())]
        comparisons = compare(_by_recording([section]), reference)
        shown_lines = tuple(_published_once(_ranked(known_lines, columns)))
        sections.append(replace(section, lines=shown_lines, comparisons=comparisons))
    pooled = compare(_by_recording(sections), reference) if len(sections) > 1 else ()
    return Summary(experiment, columns, tuple(sections), pooled)


def _refuse_without_rows(names: Sequence[str], rows: Sequence[Row]) -> None:
    if names:
        there = sorted({(row.key.data_set, row.key.method) for row in rows})
        listed = ", ".join(f"{method} on {data_set}" for data_set, method in there[:12])
        raise SettingError(f"there are no rows of {', '.join(names)}; there are {listed}")


def _section_of(
    rows: Sequence[Row], data_set: str, methods: Sequence[str], experiment: Experiment, sets: Mapping[str, SetSpec]
) -> Section:
    """Which rows of a data set count, and why others do not."""
    notes: list[str] = []
    found: dict[str, Runs] = {}
    for method in methods:
        own = [row for row in rows if (row.key.data_set, row.key.method) == (data_set, method)]
        if not own:
            notes.append(f"{method} has not been run")
            continue
        now = settings_now(experiment, method, data_set, sets.get(data_set, SetSpec()))
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
        of_devices, said = lines_of(method, [row for row in current if row.is_ok])
        notes += said
        for line, made_there in of_devices.items():
            found[line], left_out = _whole_seeds(made_there)
            if left_out:
                notes.append(f"{line}: not complete and left out: seed {', '.join(map(str, left_out))}")
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
    in_set = next((known.n_recordings for known in DATA_SETS if known.name == data_set), 0)
    about = (data_set, title_of(data_set, sets), in_set)
    return Section(*about, kept if everywhere else {}, tuple(everywhere), tuple(notes))


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


def title_of(data_set: str, sets: Mapping[str, SetSpec]) -> str:
    """The name of a set for people: as the paper has it, else as the catalogue does, else its own."""
    published_as = sets[data_set].paper if data_set in sets else ""
    return published_as or next((known.title for known in DATA_SETS if known.name == data_set), data_set)


def _line(name: str, runs: Runs, experiment: Experiment, of_set: SetSpec, columns: Sequence[Column]) -> Line:
    """The line of that name: that of a method, or of a method on one of several devices."""
    everything = [row for own in runs.values() for row in own.values()]
    method = everything[0].key.method
    spec, device = experiment.methods[method], everything[0].device
    title = spec.title if name == method else f"{spec.title} ({short(device)})"
    scores = dict.fromkeys([column.name for column in columns] + [score for row in everything for score in row.scores])
    cells = {score: _cell([_of_seed(list(own.values()), score) for own in runs.values()]) for score in scores}
    clock = {column.name: float(np.mean([row.clock[column.name] for row in everything])) for column in RECURRENCE}
    seconds = None if spec.stored else float(np.mean([row.seconds for row in everything]))
    peaks = [row.peak_mb for row in everything if row.peak_mb is not None and not spec.stored]
    paper = published(experiment.paper_table, of_set.paper, spec.paper) if spec.paper else {}
    took = (seconds, max(peaks, default=None))
    return Line(name, title, len(runs), cells, clock, *took, paper, spec.paper, is_control=bool(spec.clock))


def _published_once(lines: Sequence[Line]) -> list[Line]:
    """Lines of one set, a published row at the first only of those that have it."""
    first = {line.published_as: line.method for line in reversed(lines) if line.published}
    return [line if first.get(line.published_as) == line.method else replace(line, published={}) for line in lines]


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


def _by_recording(parts: Sequence[Section]) -> dict[str, dict[str, dict[str, float]]]:
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
