"""The unit level on recordings with annotations: every way of finding units, all scores, several seeds.

    python benchmarks/unit_tables.py fit DATA RESULTS [--sets MoCap ActRecTut] [--seeds 5] [--workers 2] [--device cpu]
    python benchmarks/unit_tables.py table DATA RESULTS [--sets …] [--seeds 5]

DATA holds a folder of .npz recordings (`X`, and `y` for scoring) per set. `fit` writes one file of labels per
recording, encoder and seed to RESULTS and leaves out what is already there, so that it can be stopped and started;
`table` scores them and prints Markdown. Every recording has a vocabulary of its own, as in the paper.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread per worker, set before numpy and torch are loaded

import numpy as np
from numpy.typing import NDArray

from rondo.config import RondoConfig, resolve
from rondo.data.preprocess import Preprocessor
from rondo.data.recording import Recording
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders import FittedEncoder, Tensors, build_encoder
from rondo.metrics import evaluate
from rondo.training.seeding import generators
from rondo.units.model import fit_units

WINDOWS = {"MoCap": (256, 50), "ActRecTut": (90, 30), "OpenPack": (90, 30), "HuGaDB": (90, 30), "USC-HAD": (150, 37)}
ENCODERS = ("summary_stats", "ts2vec", "time_mae")
DEEP = {"units.mixture.kind": "deep_dpm"}
UNITS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("default", {}),
    "default, merged": ("default", {"units.merge": True}),
    "default, DeepDPM": ("default", DEEP),
    "default, 4 dimensions, windows counted one": ("default", {"units.dimension": 4, "units.window_weight": "one"}),
    "paper": ("paper", {}),
    "paper, DeepDPM": ("paper", DEEP),
    "paper, initialisation only": ("paper", {"units.max_rounds": 0}),
    "paper, without UnitAlign": ("paper", {"units.method": "direct"}),
}
COLUMNS = ("ari", "ami", "one_to_one", "mof", "recall", "f1_50", "edit", "seg_ratio", "n_clusters")


@dataclass(frozen=True)
class Task:
    """One encoder fitted on one recording with one seed, and every way of finding units on it."""

    path: Path
    encoder: str
    seed: int
    device: str

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}.{self.path.stem}.{self.encoder}.{self.seed}.npz"


class Remembered:
    """A fitted encoder that encodes the one signal it is asked about once."""

    def __init__(self, encoder: FittedEncoder, windows: Windows) -> None:
        self.saw_whole_stream = encoder.saw_whole_stream
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


def fit(task: Task) -> tuple[str, dict[str, NDArray[Any]]]:
    """Frame labels of every way, by vote and from window starts; CPU seconds of the encoder and of each way."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results: dict[str, NDArray[Any]] = {}
    windows, encoder = None, None
    for units in UNITS:
        config = settings_of(units, task.encoder, task.seed)
        rngs = generators(config.seed, ("encoder", "units", "motifs"))
        if windows is None or encoder is None:
            windows = windows_of(task.path, config)
            start = time.process_time()
            made = build_encoder(config.encoder, int(rngs["encoder"].integers(2**31)), task.device).fit([windows])
            encoder = Remembered(made, windows)
            results["seconds of the encoder"] = np.array(time.process_time() - start)
        start = time.process_time()
        timeline = fit_units([windows], encoder, config.units, rngs["units"], task.device).timeline(windows)
        results[f"seconds of {units}"] = np.array(time.process_time() - start)
        for rule in ("vote", "start"):
            results[f"{rule}: {units}"] = windows.grid.project(timeline.ids, rule).astype(np.int16)
    return task.name, results


def fit_all(tasks: list[Task], results: Path, workers: int) -> None:
    results.mkdir(parents=True, exist_ok=True)
    left = [task for task in tasks if not (results / task.name).exists()]
    print(f"{len(tasks)} fits, {len(tasks) - len(left)} of them done before", flush=True)
    with ProcessPoolExecutor(workers) as pool:
        for number, done in enumerate(as_completed([pool.submit(fit, task) for task in left]), 1):
            name, arrays = done.result()
            np.savez_compressed(results / f".{name}", **arrays)
            (results / f".{name}").rename(results / name)
            print(f"{number}/{len(left)} {name}", flush=True)


def print_table(data: Path, results: Path, sets: list[str], seeds: int) -> None:
    for name in sets:
        truth = {path.stem: np.load(path)["y"] for path in sorted((data / name).glob("*.npz"))}
        print(f"\n### {name}, {len(truth)} recordings, {seeds} seeds, windows {'/'.join(map(str, WINDOWS[name]))}\n")
        print("| units | encoder | " + " | ".join((*COLUMNS, "clock ari / ami / one_to_one", "CPU-s each")) + " |")
        print("|---" * (len(COLUMNS) + 4) + "|")
        for units in UNITS:
            for encoder in ENCODERS:
                for rule in ("vote", "start") if units == "paper" else ("vote",):
                    row = _row(results, name, truth, units, encoder, rule, seeds)
                    label = units + (", labels from window starts" if rule == "start" else "")
                    print(f"| {label} | {encoder} | {row} |" if row else f"| {label} | {encoder} | not run |")


def _row(
    results: Path, name: str, truth: dict[str, NDArray[Any]], units: str, encoder: str, rule: str, seeds: int
) -> str:
    scores, seconds = [], []
    for seed in range(seeds):
        files = {id: results / f"{name}.{id}.{encoder}.{seed}.npz" for id in truth}
        if not all(path.exists() for path in files.values()):
            return ""
        loaded = {id: np.load(path) for id, path in files.items()}
        pairs = {id: (truth[id], own[f"{rule}: {units}"].astype(np.int32)) for id, own in loaded.items()}
        scores.append(evaluate(pairs).as_dict())
        seconds += [float(own["seconds of the encoder"] + own[f"seconds of {units}"]) for own in loaded.values()]
    cells = []
    for column in COLUMNS:
        values = np.array([score[column] for score in scores], dtype=float)
        cells.append(f"{values.mean():.{2 if column == 'seg_ratio' else 1}f} ± {values.std(ddof=1):.1f}")
    clock = [np.mean([score["clock"][column] for score in scores]) for column in COLUMNS[:3]]
    return " | ".join([*cells, " / ".join(f"{value:.0f}" for value in clock), f"{np.mean(seconds):.1f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fit", "table"))
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sets", nargs="+", default=["MoCap", "ActRecTut"], choices=WINDOWS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--encoders", nargs="+", default=ENCODERS, choices=ENCODERS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    if given.what == "table":
        return print_table(given.data, given.results, given.sets, given.seeds)
    paths = [path for name in given.sets for path in sorted((given.data / name).glob("*.npz"))]
    grid = [(path, encoder, seed) for encoder in given.encoders[::-1] for seed in range(given.seeds) for path in paths]
    return fit_all([Task(*which, given.device) for which in grid], given.results, given.workers)


if __name__ == "__main__":
    main()
