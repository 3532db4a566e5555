"""How far the evidence of recurrence can be trusted: false claims on noise, and power where recurrence is plain.

    python benchmarks/evidence.py noise [n_seeds] [n_frames] [--page docs/results/evidence.md]
    python benchmarks/evidence.py files [n_seeds]
    python benchmarks/evidence.py planted [n_seeds] [n_frames]
    python benchmarks/evidence.py plain [n_seeds]
    python benchmarks/evidence.py recordings --data DATA
    python benchmarks/evidence.py motifs [n_seeds] [n_frames]
    python benchmarks/evidence.py phrases [n_seeds] [n_frames ...] [--page docs/results/motifs.md]
    python benchmarks/evidence.py case --folder FOLDER [--rate HZ] [--key NAME]

`whole` is the share of streams with p <= 0.05, `streams` the share with at least one unit that recurs; then the number
of units with each verdict, the kind of evidence of those that recur, and the evidence's share of CPU time. `noise` is
one recording, `files` 20 short ones with a common vocabulary. `plain`: a fridge, engines that run to failure, and a
wrist gesture among rest, 240 times. `recordings` reads sets of .npz files (`X`) with a meta.json (`rate_hz`), never
their annotations. `motifs` tests motifs of several units: those found in planted streams, and every phrase that recurs
in the same unit runs in random order. `phrases` counts streams of noise whose labels show motifs. `case` reads a folder
as `rondo discover FOLDER` does: units and shown entries by verdict, files in which the commonest occur, and `order`,
how far files agree on which of two entries comes first, by mean position (0.5 is chance).
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before numpy and torch are loaded

import numpy as np
from guard import Fit, read, recording_ids
from numpy.typing import NDArray
from pages import Table, program, write_section
from scipy.signal import butter, lfilter, sosfilt

from rondo import Recording, Rondo, discover
from rondo.device import one_thread
from rondo.evidence.composition import composition_evidence
from rondo.evidence.tests import unit_evidence
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.motifs.base import UnitRuns
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.mining import Sequences
from rondo.synthetic import StreamPlan, plant

KINDS = ("noise", "files", "planted", "plain", "recordings", "motifs", "phrases", "case")
SECTIONS = ("noise-2-min", "noise-8-min", *KINDS[1:-1], "compass_suturing", "engines")  # a case: name of its folder
SETS = ("MoCap", "HuGaDB", "PTE", "COMPASS_Suturing", "USC-HAD")
N_SURROGATES, N_SEQUENCES, N_CHANNELS, RATE = 7, 19, 6, 50.0
N_FILES = 20
VERDICTS, N_SHOWN = ("recurs clearly", "not shown", "occurs once"), 8  # entries of a case
WARM_UP = 3000  # frames that a filter needs to forget that it began at zero

Floats = NDArray[np.float64]
Noise = Callable[[int, np.random.Generator], Floats]


def ar1(n_frames: int, rng: np.random.Generator) -> Floats:
    memories = np.exp(rng.uniform(*np.log([5, 100]), N_CHANNELS))
    return _filtered([([1.0], [1.0, -np.exp(-1 / m)]) for m in memories], n_frames, rng.standard_normal)


def oscillation(n_frames: int, rng: np.random.Generator) -> Floats:
    periods, memories = rng.uniform(15, 80, N_CHANNELS), rng.uniform(50, 300, N_CHANNELS)
    kept = np.exp(-1 / memories)
    poles = zip(periods, kept, strict=True)
    filters = [([1.0], [1.0, -2 * k * np.cos(2 * np.pi / t), k * k]) for t, k in poles]
    return _filtered(filters, n_frames, rng.standard_normal)


def pink(n_frames: int, rng: np.random.Generator) -> Floats:
    frequency = np.fft.rfftfreq(2 * n_frames)
    frequency[0] = frequency[1]
    spectrum = np.fft.rfft(rng.standard_normal((2 * n_frames, N_CHANNELS)), axis=0) / np.sqrt(frequency)[:, None]
    return np.fft.irfft(spectrum, axis=0)[:n_frames]


def walk(n_frames: int, rng: np.random.Generator) -> Floats:
    steps = rng.standard_normal((n_frames + WARM_UP, N_CHANNELS))
    smooth = sosfilt(butter(2, 0.05, output="sos"), np.cumsum(steps, axis=0), axis=0)[WARM_UP:]
    return smooth / smooth.std(axis=0) + 0.05 * rng.standard_normal(smooth.shape)


def smooth(n_frames: int, rng: np.random.Generator) -> Floats:
    fresh = rng.standard_normal((n_frames + WARM_UP, N_CHANNELS))
    return np.asarray(sosfilt(butter(4, 0.02, output="sos"), fresh, axis=0)[WARM_UP:])


def heavy_tails(n_frames: int, rng: np.random.Generator) -> Floats:
    memories = np.exp(rng.uniform(*np.log([5, 60]), N_CHANNELS))
    filters = [([1.0], [1.0, -np.exp(-1 / m)]) for m in memories]
    return _filtered(filters, n_frames, lambda n: rng.standard_t(3, n))


def skewed(n_frames: int, rng: np.random.Generator) -> Floats:
    return np.exp(0.7 * ar1(n_frames, rng))


def wandering_loudness(n_frames: int, rng: np.random.Generator) -> Floats:
    kept = np.exp(-1 / 400)
    fresh = rng.standard_normal((n_frames + WARM_UP, 2))
    slow = lfilter([np.sqrt(1 - kept**2)], [1.0, -kept], fresh, axis=0)[WARM_UP:]
    return ar1(n_frames, rng) * np.exp(0.5 * slow @ rng.standard_normal((2, N_CHANNELS)) / np.sqrt(2))


def correlated(noise: Noise) -> Noise:
    def mixed(n_frames: int, rng: np.random.Generator) -> Floats:
        mixing = np.eye(N_CHANNELS) + 0.6 * rng.standard_normal((N_CHANNELS, N_CHANNELS)) / np.sqrt(N_CHANNELS)
        return noise(n_frames, rng) @ mixing

    return mixed


def _filtered(filters: list[tuple[list[float], list[float]]], n_frames: int, draw: Callable[[int], Floats]) -> Floats:
    columns = [lfilter(b, a, draw(n_frames + WARM_UP))[WARM_UP:] for b, a in filters]
    return np.stack([column / column.std() for column in columns], axis=1)


NOISES: dict[str, Noise] = {
    "AR(1)": ar1,
    "AR(1), correlated channels": correlated(ar1),
    "AR(2) oscillation": oscillation,
    "AR(2), correlated channels": correlated(oscillation),
    "1/f": pink,
    "random walk, low-passed": walk,
    "low-passed": smooth,
    "heavy tails (t, 3)": heavy_tails,
    "skewed (log-normal)": skewed,
    "wandering loudness": wandering_loudness,
}
PLANS = {f"planted, noise {noise:g}": StreamPlan(noise=noise) for noise in (0.15, 0.5, 1.0, 1.5)}
PLANS |= {"planted, drift 1": StreamPlan(drift=1.0), "planted, 2 channels": StreamPlan(n_channels=2)}


def fridge(rng: np.random.Generator) -> list[Recording]:
    """A day at one value a minute: nine or ten cycles of about half an hour, 150 min apart, and other appliances."""
    n_frames, at = 1440, int(rng.integers(0, 100))
    power = 0.1 * lfilter([0.44], [1.0, -0.9], rng.standard_normal(n_frames)) + 0.05 * rng.standard_normal(n_frames)
    while at < n_frames:
        power[at : at + rng.integers(29, 39)] += 1.0
        at += int(rng.normal(150, 6))
    for start in rng.integers(0, n_frames - 60, rng.poisson(4)):
        power[start : start + rng.integers(5, 60)] += rng.uniform(0.5, 2.5)
    return [Recording(power[:, None].astype(np.float32), rate=1 / 60)]


def engines(rng: np.random.Generator) -> list[Recording]:
    """30 files, each from start to failure; degradation begins at a random time of life."""
    direction, files = rng.standard_normal(8), []
    for i in range(30):
        n_frames = int(rng.integers(130, 300))
        begins = int(rng.uniform(0.4, 0.75) * n_frames)
        worn = np.clip((np.arange(n_frames) - begins) / (n_frames - begins), 0, 1) ** 1.5
        values = rng.standard_normal((n_frames, 8)) + 4 * worn[:, None] * direction
        files.append(Recording(values.astype(np.float32), rate=1.0, id=f"engine{i}"))
    return files


def wrist(rng: np.random.Generator) -> list[Recording]:
    """A gesture of 1.5 to 4 s, 240 times, with rest of 1.5 to 8 s between, 20 Hz."""
    parts = []
    for _ in range(240):
        n_rest, n_own = int(rng.uniform(30, 160)), int(rng.uniform(30, 80))
        slow = lfilter([0.31], [1.0, -0.95], rng.standard_normal(n_rest))
        parts.append(0.3 * slow[:, None] + 0.1 * rng.standard_normal((n_rest, 3)) + [0, 0, 1])
        turn = 2 * np.pi * 1.8 * np.arange(n_own) / 20
        shape = np.stack([np.sin(turn), 0.6 * np.sin(turn + 1), 1 + 0.4 * np.sin(2 * turn)], axis=1)
        parts.append(shape * rng.uniform(0.7, 1.3) + 0.25 * rng.standard_normal((n_own, 3)))
    return [Recording(np.concatenate(parts).astype(np.float32), rate=20.0)]


PLAIN: dict[str, tuple[Callable[[np.random.Generator], list[Recording]], str | None]] = {
    "fridge": (fridge, "20min"),
    "engines": (engines, None),
    "wrist": (wrist, None),
}


class Found(NamedTuple):
    """The evidence of one fit, and the CPU seconds of the fit without it and of the evidence."""

    evidence: Evidence
    fit_s: float
    evidence_s: float


def evidence_of(recordings: list[Recording], seed: int, window: str | None = None) -> Found:
    """The evidence for the units of the default preset."""
    start = time.process_time()
    settings = {"motifs.method": "none", "evidence.surrogates": 0}
    model = Rondo(window=window, seed=seed, settings=settings).fit(recordings)
    fitted = time.process_time()
    windows = [model._windows_of(recording)[1] for recording in recordings]
    timelines = [model.unit_model_.timeline(own) for own in windows]
    read = time.process_time()
    with one_thread():
        evidence, _ = unit_evidence(windows, timelines, N_SURROGATES, np.random.default_rng(seed))
    return Found(evidence, fitted - start, time.process_time() - read)


HEAD = (
    "stream",
    "whole",
    "streams",
    "units: recurs / not shown / once",
    "evidence of those that recur",
    "share of CPU",
)
REASONS = {
    "alike": "likeness",
    "spacing": "spacing",
    "order": "order",
    "start": "place",
    "end": "place",
    "place": "place",
}


def cells_of(results: list[Found]) -> list[str]:
    """One row of the table, but for its name."""
    units = [list(found.evidence.units.values()) for found in results]
    verdicts = Counter(entry.verdict for own in units for entry in own)
    kinds = Counter(REASONS[entry.reason.kind] for own in units for entry in own if entry.reason.kind in REASONS)
    spent = sum(found.evidence_s for found in results)
    return [
        f"{np.mean([found.evidence.recurs for found in results]):.0%}",
        f"{np.mean([any(entry.verdict == 'recurs' for entry in own) for own in units]):.0%}",
        " / ".join(str(verdicts[verdict]) for verdict in VERDICTS),
        ", ".join(f"{kind} {kinds[kind]}" for kind in dict.fromkeys(REASONS.values()) if kinds[kind]),
        f"{spent / (spent + sum(found.fit_s for found in results)):.0%}",
    ]


def recordings_of(kind: str, name: str, seed: int, n_frames: int) -> list[Recording]:
    """The recordings of one stream."""
    rng = np.random.default_rng(seed)
    if kind == "planted":
        return [plant(PLANS[name], n_frames=n_frames, seed=100 + seed).recording]
    if kind == "plain":
        return PLAIN[name][0](rng)
    each = [NOISES[name](n_frames, rng).astype(np.float32) for _ in range(N_FILES if kind == "files" else 1)]
    return [Recording(values, rate=RATE, id=f"file{i}") for i, values in enumerate(each)]


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
        composed = [entry.verdict == "recurs clearly" for entry in own.values() if np.isnan(entry.closeness)]
        plain = Sequences(np.searchsorted(ids, runs.units)[None], runs.first, ids.size).shuffled(1, rng).units[0]
        phrases = Counter(tuple(ids[plain[i : i + n]].tolist()) for n in (2, 3, 4) for i in range(plain.size - n + 1))
        recurring = {i: Counter({phrase: n}) for i, (phrase, n) in enumerate(phrases.items()) if n > 1}
        chance = composition_evidence(replace(runs, units=ids[plain]), recurring, units, 0.05, N_SEQUENCES, rng)
        false = sum(entry.verdict == "recurs clearly" for entry in chance.values())
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


def recordings_table(data: Path) -> Table:
    """Each recording of some sets by itself."""
    table = Table(*HEAD)
    for name in SETS:
        ids = recording_ids(data, name)
        results = [evidence_of([read(data, Fit(name, id, 0))[0]], 0) for id in ids]
        table.add(f"{name} ({len(ids)})", *cells_of(results))
    return table


def streams_table(kind: str, n_seeds: int, n_frames: int) -> Table:
    table = Table(*HEAD)
    for name in {"planted": PLANS, "plain": PLAIN}.get(kind, NOISES):
        window = PLAIN[name][1] if kind == "plain" else None
        streams = [recordings_of(kind, name, seed, n_frames) for seed in range(n_seeds)]
        table.add(name, *cells_of([evidence_of(own, seed, window) for seed, own in enumerate(streams)]))
    return table


def case_table(folders: Sequence[Path], rate: float | None, key: str | None) -> Table:
    """Folders in which people see at once what recurs."""
    verdict = "recurs / not shown / once"
    table = Table("case", "files", f"units: {verdict}", "labels show", verdict, "files with the commonest", "order")
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
    ("--data", {"type": Path, "help": "the folder of data sets, for recordings"}),
    ("--folder", {"type": Path, "nargs": "+", "help": "folders, for case"}),
    ("--rate", {"type": float, "help": "for case"}),
    ("--key", {"help": "for case"}),
)
parsed, main = program(__file__, __doc__, dict.fromkeys(KINDS, table_of), ARGUMENTS)

if __name__ == "__main__":
    main()
