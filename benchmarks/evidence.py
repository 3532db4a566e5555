"""How far the evidence of recurrence can be trusted: false claims on noise, and power where it is known what recurs.

    python benchmarks/evidence.py noise [n_seeds] [n_frames] [--page docs/results/evidence.md]
    python benchmarks/evidence.py files [n_seeds]
    python benchmarks/evidence.py planted [n_seeds] [n_frames]
    python benchmarks/evidence.py plain [n_seeds]
    python benchmarks/evidence.py recordings --data DATA
    python benchmarks/evidence.py half [n_each] --data DATA
    python benchmarks/evidence.py motifs [n_seeds] [n_frames]
    python benchmarks/evidence.py phrases [n_seeds] [n_frames ...] [--page docs/results/motifs.md]
    python benchmarks/evidence.py case --folder FOLDER [--rate HZ] [--key NAME]

`passes` is the share of recordings with p <= 0.05, `claims` the share with a unit that recurs, clearly or faintly. A
unit is *true* if at least 70 % of its frames are of one annotated class that comes at least twice, and it has three
visits or more; annotations are for this only. Then come all units by verdict, and the shares of CPU time in a fit that
the test of the whole and the grading take. `noise` is one recording, `files` 20 short ones with a common vocabulary.
`recordings` reads sets of .npz files (`X`, `y`) with a meta.json (`rate_hz`); those in view when constants were chosen
stand apart. `half` follows recordings by their own surrogates: units of either half. `motifs` tests motifs of several
units: those found in planted streams, and every phrase that recurs in the same unit runs in random order. `phrases`
counts streams of noise whose labels show motifs. `case` reads a folder as `rondo discover FOLDER` does: units and shown
entries by verdict, files in which the commonest occur, and `order`, how far files agree on which of two entries comes
first, by mean position (0.5 is chance). Noise, planted streams and plain cases begin with seed 500: fresh ones.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before numpy and torch are loaded

import numpy as np
from numpy.typing import NDArray
from pages import Table, program, write_section
from sources import (
    CHOSE,
    NOISE,
    NOISES,
    PLAIN,
    PLANS,
    RATE,
    Case,
    half_noise,
    ids_of,
    noise_case,
    planted_case,
    public_case,
)

from rondo import Recording, Rondo, discover
from rondo.data.labels import OTHER, runs_of
from rondo.device import one_thread
from rondo.evidence.composition import composition_evidence
from rondo.evidence.tests import unit_evidence
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.evidence.visits import grades_of
from rondo.motifs.base import UnitRuns
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.mining import Sequences
from rondo.synthetic import plant

KINDS = ("noise", "files", "planted", "plain", "recordings", "half", "motifs", "phrases", "case")
SECTIONS = ("noise-2-min", "noise-8-min", *KINDS[1:-1], "compass_suturing", "engines")  # a case: name of its folder
N_SURROGATES, N_SEQUENCES = 99, 99
N_FILES, FIRST_SEED = 20, 500
VERDICTS = ("recurs clearly", "recurs faintly", "blurred", "occurs once", "not shown", "not tested")
COUNTED = "clearly / faintly / blurred / once / not shown / not tested"
N_SHOWN = 8  # entries of a case
PURE, FEWEST_VISITS, FEWEST_SEGMENTS = 0.7, 3, 2  # of a true unit


class Unit(NamedTuple):
    """The evidence for a unit, the commonest class of its frames and its share, and how often that class comes."""

    entry: EntryEvidence
    label: str
    purity: float
    n_segments: int

    @property
    def is_true(self) -> bool:
        return self.purity >= PURE and self.entry.n_visits >= FEWEST_VISITS and self.n_segments >= FEWEST_SEGMENTS


class Found(NamedTuple):
    """The evidence of one fit, its units, and the CPU seconds of the fit, of all evidence and of the grading in it."""

    evidence: Evidence
    units: list[Unit]
    fit_s: float
    evidence_s: float
    grading_s: float

    @property
    def true_units(self) -> list[Unit]:
        return [unit for unit in self.units if unit.is_true and unit.label != NOISE]


def found_in(case: Case, seed: int = 0) -> Found:
    """The evidence for the units of the default preset."""
    start = time.process_time()
    model = Rondo(window=case.window, seed=seed, settings={"evidence.surrogates": 0}).fit(case.recordings)
    fitted = time.process_time()
    windows = [model._windows_of(recording)[1] for recording in case.recordings]
    timelines = [model.unit_model_.timeline(own) for own in windows]
    encoder, read = model.unit_model_.encoder, time.process_time()
    with one_thread():
        rng = np.random.default_rng(seed)
        evidence, _ = unit_evidence(windows, timelines, encoder, N_SURROGATES, rng)
        tested = time.process_time()
        grades_of(windows, [own.labels for own in timelines], encoder)
    graded = time.process_time()
    labels = model.predict(case.recordings[0]).units if case.truth else np.zeros(0, np.int32)
    units = units_of(evidence, labels, case.truth)
    return Found(evidence, units, fitted - start, tested - read, graded - tested)


def units_of(evidence: Evidence, labels: NDArray[np.int32], truth: Sequence[NDArray[np.generic]] = ()) -> list[Unit]:
    """The units, each with its class in the annotation that it follows best."""
    best = {id: Unit(entry, "", 0.0, 0) for id, entry in evidence.units.items()}
    for track in truth:
        names, codes = np.unique(track, return_inverse=True)
        n_segments = np.bincount(runs_of(codes).ids, minlength=names.size)
        for id in np.unique(labels[labels != OTHER]).tolist():
            counts = np.bincount(codes[labels == id], minlength=names.size)
            common = int(counts.argmax())
            own = Unit(best[id].entry, str(names[common]), counts[common] / counts.sum(), int(n_segments[common]))
            best[id] = max(best[id], own, key=lambda unit: unit.purity)
    return list(best.values())


HEAD = (
    "stream",
    "passes",
    "claims",
    "true units",
    "clear or faint",
    "clear",
    f"units: {COUNTED}",
    "CPU: tests, grading",
)


def cells_of(results: Sequence[Found], judged: Sequence[Unit] | None = None) -> list[str]:
    """One row of the table, but for its name; `judged`: other units than the true ones."""
    units = [unit for found in results for unit in found.units]
    judged = [unit for found in results for unit in found.true_units] if judged is None else judged
    n_back, n_clear = sum(unit.entry.comes_back for unit in judged), of_verdict(judged, "recurs clearly")
    shares = [f"{n / len(judged):.0%}" if judged else "" for n in (n_back, n_clear)]
    spent = sum(found.fit_s + found.evidence_s for found in results)
    costs = (sum(found.evidence_s - found.grading_s for found in results), sum(found.grading_s for found in results))
    return [
        f"{np.mean([found.evidence.recurs for found in results]):.0%}",
        f"{np.mean([any(unit.entry.comes_back for unit in found.units) for found in results]):.0%}",
        str(len(judged)) if judged else "",
        *shares,
        " / ".join(str(of_verdict(units, verdict)) for verdict in VERDICTS),
        ", ".join(f"{cost / spent:.1%}" for cost in costs),
    ]


def of_verdict(units: Sequence[Unit], verdict: str) -> int:
    return sum(unit.entry.verdict == verdict for unit in units)


def tabled(groups: Iterable[tuple[str, Iterable[Case]]], *, passing_only: bool = False) -> Table:
    """A row for each group of cases, and one for all; `passing_only`: groups of which none passes share a row."""
    table, every, failing = Table(*HEAD), [], []
    for name, cases in groups:
        results = [found_in(case, seed) for seed, case in enumerate(cases)]
        every += results
        if passing_only and not any(found.evidence.recurs for found in results):
            failing.append(results)
        else:
            table.add(name, *cells_of(results))
    if failing:
        table.add(f"{len(failing)} other kinds", *cells_of([found for results in failing for found in results]))
    table.add("all", *cells_of(every))
    return table


def streams_table(kind: str, n_seeds: int, n_frames: int) -> Table:
    seeds = range(FIRST_SEED, FIRST_SEED + n_seeds)
    if kind == "planted":
        return tabled((name, (planted_case(name, n_frames, seed) for seed in seeds)) for name in PLANS)
    if kind == "plain":
        return tabled((name, (made(np.random.default_rng(seed)) for seed in seeds)) for name, made in PLAIN.items())
    n_files = N_FILES if kind == "files" else 1
    groups = ((name, (noise_case(name, n_frames, seed, n_files) for seed in seeds)) for name in NOISES)
    return tabled(groups, passing_only=True)


def recordings_table(data: Path) -> Table:
    """Each recording of some sets by itself: those that chose constants, then the others."""
    table = Table(*HEAD)
    for held_out, group in ((False, "chose constants"), (True, "chose nothing")):
        every: list[Found] = []
        for name in CHOSE:
            results = [found_in(public_case(data, name, id)) for id in ids_of(data, name, held_out=held_out)]
            if results:
                table.add(f"{name} ({len(results)})", *cells_of(results))
            every += results
        table.add(f"all that {group} ({len(every)})", *cells_of(every))
    return table


def half_table(data: Path, n_each: int) -> Table:
    """Recordings that are followed by noise: their own true units, and those of the noise."""
    table = Table(*HEAD[:3], "units judged", *HEAD[4:])
    for held_out, group in ((False, "chose constants"), (True, "chose nothing")):
        results = [found_in(case) for case in half_noise(data, held_out=held_out, n_each=n_each)]
        noisy = [unit for found in results for unit in found.units if unit.label == NOISE and unit.purity >= PURE]
        table.add(f"recordings that {group}", *cells_of(results))
        table.add("their noise", *cells_of(results, noisy))
    return table


def motif_claims(n_seeds: int, n_frames: int) -> Table:
    """How many motifs of several units are claimed, where order was planted and where there is none."""
    table = Table("seed", "runs", "motifs", "claimed", "without order: phrases", "claimed", "CPU-s")
    for seed in range(n_seeds):
        recording = plant(n_frames=n_frames, seed=seed).recording
        model = Rondo(seed=seed, settings={"evidence.surrogates": 0}).fit(recording)
        runs = UnitRuns.of([model.unit_model_.timeline(model._windows_of(recording)[1])])
        ids = np.array(model.unit_model_.ids)
        units = dict.fromkeys(ids.tolist(), EntryEvidence(0.05, 1.0, 2, "recurs clearly"))
        rng, start = np.random.default_rng(seed), time.process_time()
        book = model.motif_model_.phrase_book()
        own = composition_evidence(runs, book, units, 0.05, N_SEQUENCES, rng)
        seconds = time.process_time() - start
        composed = [entry.comes_back for entry in own.values() if np.isnan(entry.closeness)]
        plain = Sequences(np.searchsorted(ids, runs.units)[None], runs.first, ids.size).shuffled(1, rng).units[0]
        phrases = Counter(tuple(ids[plain[i : i + n]].tolist()) for n in (2, 3, 4) for i in range(plain.size - n + 1))
        recurring = {i: Counter({phrase: n}) for i, (phrase, n) in enumerate(phrases.items()) if n > 1}
        chance = composition_evidence(runs._replace(units=ids[plain]), recurring, units, 0.05, N_SEQUENCES, rng)
        false = sum(entry.comes_back for entry in chance.values())
        table.add(seed, runs.units.size, len(composed), sum(composed), len(chance), false, f"{seconds:.2f}")
    return table


def phrase_claims(n_seeds: int, lengths: Sequence[int]) -> Table:
    """In how many streams of noise labels show phrases or contexts, and in how many phrases are found; all false."""
    table = Table("streams", "length", "phrases shown", "contexts shown", "phrases found")
    for n_frames in lengths:
        shown, found = Counter[str](), 0
        for noise in NOISES.values():
            for seed in range(n_seeds):
                recording = Recording(noise(n_frames, np.random.default_rng(seed)).astype(np.float32), rate=RATE)
                motifs = Rondo(seed=seed).fit(recording).motif_model_
                assert isinstance(motifs, ComposedMotifs)
                shown[motifs.shown] += 1
                found += motifs.phrases is not None
        kinds = f"{n_seeds * len(NOISES)} of {len(NOISES)} kinds of noise"
        table.add(kinds, minutes(n_frames), shown["phrase"], shown["context"], found)
    return table


def minutes(n_frames: int) -> str:
    """
    >>> minutes(6000)
    '2 min'
    """
    return f"{n_frames / RATE / 60:g} min"


def case_table(folders: Sequence[Path], rate: float | None, key: str | None) -> Table:
    """Folders in which people see at once what recurs."""
    table = Table("case", "files", f"units: {COUNTED}", "labels show", COUNTED, "files with the commonest", "order")
    for folder in folders:
        result = discover(folder, rate=rate, key=key)
        summary, level = result.summary, "unit" if result.summary.motifs_are_units else "motif"
        entries = summary.units if level == "unit" else summary.shown_motifs
        common = [entry.id for entry in sorted(entries, key=lambda entry: -entry.share)[:N_SHOWN]]
        tracks = [np.asarray(own.units if level == "unit" else own.motifs) for own in result]
        n_files = [sum(bool((track == id).any()) for track in tracks) for id in common]
        verdicts = (Counter(entry.evidence.verdict for entry in own) for own in (summary.units, entries))
        of_units, of_entries = (" / ".join(str(own[name]) for name in VERDICTS) for own in verdicts)
        shown = level if level == "unit" else f"{entries[0].kind}s"
        found = f"{min(n_files)} to {max(n_files)}", f"{order_of(tracks, common):.2f}"
        table.add(folder.name, len(tracks), of_units, shown, of_entries, *found)
    return table


def order_of(tracks: Sequence[NDArray[np.int32]], ids: Sequence[int]) -> float:
    """How far recordings agree on which of two entries comes first, by their mean position."""
    positions = [{id: np.flatnonzero(own == id).mean() for id in ids if (own == id).any()} for own in tracks]
    n_agreeing, n_compared = 0, 0
    for one, other in combinations(ids, 2):
        first = [own[one] < own[other] for own in positions if one in own and other in own]
        if len(first) > 1:
            n_agreeing += max(sum(first), len(first) - sum(first))
            n_compared += len(first)
    return n_agreeing / n_compared if n_compared else float("nan")


def table_of(options: argparse.Namespace) -> None:
    section = options.what
    lengths = options.n_frames or [{"files": 400, "motifs": 30_000}.get(section, 6_000)]
    if section == "recordings":
        table = recordings_table(options.data)
    elif section == "half":
        table = half_table(options.data, options.n_seeds)
    elif section == "motifs":
        table = motif_claims(options.n_seeds, lengths[0])
    elif section == "phrases":
        table = phrase_claims(options.n_seeds, lengths)
    elif section == "case":
        table, section = case_table(options.folder, options.rate, options.key), options.folder[0].name.lower()
    else:
        table = streams_table(section, options.n_seeds, lengths[0])
        section += f"-{minutes(lengths[0]).replace(' ', '-')}" if section == "noise" else ""
    write_section(options, section, table)


ARGUMENTS = (
    ("n_seeds", {"type": int, "nargs": "?", "default": 10}),
    ("n_frames", {"type": int, "nargs": "*"}),
    ("--data", {"type": Path, "help": "the folder of data sets, for recordings and half"}),
    ("--folder", {"type": Path, "nargs": "+", "help": "folders, for case"}),
    ("--rate", {"type": float, "help": "for case"}),
    ("--key", {"help": "for case"}),
)
parsed, main = program(__file__, __doc__, dict.fromkeys(KINDS, table_of), ARGUMENTS)

if __name__ == "__main__":
    main()
