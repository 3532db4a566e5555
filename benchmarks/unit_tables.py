"""The unit level on recordings with annotations: every way of finding units, all scores, several seeds.

    python benchmarks/unit_tables.py fit DATA RESULTS [--sets MoCap ActRecTut] [--seeds 5] [--workers 2] [--device cpu]
    python benchmarks/unit_tables.py table DATA RESULTS [--sets …] [--seeds 5] [--page docs/results/units.md]

DATA holds a folder of .npz recordings (`X`, and `y` for scoring) per set. `fit` writes one file of labels per
recording, encoder, seed and way to RESULTS and leaves out what is there, so that it can be stopped and started; `table`
scores them and prints Markdown. Every recording has a vocabulary of its own, as in the paper.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread per worker, set before numpy and torch are loaded

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.arrays import Tensors, generators
from rondo.config.settings import RondoConfig, resolve
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.base import FittedEncoder, build_encoder
from rondo.units.fit import fit_units

WINDOWS = {"MoCap": (256, 50), "ActRecTut": (90, 30), "OpenPack": (90, 30), "HuGaDB": (90, 30), "USC-HAD": (150, 37)}
ENCODERS = ("summary_stats", "ts2vec", "time_mae")
DEEP = {"units.mixture.kind": "deep_dpm"}
UNITS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("default", {}),
    "default, merged": ("default", {"units.merge": True}),
    "default, DeepDPM": ("default", DEEP),
    "paper": ("paper", {}),
    "paper, DeepDPM": ("paper", DEEP),
    "paper, initialisation only": ("paper", {"units.max_rounds": 0}),
    "paper, without UnitAlign": ("paper", {"units.method": "direct"}),
}
RULES = ("vote", "start")
STAGES = ("encoder", "units", "motifs")
COLUMNS = {
    "ari": "ARI",
    "ami": "AMI",
    "one_to_one": "one-to-one",
    "mof": "MoF",
    "recall": "Recall",
    "f1_50": "F1@50",
    "edit": "Edit",
    "seg_ratio": "SegRatio",
    "n_clusters": "clusters",
}
RECURRENCE = ("ari", "ami", "one_to_one")
CLOCK = "clock: ARI / AMI / one-to-one"
SECTIONS = ("mocap", "actrectut")


@dataclass(frozen=True)
class Task:
    """One encoder fitted on one recording with one seed, and the ways of finding units on it that are not yet there."""

    path: Path
    encoder: str
    seed: int
    device: str
    ways: tuple[str, ...]

    def name(self, units: str) -> str:
        return result_name(self.path.parent.name, self.path.stem, self.encoder, self.seed, units)


def result_name(set_name: str, recording: str, encoder: str, seed: int, units: str) -> str:
    return f"{set_name}.{recording}.{encoder}.{seed}.{units.replace(', ', '.').replace(' ', '_')}.npz"


class Remembered:
    """A fitted encoder that encodes the one signal it is asked about once."""

    def __init__(self, encoder: FittedEncoder, windows: Windows) -> None:
        self.curves = encoder.curves
        self.representations = encoder.encode(windows)

    def encode(self, windows: Windows) -> NDArray[np.float32]:
        return self.representations

    def tensors(self) -> Tensors:
        return {}


def settings_of(units: str, encoder: str, seed: int) -> RondoConfig:
    preset, overrides = UNITS[units]
    return resolve(preset, overrides={"encoder.name": encoder, "motifs.method": "none", "seed": seed, **overrides})


def windows_of(path: Path, config: RondoConfig) -> Windows:
    recording = Recording(np.load(path)["X"], id=path.stem)
    signal = Preprocessor.fit([recording], config.preprocess).apply(recording)
    length, step = WINDOWS[path.parent.name]
    return Windows(signal.values, WindowGrid(length, step, signal.n_frames, signal.spans))


def fit(task: Task) -> dict[str, dict[str, NDArray[Any]]]:
    """By the name of the result: frame labels by vote and from window starts, CPU seconds of encoder and units."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    config = settings_of(task.ways[0], task.encoder, task.seed)
    windows = windows_of(task.path, config)
    start = time.process_time()
    seed = int(generators(config.seed, STAGES)["encoder"].integers(2**31))
    encoder = Remembered(build_encoder(config.encoder, seed, task.device).fit([windows]), windows)
    encoder_s = time.process_time() - start
    results = {}
    for units in task.ways:
        config = settings_of(units, task.encoder, task.seed)
        start = time.process_time()
        model = fit_units([windows], encoder, config.units, generators(config.seed, STAGES)["units"], task.device)
        timeline = model.timeline(windows)
        seconds = np.array([encoder_s, time.process_time() - start])
        labels = {rule: windows.grid.project(timeline.ids, rule).astype(np.int16) for rule in RULES}
        results[task.name(units)] = {"seconds": seconds, **labels}
    return results


def fit_all(tasks: list[Task], results: Path, workers: int) -> None:
    results.mkdir(parents=True, exist_ok=True)
    print(f"{len(tasks)} encoders to fit", flush=True)
    with ProcessPoolExecutor(workers) as pool:
        for number, done in enumerate(as_completed([pool.submit(fit, task) for task in tasks]), 1):
            for name, arrays in done.result().items():
                np.savez_compressed(results / f".{name}", **arrays)
                (results / f".{name}").rename(results / name)
            print(f"{number}/{len(tasks)}", flush=True)


def table_of(data: Path, results: Path, name: str, seeds: int) -> Table:
    """All ways on the recordings of one set."""
    truth = {path.stem: np.load(path)["y"] for path in sorted((data / name).glob("*.npz"))}
    table = Table("units", "encoder", *COLUMNS.values(), CLOCK, "CPU-s each")
    for units in UNITS:
        for encoder in ENCODERS:
            for rule in RULES if units == "paper" else RULES[:1]:
                cells = cells_of(results, name, truth, units, encoder, rule, seeds)
                label = units + (", labels from window starts" if rule == "start" else "")
                table.add(label, encoder, *(cells or ["not run"]))
    return table


def cells_of(
    results: Path, name: str, truth: dict[str, NDArray[Any]], units: str, encoder: str, rule: str, seeds: int
) -> list[str]:
    """One row, but for its name; nothing where a fit is missing."""
    from rondo.metrics.scores import evaluate  # fitting, on a machine with little installed, does without

    scores, seconds = [], []
    for seed in range(seeds):
        files = {id: results / result_name(name, id, encoder, seed, units) for id in truth}
        if not all(path.exists() for path in files.values()):
            return []
        loaded = {id: np.load(path) for id, path in files.items()}
        pairs = {id: (truth[id], own[rule].astype(np.int32)) for id, own in loaded.items()}
        scores.append(evaluate(pairs).as_dict())
        seconds += [float(own["seconds"].sum()) for own in loaded.values()]
    cells = []
    for column in COLUMNS:
        values = np.array([score[column] for score in scores], dtype=float)
        cells.append(f"{values.mean():.{2 if column == 'seg_ratio' else 1}f} ± {values.std(ddof=1):.1f}")
    clock = [np.mean([score["clock"][column] for score in scores]) for column in RECURRENCE]
    return [*cells, " / ".join(f"{value:.0f}" for value in clock), f"{np.mean(seconds):.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fit", "table"))
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sets", nargs="+", default=["MoCap", "ActRecTut"], choices=WINDOWS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--encoders", nargs="+", default=ENCODERS, choices=ENCODERS)
    parser.add_argument("--units", nargs="+", default=list(UNITS), choices=UNITS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    given = parse(parser, __file__)
    if given.what == "table":
        for name in given.sets:
            print(f"\n{name}, {given.seeds} seeds, windows {'/'.join(map(str, WINDOWS[name]))}\n")
            write_section(given, name.lower(), table_of(given.data, given.results, name, given.seeds))
        return
    tasks = []
    for encoder, seed in itertools.product(given.encoders, range(given.seeds)):
        for path in (path for name in given.sets for path in sorted((given.data / name).glob("*.npz"))):
            task = Task(path, encoder, seed, given.device, tuple(given.units))
            missing = tuple(units for units in task.ways if not (given.results / task.name(units)).exists())
            if missing:
                tasks.append(replace(task, ways=missing))
    fit_all(tasks, given.results, given.workers)


if __name__ == "__main__":
    main()
