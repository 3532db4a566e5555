"""The motif level on recordings with annotations: the paper's chain, its ablations and ours, all scores, several seeds.

    python benchmarks/motif_tables.py fit DATA RESULTS [--sets MoCap …] [--seeds 5] [--workers 2] [--device cpu]
    python benchmarks/motif_tables.py table DATA RESULTS [--sets …] [--seeds 5] [--page docs/results/motifs.md]

DATA holds a folder of .npz recordings (`X`, and `y` for scoring) per set; `--only` names some of them. `fit` writes one
file of labels per recording, seed and way to RESULTS and leaves out what is there, so that it can be stopped and
started; `table` scores them and prints Markdown. Every recording has a vocabulary of its own, as in the paper. The ways
share what they have in common: one encoder, one set of units, one MotifFormer and its motifs, linked in three ways.
Where a set is annotated at two levels (`y2` are the finer classes), a second table asks which level finds which.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread per worker, set before numpy and torch are loaded

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section
from unit_tables import (
    CLOCK,
    COLUMNS,
    RECURRENCE,
    RULES,
    STAGES,
    WINDOWS,
    Remembered,
    Task,
    cells_of,
    result_name,
    settings_of,
    windows_of,
)

from rondo.arrays import generators
from rondo.config.settings import MotifsConfig, NoMotifsConfig
from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Windows
from rondo.encoders.base import build_encoder
from rondo.motifs.discover import fit_motifs
from rondo.paper.candidates import match_lengths
from rondo.paper.motifs import Rule, link
from rondo.paper.settings import MotifFormerConfig
from rondo.units.fit import fit_units
from rondo.units.model import UnitModel
from rondo.units.viterbi import Timeline

SECTIONS = ("mocap", "actrectut", "openpack", "openpack-levels")
LEVELS = ("units", "motifs")
LINKS: tuple[Rule, ...] = ("none", "overlap", "descriptor")
SETS = ("MoCap", "ActRecTut", "OpenPack")


@dataclass(frozen=True)
class Way:
    """One way from windows to motifs; `units` is one of `unit_tables.UNITS`, `link` is for MotifFormer."""

    encoder: str
    units: str
    motifs: MotifsConfig
    link: Rule = "none"


def with_former(encoder: str, units: str) -> dict[str, Way]:
    return {f"MotifFormer, link {rule}": Way(encoder, units, MotifFormerConfig(), rule) for rule in LINKS}


DIRECT = "paper, without UnitAlign"
WAYS: dict[str, Way] = {  # ways with the same units stand together, and among them those with MotifFormer
    **{f"paper, {name}": way for name, way in with_former("ts2vec", "paper").items()},
    "paper, without MotifFormer": Way("ts2vec", "paper", NoMotifsConfig()),
    **{f"{DIRECT}, {name}": way for name, way in with_former("ts2vec", DIRECT).items()},
    **{f"default units, {name}": way for name, way in with_former("summary_stats", "default").items()},
    "default units alone": Way("summary_stats", "default", NoMotifsConfig()),
}
# The paper labels frames from window starts; so do these rows, besides.
PUBLISHED = ("paper, MotifFormer, link none", "paper, MotifFormer, link overlap", "paper, without MotifFormer")


def rules_of(way: str) -> dict[str, str]:
    """How a way's labels get from windows to frames, and what its row says about it."""
    if WAYS[way].units == "default":
        return {"aligned": ""}
    return {"vote": ""} | ({"start": ", labels from window starts"} if way in PUBLISHED else {})


def fit(task: Task, results: Path) -> None:
    """Write, for each way, frame labels of both levels by both rules, CPU seconds of the stages, numbers of entries."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    config = settings_of(WAYS[task.ways[0]].units, task.encoder, task.seed)
    windows = windows_of(task.path, config)
    start = time.process_time()
    seed = int(generators(task.seed, STAGES)["encoder"].integers(2**31))
    encoder = Remembered(build_encoder(config.encoder, seed, task.device).fit([windows]), windows)
    encoder_s = time.process_time() - start
    for units, ways in groupby(task.ways, lambda way: WAYS[way].units):
        config = settings_of(units, task.encoder, task.seed)
        start = time.process_time()
        model = fit_units([windows], encoder, config.units, generators(task.seed, STAGES)["units"], task.device)
        timeline = model.timeline(windows)
        units_s = time.process_time() - start
        for way, motifs, n_motifs, motifs_s in motifs_by_way(tuple(ways), windows, timeline, model, task):
            tracks = dict(zip(LEVELS, (timeline.ids, motifs), strict=True))
            labels = {
                f"{level}.{rule}": windows.grid.project(ids, rule).astype(np.int16)
                for (level, ids), rule in product(tracks.items(), RULES)
            }
            speaking = model.boundaries.windows_of_frames(windows, timeline.ids)
            labels |= {f"{level}.aligned": ids[speaking].astype(np.int16) for level, ids in tracks.items()}
            seconds, entries = np.array([encoder_s, units_s, motifs_s]), np.array([len(model.ids), n_motifs])
            np.savez_compressed(results / f".{task.name(way)}", seconds=seconds, entries=entries, **labels)
            (results / f".{task.name(way)}").rename(results / task.name(way))


def motifs_by_way(
    ways: Sequence[str], windows: Windows, units: Timeline, model: UnitModel, task: Task
) -> Iterator[tuple[str, Labels, int, float]]:
    """Each way, its motif of every window, how many motifs there are, CPU seconds as if it were the only way."""
    from rondo.paper.motifs import FormerMotifs  # brings torch, which the tables do without

    for config, same in groupby(ways, lambda way: WAYS[way].motifs):
        alike = tuple(same)
        start = time.process_time()
        rng = generators(task.seed, STAGES)["motifs"]
        fitted = fit_motifs([windows], [units], model, config, windows.grid.length_frames, rng, task.device)
        if not isinstance(fitted, FormerMotifs):
            yield alike[0], fitted.timeline(units).ids, len(fitted.ids), time.process_time() - start
            continue
        codes = np.searchsorted(np.array(model.ids), units.ids)
        matches = match_lengths(fitted.former.describe, codes, units.spans, fitted.lengths)
        shared_s = time.process_time() - start
        for way in alike:
            start = time.process_time()
            linked = replace(fitted, motif_ids=link(fitted.lengths, matches, WAYS[way].link))
            ids = linked.timeline(units).ids
            yield way, ids, len(linked.ids), shared_s + time.process_time() - start


def fit_all(tasks: Sequence[Task], results: Path, workers: int) -> None:
    results.mkdir(parents=True, exist_ok=True)
    print(f"{len(tasks)} encoders to fit", flush=True)
    with ProcessPoolExecutor(workers) as pool:
        for number, done in enumerate(as_completed([pool.submit(fit, task, results) for task in tasks]), 1):
            done.result()
            print(f"{number}/{len(tasks)}", flush=True)


def tasks_of(paths: Sequence[Path], seeds: int, ways: Sequence[str], device: str, results: Path) -> list[Task]:
    """What is not yet there, the longest first, so that no worker is left with it at the end."""
    tasks = []
    for path, seed, encoder in product(paths, range(seeds), ("ts2vec", "summary_stats")):
        task = Task(path, encoder, seed, device, ())
        own = (way for way in WAYS if way in ways and WAYS[way].encoder == encoder)
        missing = tuple(way for way in own if not (results / task.name(way)).exists())
        if missing:
            tasks.append(replace(task, ways=missing))
    return sorted(tasks, key=lambda task: (task.encoder != "ts2vec", -task.path.stat().st_size))


# ---------------------------------------------------------------- tables


def motif_table(results: Path, name: str, paths: Sequence[Path], seeds: int) -> Table:
    """All ways on the recordings of one set."""
    table = Table("way", *COLUMNS.values(), CLOCK, "CPU-s each", "motifs", "OTHER, %")
    classes = classes_of(paths, "y")
    for way in WAYS:
        for rule, words in rules_of(way).items():
            cells = cells_of(results, name, classes, way, WAYS[way].encoder, f"motifs.{rule}", seeds)
            cells += counts(results, name, paths, way, rule, seeds) if cells else ["not run"]
            table.add(way + words, *cells)
    return table


def level_table(results: Path, name: str, paths: Sequence[Path], seeds: int) -> Table:
    """Both levels against both annotations: ARI / AMI / one-to-one (the same of the clock)."""
    columns = [(level, key, classes_of(paths, key)) for key in ("y2", "y") for level in LEVELS]
    table = Table("way", *(f"{level}, `{key}`" for level, key, _ in columns))
    for way in WAYS:
        table.add(way, *(agreement(results, name, track, way, level, seeds) for level, _, track in columns))
    return table


def classes_of(paths: Sequence[Path], key: str) -> dict[str, NDArray[Any]]:
    stored = {path.stem: np.load(path) for path in paths}
    return {id: own[key] for id, own in stored.items() if key in own}


def counts(results: Path, name: str, paths: Sequence[Path], way: str, rule: str, seeds: int) -> list[str]:
    """Motifs in a vocabulary and the share of frames that none explains, means over recordings and seeds."""
    names = (result_name(name, path.stem, WAYS[way].encoder, seed, way) for path in paths for seed in range(seeds))
    stored = [np.load(results / name) for name in names]
    n_motifs = np.mean([own["entries"][1] for own in stored])
    other = np.mean([(own[f"motifs.{rule}"] == OTHER).mean() for own in stored])
    return [f"{n_motifs:.1f}", f"{100 * other:.1f}"]


def agreement(results: Path, name: str, truth: dict[str, NDArray[Any]], way: str, level: str, seeds: int) -> str:
    """How well one level of a vocabulary agrees with the classes, without credit for chopping."""
    from rondo.metrics.scores import evaluate  # fitting, on a machine with little installed, does without

    own, clock = [], []
    for seed in range(seeds):
        files = {id: results / result_name(name, id, WAYS[way].encoder, seed, way) for id in truth}
        if not all(path.exists() for path in files.values()):
            return "not run"
        scores = evaluate(
            {id: (truth[id], np.load(path)[f"{level}.{next(iter(rules_of(way)))}"]) for id, path in files.items()}
        )
        own.append([getattr(scores.average, column) for column in RECURRENCE])
        clock.append([getattr(scores.clock, column) for column in RECURRENCE])
    spread = zip(np.mean(own, axis=0), np.std(own, axis=0, ddof=1), strict=True)
    of_clock = " / ".join(f"{value:.0f}" for value in np.mean(clock, axis=0))
    return " / ".join(f"{mean:.1f} ± {sd:.1f}" for mean, sd in spread) + f" ({of_clock})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fit", "table"))
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=WINDOWS)
    parser.add_argument("--only", nargs="+", metavar="STEM", help="recordings of the sets; all unless given")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    given = parse(parser, __file__)
    found = {name: sorted((given.data / name).glob("*.npz")) for name in given.sets}
    paths = {name: [p for p in own if not given.only or p.stem in given.only] for name, own in found.items()}
    if given.what == "fit":
        every = [path for own in paths.values() for path in own]
        fit_all(tasks_of(every, given.seeds, given.ways, given.device, given.results), given.results, given.workers)
    else:
        for name, own in paths.items():
            print(f"\n{name}, {given.seeds} seeds, windows {'/'.join(map(str, WINDOWS[name]))}\n")
            write_section(given, name.lower(), motif_table(given.results, name, own, given.seeds))
            if classes_of(own, "y2"):
                print()
                write_section(given, f"{name.lower()}-levels", level_table(given.results, name, own, given.seeds))


if __name__ == "__main__":
    main()
